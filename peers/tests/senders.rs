//! Every sender answers the requests of the kernel's TCP, in a network namespace of its own.
//!
//! The tests need root and TUN. Without them they are skipped, or fail if RECOUP_REQUIRE_TOOLS is set.

use recoup_net::{Namespace, TunDevice};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The senders, and whether they have offloads.
const SENDERS: [(&str, bool); 10] = [
    ("linux-6", true),
    ("linux-6+tlpr", true),
    ("linux-6+bbr1", true),
    ("linux", false),
    ("smoltcp", true),
    ("smoltcp-reno", true),
    ("smoltcp-cubic", true),
    ("tcp-ip", false),
    ("ipstack", false),
    ("bare", true),
];

/// Every byte of an answer.
const FILL: u8 = 7;

/// How long a client waits for the next bytes.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn answers_arrive_exactly_one_after_the_other() {
    for_each_sender(|server, name| {
        for len in [3_000_000, 14_480, 1, 0, 3_000_001] {
            let answer = ask(&mut connect(server), len);
            assert_eq!(answer.len() as u64, len, "{name}");
            assert!(answer.iter().all(|&byte| byte == FILL), "{name}: {len}");
        }
    });
}

#[test]
fn requests_on_one_connection_are_answered_one_after_the_other() {
    for_each_sender(|server, name| {
        // It answers one request per connection.
        if name == "bare" {
            return;
        }
        let mut stream = connect(server);
        for len in [100, 0, 1, 200_000, 1000, 1000, 5000] {
            stream.write_all(&u64::to_be_bytes(len)).unwrap();
            let mut answer = vec![0; len as usize];
            stream.read_exact(&mut answer).unwrap();
            assert!(answer.iter().all(|&byte| byte == FILL), "{name}: {len}");
        }
        // Two requests at once.
        stream.write_all(&[3_u64.to_be_bytes(), 4_u64.to_be_bytes()].concat()).unwrap();
        stream.read_exact(&mut [0; 7]).unwrap();
        assert_eq!(read_all(&mut stream).len(), 0, "{name}");
    });
}

#[test]
fn connections_without_requests_stay_open() {
    for_each_sender(|server, name| {
        let mut idle: Vec<_> = (0..200).map(|_| connect(server)).collect();
        assert_eq!(ask(&mut connect(server), 100_000).len(), 100_000, "{name}");
        // Half a request, and the rest later.
        let request = 30_000_u64.to_be_bytes();
        idle[0].write_all(&request[..3]).unwrap();
        let mut others = idle.split_off(1);
        assert_eq!(ask(&mut others[0], 20_000).len(), 20_000, "{name}");
        idle[0].write_all(&request[3..]).unwrap();
        assert_eq!(read_answer(&mut idle[0], 30_000).len(), 30_000, "{name}");
    });
}

#[test]
fn resets_do_not_disturb_later_requests() {
    for_each_sender(|server, name| {
        for _ in 0..100 {
            let mut stream = connect(server);
            stream.write_all(&10_000_000_u64.to_be_bytes()).unwrap();
            // Unread data makes the kernel reset the connection.
            stream.read_exact(&mut [0]).unwrap();
        }
        assert_eq!(ask(&mut connect(server), 100_000).len(), 100_000, "{name}");
    });
}

#[test]
fn a_peer_that_closes_its_side_first_gets_the_whole_answer() {
    for_each_sender(|server, name| {
        if name == "ipstack" {
            return;
        }
        let mut stream = connect(server);
        stream.write_all(&3_000_000_u64.to_be_bytes()).unwrap();
        assert_eq!(read_all(&mut stream).len(), 3_000_000, "{name}");
    });
}

#[test]
fn senders_without_offloads_say_so() {
    for name in ["tcp-ip", "ipstack"] {
        let command = ["send", name, "--offloads"];
        let output = Command::new(env!("CARGO_BIN_EXE_recoup-peers")).args(command).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains("no segmentation offload"), "{message}");
    }
}

#[test]
fn senders_without_requests_use_no_processor_time() {
    for_each_running(|sender, server, name| {
        let _idle: Vec<_> = (0..20).map(|_| connect(server)).collect();
        ask(&mut connect(server), 1_000_000);
        let ticks = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", sender.id())).unwrap();
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            let field = |at| fields.split(' ').nth(at).unwrap().parse::<u64>().unwrap();
            field(11) + field(12)
        };
        std::thread::sleep(Duration::from_millis(200));
        let before = ticks();
        std::thread::sleep(Duration::from_millis(500));
        // Of 50: a busy loop uses up all of them.
        assert!(ticks() - before < 10, "{name}");
    });
}

/// Calls `check` with the address and the name of every sender, without and with offloads, in the sender's namespace.
fn for_each_sender(check: fn(SocketAddr, &str)) {
    for_each_running(move |_, server, name| check(server, name));
}

/// As [`for_each_sender`], with the sender's process.
fn for_each_running(check: impl Fn(&Child, SocketAddr, &str) + Copy + Send + 'static) {
    for (name, has_offloads) in SENDERS {
        for offloads in [false, true] {
            if offloads && !has_offloads {
                continue;
            }
            let namespace = match Namespace::new() {
                Ok(namespace) => namespace,
                Err(error) => return recoup_testing::skip(error),
            };
            let probe = namespace.run(|| TunDevice::open(1500).map(drop)).unwrap();
            if let Err(error) = probe {
                return recoup_testing::skip(error);
            }
            let started = Instant::now();
            let run = move || {
                let (sender, server) = start(name, offloads);
                check(&sender.0, server, name);
            };
            // It fails if the check panicked, which says why.
            namespace.run(run).unwrap();
            println!("{name}, offloads {offloads}: {:?}", started.elapsed());
        }
    }
}

/// A process that ends with its owner.
struct Sender(Child);

impl Drop for Sender {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a sender in the calling thread's namespace; where it accepts connections.
fn start(name: &str, offloads: bool) -> (Sender, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recoup-peers"));
    command.args(["send", name]).stdout(Stdio::piped());
    command.args(offloads.then_some("--offloads"));
    let mut sender = Sender(command.spawn().unwrap());
    let mut line = String::new();
    let stdout = sender.0.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening ");
    let mut address: SocketAddr = address.unwrap().parse().unwrap();
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    (sender, address)
}

fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&server, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Requests `len` bytes; what arrives.
fn ask(stream: &mut TcpStream, len: u64) -> Vec<u8> {
    stream.write_all(&len.to_be_bytes()).unwrap();
    read_answer(stream, len)
}

/// Reads an answer of `len` bytes, and closes. ipstack ends an answer when its peer closes before.
fn read_answer(stream: &mut TcpStream, len: u64) -> Vec<u8> {
    let mut answer = vec![0; len as usize];
    stream.read_exact(&mut answer).unwrap();
    answer.extend(read_all(stream));
    answer
}

/// Closes this side, upon which the sender closes the other one after its answer.
fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}
