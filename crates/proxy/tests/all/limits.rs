//! `recoup serve`: slow clients, many clients, and its end.

use crate::PROGRAM;
use crate::http::{Connection, Server, pattern, site};
use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn slow_clients_do_not_hold_the_server() {
    let folder = site(&[("a", b"a"), ("large", &pattern(30_000_000))]);
    let server = Server::start(&folder, &["--timeout", "500ms", "--connections", "20"]);
    let begin = Instant::now();
    // Headers that never end, silence, a response that nobody reads, and an end of the stream.
    let mut slow: Vec<Connection> = (0..16).map(|_| server.connect()).collect();
    slow.iter_mut().for_each(|connection| connection.send("GET /a HTTP/1.1\r\nHost: a\r\n"));
    let mut idle = server.connect();
    assert_eq!(idle.ask("GET", "/a", "").status, 200);
    let _silent = server.connect();
    let mut unread = server.connect();
    unread.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut is_cut = false;
    while begin.elapsed() < Duration::from_secs(5) && !is_cut {
        thread::sleep(Duration::from_millis(50));
        assert_eq!(server.get("/a", "").status, 200);
        is_cut = slow.iter_mut().all(|connection| connection.stream().write_all(b"X: y\r\n").is_err());
    }
    assert!(is_cut, "a header may take {:?}", begin.elapsed());
    assert!(begin.elapsed() >= Duration::from_millis(500), "{:?}", begin.elapsed());
    assert_eq!(idle.rest(), b"");
    assert!(unread.rest().len() < 30_000_000);
    drop(slow);
    assert_eq!(server.get("/a", "").status, 200);
}

#[test]
fn a_slow_reader_gets_all() {
    let bytes = pattern(3_000_000);
    let folder = site(&[("large", &bytes)]);
    let server = Server::start(&folder, &["--timeout", "1s"]);
    let mut connection = server.connect();
    connection.send("GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut read = Vec::new();
    let begin = Instant::now();
    let mut chunk = vec![0; 100_000];
    loop {
        match connection.stream().read(&mut chunk).expect("bytes") {
            0 => break,
            count => read.extend(&chunk[..count]),
        }
        thread::sleep(Duration::from_millis(70));
    }
    assert!(begin.elapsed() > Duration::from_secs(1), "{:?}", begin.elapsed());
    assert!(read.ends_with(&bytes));
}

#[test]
fn further_connections_wait() {
    let folder = site(&[("a", b"a")]);
    let server = Server::start(&folder, &["--connections", "2"]);
    let mut held: Vec<Connection> = (0..2).map(|_| server.connect()).collect();
    held.iter_mut().for_each(|connection| assert_eq!(connection.ask("GET", "/a", "").status, 200));
    let mut third = server.connect();
    third.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    third.stream().set_read_timeout(Some(Duration::from_millis(300))).expect("a time");
    assert!(third.stream().read(&mut [0]).is_err(), "it is served beyond the limit");
    third.stream().set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    drop(held.pop());
    assert_eq!(third.receive(false).text(), "a");
}

#[test]
fn a_file_that_becomes_shorter_ends_its_connection_alone() {
    let folder = site(&[("large", &pattern(20_000_000)), ("a", b"a")]);
    let server = Server::start(&folder, &[]);
    let mut connection = server.connect();
    connection.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    let (status, headers) = connection.head().expect("a response");
    assert_eq!(status, 200);
    assert!(headers.iter().any(|(name, value)| name == "content-length" && value == "20000000"), "{headers:?}");
    fs::File::options().write(true).open(folder.path("www/large")).and_then(|file| file.set_len(10)).expect("shorter");
    assert!(connection.rest().len() < 20_000_000);
    assert_eq!(server.get("/a", "").text(), "a");
}

#[test]
fn a_signal_ends_the_server_once_responses_are_sent() {
    let bytes = pattern(20_000_000);
    let folder = site(&[("large", &bytes), ("a", b"a")]);
    for name in ["TERM", "INT"] {
        let server = Server::start(&folder, &[]);
        let mut idle = server.connect();
        assert_eq!(idle.ask("GET", "/a", "").status, 200);
        let mut busy = server.connect();
        busy.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
        busy.head().expect("a response");
        server.signal(name);
        assert_eq!(idle.rest(), b"");
        thread::sleep(Duration::from_millis(100));
        assert!(std::net::TcpStream::connect(server.at).is_err(), "it still listens");
        assert!(busy.rest() == bytes, "{name}");
        let (status, text) = server.wait(Duration::from_secs(5));
        assert_eq!((status, text.as_str()), (Some(0), "recoup: served 2 requests on 2 connections\n"), "{name}");
    }
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let folder = site(&[("large", &pattern(20_000_000))]);
    let server = Server::start(&folder, &[]);
    let mut busy = server.connect();
    busy.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    busy.head().expect("a response");
    server.signal("TERM");
    thread::sleep(Duration::from_millis(100));
    server.signal("TERM");
    let (status, text) = server.wait(Duration::from_secs(3));
    assert_eq!(status, Some(0));
    assert!(text.contains("warning: 1 connections were cut off"), "{text}");
}

#[test]
fn ten_thousand_requests_leave_nothing_open() {
    let bytes = pattern(1000);
    let folder = site(&[("a", &bytes)]);
    let server = Server::start(&folder, &[]);
    let before = server.descriptors();
    let clients: Vec<_> = (0..10)
        .map(|client| {
            let (at, bytes) = (server.at, bytes.clone());
            let run = move || {
                // Some on one connection, some each on its own.
                let mut connection = Connection::open(at);
                for i in 0..1000 {
                    if client < 5 && i % 10 == 0 {
                        connection = Connection::open(at);
                    }
                    assert!(connection.ask("GET", "/a", "").body == bytes);
                }
            };
            thread::Builder::new().spawn(run).expect("a thread")
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().expect("all responses"));
    let begin = Instant::now();
    while server.descriptors() > before && begin.elapsed() < Duration::from_secs(5) {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(server.descriptors() <= before, "{} open, {before} before", server.descriptors());
    server.signal("TERM");
    let (status, text) = server.wait(Duration::from_secs(5));
    assert_eq!((status, text.as_str()), (Some(0), "recoup: served 10000 requests on 510 connections\n"));
}

#[test]
fn few_descriptors_mean_few_connections() {
    let folder = site(&[("a", b"a")]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 62 && exec \"$@\"", "sh", PROGRAM]);
    let server = Server::start_as(&mut limited, &folder, &[]);
    let mut open: Vec<Connection> = (0..40).map(|_| server.connect()).collect();
    let answered = |connection: &mut Connection| connection.ask("GET", "/a", "").status == 200;
    assert!(open.iter_mut().take(10).all(answered));
    drop(open);
    assert_eq!(server.get("/a", "").text(), "a");
    server.signal("TERM");
    let (status, text) = server.wait(Duration::from_secs(5));
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("note: 10 connections at a time"), "{text}");
}
