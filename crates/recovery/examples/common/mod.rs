//! What both examples need besides loss recovery: settings, a clock, datagrams as lists of numbers, the memory of
//! a receiver, and a relay that loses, delays and reorders datagrams.

use recoup_recovery::Profile;
use recoup_units::{Offset, Span};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The most payload of a datagram, in bytes.
pub const SIZE: u32 = 1200;
/// The longest that a thread sleeps before it looks whether it should end.
const IDLE: Duration = Duration::from_millis(20);
/// A transfer that takes longer has failed.
const TOO_LONG: Duration = Duration::from_secs(60);

/// What is transferred, and over which network.
pub struct Settings {
    pub bytes: usize,
    pub profile: Profile,
    /// The share of datagrams that are lost, and of those that arrive `delay` later than others, in percent.
    pub loss: f64,
    pub reordered: f64,
    /// From one end to the other.
    pub delay: Duration,
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bytes: 2_000_000,
            profile: "linux-6".parse().expect("a known profile"),
            loss: 2.0,
            reordered: 1.0,
            delay: Duration::from_millis(5),
            seed: 1,
        }
    }
}

impl Settings {
    /// Reads `--loss 5 --seed 7` and so on.
    #[allow(dead_code, reason = "the tests use the defaults")]
    pub fn from_arguments() -> Result<Self, Box<dyn std::error::Error>> {
        let mut settings = Self::default();
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            match name.as_str() {
                "--bytes" => settings.bytes = value.parse()?,
                "--profile" => settings.profile = value.parse()?,
                "--loss" => settings.loss = value.parse()?,
                "--reordered" => settings.reordered = value.parse()?,
                "--delay-ms" => settings.delay = Duration::from_millis(value.parse()?),
                "--seed" => settings.seed = value.parse()?,
                _ => return Err(format!("unknown: {name}").into()),
            }
        }
        Ok(settings)
    }

    /// What the sender transfers.
    pub fn data(&self) -> Vec<u8> {
        (0..self.bytes).map(|i| (i * 7 + i / 251) as u8).collect()
    }
}

/// The sender's clock: from its start on.
pub struct Clock(Instant);

impl Clock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time for the sender, or an error once the transfer has taken too long.
    pub fn now(&self) -> io::Result<recoup_units::Instant> {
        match self.0.elapsed() {
            elapsed if elapsed < TOO_LONG => Ok(recoup_units::Instant::ZERO + elapsed),
            _ => Err(io::Error::new(
                ErrorKind::TimedOut,
                "the transfer takes too long",
            )),
        }
    }
}

/// A datagram: numbers, and what follows them.
pub fn datagram(numbers: impl IntoIterator<Item = u64>, payload: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_be_bytes).collect();
    bytes.extend_from_slice(payload);
    bytes
}

/// All numbers of a datagram without payload.
pub fn numbers(datagram: &[u8]) -> Vec<u64> {
    let (numbers, _) = datagram.as_chunks();
    numbers.iter().copied().map(u64::from_be_bytes).collect()
}

/// Waits for a datagram, at most for `wait`.
pub fn receive(socket: &UdpSocket, wait: Duration, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    socket.set_read_timeout(Some(wait.clamp(Duration::from_micros(50), IDLE)))?;
    match socket.recv(buffer) {
        Ok(length) => Ok(Some(length)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
        Err(e) => Err(e),
    }
}

/// What a receiver has: ranges in order that do not touch.
#[derive(Default)]
pub struct Received(Vec<Span>);

impl Received {
    /// Adds `span`, and returns whether it was there before.
    pub fn add(&mut self, span: Span) -> bool {
        if self.range_of(span).is_some() {
            return true;
        }
        let mut whole = span;
        self.0.retain(|range| {
            let apart = range.end < span.start || span.end < range.start;
            if !apart {
                whole = Span::new(whole.start.min(range.start), whole.end.max(range.end));
            }
            apart
        });
        let place = self.0.partition_point(|range| range.start < whole.start);
        self.0.insert(place, whole);
        false
    }

    /// The range that covers `span`.
    pub fn range_of(&self, span: Span) -> Option<Span> {
        self.0.iter().copied().find(|range| range.covers(span))
    }

    /// Everything below has arrived.
    #[allow(dead_code, reason = "packets have no cumulative acknowledgment")]
    pub fn cumulative(&self) -> Offset {
        let first = self.0.first().filter(|range| range.start == Offset::DATA);
        first.map_or(Offset::DATA, |range| range.end)
    }

    /// The ranges, from the highest down.
    pub fn from_the_top(&self) -> impl Iterator<Item = Span> + '_ {
        self.0.iter().rev().copied()
    }
}

/// A socket on the loopback interface.
pub fn socket() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
}

/// Carries datagrams between `ends` until `stop`. The same seed loses the datagrams with the same ordinals.
pub fn relay(
    socket: &UdpSocket,
    ends: [SocketAddr; 2],
    settings: &Settings,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut state = settings.seed;
    // SplitMix64 (Steele, Lea, Flood 2014).
    let mut happens = |percent: f64| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / ((1_u64 << 53) as f64) < percent / 100.0
    };
    let mut on_the_way: BTreeMap<(Instant, u64), (SocketAddr, Vec<u8>)> = BTreeMap::new();
    let mut buffer = [0; 2048];
    let mut ordinal = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        while let Some(next) = on_the_way.first_entry()
            && next.key().0 <= now
        {
            let (to, bytes) = next.remove();
            socket.send_to(&bytes, to)?;
        }
        let next = on_the_way.first_key_value().map(|((at, _), _)| *at);
        let wait = next.map_or(IDLE, |at| at.saturating_duration_since(now));
        socket.set_read_timeout(Some(wait.clamp(Duration::from_micros(50), IDLE)))?;
        let Ok((length, from)) = socket.recv_from(&mut buffer) else {
            continue; // nothing arrived
        };
        ordinal += 1;
        let (lost, late) = (happens(settings.loss), happens(settings.reordered));
        if !lost {
            let at = Instant::now() + settings.delay * if late { 2 } else { 1 };
            let to = if from == ends[0] { ends[1] } else { ends[0] };
            on_the_way.insert((at, ordinal), (to, buffer[..length].to_vec()));
        }
    }
    Ok(())
}
