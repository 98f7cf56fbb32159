//! What traces of QUIC show besides what captures of TCP show: the rules that found losses, and their verdicts.

use super::report::as_sentence;
use crate::merge_fields;
use crate::wording::{bytes, count, list, times};
use recoup_trace::finding::{Connection, QuicConnection, QuicTrigger, Verdict};
use serde_json::{Map, Value, json};

/// The words for what differs between TCP and QUIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, or both.
    #[default]
    Tcp,
    /// QUIC alone.
    Quic,
}

impl Protocol {
    /// That of a connection.
    pub fn of(connection: &Connection) -> Self {
        if connection.quic.is_some() { Self::Quic } else { Self::Tcp }
    }

    /// One of two texts.
    pub(super) fn choose<T>(self, tcp: T, quic: T) -> T {
        match self {
            Self::Tcp => tcp,
            Self::Quic => quic,
        }
    }
}

/// Sums over connections of QUIC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuicFacts {
    /// Connections of QUIC.
    pub connections: u64,
    /// Loss declarations and probes, by [`QuicTrigger`] and [`Verdict`].
    pub repairs: [[u64; Verdict::ALL.len()]; QuicTrigger::ALL.len()],
    /// Losses that senders themselves found to be spurious.
    pub marked_spurious: u64,
    /// How often senders detected persistent congestion.
    pub persistent_congestion: u64,
    /// Loss declarations and probes that were too many to keep.
    pub left_out: u64,
    /// Bytes that peers sent, where these are more than those of the end that wrote the trace.
    pub by_peers: u64,
    /// The connections of those, at a client and at a server.
    pub receivers: [u64; 2],
}

merge_fields!(QuicFacts: connections, repairs, marked_spurious, persistent_congestion, left_out, by_peers, receivers);

impl QuicFacts {
    /// Adds a connection.
    pub fn add(&mut self, connection: &Connection) {
        let Some(quic) = &connection.quic else {
            return;
        };
        self.connections += 1;
        for (mine, theirs) in self.repairs.iter_mut().flatten().zip(quic.repairs.iter().flatten()) {
            *mine += theirs;
        }
        self.marked_spurious += quic.marked_spurious;
        self.persistent_congestion += quic.persistent_congestion;
        self.left_out += quic.left_out;
        let [own, peer] = match quic.traced {
            0 => [0, 1],
            _ => [1, 0],
        }
        .map(|side: usize| connection.directions[side].bytes);
        if peer > own {
            self.by_peers += peer;
            self.receivers[quic.traced.min(1)] += 1;
        }
    }

    fn of(&self, trigger: QuicTrigger) -> u64 {
        self.repairs[trigger as usize].iter().sum()
    }

    /// All loss declarations and probes.
    pub fn all(&self) -> u64 {
        QuicTrigger::ALL.map(|trigger| self.of(trigger)).iter().sum()
    }

    /// How losses were found, and how often that was wrong.
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let rules = QuicTrigger::ALL.into_iter().filter(|trigger| self.of(*trigger) > 0);
        let rules: Vec<String> = rules.map(|trigger| self.rule(trigger)).collect();
        if !rules.is_empty() {
            sentences.push(as_sentence(&format!("losses were found {}", list(&rules))));
        }
        if self.marked_spurious > 0 {
            sentences.push(format!("Senders themselves marked {} as spurious.", count(self.marked_spurious, "loss")));
        }
        if self.persistent_congestion > 0 {
            sentences.push(format!(
                "Persistent congestion was detected {}, which reduces the window to its least (RFC 9002 section 7.6).",
                times(self.persistent_congestion)
            ));
        }
        sentences
    }

    fn rule(&self, trigger: QuicTrigger) -> String {
        let of = |verdict: Verdict| self.repairs[trigger as usize][verdict as usize];
        let rule = match trigger {
            QuicTrigger::PacketThreshold => "by the packet threshold",
            QuicTrigger::TimeThreshold => "by the time threshold",
            QuicTrigger::Probe => "by probe timeout (PTO)",
            QuicTrigger::Unknown => "by an unknown rule",
        };
        let (spurious, unknown) = (of(Verdict::Spurious), of(Verdict::Unknowable));
        let mut parts = Vec::new();
        if spurious > 0 {
            parts.push(format!("{spurious} spurious"));
        }
        if unknown > 0 {
            parts.push(format!("{unknown} without a verdict"));
        }
        let about = if parts.is_empty() { String::new() } else { format!(" ({})", list(&parts)) };
        format!("{} {rule}{about}", times(self.of(trigger)))
    }

    /// What traces do not show.
    pub(super) fn not_known(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let [clients, servers] = self.receivers;
        for (n, end, peer) in [(clients, "client", "server"), (servers, "server", "client")] {
            if n > 0 {
                notes.push(format!(
                    "the trace of a {end} does not show what its {peer} lost (in {}, {} in all): the {peer}'s trace does",
                    count(n, "connection"),
                    bytes(self.by_peers)
                ));
            }
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} are not listed, because their connections have too many",
                count(self.left_out, "more loss declaration")
            ));
        }
        notes
    }

    /// The counts as JSON.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "connections": self.connections,
            "found": found(&self.repairs),
            "marked_spurious": self.marked_spurious,
            "persistent_congestion": self.persistent_congestion,
        })
    }
}

/// A connection's counts as JSON; `null` for TCP.
pub(super) fn connection_json(connection: &Connection) -> Value {
    let Some(quic) = &connection.quic else {
        return Value::Null;
    };
    json!({
        "name": quic.name,
        "traced": QuicConnection::end(quic.traced),
        "has_acks": quic.has_acks,
        "has_frames": quic.has_frames,
        "found": found(&quic.repairs),
        "marked_spurious": quic.marked_spurious,
        "persistent_congestion": quic.persistent_congestion,
    })
}

/// Loss declarations and probes by rule and verdict.
fn found(repairs: &[[u64; Verdict::ALL.len()]; QuicTrigger::ALL.len()]) -> Value {
    let rules = QuicTrigger::ALL.iter().zip(repairs).map(|(trigger, row)| {
        let verdicts = Verdict::ALL.iter().zip(row).map(|(verdict, n)| (verdict.name().to_owned(), json!(n)));
        (trigger.name().to_owned(), Value::Object(verdicts.collect::<Map<_, _>>()))
    });
    Value::Object(rules.collect::<Map<_, _>>())
}
