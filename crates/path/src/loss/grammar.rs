//! Reads loss rules. The grammar is [`DropRules::GRAMMAR`].
//!
//! Commas separate the rules of a list, and also the values of `gilbert-elliott`, `outages` and `policer`. A value after a comma
//! begins with a digit or a sign, or has a `=` and no `:`. No rule does, so such a piece belongs to the
//! rule before it.

use std::str::FromStr;

use recoup_units::{Direction, parse_bytes};

use super::{DropRules, DropRulesError, GilbertElliott, LossKind, LossSpec, Outages, Policer};
use crate::quantity::{parse_duration, parse_rate};
use crate::{Probability, ProbabilityError};

/// The kinds of loss, by name.
pub(super) const KINDS: &[&str] =
    &["none", "tail", "data", "syn", "ack", "offset", "bernoulli", "gilbert-elliott", "outages", "policer"];

/// The most rules of a list. Every packet passes each of them.
pub(super) const MOST_RULES: usize = 1000;

/// The largest burst of a policer: 1 TB.
const LARGEST_BURST: u64 = 1_000_000_000_000;

/// The named values of `gilbert-elliott` and of `outages`, in the order they take without names.
const CHANNEL: &[&str] = &["loss_bad", "loss_good"];
const OUTAGE: &[&str] = &["sigma", "loss"];

const TAIL: &str = "tail:N, the number N of data segments from 1";
const DATA: &str = "data:K or data:K-L, data segments counted from 1, K not above L";
const SYN: &str = "syn:K, packets with SYN counted from 1";
const ACK: &str = "ack:K, pure ACKs counted from 1";
const OFFSET: &str = "offset:A-B, payload bytes counted from 1, both included, A not above B";
const BERNOULLI: &str = "bernoulli:P, one probability";
const GILBERT_ELLIOTT: &str = "gilbert-elliott:PGB,PBG[,loss_bad=1,loss_good=0], each once";
const OUTAGES: &str =
    "outages:GAP,LENGTH[,sigma=0,loss=1], each once, times from 1ms to a day and sigma from 0 to 4: outages:20s,800ms";
const POLICER: &str = "policer:RATE,BURST, a rate and bytes from 1 B to 1 TB: policer:1Mbit,30kB";
const NONE: &str = "none, and nothing after it";
const TRANSMISSION: &str = "@T to be a transmission counted from 1 (1 is the original)";
const NO_TRANSMISSION: &str = "no @T: outages and policers take every packet";
const ONE_TRANSMISSION: &str =
    "no @T but @1: a retransmitted SYN or repeated ACK has a number of its own, name it by that";

impl FromStr for DropRules {
    type Err = DropRulesError;

    fn from_str(list: &str) -> Result<Self, DropRulesError> {
        let mut rules: Vec<String> = Vec::new();
        for piece in list.split(',').map(str::trim) {
            match rules.last_mut() {
                _ if piece.is_empty() => {
                    return Err(DropRulesError::Missing { list: list.to_owned() });
                }
                Some(rule) if continues_rule(piece) => {
                    rule.push(',');
                    rule.push_str(piece);
                }
                _ => rules.push(piece.to_owned()),
            }
        }
        if rules.len() > MOST_RULES {
            return Err(DropRulesError::TooMany { found: rules.len() });
        }
        rules.iter().map(|rule| Reader { rule }.read()).collect::<Result<_, _>>().map(Self)
    }
}

impl FromStr for LossSpec {
    type Err = DropRulesError;

    /// One rule without direction: `KIND[@T]`.
    fn from_str(text: &str) -> Result<Self, DropRulesError> {
        let rule = text.trim();
        Reader { rule }.spec(rule)
    }
}

/// Whether a piece of the list belongs to the rule before it.
fn continues_rule(piece: &str) -> bool {
    let begins_number = piece.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    begins_number || (piece.contains('=') && !piece.contains(':'))
}

/// Reads one rule. Errors quote it.
struct Reader<'a> {
    rule: &'a str,
}

impl Reader<'_> {
    fn read(&self) -> Result<(Direction, LossSpec), DropRulesError> {
        for direction in [Direction::Up, Direction::Down] {
            let rest = self.rule.strip_prefix(direction.name());
            if let Some(body) = rest.and_then(|rest| rest.strip_prefix(':')) {
                return Ok((direction, self.spec(body)?));
            }
        }
        Ok((Direction::Down, self.spec(self.rule)?))
    }

    fn spec(&self, body: &str) -> Result<LossSpec, DropRulesError> {
        let (kind, transmission) = match body.split_once('@') {
            None => (self.kind(body)?, None),
            Some((kind, at)) => (self.kind(kind)?, Some(self.transmission(at)?)),
        };
        let transmission = match (kind, transmission) {
            (LossKind::None, Some(_)) => return Err(self.malformed(NONE)),
            (LossKind::Outages(_) | LossKind::Policer(_), Some(_)) => return Err(self.malformed(NO_TRANSMISSION)),
            (LossKind::Syn(_) | LossKind::Ack(_), Some(t)) if t > 1 => {
                return Err(self.malformed(ONE_TRANSMISSION));
            }
            // A positional rule means the original by default.
            (kind, Some(1)) if !kind.is_random() => None,
            (_, transmission) => transmission,
        };
        Ok(LossSpec { kind, transmission })
    }

    fn transmission(&self, text: &str) -> Result<u32, DropRulesError> {
        let t = number(text).and_then(|t| u32::try_from(t).ok()).filter(|&t| t >= 1);
        t.ok_or_else(|| self.malformed(TRANSMISSION))
    }

    fn kind(&self, text: &str) -> Result<LossKind, DropRulesError> {
        let (word, values) = match text.split_once(':') {
            Some((word, values)) => (word, Some(values)),
            None => (text, None),
        };
        let given = values.unwrap_or("");
        Ok(match word {
            "none" if values.is_none() => LossKind::None,
            "none" => return Err(self.malformed(NONE)),
            "tail" => LossKind::Tail(self.position(given, TAIL)?),
            "data" => {
                let (first, last) = match given.split_once('-') {
                    Some((first, last)) => (self.position(first, DATA)?, self.position(last, DATA)?),
                    None => (self.position(given, DATA)?, self.position(given, DATA)?),
                };
                self.in_order(first, last, DATA)?;
                LossKind::Data { first, last }
            }
            "syn" => LossKind::Syn(self.position(given, SYN)?),
            "ack" => LossKind::Ack(self.position(given, ACK)?),
            "offset" => {
                let ends = given.split_once('-').map(|(a, b)| (number(a), number(b)));
                let Some((Some(first), Some(last))) = ends else {
                    return Err(self.malformed(OFFSET));
                };
                self.in_order(first, last, OFFSET)?;
                // Positions in text count from 1.
                LossKind::Offset { first: first - 1, last: last - 1 }
            }
            "bernoulli" if given.is_empty() || given.contains(',') => {
                return Err(self.malformed(BERNOULLI));
            }
            "bernoulli" => LossKind::Bernoulli(self.probability(given)?),
            "gilbert-elliott" => LossKind::GilbertElliott(self.gilbert_elliott(given)?),
            "outages" => LossKind::Outages(self.outages(given)?),
            "policer" => LossKind::Policer(self.policer(given)?),
            _ => {
                return Err(DropRulesError::UnknownKind { rule: self.rule.to_owned(), word: word.to_owned() });
            }
        })
    }

    fn gilbert_elliott(&self, text: &str) -> Result<GilbertElliott, DropRulesError> {
        let ([to_bad, to_good], [bad, good]) = self.values(text, CHANNEL, GILBERT_ELLIOTT)?;
        let channel = GilbertElliott::new(self.probability(to_bad)?, self.probability(to_good)?);
        let loss = |text: Option<&str>, usual| text.map_or(Ok(usual), |text| self.probability(text));
        Ok(GilbertElliott {
            loss_bad: loss(bad, channel.loss_bad)?,
            loss_good: loss(good, channel.loss_good)?,
            ..channel
        })
    }

    fn outages(&self, text: &str) -> Result<Outages, DropRulesError> {
        let ([gap, length], [sigma, loss]) = self.values(text, OUTAGE, OUTAGES)?;
        let malformed = || self.malformed(OUTAGES);
        let time = |text| parse_duration(text).ok().filter(|time| *time >= Outages::SHORTEST).ok_or_else(malformed);
        let mut outages = Outages::new(time(gap)?, time(length)?);
        if let Some(text) = sigma {
            let sigma = text.parse().ok().filter(|sigma| (0.0..=Outages::LARGEST_SIGMA).contains(sigma));
            outages.sigma = sigma.ok_or_else(malformed)? + 0.0;
        }
        if let Some(text) = loss {
            outages.loss = self.probability(text)?;
        }
        Ok(outages)
    }

    fn policer(&self, text: &str) -> Result<Policer, DropRulesError> {
        let read = || {
            let (rate, burst) = text.split_once(',')?;
            let burst = parse_bytes(burst.trim()).filter(|burst| (1..=LARGEST_BURST).contains(burst))?;
            Some(Policer { rate: parse_rate(rate).ok()?, burst })
        };
        read().ok_or_else(|| self.malformed(POLICER))
    }

    /// The two values that a rule must have, and the further ones in the order of `names`, which may have names.
    fn values<'t>(
        &self,
        text: &'t str,
        names: &'static [&'static str],
        expected: &'static str,
    ) -> Result<([&'t str; 2], [Option<&'t str>; 2]), DropRulesError> {
        let malformed = || self.malformed(expected);
        let mut values = text.split(',').map(str::trim);
        let mut required = || match values.next() {
            Some(value) if !value.is_empty() && !value.contains('=') => Ok(value),
            _ => Err(malformed()),
        };
        let first = [required()?, required()?];
        let mut others = [None; 2];
        let mut named = false;
        for (place, value) in values.enumerate() {
            let (place, value) = match value.split_once('=') {
                Some((name, value)) => {
                    named = true;
                    (self.parameter(name.trim(), names)?, value.trim())
                }
                // After a named value, the place of one without a name is ambiguous.
                None if named => return Err(malformed()),
                None => (place, value),
            };
            match others.get_mut(place) {
                Some(other @ None) => *other = Some(value),
                _ => return Err(malformed()),
            }
        }
        Ok((first, others))
    }

    fn parameter(&self, name: &str, known: &'static [&'static str]) -> Result<usize, DropRulesError> {
        let unknown = || DropRulesError::UnknownParameter { rule: self.rule.to_owned(), word: name.to_owned(), known };
        known.iter().position(|&one| one == name).ok_or_else(unknown)
    }

    fn position(&self, text: &str, expected: &'static str) -> Result<u64, DropRulesError> {
        number(text).filter(|&n| n >= 1).ok_or_else(|| self.malformed(expected))
    }

    fn in_order(&self, first: u64, last: u64, expected: &'static str) -> Result<(), DropRulesError> {
        if 1 <= first && first <= last { Ok(()) } else { Err(self.malformed(expected)) }
    }

    fn probability(&self, text: &str) -> Result<Probability, DropRulesError> {
        text.parse()
            .map_err(|ProbabilityError(text)| DropRulesError::NotAProbability { rule: self.rule.to_owned(), text })
    }

    fn malformed(&self, expected: &'static str) -> DropRulesError {
        DropRulesError::Malformed { rule: self.rule.to_owned(), expected }
    }
}

/// A number of digits alone (the standard parser also takes a sign).
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}
