//! A stack over a TUN device under floods, with clients of the kernel: new ones must connect, and a transfer must go on.
//!
//! The packets of a flood have sources at which nobody is, so that answers are lost. RECOUP_FLOOD_RATE sets how many there
//! are in a second, and RECOUP_FLOOD_SECONDS for how long. With the rate of 100,000 the bounds are those that the stack
//! promises on an idle machine with two processors; without a setting, rate and bounds suit a busy machine.

use crate::alone;
use recoup_net::{Namespace, TunDevice, TunOptions};
use recoup_stack::{
    Config, TcpOptions,
    blocking::{Stack, TcpListener},
};
use recoup_testing::skip;
use recoup_units::SplitMix;
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, Timestamps, encode, encode_udp};
use rustix::net::{AddressFamily, Protocol, SendFlags, SocketType, sendto, socket};
use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The port of the stack's service, and one where nobody is.
const PORT: u16 = 80;
const CLOSED: u16 = 81;

/// The rate of the transfer, in bytes a second: 1 Gbit/s.
const SHAPED: f64 = 125e6;

/// What the flood is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// SYNs to the listener, each from another source, with all options.
    Syn,
    /// Resets along the transfer's path, with random numbers.
    Reset,
    /// ACKs: along the transfer's path and to the listener, with random numbers.
    Ack,
    /// First fragments of packets whose others never come.
    Fragment,
    /// Datagrams to a port where nobody is.
    Datagram,
}

/// What a flood was, and what clients met meanwhile.
#[derive(Debug)]
struct Met {
    /// Packets a second.
    rate: f64,
    /// The longest time to connect and to get an answer, and how many clients there were.
    slowest: Duration,
    clients: usize,
    /// The transfer's bytes a second.
    transfer: f64,
}

fn setting(name: &str, usual: f64) -> f64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// One packet of a flood against the stack at `to`. `path`: the transfer's, from the client.
fn packet(kind: Kind, draws: &mut SplitMix, to: Ipv4Addr, path: &Endpoints, out: &mut Vec<u8>) {
    let stranger = |draws: &mut SplitMix| {
        let ip = Ipv4Addr::new(10, draws.below(256) as u8, draws.below(256) as u8, draws.below(254) as u8 + 1);
        SocketAddr::new(ip.into(), draws.below(60_000) as u16 + 1_024)
    };
    let at = |port| SocketAddr::new(to.into(), port);
    let from_stranger = Endpoints { src: stranger(draws), dst: at(PORT) };
    let [seq, ack] = [(); 2].map(|()| SeqNumber(draws.below(1 << 32) as u32));
    let (ends, segment) = match kind {
        Kind::Syn => {
            let options = Options {
                timestamps: Some(Timestamps { value: seq.0, echo: 0 }),
                mss: Some(1460),
                window_scale: Some(7),
                sack_permitted: true,
                ..Options::NONE
            };
            (from_stranger, Segment { seq, flags: Flags::SYN, window: 64_240, options, ..Segment::default() })
        }
        Kind::Reset => (*path, Segment { seq, flags: Flags::RST, ..Segment::default() }),
        Kind::Ack => {
            let ends = if draws.below(2) == 0 { *path } else { from_stranger };
            (ends, Segment { seq, ack, flags: Flags::ACK, window: 500, ..Segment::default() })
        }
        Kind::Fragment | Kind::Datagram => {
            let ends = Endpoints { src: stranger(draws), dst: at(CLOSED) };
            let len = if kind == Kind::Fragment { 1_000 } else { 64 };
            encode_udp(&ends, draws.below(1 << 16) as u16, &[0; 1_000][..len], out).unwrap();
            if kind == Kind::Fragment {
                // More fragments follow (RFC 791 §3.1); the kernel completes the checksum.
                out[6] |= 0x20;
            }
            return;
        }
    };
    encode(&segment, &ends, draws.below(1 << 16) as u16, Payload::Bytes(&[]), out).unwrap();
}

/// Sends packets until `over`, and counts them.
fn flood(kind: Kind, rate: f64, to: Ipv4Addr, path: Endpoints, over: &AtomicBool, sent: &AtomicU64) {
    // 255: IPPROTO_RAW, whose packets have their IP header (raw(7)).
    let raw = Protocol::from_raw(std::num::NonZero::new(255).unwrap());
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(raw)).expect("a raw socket");
    let (began, mut count) = (Instant::now(), 0_u64);
    let (mut draws, mut bytes) = (SplitMix(7), Vec::new());
    while !over.load(Ordering::Relaxed) {
        if count as f64 > began.elapsed().as_secs_f64() * rate {
            thread::sleep(Duration::from_micros(200));
            continue;
        }
        bytes.clear();
        packet(kind, &mut draws, to, &path, &mut bytes);
        // What finds no room is lost, as on a link that is full.
        let _ = sendto(&socket, &bytes, SendFlags::empty(), &SocketAddr::new(to.into(), 0));
        count += 1;
        sent.store(count, Ordering::Relaxed);
    }
}

/// Serves connections: counts what arrives, and answers the first byte.
fn serve(listener: &TcpListener, received: &Arc<AtomicU64>) {
    while let Ok((stream, _)) = listener.accept() {
        let received = Arc::clone(received);
        thread::spawn(move || {
            let mut chunk = vec![0; 64 << 10];
            let mut first = true;
            while let Ok(count @ 1..) = (&stream).read(&mut chunk) {
                received.fetch_add(count as u64, Ordering::Relaxed);
                if std::mem::take(&mut first) && (&stream).write_all(&chunk[..1]).is_err() {
                    return;
                }
            }
        });
    }
}

/// How long it takes to connect and to get an answer.
fn ask(to: SocketAddr) -> Duration {
    let began = Instant::now();
    let mut stream = TcpStream::connect(to).expect("a connection");
    stream.write_all(b"?").unwrap();
    stream.read_exact(&mut [0]).expect("an answer");
    began.elapsed()
}

/// Runs one flood for some time.
fn meet(kind: Option<Kind>, rate: f64, time: Duration, to: SocketAddr, received: &AtomicU64) -> Met {
    let IpAddr::V4(ip) = to.ip() else { panic!("IPv4") };
    let stream = TcpStream::connect(to).unwrap();
    let path = Endpoints { src: stream.local_addr().unwrap(), dst: to };
    let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        if let Some(kind) = kind {
            let (over, sent) = (&over, &sent);
            scope.spawn(move || flood(kind, rate, ip, path, over, sent));
        }
        let over = &over;
        scope.spawn(move || {
            let (began, bytes, mut written) = (Instant::now(), vec![1; 64 << 10], 0.0);
            while !over.load(Ordering::Relaxed) {
                match written > began.elapsed().as_secs_f64() * SHAPED {
                    true => thread::sleep(Duration::from_micros(200)),
                    false => written += (&stream).write(&bytes).expect("the transfer goes on") as f64,
                }
            }
        });
        // What begins a flood is not measured: the transfer starts slowly.
        thread::sleep(Duration::from_millis(300));
        let (began, before) = (Instant::now(), [received, &sent].map(|count| count.load(Ordering::Relaxed)));
        let (mut slowest, mut clients) = (Duration::ZERO, 0);
        while began.elapsed() < time {
            slowest = slowest.max(ask(to));
            clients += 1;
            thread::sleep(Duration::from_millis(5));
        }
        let took = began.elapsed().as_secs_f64();
        let after = [received, &sent].map(|count| count.load(Ordering::Relaxed));
        over.store(true, Ordering::Relaxed);
        let [transfer, rate] = [0, 1].map(|n| (after[n] - before[n]) as f64 / took);
        Met { rate, slowest, clients, transfer }
    })
}

#[test]
fn clients_connect_and_transfers_go_on_under_floods() {
    let _alone = alone();
    let rate = setting("RECOUP_FLOOD_RATE", 20_000.0);
    let time = Duration::from_secs_f64(setting("RECOUP_FLOOD_SECONDS", 1.0));
    let options = TunOptions::default();
    let test = move || {
        let device = match TunDevice::open_with(&options) {
            Ok(device) => device,
            Err(why) => return skip(why),
        };
        let to = SocketAddr::new(device.host_addresses()[0], PORT);
        let config = Config { tcp: TcpOptions::default(), ..Config::new(device.host_addresses().iter().copied()) };
        let stack = Stack::new(device, config).unwrap();
        let listener = TcpListener::bind(&stack, to).unwrap();
        let received = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received);
        thread::spawn(move || serve(&listener, &counted));
        let calm = meet(None, 0.0, time, to, &received);
        println!("no flood: {calm:?}");
        for kind in [Kind::Syn, Kind::Reset, Kind::Ack, Kind::Fragment, Kind::Datagram] {
            let met = meet(Some(kind), rate, time, to, &received);
            println!("{kind:?}: {met:?}; {:.0} % of the transfer", 100.0 * met.transfer / calm.transfer);
            let promised = rate >= 100_000.0;
            let share = if promised { 0.8 } else { 0.4 };
            assert!(met.slowest < Duration::from_secs(1), "{kind:?}: a client waited {:?}", met.slowest);
            assert!(met.transfer >= share * calm.transfer, "{kind:?}: {met:?} after {calm:?}");
            assert!(met.rate >= 0.5 * rate && met.clients > 10, "{kind:?}: {met:?}");
        }
        let stats = stack.stats();
        assert!(stats.cookies_sent > 0 && stats.cookies_accepted > 0, "{stats:?}");
        println!("{stats:?}");
    };
    match Namespace::new() {
        Ok(namespace) => namespace.run(test).expect("the test in the namespace failed"),
        Err(why) => skip(why),
    }
}
