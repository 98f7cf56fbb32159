use super::super::source::{Choice, Source, SourceError, read};
use super::*;
use recoup_draw::sequence::MarkKind;

const SENT: &str = r#"{"time_ms":1.5,"profile":"p","flow":0,"host":"server","event":"sent","what":"new","start":1,"end":1001,"trigger":null,"pipe":1,"cwnd":10}"#;
const AGAIN: &str = r#"{"time_ms":9.000001,"profile":"p","flow":0,"host":"server","event":"sent","what":"again","start":1,"end":1001,"trigger":"rto","pipe":1,"cwnd":10}"#;
const ACK: &str = r#"{"time_ms":9.5,"profile":"p","flow":0,"host":"server","event":"packet_arrived","direction":"up","packet":1,"seq":1,"ack":1001,"len":0,"flags":".","sack":[[2001,3001]],"damaged":false}"#;

fn stream(lines: &[&str], choice: &Choice) -> Result<Source, SourceError> {
    read("x.jsonl", lines.join("\n").as_bytes(), choice)
}

#[test]
fn segments_sent_and_acks_received_are_drawn() {
    let other = r#"{"time_ms":2,"profile":"p","flow":0,"host":"server","event":"rtt_sample","rtt_ms":1.0,"srtt_ms":1.0,"rto_ms":1.0}"#;
    let nobodys = r#"{"time_ms":2,"profile":"p","flow":0,"host":null,"event":"packet_dropped","direction":"down","cause":"loss"}"#;
    let damaged = ACK.replace("\"damaged\":false", "\"damaged\":true");
    let lines = [SENT, other, nobodys, &damaged, "", AGAIN, ACK];
    let source = stream(&lines, &Choice::default()).unwrap();
    assert_eq!(source.title, "p, flow 0");
    let span = |a, b| Span::new(Offset(a), Offset(b));
    let found: Vec<(u64, MarkKind)> =
        source.panels[0].marks.iter().map(|m| (m.at.as_nanos(), m.kind.clone())).collect();
    assert_eq!(
        found,
        [
            (1_500_000, MarkKind::Sent(span(1, 1001))),
            (9_000_001, MarkKind::Retransmitted(span(1, 1001), Some("rto"))),
            (9_500_000, MarkKind::Sacked(span(2001, 3001))),
            (9_500_000, MarkKind::Acked(Offset(1001))),
        ]
    );
}

#[test]
fn each_profile_has_a_panel_and_one_flow_is_chosen() {
    let second = SENT.replace("\"p\"", "\"q\"");
    let third = SENT.replace("\"flow\":0", "\"flow\":3");
    let choose = |profile: Option<&str>, flow, lines: &[&str]| {
        let choice = Choice { profile: profile.map(str::to_owned), flow, ..Choice::default() };
        stream(lines, &choice)
            .map(|source| {
                let titles = source.panels.iter().map(|panel| panel.title.as_str());
                format!("{}: {}", source.title, titles.collect::<Vec<_>>().join("|"))
            })
            .map_err(|e| e.to_string())
    };
    let both = [SENT, &second];
    let flows = [SENT, &third];
    assert_eq!(choose(None, None, &both), Ok("flow 0: p|q".into()));
    assert_eq!(choose(Some("q"), None, &both), Ok("q, flow 0: ".into()));
    assert_eq!(choose(None, Some(3), &flows), Ok("p, flow 3: ".into()));
    for (profile, flow, lines, error) in [
        (None, None, &flows, "x.jsonl: there are flows 0 to 3: choose one with --flow"),
        (None, Some(1), &flows, "x.jsonl: no flow 1: expected one from 0 to 3"),
        (Some("r"), None, &both, "x.jsonl: no profile `r`: expected one of p, q"),
    ] {
        assert_eq!(choose(profile, flow, lines), Err(error.into()));
    }
}

#[test]
fn an_invalid_line_is_reported_with_its_number() {
    for (line, error) in [
        ("{", "column 1: EOF while parsing an object"),
        ("{\"time_ms\":1}", "column 13: missing field `profile`"),
        ("[1]", "column "),
        (&SENT.replace("1.5", "-1"), "time_ms -1: expected 0 or more"),
        (&SENT.replace("1.5", "1e99"), "time_ms "),
        (&SENT.replace("server", "sevrer"), "no host `sevrer`: expected one of client, server, did you mean `server`?"),
        (&SENT.replace("\"new\"", "\"knew\""), "sent: what: no kind `knew`: expected one of new, "),
        (&SENT.replace(":1001", ":null"), "sent: expected start and end"),
        (&SENT.replace(":1001", ":0"), "sent: expected start and end, in order"),
        (&AGAIN.replace("\"rto\"", "\"rtoo\""), "no trigger `rtoo`: expected one of fast, "),
        (&AGAIN.replace("\"rto\"", "null"), "no trigger ``: expected one of fast, "),
        (&ACK.replace("[[2001,3001]]", "[[2001]]"), "column "),
    ] {
        let found = stream(&[SENT, line], &Choice::default()).unwrap_err().to_string();
        let expected = format!("x.jsonl:2: {error}");
        assert!(found.starts_with(&expected) && !found.contains('\n'), "{line}: {found}");
    }
    let error = read("x", &b"{\"profile\": \"\xff\"}"[..], &Choice::default());
    assert_eq!(error.unwrap_err().to_string(), "x:1: expected UTF-8 text");
}

#[test]
fn a_file_of_another_kind_is_reported() {
    for (bytes, found) in [
        (&b""[..], "the file is empty"),
        (b"  \n", "the file is empty"),
        (b"time,seq\n", "neither events nor a capture"),
    ] {
        let error = read("x", bytes, &Choice::default()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("x: {found}: expected ")), "{error}");
    }
    let error = read("x", &b"\xfd7zXZ\x00"[..], &Choice::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x: the file is compressed with xz: unpack it first, as with `xzcat FILE | recoup plot -`"
    );
    // Captures compressed with gzip or zstd are read.
    for bytes in [&b"\x1f\x8b\x08\x00"[..], b"\x28\xb5\x2f\xfd\x00"] {
        let error = read("x", bytes, &Choice::default()).unwrap_err();
        assert_eq!(error.to_string(), "x: the capture ends within its header");
    }
    // A byte order mark and white space are skipped.
    let marked = format!("\u{feff}\n\n{SENT}");
    assert!(read("x", marked.as_bytes(), &Choice::default()).is_ok());
}

#[test]
fn options_for_the_other_kind_of_file_are_refused() {
    let connection = Choice { connection: Some(0), ..Choice::default() };
    let error = stream(&[SENT], &connection).unwrap_err().to_string();
    assert_eq!(error, "x.jsonl: --connection is for captures; an event stream has --profile and --flow");
    for (flow, profile, option) in [(Some(0), None, "--flow"), (None, Some("p".into()), "--profile")] {
        let choice = Choice { flow, profile, ..Choice::default() };
        let capture = 0xa1b2_c3d4u32.to_le_bytes();
        let error = read("x.pcap", &capture[..], &choice).unwrap_err().to_string();
        let expected = format!("x.pcap: {option} is for event streams; a capture has --connection");
        assert_eq!(error, expected);
    }
}
