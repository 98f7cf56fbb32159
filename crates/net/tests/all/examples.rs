//! The examples that carry packets, against the kernel.

mod proxy;
mod servers;

use crate::{
    beside_others,
    host::{
        interface::{ip_in, join},
        peers::{bytes, kernel_trades},
    },
};
use recoup_net::{Namespace, TunDevice};
use recoup_testing::{
    Folder,
    browser::{Browser, chromium},
    skip,
};
use std::{
    fs::Permissions,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(30);

/// An example that runs. When it is dropped, it is killed.
pub struct Example {
    pub process: Child,
    lines: Receiver<String>,
}

impl Drop for Example {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Example {
    /// Starts an example in the calling thread's namespace.
    pub fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // The test may be over.
                let _ = sender.send(line);
            }
        });
        Self { process, lines }
    }

    /// The next line that it prints.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line of the example")
    }

    /// Waits for a line with `part`.
    fn wait_for(&self, part: &str) {
        while !self.line().contains(part) {}
    }
}

/// The file of an example, which `cargo test` builds before the tests run.
fn program(name: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let program = test.parent()?.parent()?.join("examples").join(name);
    program.is_file().then_some(program)
}

/// Runs `test` with an example's file, in a namespace where TUN devices can be made.
pub fn with_example(name: &str, test: impl FnOnce(&Path) + Send + 'static) {
    let _beside = beside_others();
    let Some(program) = program(name) else {
        return skip(format!("the example {name} is not built"));
    };
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(why) => return skip(why),
    };
    let ran = namespace.run(move || match TunDevice::open(1500) {
        Ok(probe) => {
            drop(probe);
            test(&program);
        }
        Err(why) => skip(why),
    });
    assert!(ran.is_ok(), "the test in the namespace failed");
}

#[test]
fn the_echo_server_echoes() {
    with_example("echo", |program| {
        let example = Example::start(program, &[]);
        let line = example.line();
        let server: SocketAddr = line.rsplit(' ').next().unwrap().parse().unwrap();
        for count in [0, 1, 1_000_000] {
            let sent = bytes(1, count);
            assert!(kernel_trades(TcpStream::connect(server).unwrap(), &sent) == sent, "{count} bytes");
        }
    });
}

#[test]
fn the_client_prints_the_answer() {
    with_example("client", |program| {
        ip("address add 203.0.113.1/32 dev lo");
        let listener = TcpListener::bind("203.0.113.1:0").unwrap();
        let server = listener.local_addr().unwrap().to_string();
        let answers = thread::spawn(move || kernel_trades(listener.accept().unwrap().0, b"an answer\n"));
        let output = Command::new(program).args([&server, "a question"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, b"an answer\n");
        assert_eq!(answers.join().unwrap(), b"a question");
        let refused = Command::new(program).args(["203.0.113.1:9", "a question"]).output().unwrap();
        assert!(!refused.status.success());
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(message.contains("ConnectionRefused"), "{message}");
    });
}

/// Runs `ip` with these words in the calling thread's namespace.
fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Where the proxy is, and what can be reached through it alone.
const PROXY: &str = "192.0.2.1:1080";
const WEB: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 80);
const RESOLVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 53);
const FAR: &[&str] =
    &["address add 192.0.2.1/24 dev far0", "address add 198.18.0.80/32 dev lo", "address add 198.18.0.53/32 dev lo"];

/// Runs `test` in a namespace from which all of 198.18.0.0/15 is reached through the example `tun2socks`. The proxy, a web server
/// and a resolver are in another namespace.
fn with_proxy(test: impl FnOnce(&Example) + Send + 'static) {
    with_example("tun2socks", move |program| {
        let (near, far) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        join(&near, "near0", &far, "far0");
        ip_in(&near, &["address add 192.0.2.2/24 dev near0"]);
        ip_in(&far, FAR);
        far.run(|| {
            proxy::serve(TcpListener::bind(PROXY).unwrap());
            servers::serve_pages(TcpListener::bind((WEB, 80)).unwrap());
            servers::serve_names(UdpSocket::bind((RESOLVER, 53)).unwrap());
        })
        .unwrap();
        let program = program.to_path_buf();
        let ran = near.run(move || {
            let example = Example::start(&program, &[PROXY]);
            let name = example.line().split(' ').next().unwrap().to_owned();
            ip(&format!("route add 198.18.0.0/15 dev {name}"));
            test(&example);
        });
        assert!(ran.is_ok(), "the test in the namespace failed");
    });
}

/// What the web server has at a path, up to the end of the connection.
fn fetch(path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect_timeout(&(WEB, 80).into(), PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: page.test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer[..head]));
    answer.split_off(head + 4)
}

/// Asks the resolver for a name. `None` if it does not answer in a second.
fn resolve(name: &str) -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket.connect((RESOLVER, 53)).unwrap();
    socket.send(&servers::question(name)).unwrap();
    let mut answer = [0; 512];
    let count = socket.recv(&mut answer).ok()?;
    servers::address_in(&answer[..count])
}

#[test]
fn what_a_proxy_reaches_is_reached_over_a_tun_device() {
    with_proxy(|example| {
        // Several at once, and each whole.
        let clients: Vec<_> = (0..4).map(|_| thread::spawn(|| fetch("/large"))).collect();
        for client in clients {
            assert!(client.join().unwrap() == servers::large());
        }
        // Each client of UDP has its own way through the proxy.
        assert_eq!(resolve("page.test"), Some(WEB));
        assert_eq!(resolve("silent.test"), None);
        assert_eq!(resolve("page.test"), Some(WEB));
        // The destination refuses, and so does the stack.
        let start = Instant::now();
        let refused = TcpStream::connect_timeout(&(WEB, 9).into(), PATIENCE).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert!(start.elapsed() < Duration::from_secs(5));
        example.wait_for("198.18.0.80:9: the proxy cannot reach 198.18.0.80:9: reply 5, connection refused");
        // No route leads there from the proxy.
        TcpStream::connect_timeout(&"198.18.0.99:80".parse().unwrap(), PATIENCE).unwrap_err();
        example.wait_for("198.18.0.99:80: the proxy cannot reach 198.18.0.99:80: reply 3, network unreachable");
        // An echo request: what the stack does not take is passed on.
        let (inet, raw) = (rustix::net::AddressFamily::INET, rustix::net::SocketType::RAW);
        let socket = rustix::net::socket(inet, raw, Some(rustix::net::ipproto::ICMP)).unwrap();
        let echo = [8, 0, 0xf7, 0xff, 0, 0, 0, 0];
        rustix::net::sendto(&socket, &echo, rustix::net::SendFlags::empty(), &SocketAddr::from((WEB, 0))).unwrap();
        example.wait_for("dropped a packet of protocol 1");
    });
}

#[test]
fn a_browser_loads_a_page_over_the_proxy() {
    let Some(chromium) = chromium() else {
        return skip("no Chromium");
    };
    with_proxy(move |_| {
        let folder = Folder::new("");
        let wrapper = resolving_by_the_proxy(&chromium, &folder);
        let mut browser = Browser::visit(&wrapper, "http://page.test", "tun2socks", &[]);
        browser.wait_until("window.report !== undefined");
        let report = browser.evaluate("window.report");
        assert_eq!(report["images"], servers::IMAGES, "{report}");
        assert_eq!(report["checksum"], servers::checksum(&servers::large()), "{report}");
        // The resolver does not answer for the name of one image, and its server refuses the other.
        assert_eq!(report["failed"], 2, "{report}");
    });
}

/// A program that runs `chromium` with the resolver that is reached over the proxy.
fn resolving_by_the_proxy(chromium: &Path, folder: &Folder) -> PathBuf {
    folder.write("resolv.conf", format!("nameserver {RESOLVER}\noptions timeout:1 attempts:1\n"));
    let (settings, chromium) = (folder.path("resolv.conf"), chromium.display());
    let mount = format!("mount --bind {} /etc/resolv.conf", settings.display());
    folder
        .write("run", format!("#!/bin/sh\nexec unshare --mount sh -c '{mount} && exec \"$@\"' sh {chromium} \"$@\"\n"));
    let wrapper = folder.path("run");
    std::fs::set_permissions(&wrapper, Permissions::from_mode(0o755)).unwrap();
    wrapper
}
