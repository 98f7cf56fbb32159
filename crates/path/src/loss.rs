//! Which packets a path loses: rules by position in the flow, and by chance.
//!
//! A rule counts what *enters* the chain, wherever in the chain its hop stands and whatever other
//! rules or full queues have dropped before it: the third data segment stays the third. So several
//! rules in a row do not disturb each other's counts.
//!
//! The text form ([`DropRules`], see [`DropRules::GRAMMAR`]) is a comma-joined list of
//! `[up:|down:]KIND[@T]`.

mod channel;
mod error;
mod grammar;
mod position;
mod ranges;

use std::fmt;

use recoup_units::Direction;

use crate::{HopSpec, Probability};

pub(crate) use channel::Channels;
pub use error::DropRulesError;
pub(crate) use position::{Positions, Rules, Sighting};

/// Which packets of each flow are lost, in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossSpec {
    /// How they are chosen.
    pub kind: LossKind,
    /// Only the T-th transmission of that data, 1 being the original.
    ///
    /// `None` means the original for the positional kinds, every packet for the random kinds. With
    /// `Some`, a random kind applies to data packets only. SYNs and ACKs have one transmission each,
    /// so their kinds ignore it.
    pub transmission: Option<u32>,
}

/// How lost packets are chosen. Positions count from 1 in each flow; ranges include both ends.
///
/// The K-th data segment is the K-th packet whose payload starts at or above the highest payload
/// end of the flow so far. A later packet that covers its first byte is a further transmission of
/// it: retransmissions, tail loss probes and copies the sender makes all count. Positions no packet
/// has (0, a range whose end is below its start) choose nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossKind {
    /// Nothing is lost.
    None,
    /// The last data segments of the flow, this many. A chain cannot know the flow's length:
    /// [`DropRules::resolve`] turns this into [`LossKind::Data`].
    Tail(u64),
    /// These data segments.
    Data {
        /// The first one, from 1.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// This packet of those that carry SYN (a retransmitted SYN is the next one).
    Syn(u64),
    /// This packet of the pure ACKs: no payload, no SYN, FIN or RST.
    Ack(u64),
    /// The packets that carry any of these payload bytes.
    ///
    /// What each packet first carried of them is one piece of data; a later packet that covers the
    /// piece's first byte is a further transmission of it.
    Offset {
        /// The first byte, from 0 (in text from 1, as sequence numbers relative to the SYN's).
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// Each packet by itself, with this probability.
    Bernoulli(Probability),
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

impl LossKind {
    /// Whether chance decides, not position.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Bernoulli(_) | Self::GilbertElliott(_))
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
    /// Of a step from good to bad.
    pub to_bad: Probability,
    /// Of a step from bad to good.
    pub to_good: Probability,
    /// Of losing a packet in the bad state.
    pub loss_bad: Probability,
    /// Of losing a packet in the good state.
    pub loss_good: Probability,
}

impl GilbertElliott {
    /// Gilbert's channel: everything is lost in the bad state, nothing in the good one.
    pub const fn new(to_bad: Probability, to_good: Probability) -> Self {
        Self {
            to_bad,
            to_good,
            loss_bad: Probability::ONE,
            loss_good: Probability::ZERO,
        }
    }

    /// The share of time spent in the bad state.
    pub fn share_bad(self) -> f64 {
        let sum = self.to_bad.get() + self.to_good.get();
        if sum > 0.0 {
            self.to_bad.get() / sum
        } else {
            0.0
        }
    }
}

/// The loss of a scenario: rules and the direction each applies to, in the order given.
///
/// [`FromStr`](std::str::FromStr) reads [`Self::GRAMMAR`]; [`Display`](fmt::Display) writes it, so
/// that what is printed reads back equal. A positional rule's `@1` is not kept: it says nothing.
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
                       bursts: from good to bad with PGB, back with PBG, a step per packet
  @T                   only the T-th transmission of that data (1, the default of tail, data and
                       offset, is the original); a random kind without @T takes every packet";

    /// Gives every rule its positions in a flow of these many data segments: `tail:N` becomes
    /// `data:K-L`.
    ///
    /// # Errors
    /// A rule that names more data segments than the flow has, or a `tail` where the number is not
    /// known.
    pub fn resolve(&self, segments: DataSegments) -> Result<Self, DropRulesError> {
        let resolve = |&(direction, spec): &(Direction, LossSpec)| {
            let known = match direction {
                Direction::Up => segments.up,
                Direction::Down => segments.down,
            };
            Ok((direction, spec.resolve(direction, known)?))
        };
        self.0
            .iter()
            .map(resolve)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The rules of one direction as hops, in order, `none` left out.
    pub fn hops(&self, direction: Direction) -> impl Iterator<Item = HopSpec> {
        let here = move |rule: &&(Direction, LossSpec)| {
            rule.0 == direction && rule.1.kind != LossKind::None
        };
        self.0
            .iter()
            .filter(here)
            .map(|&(_, spec)| HopSpec::Loss(spec))
    }
}

impl LossSpec {
    fn resolve(self, direction: Direction, known: Option<u64>) -> Result<Self, DropRulesError> {
        let rule = || rule_text(direction, self);
        let kind = match (self.kind, known) {
            (LossKind::Tail(_), None) => {
                return Err(DropRulesError::UnknownLength { rule: rule() });
            }
            (LossKind::Tail(n), Some(segments)) if (1..=segments).contains(&n) => LossKind::Data {
                first: segments - n + 1,
                last: segments,
            },
            (LossKind::Tail(_), Some(segments)) => {
                return Err(DropRulesError::BeyondFlow {
                    rule: rule(),
                    direction,
                    segments,
                });
            }
            (LossKind::Data { last, .. }, Some(segments)) if last > segments => {
                return Err(DropRulesError::BeyondFlow {
                    rule: rule(),
                    direction,
                    segments,
                });
            }
            (kind, _) => kind,
        };
        Ok(Self { kind, ..self })
    }
}

/// A rule as it is written in a list.
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
            Self::Offset { first, last } => write!(
                f,
                "offset:{}-{}",
                first.saturating_add(1),
                last.saturating_add(1)
            ),
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
        }
    }
}

#[cfg(test)]
mod tests;
