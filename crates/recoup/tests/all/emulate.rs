//! `recoup emulate` on real packets. Each test runs in a network namespace of its own, so the machine's
//! network is not affected. The command behind the path is this test program in one of its roles.
//!
//! If the system does not permit namespaces or TUN devices, the tests print that and pass. If
//! RECOUP_REQUIRE_TOOLS is set, they fail instead.

mod capture;
mod faults;
mod path;
mod roles;

use crate::real_packets::turn;
use recoup_net::{Namespace, Tun};
use recoup_testing::skip;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::process::{Child, Stdio};
use std::sync::MutexGuard;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The time limit of each command.
const LIMIT: Duration = Duration::from_secs(30);

/// The network outside the path.
struct World {
    namespace: Namespace,
    folder: TempDir,
    /// Allows one test at a time, because the tests measure time.
    _turn: MutexGuard<'static, ()>,
}

/// The result of a run of the program.
#[derive(Debug)]
struct Outcome {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl World {
    /// `None` if the system does not permit it.
    fn new() -> Option<Self> {
        let turn = turn();
        let made = Namespace::new().and_then(|namespace| {
            namespace.run(|| Tun::create("recoup-probe").map(drop))??;
            Ok(namespace)
        });
        match made {
            Ok(namespace) => Some(Self { namespace, folder: tempfile::tempdir().expect("a folder"), _turn: turn }),
            Err(e) => {
                skip(e);
                None
            }
        }
    }

    /// Starts a UDP echo server. Returns its port.
    fn echo(&self) -> u16 {
        let serve = || {
            let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).expect("a socket");
            let port = socket.local_addr().expect("its address").port();
            thread::spawn(move || {
                let mut buffer = [0; 2000];
                while let Ok((len, from)) = socket.recv_from(&mut buffer) {
                    let _ = socket.send_to(&buffer[..len], from);
                }
            });
            port
        };
        self.namespace.run(serve).expect("a namespace")
    }

    /// Starts a TCP server that handles one connection at a time. Returns its port.
    fn listen(&self, mut handle: impl FnMut(std::net::TcpStream) + Send + 'static) -> u16 {
        let serve = move || {
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).expect("a socket");
            let port = listener.local_addr().expect("its address").port();
            thread::spawn(move || listener.incoming().flatten().for_each(&mut handle));
            port
        };
        self.namespace.run(serve).expect("a namespace")
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Starts `recoup emulate ARGS -- COMMAND` in the namespace.
    fn start(&self, args: &[&str], command: &[&str]) -> Child {
        let mut recoup = recoup_testing::command(env!("CARGO_BIN_EXE_recoup"));
        recoup.arg("emulate").args(args).arg("--").args(command);
        recoup.current_dir(self.folder.path()).stdin(Stdio::null());
        recoup.stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawn = move || recoup.spawn().expect("recoup runs");
        self.namespace.run(spawn).expect("a namespace")
    }

    fn emulate(&self, args: &[&str], command: &[&str]) -> Outcome {
        finish(self.start(args, command))
    }

    /// Runs this program in a role behind the path. Returns the lines it printed.
    fn play(&self, args: &[&str], role: &[&str]) -> Vec<String> {
        let me = std::env::current_exe().expect("this program");
        let me = me.display().to_string();
        let mut command = roles::COMMAND.to_vec();
        command.insert(0, &me);
        let role = role.join(" ");
        let role = format!("{}={role}", roles::VARIABLE);
        let command: Vec<&str> = ["env", &role].into_iter().chain(command).collect();
        let outcome = self.emulate(args, &command);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        roles::printed_lines(&outcome.stdout)
    }

    /// The interfaces of the namespace.
    fn interfaces(&self) -> Vec<String> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev").expect("interfaces");
        let text = self.namespace.run(read).expect("a namespace");
        let names = text.lines().skip(2).filter_map(|line| line.split(':').next());
        names.map(|name| name.trim().to_owned()).collect()
    }
}

/// Waits for a program, up to the time limit.
fn finish(mut child: Child) -> Outcome {
    let read = |mut from: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut text = String::new();
            from.read_to_string(&mut text).expect("text");
            text
        })
    };
    let stdout = read(Box::new(child.stdout.take().expect("a pipe")));
    let stderr = read(Box::new(child.stderr.take().expect("a pipe")));
    let began = Instant::now();
    let status = loop {
        match child.try_wait().expect("a status") {
            Some(status) => break status,
            None if began.elapsed() > LIMIT => {
                child.kill().expect("a program");
                panic!("over {LIMIT:?}: {}", stderr.join().expect("text"));
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    Outcome { status: status.code(), stdout: stdout.join().expect("text"), stderr: stderr.join().expect("text") }
}

/// Waits until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(10), "not within 10 s: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The address outside the outermost emulator, from the command's environment.
fn base(port: u16, v6: bool) -> SocketAddr {
    let name = if v6 { "RECOUP_BASE6" } else { "RECOUP_BASE" };
    let address = std::env::var(name).expect("an emulator around");
    let ip: IpAddr = address.parse().expect("an address");
    SocketAddr::new(ip, port)
}

/// The unspecified address of the family of `of`.
const fn any(of: SocketAddr) -> SocketAddr {
    let ip = match of {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(ip, 0)
}
