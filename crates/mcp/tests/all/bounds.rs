//! Bounds of time and size; progress, cancellation; that nothing is written.

use crate::session::{DEMO, Session, folder, params};
use rmcp::model::{CallToolRequest, ClientRequest};
use rmcp::service::PeerRequestOptions;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

/// A capture that takes many seconds: the demo again and again.
fn long() -> Vec<u8> {
    DEMO.repeat(400)
}

#[test]
fn a_call_is_cut_at_its_deadline_and_the_next_one_works() {
    let folder = folder();
    folder.write("long.pcap.zst", long());
    let session = Session::start(&folder, &["--timeout", "1s"]);
    let begun = Instant::now();
    let line = session.error("explain_capture", json!({ "capture": "long.pcap.zst" }));
    assert!(
        line.starts_with(
            "explain_capture: cut after 1s, the bound of --timeout: choose less of the capture with filter"
        ),
        "{line}"
    );
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    session.answer("list_captures", json!({}));
}

#[test]
fn a_call_that_the_client_cancels_ends() {
    let folder = folder();
    folder.write("long.pcap.zst", long());
    let session = Session::start(&folder, &["--timeout", "10min"]);
    session.runtime.block_on(async {
        let call = params("explain_capture", json!({ "capture": "long.pcap.zst" }));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        let handle = session.running.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        handle.expect("sent").cancel(Some("changed my mind".into())).await.expect("cancelled");
    });
    // The next call waits for the thread, which would be at work for minutes.
    let begun = Instant::now();
    session.answer("list_captures", json!({}));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // Progress was reported meanwhile, and it increased.
    let progress = session.running.service().progress.lock().expect("no panic").clone();
    assert!(!progress.is_empty());
    assert!(progress.windows(2).all(|two| two[0].progress < two[1].progress), "{progress:?}");
    let message = progress[0].message.as_deref().unwrap_or_default();
    assert!(message.starts_with("read ") && message.ends_with(" MB"), "{message}");
}

#[test]
fn an_answer_has_at_most_the_bytes_that_it_may_have() {
    let folder = folder();
    for most in [16_000, 24_000] {
        let session = Session::start(&folder, &["--max-answer", &format!("{most}B")]);
        for (tool, arguments) in [
            ("explain_capture", json!({ "capture": "demo.pcap.zst", "top": 47 })),
            ("list_retransmissions", json!({ "capture": "demo.pcap.zst", "limit": 1000 })),
        ] {
            let (text, document) = session.answer(tool, arguments);
            let size = text.len() + document.to_string().len();
            assert!(size <= most, "{tool}: {size}");
            assert!(text.contains("eft out"), "{tool}: {text}");
        }
    }
    // Without bounds in the way, usual answers are short.
    let session = Session::start(&folder, &[]);
    for (tool, arguments, most) in [
        ("explain_capture", json!({ "capture": "demo.pcap.zst" }), 25_000),
        ("explain_connection", json!({ "capture": "demo.pcap.zst", "connection": 13 }), 6_000),
        ("list_retransmissions", json!({ "capture": "demo.pcap.zst" }), 30_000),
        ("what_would_help", json!({ "capture": "demo.pcap.zst" }), 60_000),
    ] {
        let (text, document) = session.answer(tool, arguments);
        let size = text.len() + document.to_string().len();
        assert!(size <= most, "{tool}: {size}");
    }
}

#[test]
fn nothing_is_written() {
    let folder = folder();
    let temporary = recoup_testing::Folder::new("");
    let state = || {
        let files = folder.files().into_iter().chain(["".into()]);
        let about = files.map(|name| {
            let about = fs::metadata(folder.path(&name)).expect("a file");
            (name, (about.len(), about.modified().expect("a time")))
        });
        about.collect::<BTreeMap<String, (u64, SystemTime)>>()
    };
    let before = state();
    // Temporary files would be in a folder of their own.
    let session = Session::start_in(&folder, &[], &[("TMPDIR", temporary.dir())]);
    session.answer("list_captures", json!({}));
    for (tool, arguments) in [
        ("explain_capture", json!({ "capture": "demo.pcap.zst" })),
        ("explain_connection", json!({ "capture": "demo.pcap.zst", "connection": 13 })),
        ("list_retransmissions", json!({ "capture": "demo.pcap.zst" })),
        ("what_would_help", json!({ "capture": "demo.pcap.zst" })),
        ("draw_connection", json!({ "capture": "demo.pcap.zst", "connection": 13 })),
    ] {
        session.call(tool, arguments).expect("an answer");
    }
    drop(session);
    assert_eq!(state(), before);
    assert_eq!(temporary.files(), Vec::<String>::new());
}
