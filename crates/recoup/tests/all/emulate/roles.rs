//! The roles of this program as the command behind the path.

use crate::emulate::{any, base};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// The environment variable that names the role.
pub const VARIABLE: &str = "RECOUP_TEST_ROLE";

/// The arguments that make the test runner act in the role only.
pub const COMMAND: [&str; 4] = ["emulate::roles::play", "--exact", "--nocapture", "--quiet"];

/// The prefix of lines that a role prints, because the test runner prints, too.
const MARK: &str = "role says ";

fn say(what: impl std::fmt::Display) {
    println!("\n{MARK}{what}");
}

/// The lines that a role printed.
pub fn printed_lines(stdout: &str) -> Vec<String> {
    let lines = stdout.lines().filter_map(|line| line.strip_prefix(MARK));
    lines.map(str::to_owned).collect()
}

#[test]
fn play() {
    let Ok(role) = std::env::var(VARIABLE) else {
        return;
    };
    let words: Vec<&str> = role.split(' ').collect();
    let port = |place: usize| words[place].parse::<u16>().expect("a port");
    match words[0] {
        "ping" => ping(port(1), false),
        "ping6" => ping(port(1), true),
        "flood" => flood(port(1), words[2].parse().expect("a number")),
        "connect" => connect(port(1)),
        "upload" => upload(port(1), words[2].parse().expect("a number"), true),
        "upload4" => upload(port(1), words[2].parse().expect("a number"), false),
        other => panic!("unknown role {other}"),
    }
}

/// Prints the round-trip time of each of 20 echoes in ns.
fn ping(port: u16, v6: bool) {
    let to = base(port, v6);
    let socket = UdpSocket::bind(any(to)).expect("a socket");
    socket.connect(to).expect("a route");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    for _ in 0..20 {
        let sent = Instant::now();
        socket.send(b"ping").expect("to send");
        socket.recv(&mut [0; 10]).expect("an echo");
        say(sent.elapsed().as_nanos());
    }
}

/// Sends packets of 1000 bytes at once, then prints in ns when each echo arrived.
fn flood(port: u16, packets: usize) {
    let to = base(port, false);
    let socket = UdpSocket::bind(any(to)).expect("a socket");
    socket.connect(to).expect("a route");
    socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    let began = Instant::now();
    for _ in 0..packets {
        socket.send(&[0; 972]).expect("to send");
    }
    while socket.recv(&mut [0; 1000]).is_ok() {
        say(began.elapsed().as_nanos());
    }
}

/// Prints the time to connect in ns.
fn connect(port: u16) {
    let began = Instant::now();
    TcpStream::connect(base(port, false)).expect("a connection");
    say(began.elapsed().as_nanos());
}

/// Sends bytes and prints the server's answer.
fn upload(port: u16, bytes: usize, v6: bool) {
    let mut stream = TcpStream::connect(base(port, v6)).expect("a connection");
    stream.write_all(&pattern(bytes)).expect("to send");
    stream.shutdown(Shutdown::Write).expect("a connection");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    say(answer);
}

/// Bytes without repetitions.
pub fn pattern(bytes: usize) -> Vec<u8> {
    (0u32..).flat_map(u32::to_le_bytes).take(bytes).collect()
}
