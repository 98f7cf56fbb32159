use super::*;
use crate::event::Judgement;
use crate::testing::{begun, connection, ms, open_row};
use recoup_recovery::Trigger;

/// The kernel's report of this retransmission, this long after its packet, or before it.
fn report(row: &Retransmission, after: i64, reason: Reason) -> KernelRetransmission {
    let shift = Duration::from_millis(after.unsigned_abs());
    let at = if after < 0 { row.at - shift } else { row.at + shift };
    let end = SeqNumber(row.seq.0.wrapping_add(row.len));
    KernelRetransmission { at, endpoints: row.endpoints, seq: row.seq, end, reason, is_sent: true }
}

fn new(row: &Retransmission) -> Event {
    Event::Retransmission { row: *row, decided: false }
}

/// What is added to these events.
fn added(matching: &mut Matching, mut events: Vec<Event>) -> Vec<Event> {
    let before = events.len();
    matching.hear(&mut events);
    events.split_off(before)
}

fn ended(connection: &Connection) -> Vec<Event> {
    vec![Event::Ended { connection: Box::new(connection.clone()) }]
}

#[test]
fn a_reason_comes_with_its_retransmission_or_later() {
    let one = connection(1, 9);
    let [early, late] = [open_row(&one, 50, ms(100)), open_row(&one, 60, ms(200))];
    let mut matching = Matching::default();
    matching.report(report(&early, 0, Reason::Fast));
    let said = added(&mut matching, vec![new(&early), new(&late)]);
    assert_eq!(said, [Event::KernelReason { row: early, reason: Reason::Fast, agrees: true }]);
    assert_eq!(added(&mut matching, Vec::new()), []);
    matching.report(report(&late, 1, Reason::LossProbe));
    let said = added(&mut matching, Vec::new());
    assert_eq!(said, [Event::KernelReason { row: late, reason: Reason::LossProbe, agrees: false }]);
}

#[test]
fn of_two_reports_of_a_segment_the_nearest_is_its_own() {
    let one = connection(1, 9);
    let first = open_row(&one, 50, ms(100));
    let second = Retransmission { frame: 70, at: first.at + ms(300), copy: 2, ..first };
    let mut matching = Matching::default();
    matching.report(report(&first, 0, Reason::Fast));
    matching.report(report(&second, -1, Reason::Timeout));
    let said = added(&mut matching, vec![new(&second), new(&first)]);
    let reasons: Vec<_> =
        said.iter().map(|event| matches!(event, Event::KernelReason { reason: Reason::Timeout, .. })).collect();
    assert_eq!(reasons, [true, false]);
}

#[test]
fn a_super_segment_is_the_report_of_each_of_its_packets() {
    let one = connection(1, 9);
    let first = open_row(&one, 50, ms(100));
    // Across the end of the sequence space.
    let first = Retransmission { seq: SeqNumber(u32::MAX - 1447), ..first };
    let second = Retransmission { frame: 51, seq: SeqNumber(0), ..first };
    let third = Retransmission { frame: 52, seq: SeqNumber(1448), ..first };
    let mut matching = Matching::default();
    matching.report(KernelRetransmission { end: SeqNumber(1448), ..report(&first, 0, Reason::Fast) });
    let said = added(&mut matching, vec![new(&first), new(&second), new(&third)]);
    assert_eq!(said.len(), 2, "the third one begins where the report ends");
    added(&mut matching, ended(&one));
    assert_eq!(matching.agreement.missed, [0; super::super::agreement::REASONS]);
}

#[test]
fn a_report_of_another_time_or_direction_is_not_its_own() {
    let one = connection(1, 9);
    let row = open_row(&one, 50, ms(5000));
    let mut matching = Matching::default();
    matching.report(report(&row, -2001, Reason::Fast));
    matching.report(report(&row, 51, Reason::Fast));
    let other = Retransmission { endpoints: row.endpoints.reverse(), ..row };
    matching.report(report(&other, 0, Reason::Fast));
    assert_eq!(added(&mut matching, vec![new(&row)]), []);
}

#[test]
fn what_is_not_found_by_the_end_is_counted() {
    let (one, other) = (connection(1, 9), connection(2, 9));
    let [known, unreported] = [open_row(&one, 50, ms(100)), open_row(&one, 60, ms(200))];
    let remote = open_row(&other, 70, ms(300));
    let missed = open_row(&one, 80, ms(400));
    let mut matching = Matching::default();
    matching.report(report(&known, 0, Reason::Fast));
    matching.report(report(&missed, 0, Reason::Timeout));
    // Before the first packet, nothing was captured.
    let before = KernelRetransmission { at: begun() - ms(1), ..report(&missed, 0, Reason::LossProbe) };
    matching.directions.entry(missed.endpoints).or_default().reports.push_front(Report {
        number: 9,
        retransmission: before,
        is_found: false,
    });
    let unsent = KernelRetransmission { is_sent: false, ..report(&known, 0, Reason::Fast) };
    // Of a connection that nobody watches, as far as is known.
    matching.report(unsent);
    added(&mut matching, vec![new(&known), new(&unreported), new(&remote)]);
    matching.report(unsent);
    // The client's packets were captured at the server.
    let unseen = Retransmission { endpoints: one.endpoints, ..missed };
    matching.report(report(&unseen, 0, Reason::Timeout));
    let said = added(&mut matching, ended(&one));
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().all(|event| matches!(event, Event::KernelOnly { connection: 1, .. })), "{said:?}");
    added(&mut matching, ended(&other));
    let agreement = &matching.agreement;
    assert_eq!(agreement.without[Trigger::Fast as usize], 1);
    assert_eq!((agreement.elsewhere, agreement.unsent, agreement.unseen), (1, 1, 1));
    assert_eq!(agreement.missed.iter().sum::<u64>(), 1);
    assert_eq!(agreement.missed[Reason::Timeout as usize], 1);
    assert!(matching.directions.is_empty(), "nothing is kept of connections that have ended");
}

#[test]
fn a_trigger_that_changes_is_compared_again() {
    let one = connection(1, 9);
    let row = open_row(&one, 50, ms(100));
    let mut matching = Matching::default();
    matching.report(report(&row, 0, Reason::LossProbe));
    added(&mut matching, vec![new(&row)]);
    let probe = Retransmission { triggers: Trigger::Tlp.into(), ..row };
    let verdict = Event::Verdict { row: probe, decided: true, was: Judgement::of(&row, false) };
    let said = added(&mut matching, vec![verdict]);
    assert_eq!(said, [Event::KernelReason { row: probe, reason: Reason::LossProbe, agrees: true }]);
    assert_eq!(matching.agreement.pairs[Trigger::Fast as usize], [0; super::super::agreement::REASONS]);
    let withdrawn = Event::Withdrawn { was: Box::new(probe), judged: Judgement::of(&probe, true) };
    added(&mut matching, vec![withdrawn]);
    assert!(matching.agreement.pairs.iter().flatten().all(|n| *n == 0));
}

#[test]
fn the_oldest_reports_make_room() {
    let one = connection(1, 9);
    let row = open_row(&one, 50, ms(100));
    let mut matching = Matching::default();
    for port in 0..=MOST_REPORTS {
        let mut reported = report(&row, 0, Reason::Fast);
        reported.endpoints.dst.set_ip([198, 51, 100, (port >> 12) as u8].into());
        reported.endpoints.dst.set_port((port & 0xfff) as u16);
        matching.report(reported);
    }
    assert_eq!((matching.order.len(), matching.directions.len()), (MOST_REPORTS, MOST_REPORTS));
}
