//! nginx in a namespace, and clients behind a path in another one.

use super::levers::{LEVERS, Lever, Setting};
use recoup_net::{Namespace, NetError, Relay, Report, Wire};
use recoup_tcp::flow::Host;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest packet in bytes, IP header included.
pub const MTU: u32 = 1500;

/// The pause of a client before its next request.
const PAUSE: Duration = Duration::from_millis(600);

/// The time limit of every read of a client, and of nginx's start.
const PATIENCE: Duration = Duration::from_secs(60);

const CONFIGURATION: &str = "
daemon off;
master_process off;
error_log stderr;
pid nginx.pid;
events {}
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    server {
        listen 80 backlog=1024;
        root files;
    }
}
";

/// Files that a client fetches over one connection, by their sizes in bytes. It pauses before each but the first.
#[derive(Clone, Debug)]
pub struct Visit {
    pub number: u64,
    pub files: Vec<u64>,
}

/// A visit that is over.
#[derive(Clone, Copy, Debug)]
pub struct Visited {
    pub number: u64,
    /// The client's port.
    pub port: u16,
    /// From the client's SYN to its last byte, by the client's clock.
    pub took: Duration,
}

/// A server and its clients.
pub struct Site {
    nginx: Child,
    wire: Wire,
    server: Namespace,
    _folder: TempDir,
}

impl Drop for Site {
    fn drop(&mut self) {
        // A process that has ended needs no end.
        let _ = self.nginx.kill();
        let _ = self.nginx.wait();
    }
}

impl Site {
    /// Starts nginx with the files of the visits. The clients use ports of the range `lane`, so that ports of
    /// several sites differ. All levers stand at the kernel's own values.
    pub fn open(lane: u16, visits: &[Visit]) -> Result<Self, NetError> {
        let server = Namespace::new()?;
        let wire = server.run(|| Wire::open(MTU))??;
        let folder = tempfile::tempdir().expect("a folder");
        write_files(folder.path(), visits);
        let mut nginx = recoup_testing::command("nginx");
        nginx.arg("-p").arg(folder.path()).args(["-c", "nginx.conf"]);
        nginx.stdin(Stdio::null()).stderr(File::create(folder.path().join("errors")).expect("a file"));
        let nginx = server.run(move || nginx.spawn().expect("nginx runs"))?;
        let site = Self { nginx, wire, server, _folder: folder };
        let first = 20_000 + 2000 * lane;
        let ports = format!("sysctl -w net.ipv4.ip_local_port_range='{first} {}'", first + 1999);
        assert!(site.shell(Host::Client, &ports), "{ports}");
        for host in [Host::Server, Host::Client] {
            // Metrics of one flow would change the next.
            assert!(site.shell(host, "sysctl -w net.ipv4.tcp_no_metrics_save=1"), "sysctl");
        }
        for lever in LEVERS {
            // An older kernel lacks some levers.
            site.shell(lever.at, lever.settings[0].command);
        }
        site.await_nginx();
        Ok(site)
    }

    pub fn set(&self, setting: &Setting) {
        let lever = Lever::of(setting.name);
        assert!(self.shell(lever.at, setting.command), "{}", setting.command);
    }

    /// Runs a command of the shell at a host. Returns whether it succeeded.
    fn shell(&self, at: Host, command: &str) -> bool {
        let ends = self.wire.block().ends_v4();
        let peer = match at {
            Host::Client => ends.outside,
            Host::Server => ends.inside,
        };
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("PEER", peer.to_string()).stdin(Stdio::null());
        let run = move || shell.output().expect("a shell").status.success();
        match at {
            Host::Client => self.wire.inside(run),
            Host::Server => self.server.run(run),
        }
        .expect("a namespace")
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(self.wire.block().ends_v4().outside), 80)
    }

    fn await_nginx(&self) {
        let to = self.address();
        let began = Instant::now();
        let answers = move || TcpStream::connect(to).is_ok();
        while !self.server.run(answers).expect("a namespace") {
            assert!(began.elapsed() < PATIENCE, "nginx does not start");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Runs the visits one after another, over the path of the relay.
    pub fn visit(&self, relay: Relay, visits: Vec<Visit>) -> (Vec<Visited>, Report) {
        let to = self.address();
        let (stopper, stop) = UnixStream::pair().expect("sockets");
        thread::scope(|scope| {
            let carried = scope.spawn(move || relay.run(self.wire.ends(), stop.as_fd()));
            let all = move || visits.iter().map(|one| visit(to, one)).collect::<io::Result<_>>();
            let visited = self.wire.inside(all).expect("a namespace");
            // Closed, it is readable, and the relay ends.
            drop(stopper);
            let report = carried.join().expect("a relay").expect("a report");
            (visited.expect("a visit"), report)
        })
    }
}

fn write_files(folder: &Path, visits: &[Visit]) {
    fs::write(folder.join("nginx.conf"), CONFIGURATION).expect("a file");
    fs::create_dir(folder.join("files")).expect("a folder");
    for size in visits.iter().flat_map(|visit| &visit.files) {
        let file = File::create(folder.join(format!("files/{size}"))).expect("a file");
        file.set_len(*size).expect("a file");
    }
}

fn visit(to: SocketAddr, visit: &Visit) -> io::Result<Visited> {
    let began = Instant::now();
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    for (number, size) in visit.files.iter().enumerate() {
        if number > 0 {
            thread::sleep(PAUSE);
        }
        fetch(&mut stream, *size)?;
    }
    let took = began.elapsed();
    Ok(Visited { number: visit.number, port: stream.local_addr()?.port(), took })
}

fn fetch(stream: &mut TcpStream, size: u64) -> io::Result<()> {
    let request = format!("GET /{size} HTTP/1.1\r\nHost: nginx\r\nUser-Agent: recoup-test\r\nAccept: */*\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut buffer = vec![0; 1 << 16];
    let mut begun = Vec::new();
    let head = loop {
        let len = stream.read(&mut buffer)?;
        begun.extend_from_slice(&buffer[..len]);
        match begun.windows(4).position(|end| end == b"\r\n\r\n") {
            Some(end) => break end + 4,
            None if len == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            None => {}
        }
    };
    assert!(begun.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&begun[..head]));
    let left = size - (begun.len() - head) as u64;
    match io::copy(&mut stream.take(left), &mut io::sink())? {
        all if all == left => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
