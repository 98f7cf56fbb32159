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
    let later =
        [(50, 2), (50, 3), (20, 4), (70, 5)].map(|(ms, bytes)| TimedWrite { after: Duration::from_millis(ms), bytes });
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
