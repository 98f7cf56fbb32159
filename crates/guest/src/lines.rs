//! The lines between a caller and a guest in another process: each is one JSON object (docs/conformance.md).
//!
//! The caller sends one line, and the child answers with one. Times are nanoseconds of virtual time; packets are IP packets in
//! Base64 (RFC 4648 §4).

use crate::{Ended, Failed, Input, Setup, Status};
use base64::{Engine, engine::general_purpose::STANDARD};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::SocketAddr};

/// The version of the protocol. A child refuses others.
pub const VERSION: u32 = 1;

/// The longest line, in bytes. No answer that means something is longer.
pub const LONGEST: u64 = 64 << 20;

/// The caller's first line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Begin {
    #[serde(rename = "recoup-guest")]
    pub version: u32,
    pub seed: u64,
    pub mtu: u16,
    pub local: SocketAddr,
    pub peer: SocketAddr,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

impl From<&Setup> for Begin {
    fn from(setup: &Setup) -> Self {
        let Setup { seed, mtu, local, peer, options } = setup.clone();
        Self { version: VERSION, seed, mtu, local, peer, options }
    }
}

impl From<Begin> for Setup {
    fn from(begin: Begin) -> Self {
        let Begin { seed, mtu, local, peer, options, .. } = begin;
        Self { seed, mtu, local, peer, options }
    }
}

/// Each later line of the caller.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub now: u64,
    #[serde(flatten)]
    pub input: InputLine,
}

/// An [`Input`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum InputLine {
    Connect,
    Listen,
    Packet { data: String },
    Write { bytes: u64 },
    Read { bytes: u64 },
    Close,
    Reset,
    Wake,
}

impl InputLine {
    pub fn new(input: Input<'_>) -> Self {
        match input {
            Input::Connect => Self::Connect,
            Input::Listen => Self::Listen,
            Input::Packet(data) => Self::Packet { data: STANDARD.encode(data) },
            Input::Write(bytes) => Self::Write { bytes },
            Input::Read(bytes) => Self::Read { bytes },
            Input::Close => Self::Close,
            Input::Reset => Self::Reset,
            Input::Wake => Self::Wake,
        }
    }

    /// The input. A packet is decoded into `space`.
    pub fn input<'a>(&self, space: &'a mut Vec<u8>) -> Result<Input<'a>, Failed> {
        Ok(match self {
            Self::Connect => Input::Connect,
            Self::Listen => Input::Listen,
            Self::Packet { data } => {
                *space = decode(data)?;
                Input::Packet(space)
            }
            Self::Write { bytes } => Input::Write(*bytes),
            Self::Read { bytes } => Input::Read(*bytes),
            Self::Close => Input::Close,
            Self::Reset => Input::Reset,
            Self::Wake => Input::Wake,
        })
    }
}

/// The child's answer when it cannot go on. Otherwise it answers the first line with an [`About`](crate::About), and each
/// later one with [`Stepped`].
#[derive(Debug, Serialize)]
pub struct Wrong {
    pub error: String,
}

/// What a step did. What is left out is none, false or 0.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stepped {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake: Option<u64>,
    pub open: bool,
    pub readable: u64,
    pub writable: u64,
    pub finished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    pub taken: u64,
}

impl Stepped {
    pub const FIELDS: [&str; 8] = ["packets", "wake", "open", "readable", "writable", "finished", "ended", "taken"];

    pub fn new(status: Status, packets: &[Vec<u8>]) -> Self {
        let Status { wake, open, readable, writable, finished, ended, taken } = status;
        let packets = packets.iter().map(|packet| STANDARD.encode(packet)).collect();
        Self { packets, wake: wake.map(Instant::as_nanos), open, readable, writable, finished, ended, taken }
    }

    pub fn take(self, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed> {
        let Self { packets: encoded, wake, open, readable, writable, finished, ended, taken } = self;
        for packet in &encoded {
            packets.push(decode(packet)?);
        }
        Ok(Status { wake: wake.map(Instant::from_nanos), open, readable, writable, finished, ended, taken })
    }
}

fn decode(packet: &str) -> Result<Vec<u8>, Failed> {
    STANDARD.decode(packet).map_err(|error| Failed::new(format_args!("a packet: expected Base64: {error}")))
}
