//! One flow under one profile.

use crate::tail_loss::Acks;
use recoup_lab::run::simulation;
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_recovery::Profile;
use recoup_sim::NoObserver;
use recoup_tcp::flow::FlowRecord;
use recoup_units::FlowId;
use serde::{Serialize, Serializer};
use std::path::Path;

/// What the flows are run with; the first is what the others are normalised to.
pub const PROFILES: [&str; 6] = [
    "linux-3.17",
    "linux-3.17+rtor",
    "linux-3.17+tlp",
    "linux-3.17+tlpr",
    "linux-3.17+slp",
    "linux-3.17+tlpr+slp",
];

/// What is lost, how long the flow is, and what copies go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The last of 8 segments, which a window of 10 has room to copy.
    Tail8,
    /// The last of 10, which it has not.
    Tail10,
    /// The last of 8, with the paper's q.
    Default8,
    /// The last of 10, with the paper's q.
    Default10,
    /// The first SYN.
    Syn,
    /// The first SYN-ACK.
    SynAck,
}

impl Case {
    /// In the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Tail8,
        Self::Tail10,
        Self::Default8,
        Self::Default10,
        Self::Syn,
        Self::SynAck,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail8 | Self::Default8 => "last of 8",
            Self::Tail10 | Self::Default10 => "last of 10",
            Self::Syn => "SYN",
            Self::SynAck => "SYN-ACK",
        }
    }

    /// Above a panel.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tail8 => "The last of 8 segments, q 1 for tails: the window has room for a copy",
            Self::Tail10 => "The last of 10 segments, q 1 for tails: the window has no room",
            Self::Default8 => "The last of 8 segments, the paper's q: worth a copy at RTT 320 ms",
            Self::Default10 => {
                "The last of 10 segments, the paper's q: no room where it is worth one"
            }
            Self::Syn => "The SYN",
            Self::SynAck => "The SYN-ACK",
        }
    }

    /// How long the flow is, in full segments.
    pub const fn segments(self) -> u64 {
        match self {
            Self::Tail8 | Self::Default8 => 8,
            Self::Tail10 | Self::Default10 | Self::Syn | Self::SynAck => 10,
        }
    }

    /// The value of the `slp.q` setting.
    pub const fn likelihoods(self) -> &'static str {
        match self {
            Self::Tail8 | Self::Tail10 => "tail:1",
            _ => "paper",
        }
    }

    /// The value of the `drop` setting.
    const fn drop(self) -> &'static str {
        match self {
            Self::Syn => "up:syn:1",
            Self::SynAck => "down:syn:1",
            _ => "tail:1",
        }
    }

    /// The scenario it varies.
    const fn scenario(self) -> &'static str {
        match self {
            Self::Syn | Self::SynAck => "syn-loss",
            _ => "tail-loss",
        }
    }

    /// The receivers it is run with: before there is data, when they acknowledge makes no difference.
    pub const fn receivers(self) -> &'static [Acks] {
        match self {
            Self::Syn | Self::SynAck => &[Acks::Quick],
            _ => &Acks::ALL,
        }
    }
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// What is lost, and what copies go by.
    #[serde(serialize_with = "case")]
    pub case: Case,
    /// The `ack` setting.
    pub ack: &'static str,
    /// In ms.
    pub rtt_ms: u64,
    /// The profile of both hosts.
    pub profile: &'static str,
    /// Flow completion time in ms; `null` if the flow did not complete.
    pub fct_ms: Option<f64>,
    /// Over the first profile's.
    pub fct_normalised: Option<f64>,
    /// Segments sent again, SYNs and SYN-ACKs included.
    pub retransmissions: u64,
    /// Copies sent, those of SYN and SYN-ACK included.
    pub copies: u64,
    /// Bytes of sequence space in them.
    pub copied_bytes: u64,
    /// Copies worth their while that the window had no room for.
    pub withheld: u64,
    /// IP bytes sent, both ways.
    pub bytes: u64,
}

impl Cell {
    /// Whether a segment of data was copied: what a handshake's copies carry is a byte each.
    pub fn copied_data(&self) -> bool {
        self.copied_bytes > self.copies
    }
}

/// As the settings that make it.
fn case<S: Serializer>(case: &Case, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map([
        ("lost", case.name().to_string()),
        ("segments", case.segments().to_string()),
        ("q", case.likelihoods().to_string()),
    ])
}

/// A flow of a case, with `more` settings on top.
pub fn run(
    case: Case,
    acks: Acks,
    rtt_ms: u64,
    profile: &'static str,
    seed: u64,
    more: &[(&str, &str)],
) -> Result<Cell, SettingsError> {
    let (rtt, segments) = (format!("{rtt_ms}ms"), case.segments().to_string());
    let own = [
        ("rtt", &*rtt),
        ("segments", &segments),
        ("drop", case.drop()),
        ("ack", acks.name()),
        ("slp.q", case.likelihoods()),
    ];
    let settings: Vec<(&str, &str)> = own.iter().chain(more).copied().collect();
    let flow = run_flow(case.scenario(), &settings, profile, seed)?;
    Ok(Cell {
        case,
        ack: acks.name(),
        rtt_ms,
        profile,
        fct_ms: flow.fct.map(|fct| fct.as_nanos() as f64 / 1e6),
        fct_normalised: None,
        retransmissions: flow.counters.retransmissions.total(),
        copies: flow.counters.copies,
        copied_bytes: flow.counters.copied_bytes,
        withheld: flow.counters.copies_withheld,
        bytes: flow.bytes_sent,
    })
}

/// The first flow of a built-in scenario with these settings.
pub fn run_flow(
    scenario: &str,
    settings: &[(&str, &str)],
    profile: &str,
    seed: u64,
) -> Result<FlowRecord, SettingsError> {
    let mut base = Scenario::load(scenario).expect("a built-in scenario");
    for (key, value) in settings {
        base.settings.set(key, value, Path::new(""))?;
    }
    let profile: Profile = profile.parse().expect("a profile that exists");
    let mut simulation = simulation(&base.settings.path()?)?;
    Ok(simulation.run(
        &base.settings.flow(&profile),
        seed,
        FlowId(0),
        &mut NoObserver,
    ))
}
