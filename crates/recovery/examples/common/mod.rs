//! The parts of both examples that are not loss recovery: settings, a clock, datagrams of numbers, the ranges that a
//! receiver has, and a relay that loses, delays and reorders datagrams.

use recoup_recovery::{Offset, Ppm, Profile, Span};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The most payload of a datagram, in bytes.
pub const SIZE: u32 = 1200;
/// The longest that a thread sleeps before it looks whether it should end.
const IDLE: Duration = Duration::from_millis(20);
/// A transfer that takes longer has failed.
const TOO_LONG: Duration = Duration::from_secs(60);

/// The data, its sender and the network: the options of the command line, as `HELP` describes them.
pub struct Settings {
    pub bytes: usize,
    pub profile: Profile,
    pub loss: Ppm,
    pub reordered: Ppm,
    pub delay: Duration,
    pub seed: u64,
}

const HELP: &str = "\
Sends data over UDP, through a relay that loses, delays and reorders datagrams, and prints what it took.

Options, with their defaults:
  --bytes 2000000      bytes of data
  --profile linux-6    how the sender recovers from losses: a profile, or profile+mechanism
  --loss 2             share of datagrams that are lost, in whole percent
  --reordered 1        share of datagrams that take twice as long, in whole percent
  --delay-ms 5         time from one end to the other
  --seed 1             seed of the random choices
  --help               prints this text";

impl Default for Settings {
    fn default() -> Self {
        Self {
            bytes: 2_000_000,
            profile: "linux-6".parse().expect("a known profile"),
            loss: Ppm::percent(2),
            reordered: Ppm::percent(1),
            delay: Duration::from_millis(5),
            seed: 1,
        }
    }
}

impl Settings {
    /// Reads the command line, such as `--loss 5 --seed 7`.
    fn from_arguments(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self::default();
        while let Some(name) = words.next() {
            if name == "--help" {
                println!("{HELP}");
                std::process::exit(0);
            }
            let mut value = || words.next().unwrap_or_default();
            match name.as_str() {
                "--bytes" => settings.bytes = parse(&name, &value())?,
                "--profile" => settings.profile = parse(&name, &value())?,
                "--loss" => settings.loss = percent(&name, &value())?,
                "--reordered" => settings.reordered = percent(&name, &value())?,
                "--delay-ms" => settings.delay = Duration::from_millis(parse(&name, &value())?),
                "--seed" => settings.seed = parse(&name, &value())?,
                _ => return Err(format!("unknown option {name}; --help lists the options")),
            }
        }
        Ok(settings)
    }

    /// The data to transfer.
    pub fn data(&self) -> Vec<u8> {
        (0..self.bytes).map(|i| (i * 7 + i / 251) as u8).collect()
    }
}

fn parse<T: FromStr<Err: Display>>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|e| format!("{name} \"{value}\": {e}"))
}

fn percent(name: &str, value: &str) -> Result<Ppm, String> {
    match parse(name, value)? {
        percent @ 0..=100 => Ok(Ppm::percent(percent)),
        _ => Err(format!("{name} \"{value}\": more than 100 %")),
    }
}

/// The sender's clock. It begins with 0.
pub struct Clock(Instant);

impl Clock {
    /// Starts the clock.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time for the sender, or an error once the transfer has taken too long.
    pub fn now(&self) -> io::Result<recoup_recovery::Instant> {
        match self.0.elapsed() {
            elapsed if elapsed < TOO_LONG => Ok(recoup_recovery::Instant::ZERO + elapsed),
            _ => Err(io::Error::new(ErrorKind::TimedOut, "the transfer takes too long")),
        }
    }
}

/// Runs an example: prints the sentence that `transfer` returns, or one line that says why there is none.
pub fn run<E: Display>(transfer: impl FnOnce(&Settings) -> Result<String, E>) -> ExitCode {
    let settings = Settings::from_arguments(std::env::args().skip(1));
    let outcome = settings.and_then(|settings| transfer(&settings).map_err(|e| e.to_string()));
    match &outcome {
        Ok(sentence) => println!("{sentence}"),
        Err(why) => eprintln!("error: {why}"),
    }
    match outcome {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The error of a sender that gave up.
pub fn gave_up() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "the receiver acknowledges nothing any more")
}

/// A datagram: numbers, and the bytes that follow them.
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

/// Waits for a datagram, for at most `wait`.
pub fn receive(socket: &UdpSocket, wait: Duration, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    socket.set_read_timeout(Some(wait.clamp(Duration::from_micros(50), IDLE)))?;
    match socket.recv(buffer) {
        Ok(length) => Ok(Some(length)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The ranges that a receiver has, in order. They do not touch.
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
    pub fn descending(&self) -> impl Iterator<Item = Span> + '_ {
        self.0.iter().rev().copied()
    }
}

/// Runs `send` with a socket, and answers each datagram that arrives at the other end by `answer`. Between the two
/// is a relay. Everything ends when `send` does.
pub fn transfer<R>(
    settings: &Settings,
    send: impl FnOnce(&UdpSocket) -> io::Result<R>,
    mut answer: impl FnMut(&[u8]) -> Vec<u8> + Send,
) -> io::Result<R> {
    let loopback = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (here, middle, there) = (loopback()?, loopback()?, loopback()?);
    let ends = [here.local_addr()?, there.local_addr()?];
    here.connect(middle.local_addr()?)?;
    there.connect(middle.local_addr()?)?;
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let relay = scope.spawn(|| relay(&middle, ends, settings, &ended));
        let receiver = scope.spawn(|| -> io::Result<()> {
            let mut buffer = [0; 2048];
            while !ended.load(Ordering::Relaxed) {
                if let Some(length) = receive(&there, IDLE, &mut buffer)? {
                    there.send(&answer(&buffer[..length]))?;
                }
            }
            Ok(())
        });
        let result = send(&here);
        ended.store(true, Ordering::Relaxed);
        relay.join().expect("the relay does not panic")?;
        receiver.join().expect("the receiver does not panic")?;
        result
    })
}

/// Carries datagrams between `ends` until `ended`. The same seed loses the datagrams with the same ordinals.
fn relay(socket: &UdpSocket, ends: [SocketAddr; 2], settings: &Settings, ended: &AtomicBool) -> io::Result<()> {
    let mut state = settings.seed;
    // SplitMix64 (Steele, Lea, Flood 2014).
    let mut happens = |share: Ppm| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % 1_000_000 < u64::from(share.millionths())
    };
    let mut on_the_way: BTreeMap<(Instant, u64), (SocketAddr, Vec<u8>)> = BTreeMap::new();
    let mut buffer = [0; 2048];
    let mut ordinal = 0;
    socket.set_nonblocking(true)?;
    while !ended.load(Ordering::Relaxed) {
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            ordinal += 1;
            let (lost, late) = (happens(settings.loss), happens(settings.reordered));
            if !lost {
                let at = Instant::now() + settings.delay * if late { 2 } else { 1 };
                let to = ends[usize::from(from == ends[0])];
                on_the_way.insert((at, ordinal), (to, buffer[..length].to_vec()));
            }
        }
        while let Some(next) = on_the_way.first_entry()
            && next.key().0 <= Instant::now()
        {
            let (to, datagram) = next.remove();
            socket.send_to(&datagram, to)?;
        }
        // A timeout of a socket is too coarse for delays of milliseconds.
        thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}
