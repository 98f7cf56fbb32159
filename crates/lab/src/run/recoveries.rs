//! Distributions over the recoveries of many flows: Tables 5 to 7 and figure 5 of the 2011 paper.

use recoup_recovery::Ended;
use recoup_recovery::Recovery;
use recoup_support::merge::Merge;
use recoup_support::merge_fields;
use recoup_support::stats::{Durations, Integers};
use recoup_units::Segments;

/// The finished recoveries of many flows: the last 1,024 of each flow at most.
#[derive(Clone, Debug, Default)]
pub struct Recoveries {
    /// pipe − ssthresh at the start of a recovery, in segments (Table 5).
    pub pipe_above_ssthresh: Integers,
    /// cwnd − ssthresh just before the end of a recovery, in segments (Table 6).
    pub cwnd_above_ssthresh: Integers,
    /// cwnd after a recovery, in segments (Table 7).
    pub cwnd_after: Integers,
    /// Durations of recoveries: the time in the state Recovery.
    pub time: Durations,
    /// Times until the sender was Open again: the paper's recovery times (§5, figure 5). Without recoveries whose
    /// connection ended before.
    pub time_until_open: Durations,
    /// Recoveries that ended when the recovery point was acknowledged.
    pub complete: u64,
    /// Recoveries that were undone because they were spurious.
    pub undone: u64,
    /// Recoveries that ended in a retransmission timeout.
    pub timed_out: u64,
}

impl Recoveries {
    /// Adds a recovery.
    pub fn add(&mut self, recovery: &Recovery) {
        let above = |window: Segments| i64::from(window.0) - i64::from(recovery.ssthresh.0);
        self.pipe_above_ssthresh.add(above(recovery.pipe));
        self.cwnd_above_ssthresh.add(above(recovery.last_cwnd));
        self.cwnd_after.add(recovery.cwnd.0.into());
        self.time.add(recovery.duration);
        if let Some(time) = recovery.until_open {
            self.time_until_open.add(time);
        }
        *match recovery.ended {
            Ended::Complete => &mut self.complete,
            Ended::Undone => &mut self.undone,
            Ended::Timeout => &mut self.timed_out,
        } += 1;
    }

    /// The number of recoveries.
    pub fn count(&self) -> u64 {
        self.time.count()
    }
}

impl Merge for Recoveries {
    fn merge(&mut self, other: &Self) {
        merge_fields!(self, other: pipe_above_ssthresh, cwnd_above_ssthresh, cwnd_after, time, time_until_open);
        merge_fields!(self, other: complete, undone, timed_out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_units::Instant;
    use std::time::Duration;

    fn recovery(pipe: u32, last_cwnd: u32, cwnd: u32, ended: Ended) -> Recovery {
        Recovery {
            entered_at: Instant::ZERO,
            duration: Duration::from_millis(100),
            until_open: (ended != Ended::Timeout).then_some(Duration::from_millis(150)),
            pipe: Segments(pipe),
            ssthresh: Segments(10),
            last_cwnd: Segments(last_cwnd),
            cwnd: Segments(cwnd),
            retransmissions: 1,
            delivered: 9,
            ended,
        }
    }

    #[test]
    fn distances_from_ssthresh_are_signed() {
        let (mut one, mut other) = (Recoveries::default(), Recoveries::default());
        one.add(&recovery(3, 8, 10, Ended::Complete));
        one.add(&recovery(10, 10, 20, Ended::Undone));
        other.add(&recovery(19, 12, 1, Ended::Timeout));
        one.merge(&other);
        let ends = |d: &Integers| (d.min(), d.percentile(50), d.max());
        assert_eq!(ends(&one.pipe_above_ssthresh), (Some(-7), Some(0), Some(9)));
        assert_eq!(ends(&one.cwnd_above_ssthresh), (Some(-2), Some(0), Some(2)));
        assert_eq!(ends(&one.cwnd_after), (Some(1), Some(10), Some(20)));
        assert_eq!((one.complete, one.undone, one.timed_out), (1, 1, 1));
        assert_eq!(one.count(), 3);
        // The sender that timed out was not Open again.
        assert_eq!(one.time_until_open.count(), 2);
        let open = one.time_until_open.summary().unwrap();
        assert_eq!((open.min, open.max), (150.0, 150.0));
    }
}
