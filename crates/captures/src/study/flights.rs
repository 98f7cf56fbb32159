//! How long a recovery takes by the number of segments lost in the flight (§V-A2b).
//!
//! ```text
//! original ──► lost ──► detected: the first retransmission ──► ACK of the highest byte sent before it
//!                       └───────────────── recovery ─────────┘
//! ```
//! The flight is what the sender had sent, and had not yet seen acknowledged, when it detected the loss. A
//! segment of it was lost if it was retransmitted between detection and the end of the recovery, and the
//! retransmission was needed. The lengths are in RTTs (moving average at the detection).
//!
//! The paper gives no numbers, only what it found: the mechanism that detected the loss does not matter, nor
//! does the system, and SACK shortens recoveries from flights that lost three segments or more.
//!
//! Choices and limits:
//! - A segment that was lost more than once counts once.
//! - A segment first sent after the detection belongs to another flight and does not count here.
//! - A timeout within a fast recovery belongs to the same flight: FR/R detected the loss.
//! - Packets that an offload merged count as one segment.
//! - A flight is left out if the capture does not show its end, its RTT, when its segments were first sent,
//!   or the verdict on one of them. So are flights whose loss a tail loss probe detected.

use super::Merge;
use super::distribution::Distribution;
use recoup_trace::finding::{Retransmission, Verdict};
use recoup_units::Instant;
use recoup_whatif::detections::Detector;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Flights that lost so many segments or more are counted together.
pub const MOST_LOST: usize = 4;

const DETECTORS: [Detector; 2] = [Detector::FastRetransmit, Detector::Timeout];

/// The size of a step of the recovery times, in RTTs.
const STEP: f64 = 0.01;

/// One line of the table of recoveries. Times are in RTTs; `None` without recoveries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlightRecovery {
    /// Segments lost in the flight; [`MOST_LOST`] stands for so many or more.
    pub lost: usize,
    /// The detector of the loss: `fast_retransmit`, `rto`, or `any`.
    pub detected_by: &'static str,
    /// Whether the connection used SACK; `None`: with and without.
    pub sack: Option<bool>,
    /// The number of recoveries.
    pub recoveries: u64,
    /// Their mean length.
    pub mean: Option<f64>,
    /// Their median length.
    pub p50: Option<f64>,
    /// The 90th percentile of their length.
    pub p90: Option<f64>,
}

/// The recoveries of some senders.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recoveries {
    /// By detector, by whether SACK was in use, and by segments lost.
    lengths: [[[Distribution; MOST_LOST]; 2]; 2],
    /// Flights left out, except those whose loss a probe detected.
    pub unmeasured: u64,
}

impl Default for Recoveries {
    fn default() -> Self {
        let empty = || std::array::from_fn(|_| Distribution::in_steps_of(STEP));
        Self { lengths: std::array::from_fn(|_| std::array::from_fn(|_| empty())), unmeasured: 0 }
    }
}

merge_fields!(Recoveries: lengths, unmeasured);

impl Recoveries {
    /// Adds those of one sender, whose retransmissions are ordered by time. `sack`: whether its connection
    /// used SACK, if known.
    pub fn add<'a>(&mut self, sack: Option<bool>, retransmissions: impl Iterator<Item = &'a Retransmission>) {
        let mut open: Option<Flight> = None;
        for one in retransmissions.filter(|one| !one.syn) {
            if let Some(flight) = open.take_if(|flight| flight.is_over(one.at)) {
                self.count(&flight, sack);
            }
            open.get_or_insert_with(|| Flight::new(one)).add(one);
        }
        if let Some(flight) = open {
            self.count(&flight, sack);
        }
    }

    fn count(&mut self, flight: &Flight, sack: Option<bool>) {
        let Some(detector) = flight.detector else {
            return;
        };
        match (flight.lost.len(), flight.length, sack) {
            (0, ..) if flight.is_known => {}
            (lost @ 1.., Some(length), Some(sack)) if flight.is_known => {
                let lengths = &mut self.lengths[detector as usize][usize::from(sack)];
                lengths[lost.min(MOST_LOST) - 1].add(length);
            }
            _ => self.unmeasured += 1,
        }
    }

    /// The lengths of all recoveries that these detectors, SACK or not, and numbers of lost segments have.
    pub fn lengths(&self, detectors: &[Detector], sack: &[bool], lost: RangeInclusive<usize>) -> Distribution {
        let mut all = Distribution::in_steps_of(STEP);
        for detector in detectors {
            for sack in sack {
                let lengths = &self.lengths[*detector as usize][usize::from(*sack)];
                lost.clone().for_each(|lost| all.merge(&lengths[lost - 1]));
            }
        }
        all
    }

    /// The median recovery with SACK, in % of the median without, of flights that lost so many segments.
    pub fn with_sack_to_without(&self, lost: RangeInclusive<usize>) -> Option<f64> {
        let [with, without] = [true, false].map(|sack| self.lengths(&DETECTORS, &[sack], lost.clone()));
        ratio(&with, &without)
    }

    /// The median recovery after a timeout, in % of the median after FR/R, of flights that lost so many
    /// segments.
    pub fn timeouts_to_fast_retransmits(&self, lost: RangeInclusive<usize>) -> Option<f64> {
        let [fast, timeouts] = DETECTORS.map(|detector| self.lengths(&[detector], &[true, false], lost.clone()));
        ratio(&timeouts, &fast)
    }

    /// The table: lines that have recoveries.
    pub fn table(&self) -> Vec<FlightRecovery> {
        let mut lines = Vec::new();
        for lost in 1..=MOST_LOST {
            for (detected_by, detectors) in [
                ("any", &DETECTORS[..]),
                ("fast_retransmit", &[Detector::FastRetransmit]),
                ("rto", &[Detector::Timeout]),
            ] {
                for (sack, which) in [(None, &[true, false][..]), (Some(true), &[true]), (Some(false), &[false])] {
                    let lengths = self.lengths(detectors, which, lost..=lost);
                    if lengths.count() > 0 {
                        lines.push(FlightRecovery {
                            lost,
                            detected_by,
                            sack,
                            recoveries: lengths.count(),
                            mean: lengths.mean(),
                            p50: lengths.quantile(0.5),
                            p90: lengths.quantile(0.9),
                        });
                    }
                }
            }
        }
        lines
    }
}

/// The median of `these` in % of the median of `those`.
fn ratio(these: &Distribution, those: &Distribution) -> Option<f64> {
    let those = those.quantile(0.5).filter(|median| *median > 0.0)?;
    Some(100.0 * these.quantile(0.5)? / those)
}

/// A flight with a detected loss, real or not.
#[derive(Debug)]
struct Flight {
    /// `None`: a probe.
    detector: Option<Detector>,
    detected: Instant,
    /// `None` if the recovery does not end in the capture.
    until: Option<Instant>,
    /// Of the recovery, in RTTs.
    length: Option<f64>,
    /// The sequence numbers of the lost segments.
    lost: HashSet<u32>,
    /// Whether the verdicts on all its retransmissions are known, and when their segments were first sent.
    is_known: bool,
}

impl Flight {
    fn new(first: &Retransmission) -> Self {
        Self {
            detector: Detector::of(first.triggers.first()),
            detected: first.at,
            until: first.recovery.map(|time| first.at + time),
            length: first.recovery_rtts(),
            lost: HashSet::new(),
            is_known: true,
        }
    }

    fn is_over(&self, at: Instant) -> bool {
        self.until.is_some_and(|until| until <= at)
    }

    fn add(&mut self, one: &Retransmission) {
        match (one.detection, one.verdict) {
            // How long ago it was first sent, compared with how long ago the loss was detected.
            (Some(ago), _) if ago < one.at.since(self.detected) => {}
            (Some(_), Verdict::Needed) => {
                self.lost.insert(one.seq.0);
            }
            (Some(_), Verdict::Spurious) => {}
            (None, _) | (_, Verdict::Unknowable) => self.is_known = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::retransmission;
    use Verdict::{Needed, Spurious, Unknowable};
    use recoup_recovery::Trigger::{self, Fast, Rto, SlowStart, Tlp};
    use recoup_wire::SeqNumber;
    use std::time::Duration;

    /// A retransmission at this time (ms) of a segment first sent at `original`, whose recovery ends at
    /// `until`. The RTT is 100 ms.
    fn row(at: u64, original: u64, until: u64, trigger: Trigger, verdict: Verdict) -> Retransmission {
        Retransmission {
            seq: SeqNumber(original as u32),
            detection: Some(Duration::from_millis(at - original)),
            recovery: Some(Duration::from_millis(until - at)),
            ..retransmission(at, trigger, verdict)
        }
    }

    fn recoveries(sack: Option<bool>, rows: &[Retransmission]) -> Recoveries {
        let mut all = Recoveries::default();
        all.add(sack, rows.iter());
        all
    }

    /// The flights counted: segments lost, what detected the loss, and the length in hundredths of an RTT.
    fn flights(rows: &[Retransmission]) -> Vec<(usize, &'static str, u64)> {
        let lines = recoveries(Some(true), rows).table();
        let lines = lines.into_iter().filter(|line| line.detected_by != "any" && line.sack.is_none());
        lines
            .map(|line| {
                assert_eq!(line.recoveries, 1, "{line:?}");
                (line.lost, line.detected_by, (line.p50.unwrap() * 100.0).round() as u64)
            })
            .collect()
    }

    #[test]
    fn the_segments_lost_in_a_flight_are_counted_until_its_recovery_point() {
        for (what, rows, expected) in [
            (
                "one segment, recovered after an RTT",
                vec![row(1000, 800, 1100, Fast, Needed)],
                vec![(1, "fast_retransmit", 100)],
            ),
            (
                "three segments, one of them lost again",
                vec![
                    row(1000, 800, 1250, Fast, Needed),
                    row(1010, 801, 1250, Fast, Needed),
                    row(1100, 800, 1300, Rto, Needed),
                    row(1200, 802, 1300, SlowStart, Needed),
                ],
                vec![(3, "fast_retransmit", 250)],
            ),
            (
                "two flights one after the other",
                vec![row(1000, 800, 1100, Fast, Needed), row(1100, 900, 1300, Rto, Needed)],
                vec![(1, "fast_retransmit", 100), (1, "rto", 200)],
            ),
            (
                "a segment first sent during the recovery is not of this flight",
                vec![row(1000, 800, 1300, Fast, Needed), row(1200, 1050, 1400, Fast, Needed)],
                vec![(1, "fast_retransmit", 300)],
            ),
            (
                "spurious retransmissions are no losses",
                vec![
                    row(1000, 800, 1300, Rto, Needed),
                    row(1200, 801, 1300, SlowStart, Spurious),
                    row(2000, 1900, 2100, Fast, Spurious),
                ],
                vec![(1, "rto", 300)],
            ),
            (
                "a probe detects no loss of the study",
                vec![row(1000, 800, 1300, Tlp, Needed), row(1200, 801, 1300, Fast, Needed)],
                vec![],
            ),
            (
                "more than four are counted as four",
                (0..9).map(|i| row(1000 + i, 800 + i, 1200, Fast, Needed)).collect(),
                vec![(4, "fast_retransmit", 200)],
            ),
        ] {
            assert_eq!(flights(&rows), expected, "{what}");
        }
    }

    #[test]
    fn what_the_capture_does_not_show_is_left_out() {
        let known = row(1000, 800, 1100, Fast, Needed);
        let unknown_verdict = row(1050, 801, 1150, Fast, Unknowable);
        let endless = Retransmission { recovery: None, ..known };
        let no_original = Retransmission { detection: None, ..known };
        let no_rtt = Retransmission { rtt: None, ..known };
        for (what, sack, rows) in [
            ("a verdict", Some(true), &[known, unknown_verdict][..]),
            ("the end", Some(true), &[endless]),
            ("the original", Some(true), &[no_original]),
            ("the RTT", Some(true), &[no_rtt]),
            ("whether SACK is in use", None, &[known]),
        ] {
            let found = recoveries(sack, rows);
            assert_eq!((found.table(), found.unmeasured), (vec![], 1), "{what}");
        }
    }

    #[test]
    fn lines_tell_sack_and_detectors_apart() {
        let mut all = recoveries(Some(true), &[row(1000, 800, 1100, Fast, Needed)]);
        all.merge(&recoveries(Some(false), &[row(1000, 800, 1300, Rto, Needed)]));
        all.merge(&recoveries(Some(false), &[row(1000, 800, 1100, Fast, Needed)]));
        let lines = all.table();
        let lines: Vec<_> = lines.iter().map(|l| (l.detected_by, l.sack, l.recoveries, l.mean, l.p50)).collect();
        let expected = [
            ("any", None, 3, Some(5.0 / 3.0), Some(1.0)),
            ("any", Some(true), 1, Some(1.0), Some(1.0)),
            ("any", Some(false), 2, Some(2.0), Some(1.0)),
            ("fast_retransmit", None, 2, Some(1.0), Some(1.0)),
            ("fast_retransmit", Some(true), 1, Some(1.0), Some(1.0)),
            ("fast_retransmit", Some(false), 1, Some(1.0), Some(1.0)),
            ("rto", None, 1, Some(3.0), Some(3.0)),
            ("rto", Some(false), 1, Some(3.0), Some(3.0)),
        ];
        assert_eq!(lines, expected);
        assert_eq!(all.with_sack_to_without(1..=2), Some(100.0));
        assert_eq!(all.timeouts_to_fast_retransmits(1..=1), Some(300.0));
        assert_eq!(all.with_sack_to_without(3..=4), None);
    }
}
