//! What the server refuses: files outside of its root, what is no capture, wrong arguments.

use crate::session::{DEMO, Session, folder};
use serde_json::{Value, json};
use std::fs;

/// Every tool that reads a capture, with a call that would be right.
fn calls(capture: &str) -> [(&'static str, Value); 5] {
    [
        ("explain_capture", json!({ "capture": capture })),
        ("explain_connection", json!({ "capture": capture, "connection": 1 })),
        ("list_retransmissions", json!({ "capture": capture })),
        ("what_would_help", json!({ "capture": capture })),
        ("draw_connection", json!({ "capture": capture, "connection": 1 })),
    ]
}

#[test]
fn files_outside_of_the_root_are_refused() {
    let outer = folder();
    fs::create_dir_all(outer.path("root/inner")).expect("a folder");
    fs::write(outer.path("root/own.pcap.zst"), DEMO).expect("a file");
    let root = recoup_testing::Folder::new(env!("CARGO_BIN_EXE_recoup-mcp"));
    fs::copy(outer.path("root/own.pcap.zst"), root.path("own.pcap.zst")).expect("a file");
    fs::create_dir(root.path("inner")).expect("a folder");
    let session = Session::start(&root, &[]);
    let secret = outer.path("demo.pcap.zst");
    let absolute = secret.to_str().expect("UTF-8");
    let name = root.dir().file_name().expect("a name").to_string_lossy().into_owned();
    let mut outside = vec![
        absolute.to_owned(),
        "../demo.pcap.zst".into(),
        "inner/../../demo.pcap.zst".into(),
        format!("../{name}/own.pcap.zst"),
        "/etc/passwd".into(),
        "/".into(),
        "..".into(),
    ];
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(&secret, root.path("absolute.pcap")).expect("a link");
        symlink(outer.dir(), root.path("folder")).expect("a link");
        symlink("../../etc/passwd", root.path("relative.pcap")).expect("a link");
        outside.extend(["absolute.pcap", "folder/demo.pcap.zst", "relative.pcap"].map(String::from));
    }
    for path in outside {
        for (tool, arguments) in calls(&path) {
            let line = session.error(tool, arguments);
            let expected =
                format!("{tool}: `{path}` is not below the root of this server: expected a path relative to it");
            assert_eq!(line, expected);
        }
    }
    let line = session.error("list_captures", json!({ "folder": ".." }));
    assert!(line.contains("is not below the root"), "{line}");
    // Links out are not listed, either.
    let (_, document) = session.answer("list_captures", json!({}));
    assert_eq!(document["file_count"], 1, "{document}");
    // What stays below is read, also by an absolute path, through `..` and through a link.
    let own = root.dir().canonicalize().expect("a path").join("own.pcap.zst");
    for path in [own.to_str().expect("UTF-8"), "inner/../own.pcap.zst", "./own.pcap.zst"] {
        session.answer("list_retransmissions", json!({ "capture": path, "limit": 1 }));
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("own.pcap.zst", root.path("link.pcap")).expect("a link");
        session.answer("list_retransmissions", json!({ "capture": "link.pcap", "limit": 1 }));
    }
}

#[test]
fn what_is_no_capture_is_refused() {
    let folder = folder();
    folder.write("text.pcap", "no capture");
    folder.write("empty.pcap", "");
    fs::create_dir(folder.path("folder.pcap")).expect("a folder");
    #[cfg(unix)]
    {
        let made = std::process::Command::new("mkfifo").arg(folder.path("pipe.pcap")).status();
        assert!(made.is_ok_and(|status| status.success()));
        let socket = std::os::unix::net::UnixListener::bind(folder.path("socket.pcap")).expect("a socket");
        drop(socket);
    }
    let session = Session::start(&folder, &[]);
    let mut wrong = vec![
        ("text.pcap", "text.pcap"),
        ("empty.pcap", "empty"),
        ("folder.pcap", "directory"),
        ("demo.pcap", "did you mean `demo.pcap.zst`?"),
        ("", ""),
    ];
    if cfg!(unix) {
        wrong.extend([("pipe.pcap", "expected a regular file"), ("socket.pcap", "socket.pcap")]);
    }
    for (path, why) in wrong {
        for (tool, arguments) in calls(path) {
            let line = session.error(tool, arguments);
            assert!(line.starts_with(&format!("{tool}: ")) && line.contains(why), "{line}");
        }
    }
}

#[test]
fn wrong_arguments_are_named_with_what_was_expected() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    let capture = "demo.pcap.zst";
    for (tool, arguments, error) in [
        ("explain_capture", json!({}), "capture is missing: Path of the capture, as list_captures gives it"),
        (
            "explain_capture",
            json!({ "capture": capture, "filtr": "tcp" }),
            "unknown argument `filtr`: expected capture, filter, from, to, by, top, did you mean `filter`?",
        ),
        ("explain_capture", json!({ "capture": capture, "top": "many" }), "top: expected integer, found \"many\""),
        ("explain_capture", json!({ "capture": capture, "top": 1000 }), "top: expected at most 100, found 1000"),
        (
            "explain_capture",
            json!({ "capture": capture, "by": "servr" }),
            "by servr: expected server, client, prefix:24, port, path or capture, did you mean `server`?",
        ),
        (
            "explain_capture",
            json!({ "capture": capture, "from": "noon" }),
            "from: `noon` is not a time: expected a duration after the first segment, such as 5s, or a time in UTC, such as 2026-11-22T10:00:00Z",
        ),
        (
            "explain_capture",
            json!({ "capture": capture, "from": "5s", "to": "3s" }),
            "from, to: no time in between: expected from before to",
        ),
        (
            "explain_connection",
            json!({ "capture": capture, "connection": 999 }),
            "demo.pcap.zst: no connection 999: there are 60, from 0 to 59",
        ),
        (
            "explain_connection",
            json!({ "capture": capture, "connection": -1 }),
            "connection: expected integer, found -1",
        ),
        (
            "draw_connection",
            json!({ "capture": capture, "connection": 999 }),
            "demo.pcap.zst: no connection 999: there are 60, from 0 to 59",
        ),
        (
            "draw_connection",
            json!({ "capture": capture, "connection": 1, "format": "pgn" }),
            "format `pgn`: expected png, svg, did you mean `png`?",
        ),
        (
            "list_retransmissions",
            json!({ "capture": capture, "verdict": "needless" }),
            "verdict `needless`: expected needed, spurious, unknowable, did you mean `needed`?",
        ),
        (
            "list_retransmissions",
            json!({ "capture": capture, "limit": 100_000 }),
            "limit: expected at most 1000, found 100000",
        ),
        ("list_retransmissions", json!({ "capture": capture, "trigger": "rot" }), "did you mean `rto`?"),
        ("list_retransmissions", json!({ "capture": capture, "filter": "prt 80" }), "filter: "),
        ("what_would_help", json!({ "capture": capture, "try": ["+tlpp"] }), "try +tlpp: "),
        ("list_captures", json!({ "folder": "nowhere" }), "folder `nowhere`: cannot read it: "),
    ] {
        let line = session.error(tool, arguments);
        assert!(line.starts_with(&format!("{tool}: ")) && line.contains(error), "{line}\nexpected {error}");
    }
    // A tool that is not there is an error of the protocol.
    let error = session.call("explain_captur", json!({})).expect_err("no tool");
    assert!(error.to_string().contains("did you mean `explain_capture`?"), "{error}");
}
