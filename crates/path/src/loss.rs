//! Which packets a path loses: by position in the flow, at random, in outages, or above a rate.
//!
//! A rule counts the packets that *enter* the chain, wherever its hop stands. The third data segment
//! stays the third, even if other rules or full queues drop the first two. So several rules in a row do
//! not change each other's counts.
//!
//! The text form ([`DropRules`], see [`DropRules::GRAMMAR`]) is a comma-joined list of
//! `[up:|down:]KIND[@T]`.

mod channel;
mod error;
mod grammar;
mod outages;
mod policer;
mod position;
mod ranges;

use std::fmt;

use recoup_units::{Direction, format_bytes};

use crate::quantity::format_duration;
use crate::{HopSpec, Probability};

pub(crate) use channel::Channels;
pub use error::DropRulesError;
pub(crate) use outages::OutageClock;
pub use outages::Outages;
pub use policer::{Bucket, Policer};
pub(crate) use position::{Positions, RuleMatch, Rules};

/// Which packets of each flow are lost, in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossSpec {
    /// How the lost packets are chosen.
    pub kind: LossKind,
    /// Which transmission of the data is lost: 1 is the original.
    ///
    /// `None` means the original for positional kinds and every packet for random kinds. With `Some`, a
    /// random kind applies to data packets only. The kinds for SYNs and ACKs ignore it.
    pub transmission: Option<u32>,
}

/// How lost packets are chosen. Positions count from 1 in each flow; ranges include both ends.
///
/// The K-th data segment is the K-th packet whose payload starts at or above the highest payload end
/// of the flow so far. A later packet that covers its first byte is a further transmission of it, be it
/// a retransmission, a tail loss probe or a copy made by the sender. Position 0, or a range whose end is
/// below its start, chooses nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossKind {
    /// Nothing is lost.
    None,
    /// The last data segments of the flow, this many. A chain does not know the flow's length, so
    /// [`DropRules::resolve`] must turn this into [`LossKind::Data`] first.
    Tail(u64),
    /// The data segments of a range.
    Data {
        /// The first one, from 1.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// The K-th packet with SYN. A retransmitted SYN counts as a further one.
    Syn(u64),
    /// The K-th pure ACK: no payload, SYN, FIN or RST.
    Ack(u64),
    /// The packets that carry any of these payload bytes.
    ///
    /// The bytes of the range that a packet is the first to carry are one piece of data. A later packet
    /// that covers the first byte of the piece is a further transmission of it.
    Offset {
        /// The first byte, from 0 (in text from 1, as sequence numbers relative to the SYN's).
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// Each packet independently, with this probability.
    Bernoulli(Probability),
    /// Packets in bursts.
    GilbertElliott(GilbertElliott),
    /// The packets of some times.
    Outages(Outages),
    /// The packets above a rate.
    Policer(Policer),
}

impl LossKind {
    /// Whether packets are chosen at random.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Bernoulli(_) | Self::GilbertElliott(_) | Self::Outages(_))
    }

    /// Whether packets are chosen by their position in the flow.
    pub const fn is_positional(self) -> bool {
        !self.is_random() && !matches!(self, Self::None | Self::Policer(_))
    }
}

/// The Gilbert–Elliott channel: two states, good and bad, each losing packets at its own rate.
///
/// Source: Gilbert, "Capacity of a burst-noise channel", BSTJ 1960; Elliott, BSTJ 1963. The channel
/// steps once per packet of the flow and direction (its ordinal on entering the chain), then the
/// new state decides. A flow's first packet finds it in its stationary state (bad with probability
/// `to_bad / (to_bad + to_good)`, good if both are 0), so short flows lose as much as long ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// The probability of a step from good to bad.
    pub to_bad: Probability,
    /// The probability of a step from bad to good.
    pub to_good: Probability,
    /// The probability of losing a packet in the bad state.
    pub loss_bad: Probability,
    /// The probability of losing a packet in the good state.
    pub loss_good: Probability,
}

impl GilbertElliott {
    /// Gilbert's channel: the bad state loses every packet, the good state none.
    pub const fn new(to_bad: Probability, to_good: Probability) -> Self {
        Self { to_bad, to_good, loss_bad: Probability::ONE, loss_good: Probability::ZERO }
    }

    /// The share of steps spent in the bad state, from 0 to 1.
    pub fn share_bad(self) -> f64 {
        let sum = self.to_bad.get() + self.to_good.get();
        if sum > 0.0 { self.to_bad.get() / sum } else { 0.0 }
    }
}

/// The loss of a scenario: rules and the direction each applies to, in the order given.
///
/// [`FromStr`](std::str::FromStr) reads [`Self::GRAMMAR`]; [`Display`](fmt::Display) writes it, so
/// that the text reads back as an equal value. The `@1` of a positional rule is the default and not kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DropRules(pub Vec<(Direction, LossSpec)>);

/// How many data segments a flow has in each direction, where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSegments {
    /// From client to server.
    pub up: Option<u64>,
    /// From server to client.
    pub down: Option<u64>,
}

impl DropRules {
    /// The grammar, for a command line's help.
    pub const GRAMMAR: &str = "\
A comma-joined list of [up:|down:]KIND[@T]. down (server to client) is the default.
  none                 nothing is lost
  tail:N               the last N data segments of the flow
  data:K[-L]           the K-th (to L-th) data segment in stream order, from 1
  syn:K                the K-th packet that carries SYN
  ack:K                the K-th pure ACK
  offset:A-B           packets that carry any of payload bytes A to B, from 1, both included
  bernoulli:P          each packet with probability P, from 0 to 1 or in %: 0.02 or 2%
  gilbert-elliott:PGB,PBG[,loss_bad=1,loss_good=0]
                       bursts: from good to bad with PGB, back with PBG, a step per packet. A share of
                       PGB/(PGB+PBG) is lost, 1/PBG packets at a time: 0.01,0.5 loses 2 % in pairs
  outages:GAP,LENGTH[,sigma=0,loss=1]
                       bad states that last a time: on average GAP apart (exponential), with the median
                       LENGTH (lognormal, sigma up to 4), losing a share of the packets: 20s,800ms
  policer:RATE,BURST   what exceeds RATE once BURST bytes of tokens are spent, without a queue:
                       1Mbit,30kB
  @T                   only the T-th transmission of that data (1, the default of tail, data and
                       offset, is the original); a random kind without @T takes every packet.
                       Outages and policers take no @T";

    /// Resolves positions that count from the end of a flow of `segments` data segments: `tail:N`
    /// becomes `data:K-L`.
    ///
    /// # Errors
    /// When a rule names more data segments than the flow has, or when the number is unknown for a
    /// `tail`.
    pub fn resolve(&self, segments: DataSegments) -> Result<Self, DropRulesError> {
        let resolve = |&(direction, spec): &(Direction, LossSpec)| {
            let known = match direction {
                Direction::Up => segments.up,
                Direction::Down => segments.down,
            };
            Ok((direction, spec.resolve(direction, known)?))
        };
        self.0.iter().map(resolve).collect::<Result<_, _>>().map(Self)
    }

    /// Has the rules of the way down apply to both directions.
    pub fn apply_both_ways(&mut self) {
        self.0.retain(|(direction, _)| *direction == Direction::Down);
        let down = self.0.clone();
        let up = down.into_iter().map(|(_, spec)| (Direction::Up, spec));
        self.0.extend(up);
    }

    /// The rules of one direction as hops, in order, without `none`.
    pub fn hops(&self, direction: Direction) -> impl Iterator<Item = HopSpec> {
        let here = move |rule: &&(Direction, LossSpec)| rule.0 == direction && rule.1.kind != LossKind::None;
        self.0.iter().filter(here).map(|&(_, spec)| HopSpec::Loss(spec))
    }
}

impl LossSpec {
    /// The rule that names the payload bytes of data segments `first` to `last` when each segment
    /// carries `mss` bytes (at least 1). Every other rule stays as it is.
    ///
    /// A sender that cuts its stream into segments of other lengths, as the Linux kernel does when
    /// little of the window is left, loses the same data under this rule.
    #[must_use]
    pub fn with_byte_offsets(self, mss: u16) -> Self {
        let mss = u64::from(mss);
        let kind = match self.kind {
            LossKind::Data { first, last } if last > 0 && mss > 0 => LossKind::Offset {
                first: first.saturating_sub(1).saturating_mul(mss),
                last: last.saturating_mul(mss) - 1,
            },
            kind => kind,
        };
        Self { kind, ..self }
    }

    fn resolve(self, direction: Direction, known: Option<u64>) -> Result<Self, DropRulesError> {
        let rule = || rule_text(direction, self);
        let kind = match (self.kind, known) {
            (LossKind::Tail(_), None) => {
                return Err(DropRulesError::UnknownLength { rule: rule() });
            }
            (LossKind::Tail(n), Some(segments)) if (1..=segments).contains(&n) => {
                LossKind::Data { first: segments - n + 1, last: segments }
            }
            (LossKind::Tail(_), Some(segments)) => {
                return Err(DropRulesError::BeyondFlow { rule: rule(), direction, segments });
            }
            (LossKind::Data { last, .. }, Some(segments)) if last > segments => {
                return Err(DropRulesError::BeyondFlow { rule: rule(), direction, segments });
            }
            (kind, _) => kind,
        };
        Ok(Self { kind, ..self })
    }
}

/// A rule's text in a list.
fn rule_text(direction: Direction, spec: LossSpec) -> String {
    match direction {
        Direction::Down => spec.to_string(),
        Direction::Up => format!("up:{spec}"),
    }
}

impl fmt::Display for DropRules {
    /// The rules joined by commas; `none` if there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (index, &(direction, spec)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}", rule_text(direction, spec))?;
        }
        Ok(())
    }
}

impl fmt::Display for LossSpec {
    /// `KIND[@T]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        match self.transmission {
            Some(t) => write!(f, "@{t}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for LossKind {
    /// As in the grammar: `data:3-5`, `gilbert-elliott:0.01,0.3,loss_bad=0.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::Tail(n) => write!(f, "tail:{n}"),
            Self::Data { first, last } if first == last => write!(f, "data:{first}"),
            Self::Data { first, last } => write!(f, "data:{first}-{last}"),
            Self::Syn(k) => write!(f, "syn:{k}"),
            Self::Ack(k) => write!(f, "ack:{k}"),
            Self::Offset { first, last } => write!(f, "offset:{}-{}", first.saturating_add(1), last.saturating_add(1)),
            Self::Bernoulli(p) => write!(f, "bernoulli:{p}"),
            Self::GilbertElliott(channel) => {
                write!(f, "gilbert-elliott:{},{}", channel.to_bad, channel.to_good)?;
                if channel.loss_bad != Probability::ONE {
                    write!(f, ",loss_bad={}", channel.loss_bad)?;
                }
                if channel.loss_good != Probability::ZERO {
                    write!(f, ",loss_good={}", channel.loss_good)?;
                }
                Ok(())
            }
            Self::Outages(outages) => {
                write!(f, "outages:{},{}", format_duration(outages.gap), format_duration(outages.length))?;
                if outages.sigma != 0.0 {
                    write!(f, ",sigma={}", outages.sigma)?;
                }
                if outages.loss != Probability::ONE {
                    write!(f, ",loss={}", outages.loss)?;
                }
                Ok(())
            }
            Self::Policer(policer) => write!(f, "policer:{},{}", policer.rate, format_bytes(policer.burst)),
        }
    }
}

#[cfg(test)]
mod tests;
