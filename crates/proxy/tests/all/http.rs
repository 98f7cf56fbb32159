//! A server of the program, and requests as bytes.

use crate::PROGRAM;
use recoup_testing::{Folder, command};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `recoup serve`, which ends with its test.
pub struct Server {
    child: Child,
    pub at: SocketAddr,
}

impl Server {
    /// Serves the folder `www` of a test's folder.
    pub fn start(folder: &Folder, args: &[&str]) -> Self {
        Self::start_as(&mut command(PROGRAM), folder, args)
    }

    /// The program, which `command` runs.
    pub fn start_as(command: &mut Command, folder: &Folder, args: &[&str]) -> Self {
        let mut child = command
            .args(["serve", "--root", "www", "--listen", "127.0.0.1:0"])
            .args(args)
            .current_dir(folder.dir())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let at = line.trim_end().strip_prefix("serving www at http://").and_then(|rest| rest.strip_suffix('/'));
        let at = at.and_then(|at| at.parse().ok()).unwrap_or_else(|| panic!("no address: {line}"));
        Self { child, at }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.at)
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.at)
    }

    /// The response to one request on a connection of its own.
    pub fn get(&self, path: &str, headers: &str) -> Response {
        self.connect().ask("GET", path, headers)
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    /// Ends by itself within some time: the exit status, and standard error.
    pub fn wait(mut self, most: Duration) -> (Option<i32>, String) {
        let begin = Instant::now();
        while self.child.try_wait().expect("a status").is_none() {
            assert!(begin.elapsed() < most, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut text = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut text).expect("text");
        (self.child.wait().expect("a status").code(), text)
    }

    /// Open descriptors of the server.
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("descriptors").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection to a server.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} twice: {self:?}");
        value
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Connection {
    pub fn open(at: SocketAddr) -> Self {
        let stream = TcpStream::connect(at).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        Self { stream: BufReader::new(stream) }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).expect("it is sent");
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }

    pub fn ask(&mut self, method: &str, path: &str, headers: &str) -> Response {
        self.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{headers}\r\n"));
        self.receive(method == "HEAD")
    }

    /// The next response.
    pub fn receive(&mut self, is_head: bool) -> Response {
        self.try_receive(is_head).expect("a response")
    }

    /// The next response. `None` if the connection ends before it.
    pub fn try_receive(&mut self, is_head: bool) -> Option<Response> {
        let (status, headers) = self.head()?;
        let mut response = Response { status, headers, body: Vec::new() };
        if status == 100 {
            return self.try_receive(is_head);
        }
        if !is_head && !matches!(status, 204 | 304) {
            let length = response.header("Content-Length").expect("a length").parse().expect("a number");
            response.body.resize(length, 0);
            self.stream.read_exact(&mut response.body).ok()?;
        }
        Some(response)
    }

    /// The status and the headers of the next response.
    pub fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let mut line = || {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            line.strip_suffix("\r\n").map(str::to_owned)
        };
        let first = line()?;
        let status = first.strip_prefix("HTTP/1.1 ").or(first.strip_prefix("HTTP/1.0 ")).expect("HTTP");
        let status = status[..3].parse().expect("a status");
        let mut headers = Vec::new();
        loop {
            let line = line()?;
            let Some((name, value)) = line.split_once(": ") else {
                assert_eq!(line, "");
                return Some((status, headers));
            };
            headers.push((name.to_owned(), value.to_owned()));
        }
    }

    /// What comes until the connection ends.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset ends it too.
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }
}

/// A folder with a folder `www` to serve.
pub fn site(files: &[(&str, &[u8])]) -> Folder {
    let folder = Folder::new(PROGRAM);
    std::fs::create_dir(folder.path("www")).expect("a folder");
    for (name, bytes) in files {
        let path = folder.path("www").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    folder
}

/// Makes a file old, so that its tag is strong.
pub fn settle(folder: &Folder, name: &str) {
    // The time of change cannot be set: the file has to be as old as that.
    let changed = std::fs::metadata(folder.path("www").join(name)).expect("a file");
    let age = || changed.modified().expect("a time").elapsed().unwrap_or_default();
    while age() < Duration::from_millis(3200) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Bytes that tell where they are.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

/// Whether a program is installed.
pub fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}
