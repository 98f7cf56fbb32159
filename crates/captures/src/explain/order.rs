//! The connections that come first by some order.

use super::facts::lost_by;
use recoup_draw::page::MAX_FRAMES;
use recoup_trace::finding::{Connection, EpisodeCost, Retransmission};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// Episodes kept of each connection: those that lost most.
const EPISODES: usize = 64;

/// Retransmissions kept of each of the first connections, so that they can be drawn.
const DRAWN_ROWS: usize = 4096;

/// Retransmissions kept of all connections together, beyond those of the first ones.
const MOST_ROWS: usize = 1 << 16;

recoup_units::named! {
    /// The order of connections.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum SortBy {
        /// Time lost, the longest first.
        #[default]
        TimeLost = "time-lost",
        /// Time lost as a share of the duration, the largest first.
        ShareLost = "share-lost",
        /// Duration, the longest first.
        Duration = "duration",
        /// Payload bytes of both directions, the most first.
        Bytes = "bytes",
        /// Retransmissions of both directions, the most first.
        Retransmissions = "retransmissions",
        /// The order of first packets.
        Begin = "begin",
    }
}

impl SortBy {
    /// The first connections by this order, after "the connections".
    pub const fn about(self) -> &'static str {
        match self {
            Self::TimeLost => "that lost most time",
            Self::ShareLost => "that lost the largest share of their time",
            Self::Duration => "that lasted longest",
            Self::Bytes => "with most data",
            Self::Retransmissions => "with most retransmissions",
            Self::Begin => "that began first",
        }
    }

    /// Connections with a larger value come first.
    fn value(self, connection: &Connection) -> u64 {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let directions = &connection.directions;
        match self {
            Self::TimeLost => nanos(lost_by(connection).total()),
            Self::ShareLost => {
                let lost = lost_by(connection).total().as_secs_f64();
                (1e12 * lost / connection.duration().as_secs_f64().max(1e-9)) as u64
            }
            Self::Duration => nanos(connection.duration()),
            Self::Bytes => directions.iter().map(|d| d.bytes).sum(),
            Self::Retransmissions => directions.iter().map(|d| d.retransmissions.total()).sum(),
            Self::Begin => u64::MAX - connection.id,
        }
    }
}

/// A connection and what it lost most to.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Its capture, if several are explained together.
    pub capture: Option<Arc<str>>,
    /// The connection.
    pub connection: Connection,
    /// Its retransmissions, ordered by frame: all of the [first connections](DRAWN), and of the others
    /// the first ones of the episodes that lost most time.
    pub retransmissions: Vec<Retransmission>,
    /// The frames of its retransmissions, as many as a page holds.
    pub frames: Vec<u64>,
    value: u64,
}

impl Ranked {
    /// A connection with all of its retransmissions.
    pub(super) fn whole(connection: Connection, retransmissions: Vec<Retransmission>) -> Self {
        let frames = retransmissions.iter().map(|row| row.frame).collect();
        Self { capture: None, connection, retransmissions, frames, value: 0 }
    }

    /// The first retransmissions of its episodes.
    pub fn episodes(&self) -> impl Iterator<Item = (&Retransmission, EpisodeCost)> {
        let rows = self.retransmissions.iter();
        rows.filter_map(|row| Some((row, row.cost?)))
    }

    /// The value of the order: larger ones come first.
    pub(super) fn value(&self) -> u64 {
        self.value
    }

    /// Keeps the episodes that lost most time.
    fn keep_episodes(&mut self) {
        let rows = &mut self.retransmissions;
        rows.retain(|row| row.cost.is_some());
        if rows.len() > EPISODES {
            rows.sort_by_key(|row| Reverse(row.cost.map(|cost| cost.lost)));
            rows.truncate(EPISODES);
            rows.sort_by_key(|row| row.frame);
        }
        rows.shrink_to_fit();
    }
}

/// The connections that come first.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    order: SortBy,
    most: usize,
    /// The connection of this number comes first.
    pub(super) asked_for: Option<u64>,
    kept: Vec<Ranked>,
    /// Retransmissions that were added since the connections were last sorted.
    rows: usize,
    /// How many connections were added.
    added: u64,
}

/// The first connections, of which all retransmissions are kept.
pub const DRAWN: usize = 20;

impl Worst {
    /// Keeps `most` connections.
    pub(super) fn new(order: SortBy, most: usize) -> Self {
        Self { order, most, ..Self::default() }
    }

    pub(super) fn add(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.added += 1;
        let value = match self.asked_for == Some(connection.id) {
            true => u64::MAX,
            false => self.order.value(&connection),
        };
        self.rows += rows.len();
        self.kept.push(Ranked {
            capture: None,
            connection,
            frames: rows.iter().map(|row| row.frame).take(MAX_FRAMES).collect(),
            retransmissions: rows.iter().copied().take(DRAWN_ROWS).collect(),
            value,
        });
        // Sorting once per doubling costs little per connection.
        if self.kept.len() >= 2 * self.most.max(1) || self.rows > MOST_ROWS {
            self.sort();
        }
    }

    /// Notes the capture of all connections.
    pub(super) fn name_capture(&mut self, name: &str) {
        let name: Arc<str> = name.into();
        self.kept.iter_mut().for_each(|ranked| ranked.capture = Some(Arc::clone(&name)));
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.added += other.added;
        self.kept.extend(other.kept);
        self.sort();
    }

    /// Sorts the connections, and forgets those beyond the number kept.
    pub(super) fn sort(&mut self) {
        self.kept.sort_unstable_by_key(|ranked| (Reverse(ranked.value), ranked.connection.key()));
        self.kept.truncate(self.most);
        self.kept.iter_mut().skip(DRAWN).for_each(Ranked::keep_episodes);
        self.rows = 0;
    }

    /// The connections, in order.
    pub fn connections(&self) -> &[Ranked] {
        &self.kept
    }

    /// The order.
    pub fn order(&self) -> SortBy {
        self.order
    }

    /// How many were left out.
    pub fn left_out(&self) -> u64 {
        self.added - self.kept.len() as u64
    }
}
