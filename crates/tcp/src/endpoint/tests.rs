//! Scenarios that read like traces. Segments are written as tcpdump prints them, with sequence
//! numbers counted from each side's ISN: `P. 1:101 ack 1` is 100 bytes, the first ever sent.

mod attack;
mod close;
mod copies;
mod flow_control;
mod handshake;
mod hostile;
mod liveness;
mod path_mtu;
mod time_wait;
mod transfer;
mod tuning;

use super::*;
use crate::AckPolicy;
use recoup_recovery::Mechanisms;

/// The ISN of the endpoint under test, or of the client; close enough to the wrap that a test's
/// first data crosses it.
const OWN_ISN: SeqNumber = SeqNumber(u32::MAX - 50);
/// The ISN of the peer, or of the server.
const PEER_ISN: SeqNumber = SeqNumber(3_000_000_000);

/// Segments of 1000 bytes, SACK, no timestamps, every segment acknowledged.
fn config() -> Config {
    Config { mss: 1000, timestamps: false, isn: OWN_ISN, ..Config::new(Mechanisms::LINUX_3_17) }
}

fn with_timestamps() -> Config {
    Config { timestamps: true, ..config() }
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// `flags seq[:end] [ack n] [sack a:b …]`, numbers counted from the ISNs of the segment's sender and
/// its receiver.
fn line(segment: &Segment, from: SeqNumber, to: SeqNumber) -> String {
    let flags = segment.flags.to_string();
    let seq = segment.seq.since(from);
    let mut line = format!("{} {seq}", flags.trim_matches(['[', ']']));
    if segment.sequence_len() > 0 {
        line += &format!(":{}", seq + segment.sequence_len());
    }
    if segment.flags.contains(Flags::ACK) {
        line += &format!(" ack {}", segment.ack.since(to));
    }
    for (i, [left, right]) in segment.options.sack.iter().enumerate() {
        let word = if i == 0 { " sack" } else { "" };
        line += &format!("{word} {}:{}", left.since(to), right.since(to));
    }
    line
}

/// The segment a line describes. Besides what [`line`] writes it takes `win n` (65535 if not given;
/// the field, not scaled), `ts value/echo`, `mss n`, `wscale n` and `sackOK`.
fn segment(line: &str, from: SeqNumber, to: SeqNumber) -> Segment {
    let mut words = line.split_whitespace().peekable();
    let flags = words.next().unwrap().chars().map(|letter| match letter {
        'S' => Flags::SYN,
        'F' => Flags::FIN,
        'R' => Flags::RST,
        'P' => Flags::PSH,
        '.' => Flags::ACK,
        _ => panic!("flag {letter} in {line}"),
    });
    let number = |word: &str| word.parse::<u32>().unwrap_or_else(|_| panic!("{line}"));
    let range = |word: &str| {
        let (a, b) = word.split_once(':').unwrap_or((word, word));
        [number(a), number(b)]
    };
    let mut segment =
        Segment { flags: flags.fold(Flags::NONE, |all, flag| all | flag), window: 65535, ..Segment::default() };
    let [seq, end] = range(words.next().unwrap());
    segment.seq = from + seq;
    segment.payload_len = (end - seq).saturating_sub(segment.sequence_len());
    let options = &mut segment.options;
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("{line}"));
        match word {
            "ack" => segment.ack = to + number(value()),
            "win" => segment.window = number(value()) as u16,
            "mss" => options.mss = Some(number(value()) as u16),
            "wscale" => options.window_scale = Some(number(value()) as u8),
            "sackOK" => options.sack_permitted = true,
            "ts" => {
                let (value, echo) = value().split_once('/').unwrap();
                let (value, echo) = (number(value), number(echo));
                options.timestamps = Some(Timestamps { value, echo });
            }
            "sack" => {
                while let Some(block) = words.next_if(|word| word.contains(':')) {
                    options.sack.push(range(block).map(|at| to + at));
                }
            }
            _ => panic!("{word} in {line}"),
        }
    }
    segment
}

/// One endpoint whose peer is the test.
struct Lone {
    endpoint: Endpoint,
    now: Instant,
}

impl Lone {
    fn listening(config: &Config) -> Self {
        Self { endpoint: Endpoint::listen(config), now: Instant::ZERO }
    }

    fn connecting(config: &Config) -> Self {
        Self { endpoint: Endpoint::connect(config), now: Instant::ZERO }
    }

    /// A connected client; the peer has acknowledged its SYN with `syn_ack` (`S. 0:1 ack 1 …`).
    fn connected(config: &Config, syn_ack: &str) -> Self {
        let mut lone = Self::connecting(config);
        lone.sent();
        lone.recv(syn_ack);
        assert_eq!(lone.sent(), [". 1 ack 1"]);
        lone
    }

    /// A connected client whose peer agreed to all but timestamps.
    fn open() -> Self {
        Self::connected(&config(), "S. 0:1 ack 1 mss 1000 sackOK wscale 0")
    }

    /// A connected client of which the test has driven it to `state`; 10 bytes of it are
    /// unacknowledged where it may still send.
    fn in_state(state: State) -> Self {
        if state == State::Listen {
            return Self::listening(&config());
        }
        if state == State::SynSent {
            let mut lone = Self::connecting(&config());
            lone.sent();
            return lone;
        }
        if state == State::SynReceived {
            let mut lone = Self::listening(&config());
            lone.recv("S 0:1 mss 1000 sackOK");
            lone.sent();
            return lone;
        }
        let mut lone = Self::open();
        let now = lone.now;
        if matches!(state, State::CloseWait | State::LastAck) {
            lone.recv("F. 1:2 ack 1");
        }
        if matches!(state, State::Established | State::CloseWait) {
            lone.endpoint.write(now, 10);
        } else {
            lone.endpoint.close(now);
        }
        lone.sent();
        match state {
            State::FinWait2 => lone.recv(". 1 ack 2"),
            State::Closing => lone.recv("F. 1:2 ack 1"),
            State::TimeWait => lone.recv("F. 1:2 ack 2"),
            State::Closed(_) => lone.recv("R 1"),
            _ => {}
        }
        lone.sent();
        assert_eq!(lone.endpoint.state(), state);
        lone
    }

    fn recv(&mut self, text: &str) {
        let segment = segment(text, PEER_ISN, OWN_ISN);
        self.endpoint.on_segment(self.now, &segment);
    }

    fn transmits(&mut self) -> Vec<Segment> {
        let mut segment = Segment::default();
        std::iter::from_fn(|| {
            let sent = self.endpoint.poll_transmit(self.now, &mut segment);
            sent.map(|_| segment)
        })
        .collect()
    }

    fn sent(&mut self) -> Vec<String> {
        let sent = self.transmits();
        sent.iter().map(|s| line(s, OWN_ISN, PEER_ISN)).collect()
    }

    /// The segments sent in answer to a segment.
    fn answer(&mut self, text: &str) -> Vec<String> {
        self.recv(text);
        self.sent()
    }

    /// Lets `time` pass, and returns what timers made it send, with milliseconds since the start.
    fn pass(&mut self, time: Duration) -> Vec<String> {
        let end = self.now + time;
        let mut sent = vec![];
        while let Some((at, timer)) = self.endpoint.next_timer().filter(|(at, _)| *at <= end) {
            self.now = at.max(self.now);
            self.endpoint.on_timer(self.now, timer);
            let at = self.now.as_millis_f64();
            sent.extend(self.sent().iter().map(|line| format!("{at} {line}")));
        }
        self.now = end;
        sent
    }

    fn state(&self) -> State {
        self.endpoint.state()
    }
}

/// An end of a [`Pair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client = 0,
    Server = 1,
}

use Side::{Client, Server};

/// A client and a server, 10 ms apart.
struct Pair {
    now: Instant,
    /// When something happened last.
    rest: Instant,
    ends: [Endpoint; 2],
    /// Whether each side's application reads as data comes.
    reads: [bool; 2],
    /// The bytes that each application has read.
    read: [u64; 2],
    in_flight: Vec<(Instant, Side, Segment)>,
    /// Segments of a side to lose, by their number from 1.
    lost: Vec<(Side, usize)>,
    /// The path swallows segments with more payload bytes.
    passes: u32,
    /// All that was sent.
    sent: Vec<(Instant, Side, Segment)>,
}

impl Pair {
    const OWD: Duration = Duration::from_millis(10);

    /// The server's ISN is set here.
    fn new(client: &Config, server: &Config) -> Self {
        let server = Config { isn: PEER_ISN, ..*server };
        Self {
            now: Instant::ZERO,
            rest: Instant::ZERO,
            ends: [Endpoint::connect(client), Endpoint::listen(&server)],
            reads: [true; 2],
            read: [0; 2],
            in_flight: vec![],
            lost: vec![],
            passes: u32::MAX,
            sent: vec![],
        }
    }

    /// Both open, nothing under way, at 30 ms; what was sent is forgotten.
    fn open(client: &Config, server: &Config) -> Self {
        let mut pair = Self::new(client, server);
        pair.run_until(30);
        assert_eq!(pair.states(), [State::Established; 2]);
        pair.sent.clear();
        pair
    }

    fn end(&mut self, side: Side) -> &mut Endpoint {
        &mut self.ends[side as usize]
    }

    fn states(&self) -> [State; 2] {
        [self.ends[0].state(), self.ends[1].state()]
    }

    fn write(&mut self, side: Side, bytes: u64) {
        let now = self.now;
        self.end(side).write(now, bytes);
    }

    fn close(&mut self, side: Side) {
        let now = self.now;
        self.end(side).close(now);
    }

    /// The application reads all there is.
    fn read(&mut self, side: Side) {
        let now = self.now;
        let readable = self.end(side).readable();
        self.end(side).read(now, readable);
        self.read[side as usize] += readable;
    }

    /// Puts what both sides want to send on the wire.
    fn flush(&mut self) {
        for side in [Client, Server] {
            let mut segment = Segment::default();
            while self.ends[side as usize].poll_transmit(self.now, &mut segment).is_some() {
                self.sent.push((self.now, side, segment));
                let number = self.sent.iter().filter(|(_, s, _)| *s == side).count();
                if !self.lost.contains(&(side, number)) && segment.payload_len <= self.passes {
                    let to = if side == Client { Server } else { Client };
                    let at = self.now + Self::OWD;
                    self.in_flight.push((at, to, segment));
                }
            }
        }
        assert!(self.sent.len() < 100_000, "the two never come to rest");
    }

    /// Runs until `end`, in milliseconds.
    fn run_until(&mut self, end: u64) {
        let end = Instant::from_millis(end);
        self.flush();
        while self.step(end) {
            self.flush();
        }
        self.now = self.now.max(end);
    }

    /// Runs until nothing is left to happen.
    fn run(&mut self) {
        self.run_until(u64::MAX / 2_000_000);
    }

    /// Lets the next thing happen that happens until `end`; a segment before a timer.
    fn step(&mut self, end: Instant) -> bool {
        let first = (0..self.in_flight.len()).min_by_key(|&i| self.in_flight[i].0);
        let arrival = first.map(|i| self.in_flight[i].0);
        let timer = [Client, Server]
            .into_iter()
            .filter_map(|side| Some((self.ends[side as usize].next_timer()?, side)))
            .min_by_key(|((at, _), _)| *at);
        let timer_at = timer.map(|((at, _), _)| at);
        let Some(next) = [arrival, timer_at].into_iter().flatten().min() else {
            return false;
        };
        if next > end {
            return false;
        }
        self.now = self.now.max(next);
        self.rest = self.now;
        let now = self.now;
        if let Some(i) = first.filter(|_| arrival == Some(next)) {
            let (_, to, segment) = self.in_flight.remove(i);
            self.end(to).on_segment(now, &segment);
            if self.reads[to as usize] {
                self.read(to);
            }
        } else if let Some(((_, timer), side)) = timer {
            self.end(side).on_timer(now, timer);
        }
        true
    }

    /// When the last timer or segment was, in milliseconds, after [`run`](Self::run).
    fn now_of_rest(&self) -> u64 {
        self.rest.as_nanos() / 1_000_000
    }

    /// All that was sent: milliseconds, `>` from the client or `<` from the server, and the segment.
    fn trace(&self) -> Vec<String> {
        let (client, server) = (self.ends[0].isn, self.ends[1].isn);
        let lines = self.sent.iter().map(|(at, side, segment)| {
            let (arrow, from, to) = match side {
                Client => ('>', client, server),
                Server => ('<', server, client),
            };
            let line = line(segment, from, to);
            format!("{} {arrow} {line}", at.as_millis_f64())
        });
        lines.collect()
    }

    /// The segments of one side.
    fn from(&self, side: Side) -> impl Iterator<Item = &Segment> {
        let sent = self.sent.iter().filter(move |(_, s, _)| *s == side);
        sent.map(|(_, _, segment)| segment)
    }
}
