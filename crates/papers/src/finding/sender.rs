//! The server that is tried: a profile with settings, and what it remembers of a path.

use crate::prelude::*;

/// A value of a knob: what it adds to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Knob and value, as in `allowance=40ms`.
    pub name: &'static str,
    /// What it adds to the profile's name.
    pub mechanisms: &'static str,
    /// The settings that it adds.
    pub settings: &'static str,
    /// The least timer of a SYN-ACK, in ms, if it counts from the SRTT of an earlier connection over the path.
    pub remembers: Option<u64>,
}

const fn mechanism(name: &'static str, mechanisms: &'static str) -> Value {
    Value { name, mechanisms, settings: "", remembers: None }
}

const fn setting(name: &'static str, settings: &'static str) -> Value {
    Value { name, mechanisms: "", settings, remembers: None }
}

const fn history(name: &'static str, least: u64) -> Value {
    Value { name, mechanisms: "", settings: "", remembers: Some(least) }
}

/// The least added to SRTT in the RTO is 40 ms.
pub const FLOOR_40_MS: Value = setting("floor=40ms", "rto.min=40ms rto.min_of=rttvar");

/// The SYN-ACK's timer is twice the SRTT of an earlier connection over the path, at least 100 ms.
pub const HISTORY_100_MS: Value = history("history=100ms", 100);

/// The knobs with their values. A server has one value of each at most.
pub const KNOBS: &[&[Value]] = &[
    &[mechanism("restart=tlpr", "+tlpr"), mechanism("restart=tlprfull", "+tlprfull")],
    &[
        setting("allowance=100ms", "tlp.ack_delay=100ms"),
        setting("allowance=40ms", "tlp.ack_delay=40ms"),
        setting("allowance=20ms", "tlp.ack_delay=20ms"),
        setting("allowance=0", "tlp.ack_delay=0"),
        setting("allowance=measured", "tlp.ack_delay=measured"),
    ],
    &[
        setting("factor=1.25", "tlp.srtt_factor=1.25"),
        setting("factor=1.5", "tlp.srtt_factor=1.5"),
        setting("factor=1.75", "tlp.srtt_factor=1.75"),
    ],
    &[
        setting("floor=100ms", "rto.min=100ms rto.min_of=rttvar"),
        FLOOR_40_MS,
        setting("floor=20ms", "rto.min=20ms rto.min_of=rttvar"),
    ],
    &[Value {
        name: "copies=tail",
        mechanisms: "+slp",
        settings: "slp.q=tail:1,syn_ack:0,psh:0,syn:0 slp.p=learned",
        remembers: None,
    }],
    &[mechanism("reordering=adaptive", "+adaptive")],
    &[history("history=200ms", 200), HISTORY_100_MS],
];

/// The settings that the search keeps apart: a smaller floor alone leaves the allowance as it is, unlike Linux's minimum RTO.
const APART: &str = "tlp.ack_delay=200ms";

/// The server that all are compared with.
pub const LINUX: &str = "linux-6";

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The name in reports.
    pub name: String,
    /// Its profile.
    pub profile: String,
    /// Its settings: `KEY=VALUE`, with spaces between them.
    pub settings: String,
    /// See [`Value::remembers`].
    pub remembers: Option<u64>,
}

impl Sender {
    /// `linux-6` with these values of knobs.
    pub fn changed(values: &[Value]) -> Self {
        let of = |part: fn(&Value) -> &'static str| values.iter().map(part).collect::<Vec<_>>();
        let name = if values.is_empty() { LINUX.into() } else { of(|value| value.name).join(" ") };
        Self {
            name,
            profile: format!("{LINUX}{}", of(|value| value.mechanisms).concat()),
            settings: format!("{APART} {}", of(|value| value.settings).join(" ")).trim().into(),
            remembers: values.iter().find_map(|value| value.remembers),
        }
    }

    /// A server that exists.
    pub fn existing(name: &str, profile: &str, settings: &str) -> Self {
        Self { name: name.into(), profile: profile.into(), settings: settings.into(), remembers: None }
    }

    /// Its mechanisms, without what it remembers.
    ///
    /// # Errors
    /// Settings that do not exist.
    pub fn mechanisms(&self, setup: &Setup) -> Result<Mechanisms> {
        let settings = setup.settings(&self.settings)?;
        Ok(settings.flow(&setup.profile(&self.profile)).server.mechanisms)
    }
}
