//! `recoup serve`: what it answers, and what it does not.

use crate::PROGRAM;
use crate::http::{Server, has, pattern, settle, site};
use recoup_testing::{Folder, command, skip};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::thread;
use std::time::Duration;

#[test]
fn wrong_arguments_are_refused_in_one_line() {
    let folder = Folder::new(PROGRAM);
    folder.write("file", "");
    folder.refuses(&["serve"], &["--root <DIR>"]);
    folder.refuses(&["serve", "--root", "nowhere"], &["--root nowhere", "No such file"]);
    folder.refuses(&["serve", "--root", "file"], &["--root file", "Not a directory"]);
    folder.refuses(&["serve", "--root", ".", "--listen", "8080"], &["--listen", "expected an IP address and a port"]);
    folder.refuses(&["serve", "--root", ".", "--listen", "192.0.2.1:1"], &["--listen 192.0.2.1:1", "assign"]);
    folder.refuses(&["serve", "--root", ".", "--connections", "0"], &["--connections"]);
    folder.refuses(&["serve", "--root", ".", "--timeout", "5"], &["--timeout"]);
    folder.refuses(&["serve", "--root", ".", "--uploads=keep"], &["--uploads", "store, discard"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("bound").to_string();
    folder.refuses(&["serve", "--root", ".", "--listen", &at], &["--listen", &at, "in use"]);
}

#[test]
fn files_are_served() {
    let large = pattern(3_000_000);
    let folder = site(&[("a.txt", b"hello"), ("empty", b""), ("d/ä %41.bin", &large)]);
    let server = Server::start(&folder, &[]);
    let whole = server.get("/a.txt", "");
    assert_eq!((whole.status, whole.text().as_str()), (200, "hello"));
    assert_eq!(whole.header("Content-Type"), Some("text/plain"));
    assert_eq!(whole.header("Accept-Ranges"), Some("bytes"));
    assert!(whole.header("Date").is_some_and(|date| date.ends_with(" GMT")));
    assert!(whole.header("Last-Modified").is_some() && whole.header("ETag").is_some());
    let head = server.connect().ask("HEAD", "/a.txt", "");
    assert_eq!((head.status, head.header("Content-Length")), (200, Some("5")));
    for name in ["Content-Type", "ETag", "Last-Modified", "Accept-Ranges"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    assert_eq!(server.get("/empty", "").header("Content-Length"), Some("0"));
    assert!(server.get("/d/%C3%A4%20%2541.bin?query", "").body == large);
    // Absolute targets (RFC 9112 §3.2.2).
    assert_eq!(server.get("http://elsewhere/a.txt", "").text(), "hello");
    let mut old = server.connect();
    old.send("GET /a.txt HTTP/1.0\r\n\r\n");
    assert_eq!(old.receive(false).text(), "hello");
    assert_eq!(old.rest(), b"", "HTTP/1.0 ends the connection");
}

#[test]
fn ranges_are_served() {
    let bytes = pattern(200_000);
    let folder = site(&[("a.bin", &bytes), ("empty", b"")]);
    settle(&folder, "a.bin");
    let server = Server::start(&folder, &[]);
    let mut connection = server.connect();
    for (range, from, to) in [
        ("0-0", 0, 1),
        ("1-99999", 1, 100_000),
        ("70000-", 70_000, 200_000),
        ("-1", 199_999, 200_000),
        ("-999999999999", 0, 200_000),
        ("199999-999999", 199_999, 200_000),
    ] {
        let part = connection.ask("GET", "/a.bin", &format!("Range: bytes={range}\r\n"));
        assert_eq!(part.status, 206, "{range}");
        let expected = format!("bytes {from}-{}/200000", to - 1);
        assert_eq!(part.header("Content-Range"), Some(expected.as_str()), "{range}");
        assert!(part.body == bytes[from..to], "{range}");
    }
    let nothing = connection.ask("GET", "/a.bin", "Range: bytes=200000-\r\n");
    assert_eq!((nothing.status, nothing.header("Content-Range")), (416, Some("bytes */200000")));
    assert_eq!(connection.ask("GET", "/empty", "Range: bytes=0-\r\n").status, 416);
    let head = connection.ask("HEAD", "/a.bin", "Range: bytes=0-0\r\n");
    assert_eq!((head.status, head.header("Content-Length")), (200, Some("200000")));
    for ignored in ["bytes=2-1", "lines=0-1", "bytes=0-199999,0-1"] {
        assert_eq!(connection.ask("GET", "/a.bin", &format!("Range: {ignored}\r\n")).status, 200, "{ignored}");
    }

    let parts = connection.ask("GET", "/a.bin", "Range: bytes=5-9, 100-70099,-3, 300000-\r\n");
    assert_eq!(parts.status, 206);
    assert_eq!(parts.header("Content-Range"), None);
    let media_type = parts.header("Content-Type").expect("a type");
    let boundary = media_type.strip_prefix("multipart/byteranges; boundary=").expect("a boundary");
    let mut expected: Vec<u8> = Vec::new();
    for (from, to) in [(5, 10), (100, 70_100), (199_997, 200_000)] {
        let last = to - 1;
        let head = format!(
            "\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes {from}-{last}/200000\r\n\r\n"
        );
        expected.extend(head.as_bytes());
        expected.extend(&bytes[from..to]);
    }
    expected.extend(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert!(parts.body == expected);

    let whole = server.get("/a.bin", "");
    let (tag, modified) = (whole.header("ETag").expect("a tag"), whole.header("Last-Modified").expect("a date"));
    assert!(tag.starts_with('"'), "the file has settled: {tag}");
    for (value, status) in [(tag, 206), ("\"x\"", 200), (modified, 206), ("Sun, 06 Nov 1994 08:49:37 GMT", 200)] {
        let headers = format!("Range: bytes=0-0\r\nIf-Range: {value}\r\n");
        assert_eq!(server.get("/a.bin", &headers).status, status, "{value}");
    }
}

#[test]
fn requests_are_conditional() {
    let folder = site(&[("a", b"one")]);
    settle(&folder, "a");
    let server = Server::start(&folder, &[]);
    let first = server.get("/a", "");
    let (tag, modified) = (first.header("ETag").expect("a tag"), first.header("Last-Modified").expect("a date"));
    let long_ago = "Sun, 06 Nov 1994 08:49:37 GMT";
    let check = |headers: &str| server.get("/a", headers).status;
    assert_eq!(check(&format!("If-None-Match: {tag}\r\n")), 304);
    assert_eq!(check(&format!("If-None-Match: \"x\", W/{tag}\r\n")), 304);
    assert_eq!(check(&format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {modified}\r\n")), 200);
    assert_eq!(check(&format!("If-Modified-Since: {modified}\r\n")), 304);
    assert_eq!(check(&format!("If-Modified-Since: {long_ago}\r\n")), 200);
    assert_eq!(check(&format!("If-Match: {tag}\r\n")), 200);
    assert_eq!(check("If-Match: \"x\"\r\n"), 412);
    assert_eq!(check(&format!("If-Unmodified-Since: {long_ago}\r\n")), 412);
    assert_eq!(check(&format!("If-Match: {tag}\r\nIf-Unmodified-Since: {long_ago}\r\n")), 200);
    // Without a file, conditions do not count (RFC 9110 §13.2.1).
    assert_eq!(server.get("/b", "If-None-Match: *\r\n").status, 404);
    let unchanged = server.get("/a", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((unchanged.header("ETag"), unchanged.header("Content-Length")), (Some(tag), None));

    fs::write(folder.path("www/a"), "two").expect("a file");
    let second = server.get("/a", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((second.status, second.text().as_str()), (200, "two"));
    // It has just changed, so that equal tags do not mean equal bytes.
    assert!(second.header("ETag").is_some_and(|tag| tag.starts_with("W/")));
    assert_eq!(check(&format!("If-Match: {}\r\n", second.header("ETag").expect("a tag"))), 412);
}

#[test]
fn connections_are_used_again_and_requests_pipelined() {
    let folder = site(&[]);
    for i in 0..100 {
        fs::write(folder.path("www").join(i.to_string()), format!("file {i}").repeat(i * 20)).expect("a file");
    }
    let server = Server::start(&folder, &[]);
    let mut connection = server.connect();
    for i in 0..100 {
        assert_eq!(connection.ask("GET", &format!("/{i}"), "").text(), format!("file {i}").repeat(i * 20));
    }
    let all: String = (0..100).map(|i| format!("GET /{i} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    connection.send(all);
    for i in 0..100 {
        assert_eq!(connection.receive(false).text(), format!("file {i}").repeat(i * 20));
    }
    let last = connection.ask("GET", "/1", "Connection: close\r\n");
    assert_eq!(last.status, 200);
    assert_eq!(connection.rest(), b"");
}

#[test]
fn nothing_outside_the_folder_is_served() {
    let folder = site(&[("a/b", b"inside"), ("..a", b"inside"), ("a%2e%2e", b"inside")]);
    folder.write("secret", "secret");
    let server = Server::start(&folder, &["--uploads"]);
    let absolute = folder.path("secret").display().to_string();
    let attempts = [
        "/../secret",
        "/a/../../secret",
        "/a/b/../../../secret",
        "/./../secret",
        "/..//secret",
        "//../secret",
        "/%2e%2e/secret",
        "/%2E%2E/secret",
        "/.%2e/secret",
        "/%2e./secret",
        "/%2e%2e%2fsecret",
        "/..%2fsecret",
        "/..%5csecret",
        "/..\\secret",
        "/%252e%252e/secret",
        "/%c0%ae%c0%ae/secret",
        "/%c0%ae%c0%ae%c0%afsecret",
        "/a/%2e%2e/%2e%2e/secret",
        "/..%00/secret",
        "/../secret%00.txt",
        "/%00/../secret",
        "/....//secret",
        "/..;/secret",
        "/a/../../www/../secret",
        "http://a/../secret",
        "http://a/%2e%2e/secret",
        &format!("/{absolute}"),
        &absolute,
        &absolute.replace('/', "%2f"),
        "/proc/self/cwd/secret",
        "/%2fproc%2fself%2fcwd%2fsecret",
        "..",
        "../secret",
        "file:///secret",
        "/../../../../../../../../../../etc/passwd",
        "/?/../secret",
        "/#/../secret",
    ];
    for attempt in attempts {
        let mut connection = server.connect();
        let response = connection.ask("GET", attempt, "");
        assert!(matches!(response.status, 400 | 404), "{attempt}: {response:?}");
        assert!(!response.text().contains("secret") && !response.text().contains("root:"), "{attempt}");
    }
    for attempt in attempts {
        let mut connection = server.connect();
        let response = connection.ask("PUT", attempt, "Content-Length: 0\r\nExpect: 100-continue\r\n");
        // Some are names of files, with backslashes.
        assert!(matches!(response.status, 201 | 204 | 400 | 404 | 409), "PUT {attempt}: {response:?}");
    }
    let outside: Vec<String> = folder.files().into_iter().filter(|name| !name.starts_with("www/")).collect();
    assert_eq!(outside, ["secret", "www"]);
    assert_eq!(folder.read("secret"), "secret");
    // Names that look like it, and are none.
    for (path, expected) in [("/a/b", 200), ("/..a", 200), ("/a%252e%252e", 200), ("/a%2e%2e", 404)] {
        assert_eq!(server.get(path, "").status, expected, "{path}");
    }
}

#[test]
fn symbolic_links_lead_nowhere_outside() {
    let folder = site(&[("a/b", b"inside")]);
    fs::create_dir(folder.path("out")).expect("a folder");
    folder.write("out/secret", "secret");
    let www = folder.path("www");
    let links = [
        ("inside", "a/b".to_owned(), 200),
        ("a/up", "../a/b".to_owned(), 200),
        ("chain", "inside".to_owned(), 200),
        ("outside", "../out/secret".to_owned(), 404),
        ("a/outside", "../../out/secret".to_owned(), 404),
        ("there-and-back", "../www/a/b".to_owned(), 404),
        ("absolute", www.join("a/b").display().to_string(), 404),
        ("passwd", "/etc/passwd".to_owned(), 404),
        ("magic", "/proc/self/cwd/out/secret".to_owned(), 404),
        ("loop", "loop".to_owned(), 404),
        ("dangling", "nowhere".to_owned(), 404),
    ];
    for (link, to, _) in &links {
        symlink(to, www.join(link)).expect("a link");
    }
    symlink("../out", www.join("folder")).expect("a link");
    symlink("a", www.join("inner")).expect("a link");
    let server = Server::start(&folder, &["--uploads"]);
    for (link, _, expected) in &links {
        let response = server.get(&format!("/{link}"), "");
        assert_eq!(response.status, *expected, "{link}");
        assert_eq!(response.text() == "inside", *expected == 200, "{link}");
    }
    assert_eq!(server.get("/folder/secret", "").status, 404);
    assert_eq!(server.get("/inner/b", "").text(), "inside");
    // What is stored replaces no link, and goes through none that leads outside.
    let put = |path: &str| server.connect().ask("PUT", path, "Content-Length: 0\r\n").status;
    assert_eq!(put("/folder/new"), 409);
    assert_eq!(put("/outside"), 409);
    assert_eq!(put("/inside"), 409);
    assert_eq!(put("/inner/c"), 201);
    assert_eq!(folder.files().iter().filter(|name| name.starts_with("out/")).count(), 1);
    assert_eq!(folder.read("out/secret"), "secret");
}

#[test]
fn only_regular_files_are_served() {
    let folder = site(&[("d/index.html", b"index"), ("locked", b"locked"), ("file", b"")]);
    let fifo = folder.path("www/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.path("www/socket")).expect("a socket");
    let server = Server::start(&folder, &[]);
    // A reader would let this go on.
    let path = fifo.clone();
    let (writer, is_woken) = std::sync::mpsc::channel();
    thread::Builder::new()
        .spawn(move || writer.send(fs::File::options().write(true).open(path).is_ok()))
        .expect("a thread");
    for path in
        ["/", "/d", "/d/", "/fifo", "/socket", "/nowhere", "/file/", "/file/x", &format!("/{}", "x".repeat(300))]
    {
        assert_eq!(server.get(path, "").status, 404, "{path}");
    }
    assert_eq!(server.get("/d/index.html", "").text(), "index");
    assert!(is_woken.recv_timeout(Duration::from_millis(200)).is_err(), "the FIFO was opened");
    drop(fs::File::open(&fifo).expect("the FIFO"));
    assert_eq!(is_woken.recv_timeout(Duration::from_secs(5)), Ok(true));
    fs::set_permissions(folder.path("www/locked"), fs::Permissions::from_mode(0o000)).expect("a mode");
    // Root may read it.
    let status = server.get("/locked", "").status;
    assert!(matches!(status, 403 | 200), "{status}");
}

#[test]
fn other_requests_are_refused() {
    let folder = site(&[("a", b"a")]);
    let server = Server::start(&folder, &[]);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        let refusal = server.connect().ask(method, "/a", "");
        assert_eq!((refusal.status, refusal.header("Allow")), (405, Some("GET, HEAD")), "{method}");
    }
    assert_eq!(server.connect().ask("BREW", "/a", "").status, 501);
    let long = "x".repeat(20_000);
    for (request, status) in [
        ("GET /a HTTP/1.1\r\n\r\n", 400),
        ("GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a HTTP/9.9\r\nHost: a\r\n\r\n", 400),
        ("GET /a\r\n\r\n", 400),
        ("\x16\x03\x01\x02\x00\x01", 400),
        ("GET /a HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400),
        ("GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        (&format!("GET /a HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431),
        (&format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 431),
        (&format!("GET /a HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(200)), 431),
    ] {
        let mut connection = server.connect();
        connection.send(request);
        let (found, _) = connection.head().unwrap_or_else(|| panic!("no response: {request}"));
        assert_eq!(found, status, "{request}");
    }
    assert_eq!(server.get("/a", "").text(), "a");
}

#[test]
fn curl_is_served() {
    if !has("curl") {
        return skip("no curl");
    }
    let bytes = pattern(1_000_000);
    let folder = site(&[("a.bin", &bytes)]);
    settle(&folder, "a.bin");
    let server = Server::start(&folder, &[]);
    let url = server.url("a.bin");
    let curl = |args: &[&str]| {
        let run = command("curl").args(["-sS", "--max-time", "20"]).args(args).current_dir(folder.dir()).output();
        let output = run.expect("curl");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    assert!(curl(&[&url]) == bytes);
    assert_eq!(curl(&["-r", "10-19", &url]), bytes[10..20]);
    // A download is resumed.
    folder.write("part", &bytes[..300_000]);
    curl(&["-C", "-", "-o", "part", &url]);
    assert!(folder.bytes("part") == bytes);
    // What is known is not sent again.
    curl(&["--etag-save", "tag", "-o", "first", &url]);
    let code = ["-w", "%{http_code} %{size_download} %{num_connects}"];
    assert_eq!(curl(&[&["--etag-compare", "tag", "-o", "second"], &code[..], &[url.as_str()]].concat()), b"304 0 1");
    assert_eq!(curl(&[&["-z", "first", "-o", "second"], &code[..], &[url.as_str()]].concat()), b"304 0 1");
    // Two files on one connection.
    let both = curl(&["-o", "x", "-o", "y", "-w", "%{num_connects} ", &url, &url]);
    assert_eq!(String::from_utf8_lossy(&both), "1 0 ");
    assert!(folder.bytes("y") == bytes);
    assert!(String::from_utf8_lossy(&curl(&["-I", &url])).contains("content-length: 1000000"));
    // Redundant parts of paths are sent as they are.
    let code = ["-o", "/dev/null", "-w", "%{http_code}", "--path-as-is"];
    assert_eq!(curl(&[&code[..], &[&server.url("../../etc/passwd")]].concat()), b"404");
}

#[test]
fn the_engine_serves_with_a_profile() {
    let namespace = Command::new("unshare").args(["-n", "true"]).status();
    if !namespace.is_ok_and(|status| status.success()) || !std::path::Path::new("/dev/net/tun").exists() {
        return skip("no network namespaces, or no /dev/net/tun");
    }
    let folder = site(&[("a", &pattern(3_000_000))]);
    folder.refuses(&["serve", "--root", "www", "--profile", "linux-7"], &["--profile", "did you mean `linux-6`?"]);
    let script = r#"
        ip link set lo up
        "$0" serve --root www --listen 100.64.7.1:8080 --profile linux-6+tlpr --uploads > first 2> said &
        server=$!
        until [ -s first ] || ! kill -0 $server; do sleep 0.05; done
        "$0" fetch http://100.64.7.1:8080/a --output a --repeat 5 --connections 2 || exit 3
        "$0" fetch http://100.64.7.1:8080/nowhere
        kill -TERM $server
        wait $server"#;
    let mut run = Command::new("unshare");
    run.args(["-n", "timeout", "60", "sh", "-c", script, PROGRAM]).current_dir(folder.dir());
    let output = run.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{text} {} {}",
        String::from_utf8_lossy(&output.stderr),
        folder.read("said")
    );
    assert!(text.contains("200 (5 times), 15000000 bytes") && text.contains("nowhere: 404"), "{text}");
    assert!(folder.bytes("a") == folder.bytes("www/a"));
    assert_eq!(folder.read("first"), "serving www at http://100.64.7.1:8080/\n");
    assert!(folder.read("said").contains("made the TUN device"), "{}", folder.read("said"));
    assert!(folder.read("said").ends_with("recoup: served 6 requests on 3 connections\n"), "{}", folder.read("said"));
}
