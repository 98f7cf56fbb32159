//! `recoup serve --uploads`: files that clients send.

use crate::PROGRAM;
use crate::http::{Server, has, pattern, site};
use recoup_testing::{Folder, command, skip};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Names in the folder that is served.
fn stored(folder: &Folder) -> Vec<String> {
    folder.files().iter().filter_map(|name| name.strip_prefix("www/").map(str::to_owned)).collect()
}

fn put(server: &Server, path: &str, headers: &str, body: &[u8]) -> u16 {
    let mut connection = server.connect();
    connection.send(format!("PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n{headers}\r\n", body.len()));
    // A server that refuses may close before it has all.
    let _ = std::io::Write::write_all(connection.stream(), body);
    connection.receive(false).status
}

#[test]
fn files_are_stored_whole() {
    let folder = site(&[("d/old", b"old")]);
    let server = Server::start(&folder, &["--uploads"]);
    let bytes = pattern(2_000_000);
    assert_eq!(put(&server, "/new.bin", "", &bytes), 201);
    assert!(folder.bytes("www/new.bin") == bytes);
    assert_eq!(put(&server, "/new.bin", "", b"shorter"), 204);
    assert_eq!(folder.read("www/new.bin"), "shorter");
    assert_eq!(put(&server, "/d/%C3%A4", "", b""), 201);
    assert_eq!(folder.read("www/d/ä"), "");
    let mut chunked = server.connect();
    chunked.send(
        "PUT /chunked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    );
    assert_eq!(chunked.receive(false).status, 201);
    // The connection goes on.
    assert_eq!(chunked.ask("GET", "/chunked", "").text(), "hello world");
    assert_eq!(put(&server, "/d", "", b"x"), 409);
    assert_eq!(put(&server, "/nowhere/x", "", b"x"), 409);
    assert_eq!(put(&server, "/", "", b"x"), 404);
    assert_eq!(put(&server, &format!("/{}", "x".repeat(300)), "", b"x"), 414);
    assert_eq!(put(&server, "/part", "Content-Range: bytes 0-0/5\r\n", b"x"), 400);
    assert_eq!(put(&server, "/coded", "Content-Encoding: gzip\r\n", b"x"), 415);
    let refusal = server.connect().ask("POST", "/x", "");
    assert_eq!((refusal.status, refusal.header("Allow")), (405, Some("GET, HEAD, PUT")));
    assert_eq!(stored(&folder), ["chunked", "d", "d/old", "d/ä", "new.bin"]);
}

#[test]
fn conditions_hold_for_uploads() {
    let folder = site(&[("a", b"a")]);
    let server = Server::start(&folder, &["--uploads"]);
    assert_eq!(put(&server, "/a", "If-None-Match: *\r\n", b"b"), 412);
    assert_eq!(put(&server, "/a", "If-Match: \"x\"\r\n", b"b"), 412);
    assert_eq!(put(&server, "/a", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", b"b"), 412);
    assert_eq!(put(&server, "/b", "If-Match: *\r\n", b"b"), 412);
    assert_eq!(stored(&folder), ["a"]);
    assert_eq!(put(&server, "/a", "If-Match: *\r\n", b"b"), 204);
    assert_eq!(put(&server, "/b", "If-None-Match: *\r\n", b"b"), 201);
    assert_eq!(folder.read("www/a"), "b");

    // Of several that may be the first, one is.
    let statuses: Vec<_> = (0..16)
        .map(|_| {
            let mut connection = server.connect();
            connection.send("PUT /first HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\nContent-Length: 1\r\n\r\n");
            connection
        })
        .collect();
    thread::sleep(Duration::from_millis(200));
    let statuses = statuses.into_iter().map(|mut connection| {
        let _ = std::io::Write::write_all(connection.stream(), b"x");
        connection.receive(false).status
    });
    let mut statuses: Vec<u16> = statuses.collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![201], vec![412; 15]].concat());
}

#[test]
fn large_uploads_are_refused() {
    let folder = site(&[]);
    let server = Server::start(&folder, &["--uploads", "--upload-limit", "100kB"]);
    assert_eq!(put(&server, "/a", "", &pattern(100_000)), 201);
    assert_eq!(put(&server, "/b", "", &pattern(100_001)), 413);
    // Nothing is sent before it is known that it is not wanted.
    let mut waits = server.connect();
    waits.send("PUT /c HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(waits.head().expect("a response").0, 413);
    let mut goes_on = server.connect();
    goes_on.send("PUT /d HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(goes_on.head().expect("a response").0, 100);
    goes_on.send("x");
    assert_eq!(goes_on.receive(false).status, 201);
    let mut chunked = server.connect();
    chunked.send("PUT /e HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..11 {
        chunked.send(format!("2710\r\n{}\r\n", "x".repeat(10_000)));
    }
    chunked.send("0\r\n\r\n");
    assert_eq!(chunked.receive(false).status, 413);
    assert_eq!(stored(&folder), ["a", "d"]);
}

#[test]
fn uploads_that_break_off_leave_nothing() {
    let folder = site(&[("a", b"old")]);
    let server = Server::start(&folder, &["--uploads", "--timeout", "300ms"]);
    let begin = |path: &str| {
        let mut connection = server.connect();
        connection.send(format!("PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"));
        connection.send(pattern(500_000));
        connection
    };
    let until_gone = || {
        let since = Instant::now();
        while stored(&folder) != ["a"] && since.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(stored(&folder), ["a"]);
    };
    let upload = begin("/b");
    while stored(&folder).len() == 1 {
        thread::sleep(Duration::from_millis(5));
    }
    drop(upload);
    until_gone();
    // One that stops is given up.
    let mut stops = begin("/a");
    stops.rest();
    until_gone();
    let mut wrong = server.connect();
    wrong.send("PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n");
    wrong.rest();
    until_gone();
    // So is one that is under way when the server ends.
    let _upload = begin("/d");
    thread::sleep(Duration::from_millis(50));
    server.signal("TERM");
    server.signal("INT");
    let (status, _) = server.wait(Duration::from_secs(5));
    assert_eq!(status, Some(0));
    until_gone();
    assert_eq!(folder.read("www/a"), "old");
}

#[test]
fn a_full_disk_is_reported() {
    let folder = site(&[("a", b"old")]);
    // 512 bytes each.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 100 && exec \"$@\"", "sh", PROGRAM]);
    let server = Server::start_as(&mut limited, &folder, &["--uploads"]);
    assert_eq!(put(&server, "/a", "", &pattern(1_000_000)), 507);
    assert_eq!(put(&server, "/b", "", &pattern(1000)), 201);
    assert_eq!(folder.read("www/a"), "old");
    assert_eq!(stored(&folder), ["a", "b"]);
}

#[test]
fn uploads_are_discarded() {
    let folder = site(&[("a", b"old")]);
    let server = Server::start(&folder, &["--uploads=discard", "--upload-limit", "1MB"]);
    let mut connection = server.connect();
    connection.send("PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    connection.send(pattern(1_000_000));
    let response = connection.receive(false);
    assert_eq!((response.status, response.text().as_str()), (200, "discarded 1000000 bytes\n"));
    assert_eq!(put(&server, "/a", "", &pattern(1_000_001)), 413);
    assert_eq!(stored(&folder), ["a"]);
    assert_eq!(folder.read("www/a"), "old");
}

#[test]
fn curl_uploads() {
    if !has("curl") {
        return skip("no curl");
    }
    let folder = site(&[]);
    let bytes = pattern(3_000_000);
    folder.write("file", &bytes);
    let server = Server::start(&folder, &["--uploads", "--upload-limit", "4MB"]);
    let curl = |args: &[&str]| {
        let code = ["-sS", "--max-time", "20", "-w", "%{http_code}", "-o", "/dev/null"];
        let run = command("curl").args(code).args(args).current_dir(folder.dir()).output().expect("curl");
        assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).expect("text")
    };
    assert_eq!(curl(&["-T", "file", &server.url("a")]), "201");
    assert_eq!(curl(&["-T", "file", &server.url("a")]), "204");
    assert_eq!(curl(&["-T", "file", "-H", "Transfer-Encoding: chunked", &server.url("b")]), "201");
    assert!(folder.bytes("www/a") == bytes && folder.bytes("www/b") == bytes);
    folder.write("file", pattern(5_000_000));
    assert_eq!(curl(&["-T", "file", &server.url("c")]), "413");
    assert_eq!(stored(&folder), ["a", "b"]);
}
