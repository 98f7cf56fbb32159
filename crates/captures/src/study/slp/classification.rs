//! The classes of retransmissions by k-means, by our triggers and by Wireshark's rule, and how far they
//! agree (§II-B2).

use super::kmeans::{Split, split_in_two};
use super::{Class, Sample, percent};
use serde::Serialize;

/// The least interval of which a logarithm is taken, in seconds: the resolution of most captures.
const LEAST_INTERVAL: f64 = 1e-6;

/// A rule that decides whether a retransmission is a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Classifier {
    /// The paper: k-means on the intervals in seconds, all pooled.
    KMeans,
    /// k-means on the logarithms of the intervals; less than 1 µs counts as 1 µs.
    KMeansLog,
    /// A SYN or SYN-ACK is a timeout. k-means on the intervals of the others, in seconds.
    KMeansSynsApart,
    /// The triggers that the analysis found by replaying the sender.
    Triggers,
    /// Wireshark's static rule.
    Wireshark,
}

impl Classifier {
    /// All, in the order of reports.
    pub const ALL: [Self; 5] = [Self::KMeans, Self::KMeansLog, Self::KMeansSynsApart, Self::Triggers, Self::Wireshark];

    /// The name in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::KMeans => "k-means, seconds (the paper)",
            Self::KMeansLog => "k-means, log10",
            Self::KMeansSynsApart => "k-means, SYNs apart",
            Self::Triggers => "our triggers",
            Self::Wireshark => "Wireshark's rule",
        }
    }
}

/// All classifiers, trained on the retransmissions of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Classifiers {
    pooled: Option<Split>,
    log: Option<Split>,
    without_syns: Option<Split>,
}

/// How two classifiers agree on the retransmissions that both classify.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Retransmissions that both classify.
    pub compared: u64,
    /// Those that they classify differently.
    pub different: u64,
    /// Their share in percent.
    pub different_percent: Option<f64>,
}

/// The result of a classifier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Classification {
    /// The classifier.
    pub classifier: Classifier,
    /// The interval from which a retransmission is a timeout, in seconds: the middle between the means of
    /// both groups. Only k-means has one.
    pub threshold_s: Option<f64>,
    /// Whether another threshold would be equally good.
    pub is_ambiguous: bool,
    /// Retransmissions that it classifies.
    pub classified: u64,
    /// Timeouts among them.
    pub timeouts: u64,
    /// Their share in percent.
    pub timeouts_percent: Option<f64>,
    /// Compared with our triggers.
    pub against_triggers: Agreement,
    /// Compared with Wireshark's rule.
    pub against_wireshark: Agreement,
}

impl Classifiers {
    /// Trains k-means on these retransmissions.
    pub fn new(samples: &[Sample]) -> Self {
        let all = || samples.iter();
        Self {
            pooled: split_in_two(all().map(seconds)),
            log: split_in_two(all().map(logarithm)),
            without_syns: split_in_two(all().filter(|one| !one.is_syn()).map(seconds)),
        }
    }

    /// The class of a retransmission. `None`: the classifier cannot tell.
    pub fn class(&self, classifier: Classifier, sample: &Sample) -> Option<Class> {
        match classifier {
            Classifier::KMeansSynsApart if sample.is_syn() => Some(Class::Timeout),
            Classifier::Triggers => sample.trigger.map(Class::of),
            Classifier::Wireshark => sample.by_wireshark,
            _ => {
                let value = if classifier == Classifier::KMeansLog { logarithm } else { seconds };
                self.split(classifier).map(|split| Class::fast_if(value(sample) < split.upper_from))
            }
        }
    }

    /// The groups of a k-means.
    const fn split(&self, classifier: Classifier) -> Option<Split> {
        match classifier {
            Classifier::KMeans => self.pooled,
            Classifier::KMeansLog => self.log,
            Classifier::KMeansSynsApart => self.without_syns,
            Classifier::Triggers | Classifier::Wireshark => None,
        }
    }

    /// Classifies these retransmissions.
    pub fn classify(&self, classifier: Classifier, samples: &[Sample]) -> Classification {
        let class = |sample: &Sample| self.class(classifier, sample);
        let classified = samples.iter().filter_map(class);
        let timeouts = classified.clone().filter(|class| *class == Class::Timeout);
        let (classified, timeouts) = (classified.count() as u64, timeouts.count() as u64);
        let against = |other: Classifier| {
            let pairs = samples.iter().filter_map(|sample| {
                let other = self.class(other, sample)?;
                Some((class(sample)?, other))
            });
            let different = pairs.clone().filter(|(one, other)| one != other).count() as u64;
            let compared = pairs.count() as u64;
            Agreement { compared, different, different_percent: percent(different, compared) }
        };
        let split = self.split(classifier);
        Classification {
            classifier,
            threshold_s: split.map(|split| match classifier {
                Classifier::KMeansLog => 10_f64.powf(split.threshold),
                _ => split.threshold,
            }),
            is_ambiguous: split.is_some_and(|split| !split.is_unique),
            classified,
            timeouts,
            timeouts_percent: percent(timeouts, classified),
            against_triggers: against(Classifier::Triggers),
            against_wireshark: against(Classifier::Wireshark),
        }
    }
}

fn seconds(sample: &Sample) -> f64 {
    sample.interval.as_secs_f64()
}

fn logarithm(sample: &Sample) -> f64 {
    seconds(sample).max(LEAST_INTERVAL).log10()
}
