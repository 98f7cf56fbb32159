use super::*;
use crate::event::Event;
use crate::testing::{begun, connection, ms, open_row, repaired, with_rows};
use recoup_trace::finding::Evidence;
use std::collections::BTreeSet;

fn samples(text: &str) -> BTreeSet<&str> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap().0).collect()
}

#[track_caller]
fn assert_has(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "no line {line} in:\n{text}");
}

#[test]
fn all_samples_are_there_from_the_start() {
    let before = page(&Status::default(), Format::Prometheus);
    let one = connection(1, 9);
    let row = repaired(open_row(&one, 50, ms(100)));
    let mut status = Status { open: 1, ..Status::default() };
    status.totals.hear(&Event::Retransmission { row, decided: true });
    status.totals.lose(&with_rows(one, &[row]), true);
    assert_eq!(samples(&page(&status, Format::Prometheus)), samples(&before));
    assert_has(&before, "recoup_retransmissions_total{trigger=\"unknown\"} 0");
    assert_has(&before, "recoup_retransmission_verdicts_total{trigger=\"tlp\",verdict=\"spurious\"} 0");
    assert_has(&before, "recoup_retransmission_verdict_revisions_total{from=\"spurious\",to=\"needed\"} 0");
    assert_has(&before, "recoup_lost_seconds_total{cause=\"burst\"} 0");
    assert_has(&before, "recoup_connections_ended_total{closing=\"evicted\"} 0");
    assert_has(&before, "recoup_connections_limited{by=\"network\"} 0");
}

#[test]
fn what_was_found_is_counted_under_its_labels() {
    let one = connection(1, 9);
    let open = open_row(&one, 50, ms(100));
    let row = repaired(open);
    let mut status = Status { name: "eth0, \"x\"".into(), settled: begun(), ..Status::default() };
    (status.counts.frames, status.counts.packets, status.bytes, status.dropped) = (9, 8, 7000, 6);
    (status.open, status.memory) = (5, 4000);
    status.totals.hear(&Event::Retransmission { row: open, decided: false });
    let mut was = crate::event::Judgement::of(&open, false);
    status.totals.hear(&Event::Verdict { row, decided: true, was });
    was = crate::event::Judgement::of(&row, true);
    let spurious =
        recoup_trace::finding::Retransmission { verdict: Verdict::Spurious, evidence: Evidence::Dsack, ..row };
    status.totals.hear(&Event::Verdict { row: spurious, decided: true, was });
    status.totals.lose(&with_rows(one, &[row]), true);
    let text = page(&status, Format::Prometheus);
    for line in [
        concat!("recoup_watch_info{source=\"eth0, \\\"x\\\"\",version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        "recoup_retransmissions_total{trigger=\"fast\"} 1",
        "recoup_retransmission_verdicts_total{trigger=\"fast\",verdict=\"needed\"} 1",
        "recoup_retransmission_verdicts_total{trigger=\"fast\",verdict=\"spurious\"} 1",
        "recoup_retransmission_verdict_revisions_total{from=\"needed\",to=\"spurious\"} 1",
        "recoup_lost_seconds_total{cause=\"lost_segment\"} 0.055",
        "recoup_connections_open 5",
        "recoup_connections_memory_bytes 4000",
        "recoup_frames_total 9",
        "recoup_frame_bytes_total 7000",
        "recoup_frames_dropped_total 6",
        "recoup_tcp_segments_total 8",
        "recoup_analyzed_timestamp_seconds 1700000000",
    ] {
        assert_has(&text, line);
    }
}

#[test]
fn the_kernels_reasons_are_there_if_they_are_asked_for() {
    let mut status = Status::default();
    assert!(!page(&status, Format::Prometheus).contains("recoup_kernel"));
    let mut agreement = Agreement { unreported: 5, ..Agreement::default() };
    agreement.begin(Trigger::Tlp.into(), Reason::LossProbe);
    agreement.without[Trigger::Fast as usize] = 2;
    agreement.missed[Reason::Timeout as usize] = 3;
    status.kernel = Some(agreement);
    let text = page(&status, Format::Prometheus);
    for line in [
        "recoup_kernel_reasons_total{trigger=\"tlp\",kernel=\"loss_probe\"} 1",
        "recoup_kernel_reasons_total{trigger=\"fast\",kernel=\"none\"} 2",
        "recoup_kernel_reasons_total{trigger=\"unknown\",kernel=\"unknown\"} 0",
        "recoup_kernel_retransmissions_missed_total{kernel=\"timeout\"} 3",
        "recoup_kernel_retransmissions_unreported_total 5",
    ] {
        assert_has(&text, line);
    }
    let docs = std::fs::read_to_string("../../docs/watch.md").unwrap();
    for (name, kind) in text.lines().filter_map(|line| line.strip_prefix("# TYPE recoup_kernel_")?.split_once(' ')) {
        assert!(docs.contains(&format!("| `recoup_kernel_{name}` | {kind} |")), "{name} is not in docs/watch.md");
    }
}
