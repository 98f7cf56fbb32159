//! The quantities that are compared, each as a function of the sums of two captures.

use super::sums::{Class, LOG_UNIT, Sums, Timed};
use crate::explain::GROUPS;

/// A quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The mean time of like requests, until their responses are acknowledged.
    Requests,
    /// The mean wait between like requests and their responses.
    Waits,
    /// The mean completion time of like connections.
    Completion,
    /// The time lost per connection, to one of the groups of causes or to all.
    LostPerConnection(Option<usize>),
    /// The time lost per GB, to one of the groups of causes or to all.
    LostPerGb(Option<usize>),
    /// Retransmissions as a share of all segments with data, SYN or FIN.
    RetransmissionRate,
    /// Spurious retransmissions as a share of all.
    SpuriousShare,
    /// The geometric mean of the main senders' median round-trip times.
    Rtt,
}

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Seconds per GB.
    SecondsPerGb,
    /// Per cent.
    Percent,
}

impl Unit {
    /// The name in JSON, tables and text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ms => "ms",
            Self::SecondsPerGb => "s/GB",
            Self::Percent => "%",
        }
    }
}

impl Quantity {
    /// All, in the order in which they are listed where nothing else decides.
    pub fn all() -> impl Iterator<Item = Self> {
        let times = [Self::Requests, Self::Waits, Self::Completion];
        let lost = [Self::LostPerConnection(None), Self::LostPerGb(None)];
        let rates = [Self::RetransmissionRate, Self::SpuriousShare, Self::Rtt];
        let causes = (0..GROUPS.len()).flat_map(|i| [Self::LostPerConnection(Some(i)), Self::LostPerGb(Some(i))]);
        times.into_iter().chain(lost).chain(rates).chain(causes)
    }

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "request_time",
            Self::Waits => "response_wait",
            Self::Completion => "connection_time",
            Self::LostPerConnection(_) => "lost_per_connection",
            Self::LostPerGb(_) => "lost_per_gb",
            Self::RetransmissionRate => "retransmission_rate",
            Self::SpuriousShare => "spurious_share",
            Self::Rtt => "rtt",
        }
    }

    /// The heading of the causes, if it is about some.
    pub fn cause(self) -> Option<&'static str> {
        match self {
            Self::LostPerConnection(cause) | Self::LostPerGb(cause) => cause.map(|i| GROUPS[i].0),
            _ => None,
        }
    }

    /// The quantity in words, without its unit.
    pub fn title(self) -> String {
        let lost = |per: &str| match self.cause() {
            Some(cause) => format!("{cause}: time per {per}"),
            None => format!("Time lost per {per}"),
        };
        match self {
            Self::Requests => "Time of like requests".into(),
            Self::Waits => "Wait for the response to like requests".into(),
            Self::Completion => "Completion time of like connections".into(),
            Self::LostPerConnection(_) => lost("connection"),
            Self::LostPerGb(_) => lost("GB"),
            Self::RetransmissionRate => "Retransmission rate".into(),
            Self::SpuriousShare => "Spurious share of retransmissions".into(),
            Self::Rtt => "Round-trip time of a typical sender".into(),
        }
    }

    /// Its unit.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Requests | Self::Waits | Self::Completion | Self::LostPerConnection(_) | Self::Rtt => Unit::Ms,
            Self::LostPerGb(_) => Unit::SecondsPerGb,
            Self::RetransmissionRate | Self::SpuriousShare => Unit::Percent,
        }
    }

    /// A smaller change matters to nobody, however small the quantity is: in its unit.
    pub const fn negligible(self) -> f64 {
        match self {
            Self::Requests | Self::Waits | Self::Completion | Self::LostPerConnection(_) => 1.0,
            Self::LostPerGb(_) | Self::SpuriousShare => 1.0,
            Self::RetransmissionRate | Self::Rtt => 0.1,
        }
    }

    /// Its values before and after; `None` where there is none in one of the captures.
    pub(super) fn values(self, before: &Sums, after: &Sums) -> Option<[f64; 2]> {
        match self {
            Self::Requests => like(before, after, |class| class.timed == Timed::Request),
            Self::Waits => like(before, after, |class| class.timed == Timed::Wait),
            Self::Completion => like(before, after, |class| matches!(class.timed, Timed::Connection { .. })),
            _ => Some([self.value(before)?, self.value(after)?]),
        }
    }

    /// The value in one capture of a quantity that needs no like ones in the other.
    fn value(self, sums: &Sums) -> Option<f64> {
        let lost = |cause: Option<usize>| cause.map_or(sums.lost, |i| sums.causes[i]).sum as f64;
        let value = match self {
            Self::LostPerConnection(cause) => lost(cause) / 1e6 / sums.connections as f64,
            Self::LostPerGb(cause) => lost(cause) / sums.bytes as f64,
            Self::RetransmissionRate => 100.0 * sums.retransmissions.sum as f64 / sums.segments as f64,
            Self::SpuriousShare => 100.0 * sums.spurious.sum as f64 / sums.retransmissions.sum as f64,
            Self::Rtt => (sums.rtt.mean() / LOG_UNIT).exp() / 1e6,
            Self::Requests | Self::Waits | Self::Completion => return None,
        };
        value.is_finite().then_some(value)
    }

    /// How much of what it is a mean of a part has.
    pub(super) fn weight(self, sums: &Sums) -> u64 {
        match self {
            Self::Requests => sums.timed(|timed| timed == Timed::Request),
            Self::Waits => sums.timed(|timed| timed == Timed::Wait),
            Self::Completion => sums.timed(|timed| matches!(timed, Timed::Connection { .. })),
            Self::LostPerConnection(_) => sums.connections,
            Self::LostPerGb(_) => sums.bytes,
            Self::RetransmissionRate => sums.segments,
            Self::SpuriousShare => sums.retransmissions.sum,
            Self::Rtt => sums.rtt.number,
        }
    }

    /// The connections in which it occurred; `None`: it has a value in every connection.
    pub(super) fn affected(self, sums: &Sums) -> Option<u64> {
        match self {
            Self::LostPerConnection(None) | Self::LostPerGb(None) => Some(sums.lost.number),
            Self::LostPerConnection(Some(i)) | Self::LostPerGb(Some(i)) => Some(sums.causes[i].number),
            Self::RetransmissionRate => Some(sums.retransmissions.number),
            Self::SpuriousShare => Some(sums.spurious.number),
            Self::Requests | Self::Waits | Self::Completion | Self::Rtt => None,
        }
    }
}

/// The means in ms over the classes that both captures have. Classes weigh as their counts permit:
/// nₐ·n_b / (nₐ + n_b), as in Mantel and Haenszel, "Statistical aspects of the analysis of data from retrospective studies of
/// disease", 1959. So other numbers of large and small requests are no change.
pub(super) fn like(before: &Sums, after: &Sums, is: impl Fn(&Class) -> bool) -> Option<[f64; 2]> {
    let (mut means, mut all) = ([0.0; 2], 0.0);
    for (class, of) in before.classes.iter().filter(|(class, _)| is(class)) {
        let Some(other) = after.classes.get(class) else {
            continue;
        };
        let [n, m] = [of.number, other.number].map(|n| n as f64);
        let weight = n * m / (n + m);
        means[0] += weight * of.mean() / 1e6;
        means[1] += weight * other.mean() / 1e6;
        all += weight;
    }
    (all > 0.0).then(|| means.map(|mean| mean / all))
}
