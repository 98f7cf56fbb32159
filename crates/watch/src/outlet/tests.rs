use super::*;
use crate::event::Judgement;
use crate::testing::{connection, ms, open_row, repaired, with_rows};
use recoup_kernel::Reason;
use recoup_trace::finding::Evidence;
use serde_json::Value;

fn events() -> Vec<Event> {
    let connection = connection(7, 1);
    let open = open_row(&connection, 19, ms(100));
    let row = repaired(open);
    let spurious = Retransmission { verdict: Verdict::Spurious, evidence: Evidence::Dsack, ..row };
    vec![
        Event::Retransmission { row: open, decided: false },
        Event::Verdict { row, decided: true, was: Judgement::of(&open, false) },
        Event::Episode { row, cost: row.cost.unwrap(), was: None },
        Event::Verdict { row: spurious, decided: true, was: Judgement::of(&row, true) },
        Event::KernelReason { row, reason: Reason::Fast, agrees: true },
        Event::KernelReason { row, reason: Reason::LossProbe, agrees: false },
        Event::Withdrawn { was: Box::new(row), judged: Judgement::of(&row, true) },
        Event::Ended { connection: Box::new(with_rows(connection, &[row])) },
        Event::Note { text: "eth0 is gone".into() },
    ]
}

fn said(at: u64) -> Said {
    let at = Instant::from_millis(at);
    Said { at, captured: at }
}

/// Findings of old captures would otherwise all be of now.
#[test]
fn lines_have_the_times_of_packets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("findings");
    let mut outlet = Outlet::open(Form::Lines, &path).unwrap();
    let [packet, captured] = [events()[0].clone(), events()[1].clone()];
    let Event::Retransmission { row, .. } = &packet else { panic!("{packet:?}") };
    let read_until = row.at + ms(30);
    let at = Instant::from_millis(1_900_000_000_000);
    outlet.write(&[packet.clone(), captured], Said { at, captured: read_until }).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let times: Vec<_> = text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect();
    assert_eq!(times, [utc(row.at), utc(read_until)]);
}

#[test]
fn events_are_sentences() {
    let said: Vec<_> = events().iter().filter_map(sentence).collect();
    let ends = "#7 192.0.2.1:80 > 198.51.100.1:30007";
    assert_eq!(
        said,
        [
            format!("{ends}: seq 19000 (1.45 kB) retransmitted by fast 50 ms after the original: not acknowledged yet"),
            format!("{ends}: seq 19000: needed: it was acknowledged in time, and no duplicate was reported"),
            format!("{ends}: lost 55 ms: a lost segment (first retransmission: fast after 50 ms, needed)"),
            format!("{ends}: seq 19000: spurious: the receiver reported a duplicate (DSACK) (it was taken for needed)"),
            format!("{ends}: seq 19000: kernel: fast retransmission"),
            format!("{ends}: seq 19000: kernel: loss probe (not fast)"),
            format!("{ends}: seq 19000: no retransmission after all"),
            "#7 198.51.100.1:30007 > 192.0.2.1:80: still open after 1.00 s: lost 55 ms, 1 retransmission".into(),
            "note: eth0 is gone".into(),
        ]
    );
}

#[test]
fn a_connection_without_trouble_ends_in_silence() {
    assert_eq!(sentence(&Event::Ended { connection: Box::new(connection(7, 1)) }), None);
}

#[test]
fn json_lines_name_their_schema_and_what_they_revise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("findings.jsonl");
    let mut outlet = Outlet::open(Form::json(), &path).unwrap();
    outlet.write(&events(), said(1_700_000_000_500)).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert_eq!((&line["schema"], &line["version"]), (&"recoup.watch".into(), &1.into()), "{line}");
        assert_eq!(line["said"], 1_700_000_000.5);
    }
    let kinds: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    let retransmission =
        ["retransmission", "verdict", "episode", "verdict", "kernel_reason", "kernel_reason", "withdrawn"];
    assert_eq!(kinds[..7], retransmission);
    assert_eq!(kinds[7..], ["connection", "note"]);
    let ids: Vec<_> = lines[..7].iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["7-19-19000"; 7], "all are about the same retransmission");
    assert_eq!((&lines[0]["decided"], &lines[0]["trigger"]), (&false.into(), &"fast".into()));
    assert_eq!((&lines[3]["verdict"], &lines[3]["was"]["verdict"]), (&"spurious".into(), &"needed".into()));
    assert_eq!((&lines[2]["cause"], &lines[2]["lost_ms"]), (&"lost_segment".into(), &55.0.into()));
    let said = |line: &Value| ["trigger", "kernel", "agrees"].map(|name| line[name].clone());
    assert_eq!(said(&lines[5]), ["fast".into(), "loss_probe".into(), Value::from(false)]);
    assert_eq!(lines[7]["lost_by_cause_ms"], serde_json::json!({"lost_segment": 55.0}));
    assert_eq!(lines[7]["dst_bytes"], 100_000);
}

/// A program that rotates files renames them and sends SIGHUP.
#[test]
fn a_file_that_was_renamed_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let [path, old] = ["now", "old"].map(|name| folder.path().join(name));
    let note = |text: &str| [Event::Note { text: text.into() }];
    let mut outlet = Outlet::open(Form::Lines, &path).unwrap();
    outlet.write(&note("one"), said(0)).unwrap();
    std::fs::rename(&path, &old).unwrap();
    outlet.write(&note("two"), said(0)).unwrap();
    outlet.reopen().unwrap();
    outlet.write(&note("three"), said(0)).unwrap();
    assert_eq!(std::fs::read_to_string(&old).unwrap().lines().count(), 2);
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("note: three\n"));
}

#[test]
fn what_only_the_kernel_reports_is_said_with_its_direction() {
    let row = open_row(&connection(7, 1), 19, ms(100));
    let end = recoup_wire::SeqNumber(20_448);
    let (endpoints, reason) = (row.endpoints, Reason::Timeout);
    let report =
        recoup_kernel::KernelRetransmission { at: row.at, endpoints, seq: row.seq, end, reason, is_sent: true };
    let event = Event::KernelOnly { connection: 7, vantage: row.vantage, report };
    let expected = "#7 192.0.2.1:80 > 198.51.100.1:30007: seq 19000: only the kernel reports a retransmission: retransmission timeout";
    assert_eq!(sentence(&event).unwrap(), expected);
    let mut line = Vec::new();
    JsonLines::new().append(&event, row.at, &mut line).unwrap();
    let line: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!((&line["event"], &line["end"]), (&"kernel_only".into(), &20_448.into()));
    assert_eq!((&line["vantage"], &line["kernel"]), (&"sender".into(), &"timeout".into()));
}
