//! What a file and a trace say of themselves.

use super::number::Number;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Who wrote a trace (draft-ietf-quic-qlog-main-schema §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum VantagePoint {
    Client,
    Server,
    #[default]
    Unknown,
}

/// The header of a trace, filled as its fields come.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    pub vantage_point: VantagePoint,
    pub common: CommonFields,
    pub configuration: Configuration,
    /// The fields of events that are arrays (draft-00 and draft-01), in order.
    pub event_fields: Vec<String>,
}

/// Fields that all events of a trace have in common.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CommonFields {
    #[serde(rename = "ODCID")]
    odcid: Option<String>,
    group_id: Option<serde_json::Value>,
    dcid: Option<String>,
    pub time_format: Option<String>,
    pub time_units: Option<String>,
    reference_time: Option<serde_json::Value>,
}

/// How a trace was written (draft-00 to draft-02).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Configuration {
    pub time_units: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawVantagePoint {
    #[serde(rename = "type")]
    kind: Option<String>,
    flow: Option<String>,
}

impl CommonFields {
    /// What identifies the connection.
    pub fn connection(&self) -> Option<&str> {
        let group = self.group_id.as_ref().and_then(serde_json::Value::as_str);
        self.odcid.as_deref().or(group).or(self.dcid.as_deref())
    }

    /// The reference time, in ms since 1970; `None` if the trace does not say when it began.
    pub fn reference_ms(&self) -> Option<f64> {
        let reference = self.reference_time.as_ref()?;
        if let Ok(Number(_)) = Number::deserialize(reference) {
            return reference.as_f64().or_else(|| reference.as_str()?.parse().ok());
        }
        let text = |key: &str| reference.get(key).and_then(serde_json::Value::as_str);
        let time = |key: &str| text(key)?.parse::<Timestamp>().ok();
        let at = time("epoch").or_else(|| time("wall_clock_time"))?;
        Some(at.as_nanosecond() as f64 / 1e6)
    }
}

impl Header {
    /// Takes a field of a trace. Fields of other types than expected are as good as missing.
    pub fn set(&mut self, key: &str, value: &RawValue) {
        let text = value.get();
        match key {
            "vantage_point" => {
                let point: RawVantagePoint = serde_json::from_str(text).unwrap_or_default();
                let name = |of: Option<String>| of.unwrap_or_default();
                self.vantage_point = match (name(point.kind).as_str(), name(point.flow).as_str()) {
                    ("client", _) | ("network", "client") => VantagePoint::Client,
                    ("server", _) | ("network", "server") => VantagePoint::Server,
                    _ => VantagePoint::Unknown,
                };
            }
            "common_fields" => self.common = serde_json::from_str(text).unwrap_or_default(),
            "configuration" => self.configuration = serde_json::from_str(text).unwrap_or_default(),
            "event_fields" => self.event_fields = serde_json::from_str(text).unwrap_or_default(),
            _ => {}
        }
    }
}
