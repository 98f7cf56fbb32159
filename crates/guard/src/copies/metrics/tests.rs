use super::*;
use crate::copies::connection::Exchange;
use crate::copies::decision::Decision;
use crate::copies::event::Named;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, SeqNumber};
use std::collections::BTreeSet;

fn samples(text: &str) -> BTreeSet<&str> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap().0).collect()
}

/// The end of a decision for a copy of the last segment.
fn settled(act: Act, outcome: Outcome, saved: u64) -> Event {
    let connection = Endpoints { src: "192.0.2.1:80".parse().unwrap(), dst: "192.0.2.2:4000".parse().unwrap() };
    let at = Instant::from_millis(1000);
    let decision = Decision {
        at,
        kind: Kind::Tail,
        span: Span::at(Offset(1), 100),
        act,
        gap: Duration::from_millis(10),
        rtt: None,
        kernel_at: None,
        kernel_again: None,
        delivered: None,
        is_reported: false,
    };
    let what = Named { connection, seq: SeqNumber(1), len: 100 };
    Event::Settled { what, decision, outcome, saved: Duration::from_millis(saved), is_control: act == Act::Control }
}

fn exchanged(millis: u64, is_control: bool) -> Event {
    let (begun, done) = (Instant::from_millis(1000), Some(Instant::from_millis(1000 + millis)));
    Event::Exchanged { exchange: Exchange { begun, done }, is_control }
}

/// Totals with something of everything.
fn totals() -> Totals {
    let mut totals = Totals::default();
    for event in [
        settled(Act::Sent, Outcome::Repaired, 200),
        settled(Act::Sent, Outcome::Repaired, 50),
        settled(Act::Sent, Outcome::Needless, 0),
        settled(Act::Control, Outcome::Repaired, 1500),
        exchanged(90, false),
        exchanged(700, true),
    ] {
        totals.hear(&event);
    }
    let mut counts = Counts { connections: 9, control: 4, sent: 3, sent_bytes: 4500, ..Counts::default() };
    counts.vetoes.insert((Kind::Probe, Veto::LossRises), 6);
    counts.left_alone.insert(Odd::Multipath, 2);
    totals.look(&counts, 5, 7);
    totals
}

#[test]
fn all_samples_are_there_from_the_start() {
    let before = Totals::default().page("eth0", true, Format::Prometheus);
    assert_eq!(samples(&totals().page("eth0", true, Format::Prometheus)), samples(&before));
    // As the documentation says.
    assert_eq!(samples(&before).len(), 156);
    assert!(
        before.lines().filter(|line| !line.starts_with(['#'])).skip(1).all(|line| line.ends_with(" 0")),
        "{before}"
    );
}

#[test]
fn what_was_done_is_counted_under_its_labels() {
    let text = totals().page("eth0, eth1", false, Format::Prometheus);
    for line in [
        concat!(
            "recoup_guard_info{source=\"eth0, eth1\",mode=\"dry_run\",version=\"",
            env!("CARGO_PKG_VERSION"),
            "\"} 1"
        ),
        "recoup_guard_copies_total{kind=\"tail\",outcome=\"repaired\"} 2",
        "recoup_guard_copies_total{kind=\"tail\",outcome=\"needless\"} 1",
        "recoup_guard_copies_total{kind=\"syn\",outcome=\"repaired\"} 0",
        "recoup_guard_copy_bytes_total 4500",
        "recoup_guard_saved_seconds_total{kind=\"tail\"} 0.25",
        "recoup_guard_unsent_copies_total{kind=\"tail\",act=\"control\",outcome=\"repaired\"} 1",
        "recoup_guard_unsent_copies_saved_seconds_total{kind=\"tail\",act=\"control\"} 1.5",
        "recoup_guard_held_back_total{kind=\"probe\",why=\"loss_rises\"} 6",
        "recoup_guard_left_alone_total{why=\"multipath\"} 2",
        "recoup_guard_connections_total{group=\"helped\"} 5",
        "recoup_guard_connections_total{group=\"control\"} 4",
        "recoup_guard_open_connections 5",
        "recoup_guard_reports_hidden_total 7",
        "recoup_guard_transfer_seconds_bucket{group=\"helped\",le=\"0.05\"} 0",
        "recoup_guard_transfer_seconds_bucket{group=\"helped\",le=\"0.1\"} 1",
        "recoup_guard_transfer_seconds_sum{group=\"control\"} 0.7",
        "recoup_guard_transfer_seconds_count{group=\"control\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "no line {line} in:\n{text}");
    }
}

#[test]
fn the_documentation_has_these_metrics() {
    let text = Totals::default().page("eth0", true, Format::Prometheus);
    let served: BTreeSet<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let docs = std::fs::read_to_string("../../docs/guard.md").unwrap();
    let documented = docs.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `recoup_guard_")?.split('|');
        Some((format!("recoup_guard_{}", cells.next()?.trim().trim_end_matches('`')), cells.next()?.trim()))
    });
    let documented: Vec<(String, &str)> = documented.collect();
    assert_eq!(documented.iter().map(|(name, kind)| (name.as_str(), *kind)).collect::<BTreeSet<_>>(), served);
}
