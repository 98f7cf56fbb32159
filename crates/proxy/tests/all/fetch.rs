//! `recoup fetch`: against `recoup serve`, and against servers that do what servers should not.

use crate::PROGRAM;
use crate::http::{Server, pattern, site};
use recoup_testing::{Folder, Outcome, command, skip};
use rustix::net::sockopt::set_socket_linger;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A server that gives each connection to `talk`, once with each request's header read.
fn answering(talk: impl Fn(&mut TcpStream, &str) -> bool + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let talk = Arc::new(talk);
    let serve = move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let talk = Arc::clone(&talk);
            thread::Builder::new().spawn(move || answer(stream, &*talk)).expect("a thread");
        }
    };
    thread::Builder::new().spawn(serve).expect("a thread");
    at
}

fn answer(mut stream: TcpStream, talk: &impl Fn(&mut TcpStream, &str) -> bool) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            line.clear();
        }
        if !talk(&mut stream, first.trim_end()) {
            return;
        }
    }
}

/// A server that sends these bytes for each request, and closes the connection.
fn sending(bytes: impl Into<Vec<u8>>) -> SocketAddr {
    let bytes = bytes.into();
    answering(move |stream, _| {
        let _ = stream.write_all(&bytes);
        false
    })
}

/// Runs fetch.
fn fetch(folder: &Folder, args: &[&str]) -> Outcome {
    folder.run(&[&["fetch"], args].concat())
}

/// The line of one URL, without times.
fn without_times(line: &str) -> String {
    let (before, after) = line.split_once(", first byte after ").unwrap_or_else(|| panic!("no times: {line}"));
    let rest = after.split_once(", whole after ").expect("two times").1;
    let end = rest.find([',', '\n']).expect("an end");
    format!("{before}{}", &rest[end..])
}

#[test]
fn wrong_arguments_are_refused_in_one_line() {
    let folder = Folder::new(PROGRAM);
    folder.write("file", "");
    folder.refuses(&["fetch"], &["<URL>..."]);
    folder.refuses(&["fetch", "https://a/"], &["https://a/", "no TLS", "http://"]);
    folder.refuses(&["fetch", "ftp://a/"], &["ftp://a/", "expected a URL"]);
    folder.refuses(&["fetch", "http://u:p@a/"], &["no user names"]);
    folder.refuses(&["fetch", "http://a/", "--connections", "0"], &["--connections"]);
    folder.refuses(&["fetch", "http://a/", "--repeat", "x"], &["--repeat"]);
    folder.refuses(&["fetch", "http://a/b", "http://a/c", "-o", "new"], &["--output new", "expected a folder"]);
    folder.refuses(&["fetch", "http://a/b", "-o", "new/"], &["--output new/", "expected a folder that exists"]);
    folder.refuses(&["fetch", "http://a/", "-o", "."], &["http://a/", "expected --output FILE"]);
    folder.refuses(&["fetch", "http://a/..%2fb", "-o", "."], &["expected --output FILE"]);
    folder.refuses(&["fetch", "http://a/b", "http://c/b", "-o", "."], &["http://c/b", "another name"]);
    folder.refuses(&["fetch", "http://a/b", "-o", "-", "--connections", "2"], &["--connections", "expected 1"]);
    folder.refuses(
        &["fetch", "http://127.0.0.1:1/"],
        &["http://127.0.0.1:1/", "no connection to 127.0.0.1:1", "refused"],
    );
    folder.refuses(&["fetch", "http://nowhere.invalid/"], &["`nowhere.invalid` has no address"]);
}

#[test]
fn files_are_fetched() {
    let bytes = pattern(3_000_000);
    let folder = site(&[("a.bin", &bytes), ("d/ä b", b"hello"), ("empty", b"")]);
    let server = Server::start(&folder, &[]);
    std::fs::create_dir(folder.path("to")).expect("a folder");
    let (a, b, empty) = (server.url("a.bin"), server.url("d/%C3%A4%20b"), server.url("empty"));
    let outcome = fetch(&folder, &[&a, &b, &empty, "-o", "to", "--sha256", "-q"]);
    let lines: Vec<String> = outcome.printed().split_inclusive('\n').map(without_times).collect();
    let sum = Command::new("sha256sum").arg(folder.path("www/a.bin")).output().expect("sha256sum").stdout;
    let sum = String::from_utf8_lossy(&sum[..64]).into_owned();
    assert_eq!(
        lines,
        [
            format!("{a}: 200, 3000000 bytes, SHA-256 {sum}\n"),
            format!("{b}: 200, 5 bytes, SHA-256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\n"),
            format!(
                "{empty}: 200, 0 bytes, SHA-256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
            ),
        ]
    );
    assert!(folder.bytes("to/a.bin") == bytes);
    assert_eq!(folder.read("to/ä b"), "hello");
    assert_eq!(folder.read("to/empty"), "");
    assert_eq!(folder.files().iter().filter(|name| name.starts_with("to/")).count(), 3);
    // As with curl -o, a file is replaced.
    let outcome = fetch(&folder, &[&b, "-o", "to/a.bin"]);
    assert_eq!(without_times(&outcome.printed()), format!("{b}: 200, 5 bytes\n"));
    assert_eq!(folder.read("to/a.bin"), "hello");
    // Bytes go to standard output, and the lines beside them.
    let both = fetch(&folder, &[&b, &b, "--output", "-"]);
    assert_eq!((both.status, both.stdout.as_str()), (Some(0), "hellohello"));
    assert!(both.stderr.starts_with(&format!("recoup: {b}: 200, 5 bytes")), "{}", both.stderr);
    assert_eq!(fetch(&folder, &[&b, "-o", "/dev/null"]).status, Some(0));
    // Without a scheme.
    assert_eq!(fetch(&folder, &[b.strip_prefix("http://").expect("a scheme")]).status, Some(0));
}

#[test]
fn ten_thousand_requests_need_as_many_connections_as_asked_for() {
    let bytes = pattern(1000);
    let folder = site(&[("a", &bytes), ("b", b"b")]);
    let server = Server::start(&folder, &[]);
    let (a, b) = (server.url("a"), server.url("b"));
    let outcome = fetch(&folder, &[&a, &b, "--repeat", "5000", "--connections", "4", "--sha256"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let mut lines = outcome.stdout.lines();
    for (url, bytes) in [(&a, 5_000_000), (&b, 5000)] {
        let line = lines.next().expect("a line");
        assert!(line.starts_with(&format!("{url}: 200 (5000 times), {bytes} bytes, first byte after ")), "{line}");
        assert!(line.contains("(median; 99 %: ") && line.contains(", SHA-256 "), "{line}");
    }
    assert!(outcome.stderr.starts_with("recoup: 10000 requests on 4 connections in "), "{}", outcome.stderr);
    server.signal("TERM");
    let (_, text) = server.wait(Duration::from_secs(5));
    assert_eq!(text, "recoup: served 10000 requests on 4 connections\n");
}

#[test]
fn other_statuses_are_reported_and_not_written() {
    let folder = site(&[("a", b"a")]);
    folder.write("file", "old");
    let server = Server::start(&folder, &[]);
    let url = server.url("nowhere");
    let outcome = fetch(&folder, &[&url, "-o", "file", "--sha256"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(1), ""));
    assert_eq!(without_times(&outcome.stdout), format!("{url}: 404, 14 bytes\n"));
    assert_eq!(fetch(&folder, &[&url, "-o", "-"]).stdout, "");
    // The others are fetched all the same.
    let both = fetch(&folder, &[&url, &server.url("a"), "-o", ".", "-q"]);
    assert_eq!((both.status, both.stdout.lines().count()), (Some(1), 2));
    assert_eq!((folder.read("file"), folder.read("a")), ("old".into(), "a".into()));
    assert_eq!(folder.files(), ["a", "file", "www", "www/a"]);
}

#[test]
fn redirects_are_followed_when_asked() {
    let folder = Folder::new(PROGRAM);
    let at = answering(|stream, request| {
        let response = match request.split(' ').nth(1) {
            Some("/x/from") => "302 Found\r\nLocation: ../to?a=b\r\nContent-Length: 4\r\n\r\ngone",
            Some("/to?a=b") => "200 OK\r\nContent-Length: 2\r\n\r\nto",
            Some("/loop") => "301 Moved\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n",
            Some("/tls") => "301 Moved\r\nLocation: https://a/\r\nContent-Length: 0\r\n\r\n",
            _ => "302 Found\r\nLocation: http://\u{9b}2J/\r\nContent-Length: 0\r\n\r\n",
        };
        stream.write_all(format!("HTTP/1.1 {response}").as_bytes()).is_ok()
    });
    let url = |path: &str| format!("http://{at}/{path}");
    let stays = fetch(&folder, &[&url("x/from"), "-o", "file"]);
    assert_eq!(stays.status, Some(1));
    assert_eq!(without_times(&stays.stdout), format!("{}: 302, 4 bytes, leads to ../to?a=b\n", url("x/from")));
    assert!(folder.files().is_empty());
    let goes = fetch(&folder, &[&url("x/from"), "-o", "file", "--location"]);
    assert_eq!(without_times(&goes.printed()), format!("{}: 200, 2 bytes\n", url("x/from")));
    assert_eq!(folder.read("file"), "to");
    folder.refuses(&["fetch", &url("loop"), "--location"], &["expected at most 10 redirects"]);
    folder.refuses(&["fetch", &url("tls"), "--location"], &["cannot follow the redirect to `https://a/`: no TLS"]);
    let hostile = fetch(&folder, &[&url("hostile")]);
    assert!(hostile.stdout.contains("leads to http://\\u{9b}2J/"), "{hostile:?}");
}

#[test]
fn bodies_of_all_kinds_are_read() {
    let folder = Folder::new(PROGRAM);
    let long = format!("{:x}\r\n{}\r\n0\r\n\r\n", 100_000, "x".repeat(100_000));
    for (response, body) in [
        ("Content-Length: 5\r\n\r\nhello".to_owned(), "hello".to_owned()),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".into(), "hello".into()),
        ("Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n".into(), "hello!".into()),
        (format!("Transfer-Encoding: chunked\r\n\r\n{long}"), "x".repeat(100_000)),
        // The end of the connection is that of the body (RFC 9112 §6.3).
        ("Connection: close\r\n\r\nhello".into(), "hello".into()),
        ("\r\n".into(), String::new()),
        ("Content-Length: 0\r\n\r\n".into(), String::new()),
        // What follows is no part of it.
        ("Content-Length: 5\r\n\r\nhello world".into(), "hello".into()),
    ] {
        let at = sending(format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n{response}"));
        let outcome = fetch(&folder, &[&format!("http://{at}/a"), "-o", "file"]);
        assert_eq!(outcome.status, Some(0), "{response}: {outcome:?}");
        assert_eq!(folder.read("file"), body, "{response}");
    }
}

#[test]
fn responses_that_are_not_whole_leave_nothing() {
    let folder = Folder::new(PROGRAM);
    folder.write("file", "old");
    for (response, parts) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", "cut short: 5 bytes of 100: the connection ended"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", "cut short: 0 bytes of 100"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "cut short: 5 bytes: unexpected EOF"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", "cut short: 5 bytes"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n", "cut short: 5 bytes"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", "cut short: 0 bytes"),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nhello", "no HTTP response"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "no HTTP response"),
        ("SSH-2.0-OpenSSH_9.2\r\n", "no HTTP response"),
        ("HTTP/1.1 200 OK\r\nCont", "the connection ended before a response"),
        ("", "the connection ended before a response"),
    ] {
        let url = format!("http://{}/a", sending(response));
        folder.refuses(&["fetch", &url, "-o", "file"], &[&url, parts]);
        folder.refuses(&["fetch", &url, "-o", "new"], &[&url, parts]);
        assert_eq!(folder.read("file"), "old");
    }
}

#[test]
fn a_reset_cuts_a_response_short() {
    let folder = Folder::new(PROGRAM);
    let at = answering(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
        thread::sleep(Duration::from_millis(100));
        // Closing it sends a reset (socket(7), SO_LINGER).
        set_socket_linger(&*stream, Some(Duration::ZERO)).expect("an option");
        false
    });
    let url = format!("http://{at}/a");
    folder.refuses(&["fetch", &url, "-o", "new"], &[&url, "cut short: 5 bytes of 100"]);
}

#[test]
fn slow_servers_are_waited_for_and_silent_ones_given_up() {
    let folder = Folder::new(PROGRAM);
    let slow = answering(|stream, _| {
        let parts = ["HTTP/1.1 200", " OK\r\nContent-Length: 5\r\n\r\n", "h", "e", "l", "l", "o"];
        parts.iter().for_each(|part| {
            thread::sleep(Duration::from_millis(150));
            let _ = stream.write_all(part.as_bytes());
        });
        true
    });
    let url = format!("http://{slow}/a");
    let outcome = fetch(&folder, &[&url, "-o", "file", "--timeout", "600ms"]);
    assert_eq!(without_times(&outcome.printed()), format!("{url}: 200, 5 bytes\n"));
    assert_eq!(folder.read("file"), "hello");
    for (bytes, why) in [
        ("", "nothing came for 300ms"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "cut short: 2 bytes of 5: nothing came for 300ms"),
    ] {
        let silent = answering(move |stream, _| {
            let _ = stream.write_all(bytes.as_bytes());
            thread::sleep(Duration::from_secs(20));
            false
        });
        let begin = Instant::now();
        folder.refuses(&["fetch", &format!("http://{silent}/a"), "-o", "new", "--timeout", "300ms"], &[why]);
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

#[test]
fn a_connection_that_was_closed_while_idle_is_made_again() {
    let folder = Folder::new(PROGRAM);
    // It says that the connection stays, and closes it.
    let at = answering(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        false
    });
    let outcome = fetch(&folder, &[&format!("http://{at}/a"), "--repeat", "50"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("200 (50 times), 250 bytes"), "{outcome:?}");
    assert!(outcome.stderr.contains("50 requests on 50 connections"), "{outcome:?}");
}

#[test]
fn repetitions_that_differ_are_reported() {
    let folder = Folder::new(PROGRAM);
    let count = AtomicU32::new(0);
    let at = answering(move |stream, _| {
        let count = count.fetch_add(1, Ordering::Relaxed);
        let response = match count {
            0 => "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
            1 => "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb",
            _ => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nb",
        };
        let _ = stream.write_all(response.as_bytes());
        count < 2
    });
    let url = format!("http://{at}/a");
    let differs = fetch(&folder, &[&url, "--repeat", "2", "--sha256"]);
    assert_eq!(differs.status, Some(1), "{differs:?}");
    assert!(
        differs.stdout.contains("200 (2 times), 2 bytes") && differs.stdout.contains("SHA-256 differs"),
        "{differs:?}"
    );
    // Of many errors one is printed.
    let fails = fetch(&folder, &[&url, "--repeat", "20", "-q"]);
    assert_eq!((fails.status, fails.stdout.as_str()), (Some(2), ""));
    assert_eq!(fails.stderr.lines().count(), 1, "{fails:?}");
}

#[test]
fn a_full_disk_leaves_nothing() {
    let bytes = pattern(1_000_000);
    let folder = site(&[("a", &bytes)]);
    folder.write("file", "old");
    let server = Server::start(&folder, &[]);
    let url = server.url("a");
    let check = |shell: &mut Command, name: &str, why: &str| {
        let output = shell.current_dir(folder.dir()).output().expect("a shell");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(&format!("cannot write `{name}`")) && error.contains(why), "{error}");
        assert_eq!((error.lines().count(), output.stdout.as_slice()), (1, &b""[..]), "{error}");
    };
    // 512 bytes each.
    let limited = ["-c", "ulimit -f 100 && exec \"$@\"", "sh", PROGRAM, "fetch", &url, "-o"];
    check(Command::new("sh").args(limited).arg("file"), "file", "File too large");
    check(Command::new("sh").args(limited).arg("new"), "new", "File too large");
    assert_eq!(folder.files(), ["file", "www", "www/a"]);
    assert_eq!(folder.read("file"), "old");
    let full =
        ["-m", "sh", "-c", "mount -t tmpfs -o size=64k none small && \"$@\"; status=$?; ls -A small; exit $status"];
    if !Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success()) {
        return skip("no mount namespaces");
    }
    std::fs::create_dir(folder.path("small")).expect("a folder");
    let fetch = ["sh", PROGRAM, "fetch", &url, "-o", "small/new"];
    check(Command::new("unshare").args(full).args(fetch), "small/new", "No space left");
}

#[test]
fn a_signal_leaves_nothing() {
    let folder = Folder::new(PROGRAM);
    let at = answering(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
        thread::sleep(Duration::from_secs(20));
        false
    });
    for (signal, status) in [("INT", 2), ("TERM", 15)] {
        let mut run = command(PROGRAM)
            .args(["fetch", &format!("http://{at}/a"), "-o", "new"])
            .current_dir(folder.dir())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let begin = Instant::now();
        while folder.files().is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(10), "nothing is written");
            thread::sleep(Duration::from_millis(10));
        }
        let sent = Command::new("kill").args([&format!("-{signal}"), &run.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        assert_eq!(run.wait().expect("an end").signal(), Some(status));
        let mut text = String::new();
        run.stderr.take().expect("a pipe").read_to_string(&mut text).expect("text");
        assert_eq!(text, "");
        assert!(folder.files().is_empty());
    }
}
