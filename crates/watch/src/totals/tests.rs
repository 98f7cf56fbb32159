use super::*;
use crate::event::Judgement;
use crate::testing::{connection, ms, open_row, repaired, with_rows};

#[test]
fn counters_only_go_up() {
    let mut totals = Totals::default();
    let connection = connection(0, 1);
    let open = open_row(&connection, 5, ms(10));
    let row = repaired(open);
    totals.hear(&Event::Retransmission { row: open, decided: false });
    assert_eq!(totals.retransmissions[place(Some(Trigger::Fast))], 1);
    assert_eq!(totals.verdicts, Totals::default().verdicts);
    totals.hear(&Event::Verdict { row, decided: true, was: Judgement::of(&open, false) });
    let fast = place(Some(Trigger::Fast));
    assert_eq!(totals.verdicts[fast][Verdict::Needed as usize], 1);
    assert_eq!(totals.revisions, Totals::default().revisions, "a first verdict revises nothing");
    let mut spurious = row;
    spurious.verdict = Verdict::Spurious;
    totals.hear(&Event::Verdict { row: spurious, decided: true, was: Judgement::of(&row, true) });
    assert_eq!(totals.verdicts[fast], [1, 1, 0]);
    assert_eq!(totals.revisions[Verdict::Needed as usize][Verdict::Spurious as usize], 1);
}

#[test]
fn time_is_counted_once_however_often_a_connection_is_looked_at() {
    let mut totals = Totals::default();
    let open = connection(0, 1);
    let rows = [repaired(open_row(&open, 5, ms(10)))];
    let connection = with_rows(open, &rows);
    for has_ended in [false, false, true] {
        totals.lose(&connection, has_ended);
        assert_eq!(totals.lost[Cause::LostSegment as usize], ms(55));
    }
    assert_eq!(totals.counted.len(), 0);
    totals.hear(&Event::Ended { connection: Box::new(connection) });
    assert_eq!(totals.ended[Closing::CaptureEnd as usize], 1);
}
