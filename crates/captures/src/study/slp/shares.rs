//! The share of timeouts by position (Figures 1 and 2), by flags (Figures 3 and 4) and by kind of the
//! lost packet.

use super::{Class, Classifier, Classifiers, Half, LAST_POSITION, Position, Sample, percent};
use recoup_recovery::slp::Kind;
use recoup_units::Direction;
use recoup_wire::Flags;
use serde::Serialize;
use std::collections::BTreeMap;

/// Categories of flags with less than this share of the capture's packets are left out, in percent.
pub const LEAST_PACKETS_PERCENT: f64 = 1.0;

/// Timeouts among some retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Retransmissions.
    pub retransmissions: u64,
    /// Those that k-means classifies: all, or none if their intervals are all equal.
    pub classified: u64,
    /// Timeouts among these, by k-means on seconds.
    pub timeouts: u64,
    /// Their share in percent.
    pub timeouts_percent: Option<f64>,
    /// Retransmissions with a known trigger.
    pub with_trigger: u64,
    /// Timeouts among these, by their triggers.
    pub timeouts_by_trigger: u64,
    /// Their share in percent.
    pub timeouts_by_trigger_percent: Option<f64>,
}

impl Shares {
    /// Those of some retransmissions.
    pub fn of<'a>(samples: impl IntoIterator<Item = &'a Sample>, classifiers: &Classifiers) -> Self {
        let mut shares = Self::default();
        samples.into_iter().for_each(|sample| shares.add(sample, classifiers));
        shares
    }

    fn add(&mut self, sample: &Sample, classifiers: &Classifiers) {
        self.retransmissions += 1;
        if let Some(class) = classifiers.class(Classifier::KMeans, sample) {
            self.classified += 1;
            self.timeouts += u64::from(class == Class::Timeout);
        }
        if let Some(class) = classifiers.class(Classifier::Triggers, sample) {
            self.with_trigger += 1;
            self.timeouts_by_trigger += u64::from(class == Class::Timeout);
        }
        self.timeouts_percent = percent(self.timeouts, self.classified);
        self.timeouts_by_trigger_percent = percent(self.timeouts_by_trigger, self.with_trigger);
    }
}

/// A panel of Figure 1 or 2.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PositionPanel {
    /// Who sent the packets: `client`, `server`, or `both` if the sides are not told apart.
    pub sender: &'static str,
    /// From which end positions count.
    pub half: Half,
    /// The positions up to 100 that have retransmissions, ascending.
    pub positions: Vec<PositionShare>,
}

/// A position of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PositionShare {
    /// From 1.
    pub position: u32,
    /// The retransmissions of packets at this position.
    #[serde(flatten)]
    pub shares: Shares,
}

/// A panel of Figure 3, or Figure 4.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlagPanel {
    /// As in [`PositionPanel`].
    pub sender: &'static str,
    /// By descending number of packets.
    pub categories: Vec<FlagCategory>,
}

/// An exact combination of flags.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlagCategory {
    /// for example `SYN` or `PSH ACK`.
    pub flags: String,
    /// Packets with these flags that the sender sent.
    pub packets: u64,
    /// Their share of all packets of the capture, in percent.
    pub packets_percent: Option<f64>,
    /// The share of all retransmissions that repeat one of them, in percent.
    pub retransmissions_percent: Option<f64>,
    /// Whether the share of packets is large enough for the figure.
    pub is_shown: bool,
    /// The retransmissions whose first transmission had these flags.
    #[serde(flatten)]
    pub shares: Shares,
}

/// The likelihood that the loss of a packet of a kind causes a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KindShare {
    /// The kind, as the setting `slp.q` names it.
    pub kind: &'static str,
    /// Timeouts: by trigger where it is known, else by k-means.
    pub timeouts: u64,
    /// Retransmissions with a class.
    pub retransmissions: u64,
    /// Those whose class is by k-means.
    pub by_k_means: u64,
    /// The likelihood, from 0 to 1.
    pub q: Option<f64>,
}

/// Who sent the packets of each panel: its name and the directions that it covers.
fn senders(are_sides_apart: bool) -> Vec<(&'static str, Vec<Direction>)> {
    match are_sides_apart {
        true => vec![("client", vec![Direction::Up]), ("server", vec![Direction::Down])],
        false => vec![("both", vec![Direction::Up, Direction::Down])],
    }
}

/// The panels of the position analysis, where `position` reads a sample's position.
pub fn position_panels(
    samples: &[Sample],
    classifiers: &Classifiers,
    are_sides_apart: bool,
    position: fn(&Sample) -> Option<Position>,
) -> Vec<PositionPanel> {
    let panel = |sender, directions: &[Direction], half| {
        let mut by_index: BTreeMap<u32, Shares> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| directions.contains(&sample.direction)) {
            let is_counted = |place: &Position| place.half == half && place.index <= LAST_POSITION;
            if let Some(place) = position(sample).filter(is_counted) {
                by_index.entry(place.index).or_default().add(sample, classifiers);
            }
        }
        let positions = by_index.into_iter().map(|(position, shares)| PositionShare { position, shares }).collect();
        PositionPanel { sender, half, positions }
    };
    let senders = senders(are_sides_apart).into_iter();
    senders.flat_map(|(sender, directions)| Half::ALL.map(|half| panel(sender, &directions, half))).collect()
}

/// The panels of the flag analysis. `packets` counts the packets of both directions by their flags.
pub fn flag_panels(
    samples: &[Sample],
    classifiers: &Classifiers,
    are_sides_apart: bool,
    packets: &[BTreeMap<u8, u64>; 2],
) -> Vec<FlagPanel> {
    let all_packets: u64 = packets.iter().flat_map(BTreeMap::values).sum();
    let panel = |(sender, directions): (&'static str, Vec<Direction>)| {
        let mut by_flags: BTreeMap<u8, (u64, Shares)> = BTreeMap::new();
        for direction in &directions {
            for (flags, count) in &packets[*direction as usize] {
                by_flags.entry(*flags).or_default().0 += count;
            }
        }
        for sample in samples {
            if directions.contains(&sample.direction) {
                let (_, shares) = by_flags.entry(sample.flags.bits()).or_default();
                shares.add(sample, classifiers);
            }
        }
        let categories = by_flags.into_iter().map(|(flags, (packets, shares))| {
            let packets_percent = percent(packets, all_packets);
            FlagCategory {
                flags: flag_names(Flags::from_bits(flags)),
                packets,
                packets_percent,
                retransmissions_percent: percent(shares.retransmissions, samples.len() as u64),
                is_shown: packets_percent.is_some_and(|share| share >= LEAST_PACKETS_PERCENT),
                shares,
            }
        });
        let mut categories: Vec<FlagCategory> = categories.collect();
        categories.sort_by_key(|category| std::cmp::Reverse(category.packets));
        FlagPanel { sender, categories }
    };
    senders(are_sides_apart).into_iter().map(panel).collect()
}

/// The likelihoods by kind.
pub fn kind_shares(samples: &[Sample], classifiers: &Classifiers) -> Vec<KindShare> {
    let share = |kind: Kind| {
        let mut share = KindShare { kind: kind.name(), timeouts: 0, retransmissions: 0, by_k_means: 0, q: None };
        for sample in samples.iter().filter(|sample| sample.kinds.contains(kind)) {
            let by_trigger = classifiers.class(Classifier::Triggers, sample);
            let class = by_trigger.or_else(|| classifiers.class(Classifier::KMeans, sample));
            let Some(class) = class else { continue };
            share.retransmissions += 1;
            share.by_k_means += u64::from(by_trigger.is_none());
            share.timeouts += u64::from(class == Class::Timeout);
        }
        let q = percent(share.timeouts, share.retransmissions);
        share.q = q.map(|percent| percent / 100.0);
        share
    };
    Kind::ALL.into_iter().map(share).collect()
}

/// The flags by name, as in the paper's figures: `PSH ACK`.
pub fn flag_names(flags: Flags) -> String {
    const NAMES: [(Flags, &str); 8] = [
        (Flags::SYN, "SYN"),
        (Flags::FIN, "FIN"),
        (Flags::RST, "RST"),
        (Flags::PSH, "PSH"),
        (Flags::URG, "URG"),
        (Flags::ECE, "ECE"),
        (Flags::CWR, "CWR"),
        (Flags::ACK, "ACK"),
    ];
    let set = NAMES.iter().filter(|(flag, _)| flags.contains(*flag));
    let set: Vec<&str> = set.map(|(_, name)| *name).collect();
    match set.is_empty() {
        true => "none".into(),
        false => set.join(" "),
    }
}
