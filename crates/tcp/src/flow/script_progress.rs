//! The progress of an application through its script.

use super::{Script, When};
use recoup_units::Instant;

/// A step of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It writes this many bytes.
    Write(u64),
    /// It writes its last bytes and closes at once, so that the FIN goes with the last segment.
    WriteAndClose(u64),
    /// It closes.
    Close,
}

/// An application that follows a script.
#[derive(Clone, Debug, Default)]
pub struct ScriptProgress {
    script: Script,
    /// How many writes are done.
    done: usize,
    closed: bool,
    /// When the next step is due, if its condition on the data is met.
    due: Option<Instant>,
    /// When the previous step was due. Later steps count from it and not from when the step was done, so
    /// that an application that runs late does not delay all further steps.
    previous: Option<Instant>,
}

impl ScriptProgress {
    /// An application at the beginning of its script.
    pub fn new(script: &Script) -> Self {
        Self { script: script.clone(), ..Self::default() }
    }

    /// The script.
    pub const fn script(&self) -> &Script {
        &self.script
    }

    /// Whether the condition of its first step has been met.
    pub const fn has_begun(&self) -> bool {
        self.due.is_some() || self.previous.is_some()
    }

    /// Whether it has done everything.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.next_step().is_none()
    }

    /// When the next step is due. `None` while its condition on the data is not met, and at the end.
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The next step's condition and delay. `None` at the end.
    pub fn next_step(&self) -> Option<&When> {
        match self.script.writes.get(self.done) {
            Some(write) => Some(&write.when),
            None if self.closed => None,
            None => self.script.close.as_ref(),
        }
    }

    /// The next step, if it is due by `now`. To be called only once the connection is open. `received` counts
    /// the bytes received in order, `acknowledged` those of its own stream that were acknowledged.
    pub fn poll(&mut self, now: Instant, received: u64, acknowledged: u64) -> Option<Action> {
        if self.due.is_none() {
            self.arm(now, received, acknowledged);
        }
        let due = self.due.take_if(|due| *due <= now)?;
        self.previous = Some(due);
        let Some(bytes) = self.script.writes.get(self.done).map(|write| write.bytes) else {
            self.closed = true;
            return Some(Action::Close);
        };
        self.done += 1;
        self.arm(due, received, acknowledged);
        if self.done == self.script.writes.len() && self.due.take_if(|due| *due <= now).is_some() {
            self.closed = true;
            return Some(Action::WriteAndClose(bytes));
        }
        Some(Action::Write(bytes))
    }

    /// Computes when the next step is due, if its condition is met, since `met`.
    fn arm(&mut self, met: Instant, received: u64, acknowledged: u64) {
        let Some(when) = self.next_step() else {
            return;
        };
        if received >= when.received && acknowledged >= when.acknowledged {
            let base = self.previous.map_or(met, |previous| previous.max(met));
            self.due = Some(base + when.after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{TimedWrite, Workload, Write};
    use std::time::Duration;

    const fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    const fn when(received: u64, acknowledged: u64, ms: u64) -> When {
        When { received, acknowledged, after: Duration::from_millis(ms) }
    }

    const fn write(when: When, bytes: u64) -> Write {
        Write { when, bytes }
    }

    /// (now in ms, bytes received, bytes acknowledged, the action, when the next step is due)
    type Row = (u64, u64, u64, Option<Action>, Option<u64>);

    fn check(script: &Script, rows: &[Row]) {
        let mut progress = ScriptProgress::new(script);
        for &(now, received, acknowledged, action, due) in rows {
            let what = format!("{script:?} at {now} ms");
            assert_eq!(progress.poll(at(now), received, acknowledged), action, "{what}");
            assert_eq!(progress.due(), due.map(at), "{what}");
        }
        assert!(progress.is_finished(), "{script:?}");
    }

    #[test]
    fn a_step_waits_for_data_for_acknowledgments_and_for_time() {
        use Action::{Close, Write, WriteAndClose};
        let script = |writes: &[super::super::Write], close| Script { close, ..Script::of(writes) };
        check(
            &script(&[write(when(0, 0, 0), 5), write(when(100, 0, 30), 6)], Some(when(200, 11, 10))),
            &[
                (1, 0, 0, Some(Write(5)), None),
                (10, 99, 5, None, None),
                (11, 100, 5, None, Some(41)),
                (41, 100, 5, Some(Write(6)), None),
                (60, 200, 5, None, None),
                (61, 200, 11, None, Some(71)),
                (71, 200, 11, Some(Close), None),
                (72, 200, 11, None, None),
            ],
        );
        // A close without a delay goes with the last write, if its condition is met by then.
        let one = [write(when(0, 0, 0), 5)];
        check(&script(&one, Some(when(0, 0, 0))), &[(1, 0, 0, Some(WriteAndClose(5)), None)]);
        check(&script(&one, Some(when(7, 0, 0))), &[(1, 0, 0, Some(Write(5)), None), (2, 7, 0, Some(Close), None)]);
        check(&script(&[], Some(when(0, 0, 0))), &[(1, 0, 0, Some(Close), None)]);
        check(&script(&[], None), &[(1, 0, 0, None, None)]);
    }

    #[test]
    fn a_step_done_late_does_not_delay_the_next() {
        let steps = [write(when(0, 0, 0), 1), write(when(0, 0, 10), 2), write(when(0, 0, 10), 3)];
        check(
            &Script::of(&steps),
            &[
                (5, 0, 0, Some(Action::Write(1)), Some(15)),
                (19, 0, 0, Some(Action::Write(2)), Some(25)),
                (26, 0, 0, Some(Action::Write(3)), None),
            ],
        );
    }

    #[test]
    fn later_writes_count_from_the_servers_turn() {
        let later = [(50, 2), (50, 3), (20, 4), (70, 5)]
            .map(|(ms, bytes)| TimedWrite { after: Duration::from_millis(ms), bytes });
        let workload = Workload::exchange(100, 1).with_later_writes(&later).closing(true);
        assert_eq!((workload.client.total(), workload.server.total()), (100, 15));
        check(&workload.client, &[(0, 0, 0, Some(Action::WriteAndClose(100)), None)]);
        check(
            &workload.server,
            &[
                (7, 99, 0, None, None),
                (10, 100, 0, Some(Action::Write(1)), Some(60)),
                (60, 100, 0, Some(Action::Write(2)), Some(60)),
                (60, 100, 0, Some(Action::Write(3)), Some(60)),
                (60, 100, 0, Some(Action::Write(4)), Some(80)),
                (80, 100, 0, Some(Action::WriteAndClose(5)), None),
            ],
        );
    }
}
