//! The paper's figures beside those of a capture.

use super::{Classifier, Classifiers};
use super::{Half, Position, Sample, Shares, percent};
use recoup_recovery::slp::Kind;
use recoup_wire::Flags;
use serde::Serialize;

/// A figure of the paper, and the same of a capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// A short name.
    pub name: &'static str,
    /// The quantity.
    pub quantity: &'static str,
    /// `%`, or `times`.
    pub unit: &'static str,
    /// Retransmissions that the figure stands on.
    pub retransmissions: u64,
    /// By k-means on seconds; `None` if the capture does not show it.
    pub by_k_means: Option<f64>,
    /// By our triggers.
    pub by_triggers: Option<f64>,
    /// The paper's figure.
    pub paper: &'static str,
}

/// All statements of §I and §II-B.
pub fn all(samples: &[Sample], classifiers: &Classifiers) -> Vec<Statement> {
    let of =
        |include: &dyn Fn(&Sample) -> bool| Shares::of(samples.iter().filter(|sample| include(sample)), classifiers);
    let kind = |kind: Kind| of(&move |sample| sample.kinds.contains(kind));
    let at = |half: Half| move |place: &Position| place.half == half && place.index == 1;
    let head = of(&|sample| sample.position.as_ref().is_some_and(at(Half::Front)));
    let tail = of(&|sample| sample.position.as_ref().is_some_and(at(Half::Back)));
    let elsewhere = of(&|sample| sample.position.is_some_and(|place| place.index > 1));
    let plain = of(&|sample| sample.flags == Flags::ACK);
    // A SYN or a FIN has its own reasons.
    let push = of(&|sample| sample.flags == Flags::PSH | Flags::ACK);
    let share = |name, quantity, shares: &Shares, paper| Statement {
        name,
        quantity,
        unit: "%",
        retransmissions: shares.retransmissions,
        by_k_means: shares.timeouts_percent,
        by_triggers: shares.timeouts_by_trigger_percent,
        paper,
    };
    let ratio = |name, quantity, part: &Shares, other: &Shares, paper| {
        let quotient = |of: fn(&Shares) -> Option<f64>| {
            let (part, other) = of(part).zip(of(other))?;
            (other > 0.0).then(|| part / other)
        };
        Statement {
            name,
            quantity,
            unit: "times",
            retransmissions: part.retransmissions,
            by_k_means: quotient(|shares| shares.timeouts_percent),
            by_triggers: quotient(|shares| shares.timeouts_by_trigger_percent),
            paper,
        }
    };
    let least = "at least 10";
    vec![
        share("timeouts", "timeouts among all retransmissions", &of(&|_| true), "10.1"),
        wireshark(samples, classifiers),
        share("syn", "timeouts among retransmissions of SYNs", &kind(Kind::Syn), "more than 70"),
        share("fin", "timeouts where a packet with FIN was lost", &kind(Kind::Fin), "-"),
        share("head", "timeouts where the first packet was lost", &head, "-"),
        share("tail", "timeouts where the last packet was lost", &tail, "-"),
        share("elsewhere", "timeouts at all other positions", &elsewhere, "-"),
        share("push", "timeouts where PSH ACK was lost", &push, "-"),
        share("plain", "timeouts where a plain ACK packet was lost", &plain, "-"),
        ratio("head_ratio", "first packet compared with other positions", &head, &elsewhere, least),
        ratio("tail_ratio", "last packet compared with other positions", &tail, &elsewhere, least),
        ratio("push_ratio", "PSH ACK compared with plain ACK", &push, &plain, least),
    ]
}

fn wireshark(samples: &[Sample], classifiers: &Classifiers) -> Statement {
    let differ = |classifier| {
        let agreement = classifiers.classify(classifier, samples).against_wireshark;
        percent(agreement.different, agreement.compared)
    };
    let both = samples.iter().filter(|sample| sample.by_wireshark.is_some());
    Statement {
        name: "wireshark",
        quantity: "classified differently by Wireshark's rule",
        unit: "%",
        retransmissions: both.count() as u64,
        by_k_means: differ(Classifier::KMeans),
        by_triggers: differ(Classifier::Triggers),
        paper: "about 3",
    }
}
