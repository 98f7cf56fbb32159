//! All tables of a capture.

use super::shares::{flag_panels, kind_shares, position_panels};
use super::{
    Classification, Classifier, Classifiers, FlagPanel, KindShare, PositionPanel, Sample, Statement, SynLoss,
    SynLosses, statements,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// The quantities that the analysis reads off the packets of a capture.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// All retransmissions, ordered by frame.
    pub samples: Vec<Sample>,
    /// Packets by their flags, for what the openers of connections sent and for what the other ends sent.
    pub packets: [BTreeMap<u8, u64>; 2],
    /// Packets below the highest number whose earlier transmission was not captured.
    pub unseen: u64,
    /// The SYNs that were retransmitted.
    pub syn_losses: Vec<SynLoss>,
    /// Connections whose SYN was captured.
    pub flows: u64,
    /// Connections.
    pub connections: u64,
    /// Connections of which the capture has one direction only.
    pub one_way: u64,
}

impl Capture {
    /// Adds another capture. Its connections are not those of this one.
    pub fn merge(&mut self, other: Self) {
        self.samples.extend(other.samples);
        self.syn_losses.extend(other.syn_losses);
        merge_fields!(self, other: packets, unseen, flows, connections, one_way);
    }
}

/// The paper's analysis of a capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Packets that begin below the highest number sent, with an earlier transmission in the capture.
    pub retransmissions: u64,
    /// Those whose trigger is unknown.
    pub without_trigger: u64,
    /// Those that the analysis does not list as retransmissions: duplicates that the network made.
    pub unlisted: u64,
    /// Packets below the highest number sent whose earlier transmission was not captured.
    pub unseen: u64,
    /// Connections.
    pub connections: u64,
    /// Connections of which the capture has one direction only.
    pub one_way: u64,
    /// Whether panels tell clients and servers apart. They do not if all connections are one-way.
    pub sides_apart: bool,
    /// The classifiers.
    pub classifications: Vec<Classification>,
    /// The paper's figures beside those of the capture.
    pub statements: Vec<Statement>,
    /// Retransmissions that have a position.
    pub with_position: u64,
    /// Figure 1 (sides apart) or Figure 2.
    pub positions: Vec<PositionPanel>,
    /// Figure 1 or 2, with pure ACKs and resets counted as packets.
    pub positions_with_acks: Vec<PositionPanel>,
    /// Figure 3 (sides apart) or Figure 4.
    pub flags: Vec<FlagPanel>,
    /// q by kind of packet.
    pub kinds: Vec<KindShare>,
    /// Table I.
    pub syn_losses: SynLosses,
}

impl Report {
    /// The tables of a capture.
    pub fn new(capture: &Capture) -> Self {
        let samples = &capture.samples;
        let classifiers = Classifiers::new(samples);
        let count = |include: fn(&Sample) -> bool| samples.iter().filter(|sample| include(sample)).count() as u64;
        let sides_apart = capture.one_way < capture.connections;
        let positions = |of| position_panels(samples, &classifiers, sides_apart, of);
        Self {
            retransmissions: samples.len() as u64,
            without_trigger: count(|sample| sample.trigger.is_none()),
            unlisted: count(|sample| !sample.is_listed),
            unseen: capture.unseen,
            connections: capture.connections,
            one_way: capture.one_way,
            sides_apart,
            classifications: Classifier::ALL.map(|classifier| classifiers.classify(classifier, samples)).into(),
            statements: statements::all(samples, &classifiers),
            with_position: count(|sample| sample.position.is_some()),
            positions: positions(|sample| sample.position),
            positions_with_acks: positions(|sample| sample.position_with_acks),
            flags: flag_panels(samples, &classifiers, sides_apart, &capture.packets),
            kinds: kind_shares(samples, &classifiers),
            syn_losses: SynLosses::new(&capture.syn_losses, capture.flows),
        }
    }
}
