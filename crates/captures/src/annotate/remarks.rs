//! What an analysis says of frames.

use crate::analysis::{AllEpisodes, AllRetransmissions, Collector, Episode, Occurrence, Vantages, View};
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{Connection, ConnectionKey, Retransmission, Revision};
use recoup_trace::read::{CapturedCopies, CapturedPacket};
use recoup_wire::Endpoints;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

/// Collects what is said of the frames of a capture.
#[derive(Debug, Default)]
pub struct RemarksOf {
    retransmissions: AllRetransmissions,
    episodes: AllEpisodes,
    /// The ends and frames of connections, by number, in which something was retransmitted or late.
    connections: HashMap<u64, Place>,
}

/// The ends of a connection, and its first and last frame.
type Place = (Endpoints, RangeInclusive<u64>);

impl Findings for RemarksOf {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        let place = (connection.endpoints, connection.frames.clone());
        self.connections.insert(connection.id, place);
        self.retransmissions.connection(connection.clone(), retransmissions);
        self.episodes.connection(connection, retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        self.retransmissions.revision(revision);
        self.episodes.revision(revision);
    }
}

impl View for RemarksOf {
    fn connections(&self) -> u64 {
        self.retransmissions.connections()
    }

    fn vantages(&self) -> &Vantages {
        self.retransmissions.vantages()
    }
}

impl Collector for RemarksOf {
    fn merge(&mut self, other: Self) {
        self.retransmissions.merge(other.retransmissions);
        self.episodes.merge(other.episodes);
        self.connections.extend(other.connections);
    }

    fn order(&mut self) {
        self.retransmissions.order();
        self.episodes.order();
    }
}

/// What is said of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Remark {
    /// It is a retransmission, of an episode that lost this time.
    Retransmission(Box<Retransmission>, Option<Lost>),
    /// Time was lost from here on.
    Begins(Lost),
    /// It is a copy that another program sent.
    Copy,
    /// The episode that began in this frame ends here.
    Ends(Lost, u64),
}

/// Time lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lost {
    pub cause: &'static str,
    pub ms: f64,
}

/// What is said of the frames of a capture.
#[derive(Debug, Default)]
pub struct Remarks {
    by_frame: BTreeMap<u64, Vec<Remark>>,
    /// The first and last frames of connections that lost time, by their ends in either order.
    slow: HashMap<Endpoints, Vec<RangeInclusive<u64>>>,
}

impl Remarks {
    /// Those of an analysis, in which these copies by another program were found.
    pub fn new(of: RemarksOf, copies: Option<&CapturedCopies>) -> Self {
        let mut remarks = Self::default();
        let lost = LostIn::new(&of.episodes.rows);
        for row in of.retransmissions.rows {
            let lost = lost.by(&row);
            remarks.add(row.frame, Remark::Retransmission(Box::new(row), lost));
        }
        let mut slow = BTreeSet::new();
        for episode in of.episodes.rows.iter().filter(|episode| !episode.lost.is_zero()) {
            slow.insert(episode.connection);
            remarks.add_episode(episode);
        }
        for (ends, frames) in slow.iter().filter_map(|number| of.connections.get(number)) {
            remarks.slow.entry(either_way(*ends)).or_default().push(frames.clone());
        }
        for copy in copies.iter().flat_map(|copies| &copies.packets) {
            remarks.add(copy.frame, Remark::Copy);
        }
        remarks
    }

    fn add(&mut self, frame: u64, remark: Remark) {
        self.by_frame.entry(frame).or_default().push(remark);
    }

    fn add_episode(&mut self, episode: &Episode) {
        let Some(first) = episode.frame() else {
            return;
        };
        let lost = Lost::of(episode);
        self.add(first, Remark::Begins(lost));
        let last = *episode.frames.end();
        if last > first {
            self.add(last, Remark::Ends(lost, first));
        }
    }

    /// How many connections lost time.
    pub fn slow_connections(&self) -> usize {
        self.slow.values().map(Vec::len).sum()
    }

    /// When nothing is said.
    pub fn is_empty(&self) -> bool {
        self.by_frame.is_empty()
    }

    /// Whether a packet belongs to a connection that lost time.
    pub(super) fn is_slow(&self, frame: u64, packet: &CapturedPacket) -> bool {
        let ranges = self.slow.get(&either_way(packet.endpoints));
        ranges.is_some_and(|ranges| ranges.iter().any(|range| range.contains(&frame)))
    }

    /// What is said of a frame.
    pub(super) fn of(&self, frame: u64) -> &[Remark] {
        self.by_frame.get(&frame).map_or(&[], Vec::as_slice)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Remark> {
        self.by_frame.values().flatten()
    }
}

impl Lost {
    fn of(episode: &Episode) -> Self {
        Self { cause: episode.cause.name(), ms: episode.lost.as_secs_f64() * 1e3 }
    }
}

/// Which episode a retransmission belongs to.
struct LostIn<'a>(HashMap<(ConnectionKey, Endpoints), Vec<&'a Episode>>);

impl<'a> LostIn<'a> {
    fn new(episodes: &'a [Episode]) -> Self {
        let mut of: HashMap<_, Vec<&Episode>> = HashMap::new();
        for episode in episodes.iter().filter(|episode| matches!(episode.occurrence, Occurrence::Recovery(_))) {
            let connection = (episode.connection, episode.capture_point);
            of.entry((connection, episode.endpoints)).or_default().push(episode);
        }
        for episodes in of.values_mut() {
            episodes.sort_by_key(|episode| *episode.frames.start());
        }
        Self(of)
    }

    /// What the episode of a retransmission lost.
    fn by(&self, row: &Retransmission) -> Option<Lost> {
        let episodes = self.0.get(&(row.connection_key(), row.endpoints))?;
        let later = episodes.partition_point(|episode| *episode.frames.start() <= row.frame);
        let episode = episodes[..later].last()?;
        episode.frames.contains(&row.frame).then(|| Lost::of(episode))
    }
}

/// The ends of a connection in an order of their own.
fn either_way(ends: Endpoints) -> Endpoints {
    if ends.src <= ends.dst { ends } else { ends.reverse() }
}
