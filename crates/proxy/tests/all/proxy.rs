//! `recoup proxy`: the program on one host, its server on the same, and clients of the kernel's on another.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `bytes` | bytes both ways, closes, back-pressure |
//! | `failures` | servers and clients that are not there, or go |
//! | `tells` | what the server, the log and the metrics hear |
//! | `limits` | what clients may use |
//! | `lifecycle` | drain, reload, hand-over |
//! | `transparent` | any destination, from the clients' addresses |

mod bytes;
mod failures;
mod lifecycle;
mod limits;
mod tells;
mod transparent;

use crate::PROGRAM;
use crate::hosts::{Hosts, PATIENCE};
use recoup_testing::{Folder, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Where clients come to.
const AT: &str = "10.0.0.1:80";

/// The server, which has the same port.
const SERVER: &str = "127.0.0.1:80";

/// The program under test. It is killed at the end.
struct Proxy {
    child: Child,
    lines: Receiver<String>,
    /// What it has said so far, a line each.
    said: Vec<String>,
    folder: Folder,
}

impl Proxy {
    /// Starts it at [`AT`] for [`SERVER`]. `None` if the system does not permit it.
    fn start(hosts: &Hosts, args: &[&str]) -> Option<Self> {
        Self::with(hosts, &[&["--listen", AT, "--upstream", SERVER], args].concat())
    }

    fn with(hosts: &Hosts, args: &[&str]) -> Option<Self> {
        Self::in_folder(hosts, Folder::new(PROGRAM), args)
    }

    /// Starts it in a folder. Its log is `log.jsonl` there.
    fn in_folder(hosts: &Hosts, folder: Folder, args: &[&str]) -> Option<Self> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let dir = folder.dir().to_owned();
        let spawn = move || {
            let mut command = Command::new(PROGRAM);
            command.args(["proxy", "--log", "log.jsonl", "--queues", "2"]).args(args).current_dir(dir);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
        };
        let mut child = hosts.server.run(spawn).unwrap().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (say, lines) = channel();
        thread::Builder::new()
            .spawn(move || stderr.lines().map_while(Result::ok).all(|line| say.send(line).is_ok()))
            .unwrap();
        let mut proxy = Self { child, lines, said: Vec::new(), folder };
        let first = proxy.hears(|line| line.contains("proxy: ") || line.contains("CAP_"));
        if first.contains("CAP_") {
            skip(first);
            return None;
        }
        Some(proxy)
    }

    /// The next line that it says and that is looked for.
    fn hears(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line =
                self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("it says no such line: {:#?}", self.said));
            self.said.push(line.clone());
            if wanted(&line) {
                return line;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end. Returns how it ended, and its standard output.
    fn ended(&mut self) -> (ExitStatus, String) {
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "it does not end: {:#?}", self.said);
            thread::sleep(Duration::from_millis(10));
        }
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.said.extend(self.lines.try_iter());
        (self.child.wait().unwrap(), out)
    }

    /// The log, once it has so many lines.
    fn log(&self, lines: usize) -> Vec<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = std::fs::read_to_string(self.folder.dir().join("log.jsonl")).unwrap_or_default();
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            if whole.lines().count() >= lines {
                return whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            }
            assert!(Instant::now() < until, "{lines} lines expected: {text}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client's connection.
fn connect(hosts: &Hosts) -> TcpStream {
    try_connect(hosts, AT).unwrap()
}

fn try_connect(hosts: &Hosts, to: &str) -> std::io::Result<TcpStream> {
    let to: SocketAddr = to.parse().unwrap();
    let stream = hosts.client.run(move || TcpStream::connect_timeout(&to, PATIENCE)).unwrap()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A listener on the proxy's host.
fn listen(hosts: &Hosts, at: &'static str) -> TcpListener {
    hosts.server.run(move || TcpListener::bind(at)).unwrap().unwrap()
}

/// The next connection to a server.
fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Everything until the end of a stream.
fn rest(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}
