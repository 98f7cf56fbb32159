use super::*;
use crate::text::{Kind, Metric, Page};
use std::io::{Read, Write};
use std::net::TcpStream as Client;
use std::time::Instant;

/// Longer than a machine that is busy with other tests needs for an answer.
const LONG: Duration = Duration::from_secs(60);

fn server(patience: Duration) -> SocketAddr {
    let dropped = Metric { name: "recoup_frames_dropped_total", kind: Kind::Counter, help: "Frames dropped" };
    let page = move |format| {
        let mut page = Page::new(format);
        page.describe(&dropped);
        page.sample(&dropped, &[], 42);
        page.finish()
    };
    serve_patiently(([127, 0, 0, 1], 0).into(), Arc::new(page), patience).unwrap()
}

/// The answer to a request, its lines joined by `\n`.
fn ask(at: SocketAddr, request: &str) -> String {
    let mut client = Client::connect(at).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer.replace("\r\n", "\n")
}

#[test]
fn a_request_is_answered_in_the_format_that_it_accepts() {
    let at = server(LONG);
    let answer = ask(at, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\n"), "{answer}");
    assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\n"), "{answer}");
    assert!(answer.contains("connection: close\n"), "{answer}");
    assert!(answer.contains("\nrecoup_frames_dropped_total 42\n"), "{answer}");
    assert!(!answer.contains("# EOF"), "{answer}");
    let answer = ask(at, "GET /metrics?x HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text\r\n\r\n");
    assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\n"), "{answer}");
    assert!(answer.ends_with("\n# EOF\n"), "{answer}");
}

#[test]
fn head_has_the_length_and_no_body() {
    let answer = ask(server(LONG), "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\n") && answer.contains("content-length: "), "{answer}");
    assert!(answer.ends_with("\n\n") && !answer.contains("recoup_"), "{answer}");
}

#[test]
fn other_paths_methods_and_protocols_are_refused() {
    let at = server(LONG);
    for (request, status, text) in [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found", "expected /metrics"),
        ("GET /metrics/ HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found", "expected /metrics"),
        (
            "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
            "405 Method Not Allowed",
            "allow: GET, HEAD",
        ),
        ("\u{1}\u{2}\u{3}\r\n\r\n", "400 Bad Request", ""),
    ] {
        let answer = ask(at, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\n")), "{request}: {answer}");
        assert!(answer.contains(text), "{request}: {answer}");
        assert!(!answer.contains("recoup_"), "{request}: {answer}");
    }
}

#[test]
fn slow_clients_lose_their_places_to_those_that_wait() {
    let patience = Duration::from_millis(500);
    let at = server(patience);
    let begun = Instant::now();
    let slow: Vec<Client> = (0..MOST_CLIENTS)
        .map(|_| {
            let mut client = Client::connect(at).unwrap();
            client.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
            client
        })
        .collect();
    let answer = ask(at, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\n"), "{answer}");
    assert!(begun.elapsed() >= patience, "there were more places than clients");
    for mut client in slow {
        let mut answer = Vec::new();
        // The server closes the connection, or resets it because the request was not read to its end.
        let _ = client.read_to_end(&mut answer);
        assert_eq!(String::from_utf8_lossy(&answer), "");
    }
}

#[test]
fn an_address_in_use_is_an_error() {
    let at = server(LONG);
    let error = serve(at, |_| String::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
}
