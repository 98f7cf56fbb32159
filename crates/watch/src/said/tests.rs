use super::*;
use crate::event::Event;
use crate::testing::{connection, ms, open_row, repaired};
use recoup_recovery::Trigger;
use recoup_trace::finding::Cause;

fn heard(said: &mut Said, rows: &[Retransmission], has_ended: bool) -> Vec<Event> {
    let mut events = Vec::new();
    said.hear(&connection(3, 1), rows, has_ended, |event| events.push(event));
    events
}

#[test]
fn a_retransmission_is_said_as_it_leaves_and_its_verdict_when_it_is_decided() {
    let mut said = Said::default();
    let open = open_row(&connection(3, 1), 19, ms(100));
    assert_eq!(heard(&mut said, &[open], false), [Event::Retransmission { row: open, decided: false }]);
    assert_eq!(heard(&mut said, &[open], false), []);
    let row = repaired(open);
    let was = Judgement::of(&open, false);
    let cost = row.cost.unwrap();
    let expected = [Event::Verdict { row, decided: true, was }, Event::Episode { row, cost, was: None }];
    assert_eq!(heard(&mut said, &[row], false), expected);
    assert_eq!(heard(&mut said, &[row], true), [], "all was said before the end");
    assert_eq!(said.open(), 0);
}

#[test]
fn what_turns_out_otherwise_is_revised() {
    let mut said = Said::default();
    let row = repaired(open_row(&connection(3, 1), 19, ms(100)));
    heard(&mut said, &[row], false);
    let mut spurious = Retransmission { verdict: Verdict::Spurious, evidence: Evidence::Dsack, ..row };
    let before = row.cost.unwrap();
    let cost = EpisodeCost { cause: Cause::Reordering, ..before };
    spurious.cost = Some(cost);
    let expected = [
        Event::Verdict { row: spurious, decided: true, was: Judgement::of(&row, true) },
        Event::Episode { row: spurious, cost, was: Some(before) },
    ];
    assert_eq!(heard(&mut said, &[spurious], false), expected);
    let other_trigger = Retransmission { triggers: Trigger::Rto.into(), ..spurious };
    let expected = [Event::Verdict { row: other_trigger, decided: true, was: Judgement::of(&spurious, true) }];
    assert_eq!(heard(&mut said, &[other_trigger], false), expected);
}

#[test]
fn what_is_no_retransmission_after_all_is_withdrawn() {
    let mut said = Said::default();
    let rows = [10, 20, 30].map(|frame| open_row(&connection(3, 1), frame, ms(frame)));
    assert_eq!(heard(&mut said, &rows, false).len(), 3);
    let withdrawn = |row: Retransmission| Event::Withdrawn { was: Box::new(row), judged: Judgement::of(&row, false) };
    assert_eq!(heard(&mut said, &[rows[1]], false), [withdrawn(rows[0]), withdrawn(rows[2])]);
    assert_eq!(heard(&mut said, &[], false), [withdrawn(rows[1])]);
    assert_eq!(said.open(), 0);
}

#[test]
fn the_end_of_a_connection_decides_what_is_open() {
    let mut said = Said::default();
    let row = open_row(&connection(3, 1), 19, ms(100));
    heard(&mut said, &[row], false);
    let cost = row.cost.unwrap();
    let expected = [
        Event::Verdict { row, decided: true, was: Judgement::of(&row, false) },
        Event::Episode { row, cost, was: None },
    ];
    assert_eq!(heard(&mut said, &[row], true), expected);
}
