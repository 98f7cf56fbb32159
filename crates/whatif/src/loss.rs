//! The loss process, which decides the fate of packets that the capture does not hold.
//!
//! Another mechanism sends copies that the recorded sender did not send. Their fates are drawn from the
//! losses, holds and duplications that the capture shows:
//!
//! ```text
//! transmissions of each connection ─► LossCounts ─ merge ─► of its path ─ merge ─► of the capture
//!                                         │                    │                      │
//!                            of_connection(…) ◄── LossProcess ◄── of_path(…) ◄── LossProcess::of(…)
//! ```
//!
//! # The model
//! - **Bursts**: Gilbert's channel (Gilbert, "Capacity of a Burst-Noise Channel", 1960): the probability
//!   that a packet is lost depends on whether the packet sent before it was lost. A burst ends with time,
//!   so after a loss it also depends on the decade of the time since. A channel that counts packets
//!   instead of time has the same probability in all decades.
//! - **Copies**: original, first retransmission and later ones have probabilities of their own. Losses by
//!   position hit the originals; their retransmissions then arrive always.
//! - **Level**: connections differ in how much they lose. All probabilities of a connection are those of
//!   its path with their odds multiplied by one factor, which is that of its level: how often an original
//!   is lost after a packet that arrived. The level leaves out losses that follow a loss, because the
//!   length of a burst says nothing about how often bursts begin.
//! - **Holds and duplicates** are independent of all this. A hold is one of those seen.
//!
//! # What is identifiable
//! - Whether the channel counts packets or time is not, where the gaps are all alike. Then both predict the
//!   same for copies at these gaps.
//! - A position is not a property of a copy that was never sent. So a copy is drawn from the process of the
//!   copies of its number, never from that of the originals, once the copies disagree with the originals.
//! - A hold shows only when a later packet overtakes the held one. Holds at the end of a flight count as
//!   none, so that their probability is somewhat too small.
//! - A loss counts by the fate alone: losses of a full queue must be left out by the caller, who knows them.
//!
//! The formulas are in `counts` and `estimate`.

mod counts;
mod estimate;

pub use counts::LossCounts;

use recoup_units::SplitMix;
use std::time::Duration;

/// Kinds of copies with a probability of their own: original, first retransmission, later ones.
const COPIES: usize = 3;

/// Decades of the time since a lost packet: below 1 ms, 10 ms, 100 ms, 1 s, and longer.
const GAPS: usize = 5;

/// Context that the fate of a packet depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// 1 for an original, 2 for the first retransmission.
    pub copy: u16,
    /// The packet that the host sent just before; `None` for the first one, or if its fate is unknown.
    pub previous: Option<Previous>,
}

/// The packet sent just before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Previous {
    /// Whether the network lost it.
    pub lost: bool,
    /// How much earlier it was sent.
    pub since: Duration,
}

/// A drawn fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrawnFate {
    /// Whether the network loses the packet. Then it is neither held nor duplicated.
    pub lost: bool,
    /// How much longer than others it takes.
    pub held: Duration,
    /// Whether a second one arrives with it.
    pub duplicated: bool,
}

/// A process to draw fates from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossProcess {
    /// The probability that an original is lost after a packet that arrived.
    level: f64,
    /// The factors by which the odds of the other contexts differ from the level's.
    factors: Factors,
    /// The probability that a packet is held.
    held: f64,
    /// Holds that were seen.
    holds: Vec<Duration>,
    /// The probability that a packet is duplicated.
    duplicated: f64,
}

/// Ratios of odds, by context.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Factors {
    after_arrival: [f64; COPIES],
    after_loss: [[f64; GAPS]; COPIES],
}

impl Default for Factors {
    fn default() -> Self {
        Self { after_arrival: [1.0; COPIES], after_loss: [[1.0; GAPS]; COPIES] }
    }
}

impl LossProcess {
    /// The process of a whole capture, or of connections that are thought of as alike.
    pub fn of(counts: &LossCounts) -> Self {
        estimate::pooled(counts)
    }

    /// The process of a path, where this one is the capture's: its level is shrunk towards the capture's,
    /// and its other probabilities are its own where they disagree with the capture's.
    #[must_use]
    pub fn of_path(&self, capture: &LossCounts, path: &LossCounts) -> Self {
        estimate::path(self, capture, path)
    }

    /// The process of a connection, where this one is its path's: its level is shrunk towards the path's.
    /// `path` are the counts of the path, or the capture's if the path has few connections.
    #[must_use]
    pub fn of_connection(&self, path: &LossCounts, connection: &LossCounts) -> Self {
        estimate::connection(self, path, connection)
    }

    /// The probability that a packet is lost, from 0 to 1.
    pub fn loss(&self, context: Context) -> f64 {
        let copy = copy_class(context.copy);
        let factor = match context.previous {
            Some(Previous { lost: true, since }) => self.factors.after_loss[copy][gap_class(since)],
            _ => self.factors.after_arrival[copy],
        };
        estimate::scaled(self.level, factor)
    }

    /// The probability that a packet is held, from 0 to 1.
    pub const fn held(&self) -> f64 {
        self.held
    }

    /// Holds that were seen, shortest first.
    pub fn holds(&self) -> &[Duration] {
        &self.holds
    }

    /// The probability that a packet is duplicated, from 0 to 1.
    pub const fn duplicated(&self) -> f64 {
        self.duplicated
    }

    /// The fate of a packet: a pure function of 64 random bits.
    pub fn draw(&self, bits: u64, context: Context) -> DrawnFate {
        let mut stream = SplitMix(bits);
        let [lost, held, which, duplicated] = [(); 4].map(|()| stream.unit());
        if lost < self.loss(context) {
            return DrawnFate { lost: true, ..DrawnFate::default() };
        }
        let hold = (held < self.held).then(|| self.holds.get((which * self.holds.len() as f64) as usize)).flatten();
        DrawnFate { lost: false, held: hold.copied().unwrap_or_default(), duplicated: duplicated < self.duplicated }
    }
}

const fn copy_class(copy: u16) -> usize {
    match copy {
        0 | 1 => 0,
        2 => 1,
        _ => 2,
    }
}

const fn gap_class(since: Duration) -> usize {
    match since.as_millis() {
        0 => 0,
        1..10 => 1,
        10..100 => 2,
        100..1000 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests;
