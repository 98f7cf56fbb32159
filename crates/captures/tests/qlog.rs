//! Traces of QUIC explained: as text, as a document, and as a page.

use recoup_captures::analysis::{AllConnections, AnalysisError};
use recoup_captures::capture::{Capture, Input, Unwatched};
use recoup_captures::explain::{
    Facts, PageRequest, Report, SortBy, TextShape, connection_text, explain, explain_as_page, explain_connection,
    explanation_text, write_explanations,
};
use recoup_trace::analyze::{Settings, TimeMark, TimeWindow};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

fn trace(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/qlog").join(name)
}

fn shape() -> TextShape {
    TextShape {
        lines: None,
        connections: 3,
        groups: 3,
        one_connection: "recoup explain TRACE --connection".into(),
        option: "--",
        all: "--all shows them",
    }
}

/// A text in one line.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn explained(name: &str) -> (String, Value) {
    let paths = [trace(name)];
    let view = || Facts::new(SortBy::TimeLost, 10).with_advice();
    let all = explain(Input::Each(&paths), &Settings::default(), &Unwatched, view);
    assert!(all.failures.is_empty(), "{:?}", all.failures);
    let text = unwrapped(&explanation_text(&Report::new(&all.analyzed[0]), &shape()));
    let mut json = Vec::new();
    write_explanations(&all.analyzed, None, &mut json).expect("memory");
    (text, serde_json::from_slice(&json).expect("a document"))
}

#[test]
fn a_lost_tail_is_explained_in_the_words_of_quic() {
    let (text, document) = explained("aioquic-tail.qlog.gz");
    for expected in [
        "1 QUIC connection, 23.3 kB, traced at the server",
        "Losses and delays cost 161 ms of 381 ms",
        "1. Lost tails",
        "found by a probe timeout (PTO) after 119 ms",
        "Losses were found once by the time threshold and once by probe timeout (PTO).",
        "client > server (",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for word in ["TCP", "SYN", "segment", "captured", "What would have helped"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let capture = &document["captures"][0];
    assert_eq!(capture["quic"]["found"]["pto"]["needed"], 1);
    let connection = &capture["connections"][0];
    assert_eq!((&connection["src"], &connection["quic"]["traced"]), (&Value::Null, &Value::from("server")));
    let episode = &connection["episodes"][0];
    assert_eq!((&episode["sender"], &episode["trigger"]), (&Value::from("server"), &Value::from("pto")));
    assert_eq!(episode["cause"], "tail_by_probe");
    assert_eq!(capture["advice"], Value::Null);
}

#[test]
fn spurious_losses_flow_control_and_missing_acks_are_said() {
    let (text, _) = explained("aioquic-reorder.qlog.gz");
    assert!(text.contains("Losses were found twice by the time threshold (2 spurious)."), "{text}");
    assert!(text.contains("Reordering"), "{text}");
    let (text, _) = explained("aioquic-flow-control.qlog.gz");
    assert!(text.contains("limited by flow control"), "{text}");
    assert!(text.contains("Little flow-control credit held 1 connection up for"), "{text}");
    let (text, _) = explained("quinn-tail.sqlog");
    assert!(text.contains("the trace does not show which packets of 1 connection were acknowledged"), "{text}");
    let (text, _) = explained("aioquic-handshake-client.qlog.gz");
    assert!(text.contains("1. Lost handshakes"), "{text}");
    assert!(text.contains("the trace of a client does not show what its server lost"), "{text}");
}

#[test]
fn one_connection_is_explained_episode_by_episode() {
    let paths = [trace("aioquic-tail.qlog.gz")];
    let one = explain_connection(Input::Each(&paths), 0, &Settings::default(), &Unwatched).expect("a connection");
    let text = unwrapped(&connection_text(&one, &shape()).expect("a connection"));
    for expected in [
        "closed, events 3 to 167",
        "server found: a lost tail, probed (found by: pto after 119 ms, needed)",
        "client sent 621 bytes with no loss finding, traced at the receiver.",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_page_has_traces_and_captures() {
    let paths = [trace("aioquic-single.qlog.gz"), trace("aioquic-idle.qlog.gz")];
    let made = explain_as_page(Input::Each(&paths), PageRequest::default(), &Settings::default(), &Unwatched);
    assert!(made.failures.is_empty(), "{:?}", made.failures);
    let html = made.page.expect("a page").to_html();
    assert!(html.contains("What the trace does not show") || html.contains("traced at the server"));
    assert!(!html.contains("tcp.port"));
}

#[test]
fn what_is_for_captures_alone_refuses_traces() {
    let path = trace("quinn-tail.sqlog");
    let open = || Capture::open(&path).expect("a trace");
    let refused = |error: AnalysisError| error.to_string().replace(&*path.to_string_lossy(), "t");
    let error = open().analyze(&Settings::default(), AllConnections::default, &Unwatched).expect_err("no capture");
    assert_eq!(
        refused(error),
        "t: a qlog trace of QUIC, which only `recoup explain` reads: expected a pcap or pcapng capture"
    );
    let window = TimeWindow { from: Some(TimeMark::AfterStart(Duration::from_secs(1))), to: None };
    let settings = Settings { window, ..Settings::default() };
    let error = open().analyze(&settings, || Facts::new(SortBy::TimeLost, 1), &Unwatched).expect_err("a part");
    assert_eq!(
        refused(error),
        "t: a qlog trace of QUIC is explained as a whole: --from and --to select packets of captures"
    );
}
