//! The traffic over the path, and the kernel's counters. Clients send requests to a server like browsers
//! and other programs, with one thread per connection.

use recoup_recovery::Trigger;
use recoup_trace::finding::Triggers;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// The environment variable with port, connections and seed for the clients.
pub const VARIABLE: &str = "RECOUP_TEST_CLIENTS";

/// The arguments that make the test runner act as the clients only.
pub const COMMAND: [&str; 4] = ["accuracy::kernel::traffic::play", "--exact", "--nocapture", "--quiet"];

/// The timeout of every operation of a client.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The prefix of the line with the clients' counters.
const PREFIX: &str = "counted ";

/// A request. On the wire each field has eight bytes.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// Bytes of the request's body.
    body: u64,
    /// Bytes of the response.
    response: u64,
    /// Bytes of the response written at once, at most.
    chunk: u64,
    /// The pause between writes, in ms.
    pause: u64,
}

impl Request {
    const LEN: usize = 32;

    fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; Self::LEN];
        from.read_exact(&mut bytes)?;
        let field = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("eight"));
        let [body, response, chunk, pause] = [0, 1, 2, 3].map(field);
        Ok(Self { body, response, chunk, pause })
    }

    fn write(self, to: &mut impl Write) -> io::Result<()> {
        let fields = [self.body, self.response, self.chunk, self.pause];
        let bytes: Vec<u8> = fields.iter().flat_map(|f| f.to_le_bytes()).collect();
        to.write_all(&bytes)?;
        send(to, self.body, u64::MAX, 0)
    }
}

fn send(to: &mut impl Write, bytes: u64, chunk: u64, pause: u64) -> io::Result<()> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let len = left.min(chunk).min(ZEROS.len() as u64);
        to.write_all(&ZEROS[..len as usize])?;
        left -= len;
        if pause > 0 && left > 0 {
            thread::sleep(Duration::from_millis(pause));
        }
    }
    Ok(())
}

fn discard(from: &mut impl Read, bytes: u64) -> io::Result<()> {
    match io::copy(&mut from.take(bytes), &mut io::sink())? {
        all if all == bytes => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Serves on a port of the calling thread's namespace for as long as this process lives.
pub fn serve() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a socket");
    let port = listener.local_addr().expect("its address").port();
    let answer = |mut stream: TcpStream| -> io::Result<()> {
        stream.set_nodelay(true)?;
        loop {
            let request = Request::read(&mut stream)?;
            discard(&mut stream, request.body)?;
            send(&mut stream, request.response, request.chunk, request.pause)?;
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // The error at the end of the connection is expected.
            thread::spawn(move || answer(stream));
        }
    });
    port
}

/// A small random number generator. A seed always gives the same conversations.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        // Knuth's MMIX constants.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Mostly small, sometimes large.
    fn size(&mut self) -> u64 {
        let largest = self.pick(&[1400, 15_000, 15_000, 100_000, 400_000]);
        1 + self.below(largest)
    }

    fn request(&mut self) -> Request {
        let response = self.size();
        let slow = response < 30_000 && self.below(3) == 0;
        let (chunk, pause) = match slow {
            true => self.pick(&[(1000, 5), (3000, 30), (9000, 350)]),
            false => (u64::MAX, 0),
        };
        Request { body: if self.below(6) == 0 { self.size() } else { 0 }, response, chunk, pause }
    }
}

fn converse(to: SocketAddr, mut draws: Draws) -> io::Result<()> {
    thread::sleep(Duration::from_millis(draws.below(2500)));
    let mut stream = TcpStream::connect_timeout(&to, TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    for _ in 0..draws.pick(&[1, 1, 2, 4]) {
        let request = draws.request();
        request.write(&mut stream)?;
        discard(&mut stream, request.response)?;
        thread::sleep(Duration::from_millis(draws.pick(&[0, 10, 250, 800])));
    }
    Ok(())
}

/// Runs the clients if this program is the command behind the path.
#[test]
fn play() {
    let Ok(text) = std::env::var(VARIABLE) else {
        return;
    };
    let numbers: Vec<u64> = text.split(' ').map(|n| n.parse().expect("a number")).collect();
    let outside = std::env::var("RECOUP_OUTSIDE").expect("an emulator around");
    let outside: IpAddr = outside.parse().expect("an address");
    let to = SocketAddr::new(outside, numbers[0] as u16);
    let mut draws = Draws(numbers[2]);
    let clients: Vec<_> = (0..numbers[1])
        .map(|_| Draws(draws.below(1 << 31)))
        .map(|draws| thread::spawn(move || converse(to, draws)))
        .collect();
    for client in clients {
        // A connection may fail on a bad path.
        let _ = client.join().expect("a client");
    }
    // Leaves time to retransmit the last FINs.
    thread::sleep(Duration::from_secs(2));
    println!("\n{PREFIX}{}", Counters::here());
}

/// Retransmissions by trigger, in the order of [`Trigger::ALL`], as far as the kernel distinguishes them.
#[derive(Clone, Debug, Default)]
pub struct Counters([u64; Trigger::ALL.len()]);

impl Counters {
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub fn add(&mut self, triggers: Triggers) {
        if let Some(trigger) = triggers.first() {
            self.0[trigger as usize] += 1;
        }
    }

    /// How many of these retransmissions `other` lacks or counts under another trigger.
    pub fn differences(&self, other: &Self) -> u64 {
        let pairs = self.0.iter().zip(other.0);
        pairs.map(|(a, b)| a.saturating_sub(b)).sum()
    }

    /// The kernel's counters in the calling thread's namespace.
    ///
    /// The kernel counts timeouts, including those of the SYN; each retransmits one segment. Its count of
    /// probes includes probes with new data. Retransmitted probes are therefore the remainder.
    pub fn here() -> Self {
        let [tcp, more] = ["snmp", "netstat"].map(|file| {
            let path = format!("/proc/thread-self/net/{file}");
            std::fs::read_to_string(path).expect("counters")
        });
        let text = tcp + &more;
        let of = |name| counter(&text, name);
        let (all, handshake) = (of("RetransSegs"), of("TCPSynRetrans"));
        let [fast, slow_start] = ["TCPFastRetrans", "TCPSlowStartRetrans"].map(of);
        // TCPTimeouts includes the client's SYNs, but not the server's SYN-ACKs.
        let connects = of("ActiveOpens") > 0;
        let (syn, syn_ack) = if connects { (handshake, 0) } else { (0, handshake) };
        let rto = of("TCPTimeouts").saturating_sub(syn);
        let tlp = all.saturating_sub(handshake + fast + slow_start + rto);
        Self([fast, 0, rto, slow_start, tlp, 0, 0, syn, syn_ack])
    }

    /// The counters in the clients' output.
    pub fn from_output(output: &str) -> Self {
        let line = output.lines().find_map(|line| line.strip_prefix(PREFIX));
        let line = line.unwrap_or_else(|| panic!("no counters: {output}"));
        let mut counters = Self::default();
        for (count, word) in counters.0.iter_mut().zip(line.split(' ')) {
            let (_, number) = word.split_once('=').expect("name=number");
            *count = number.parse().expect("a number");
        }
        counters
    }
}

/// A counter of `/proc/net/snmp` and `netstat`, where a line of values follows a line of names.
fn counter(text: &str, name: &str) -> u64 {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks(2).filter(|pair| pair[0].starts_with("Tcp")) {
        let both = pair[0].split(' ').zip(pair[1].split(' '));
        if let Some((_, value)) = both.into_iter().find(|(found, _)| *found == name) {
            return value.parse().expect("a number");
        }
    }
    0
}

impl fmt::Display for Counters {
    /// `fast=3 early=0 …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Trigger::ALL.iter().zip(self.0);
        let words: Vec<String> = words.map(|(t, n)| format!("{}={n}", t.name())).collect();
        f.write_str(&words.join(" "))
    }
}
