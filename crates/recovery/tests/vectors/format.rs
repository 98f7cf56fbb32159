//! The format of a vector file, as `vectors/README.md` describes it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Named values in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Map<String, Value>")]
pub struct Fields(pub Vec<(String, Value)>);

impl From<Map<String, Value>> for Fields {
    fn from(map: Map<String, Value>) -> Self {
        Self(map.into_iter().collect())
    }
}

impl Serialize for Fields {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Fields {
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An input of the sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The application writes this many bytes, or packets.
    Written(u64),
    /// The sender sends.
    Sent(Sent),
    /// An ACK arrives.
    Ack(Acknowledgment),
    /// Packets are acknowledged, where packets are numbered.
    PacketsAcked(PacketsAcked),
    /// This timer fires.
    Timer(String),
    /// The network signals congestion without a loss (ECN).
    Congestion(bool),
}

/// One segment, or consecutive segments sent for the same reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// Why: `new`, `new_probe`, `copy`, `window_probe`, or the trigger of a retransmission.
    pub kind: String,
    /// The bytes of the stream, or nothing for an empty segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[u64; 2]>,
    /// The bytes of each numbered packet, where they are not those of a full one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// The last segment has PSH set.
    #[serde(default, skip_serializing_if = "is_false")]
    pub push: bool,
}

/// An ACK, in bytes of the stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgment {
    /// Everything below has arrived in order.
    pub to: u64,
    /// SACK blocks in the order of the option; the first may report a duplicate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sack: Vec<[u64; 2]>,
    /// The window, where it is another than that of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Timestamps: when the segment whose timestamp is echoed was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo_sent_at_ns: Option<u64>,
}

/// The acknowledgment of numbered packets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketsAcked {
    /// Ranges of packet numbers: the first, and the one after the last.
    pub ranges: Vec<[u64; 2]>,
    /// How long the receiver held the acknowledgment back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<u64>,
}

/// One input, and what follows from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Since the connection was established.
    pub at_ns: u64,
    pub input: Input,
    /// The inputs of this mechanism that other mechanisms determine.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub given: Fields,
    /// The decisions of this mechanism.
    pub expect: Fields,
}

/// One connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub source: String,
    pub settings: Fields,
    pub steps: Vec<Step>,
}

/// The cases of one mechanism.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub schema: String,
    pub version: u64,
    pub mechanism: String,
    pub about: String,
    pub source: String,
    pub given: Vec<String>,
    pub expect: Vec<String>,
    pub cases: Vec<Case>,
}

impl File {
    /// The text of the file, one step a line.
    pub fn text(&self) -> String {
        let mut out = String::from("{\n");
        let head = [
            ("schema", line(&self.schema)),
            ("version", line(&self.version)),
            ("mechanism", line(&self.mechanism)),
            ("about", line(&self.about)),
            ("source", line(&self.source)),
            ("given", line(&self.given)),
            ("expect", line(&self.expect)),
        ];
        for (name, value) in head {
            let _ = writeln!(out, "  \"{name}\": {value},");
        }
        let cases = self.cases.iter().map(case_text).collect::<Vec<_>>();
        let _ = write!(out, "  \"cases\": [\n{}\n  ]\n}}\n", cases.join(",\n"));
        out
    }
}

fn case_text(case: &Case) -> String {
    let steps: Vec<String> = case.steps.iter().map(|step| format!("        {}", line(step))).collect();
    format!(
        "    {{\n      \"name\": {},\n      \"source\": {},\n      \"settings\": {},\n      \"steps\": [\n{}\n      ]\n    }}",
        line(&case.name),
        line(&case.source),
        line(&case.settings),
        steps.join(",\n")
    )
}

/// JSON in one line, with a space after each comma and colon.
fn line(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let mut to = serde_json::Serializer::with_formatter(&mut out, Spaced);
    value.serialize(&mut to).expect("values that JSON can hold");
    String::from_utf8(out).expect("UTF-8")
}

struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: std::io::Write + ?Sized>(&mut self, to: &mut W, first: bool) -> std::io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: std::io::Write + ?Sized>(&mut self, to: &mut W, first: bool) -> std::io::Result<()> {
        self.begin_array_value(to, first)
    }

    fn begin_object_value<W: std::io::Write + ?Sized>(&mut self, to: &mut W) -> std::io::Result<()> {
        to.write_all(b": ")
    }
}

/// The form that serde asks for.
fn is_false(value: &bool) -> bool {
    !value
}
