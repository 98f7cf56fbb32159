//! `--pcap` and `--offload`.

use crate::emulate::{World, roles};
use recoup_net::{NetError, Relay, Wire};
use recoup_path::HopSpec;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A packet of a capture.
#[derive(Debug)]
struct Seen {
    /// Seconds and nanoseconds since 1970.
    at: (u32, u32),
    bytes: Vec<u8>,
}

impl Seen {
    fn nanos(&self) -> u64 {
        u64::from(self.at.0) * 1_000_000_000 + u64::from(self.at.1)
    }

    /// Source and destination, IPv4.
    fn ends(&self) -> [[u8; 4]; 2] {
        [12, 16].map(|at| *self.bytes[at..].first_chunk().expect("an address"))
    }

    /// Whether it goes up, which is to 100.64.0.1.
    fn is_up(&self) -> bool {
        self.ends()[1] == [100, 64, 0, 1]
    }

    /// The sum of the TCP checksum and everything it covers. It must be 0xffff (RFC 9293 §3.1).
    fn tcp_sum(&self) -> u32 {
        let segment = &self.bytes[4 * usize::from(self.bytes[0] & 15)..];
        let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
        let pseudo: u32 = self.bytes[12..20].chunks(2).map(word).sum();
        let mut sum = pseudo + 6 + segment.len() as u32 + segment.chunks(2).map(word).sum::<u32>();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }
}

/// Reads a capture of raw IP packets with nanosecond timestamps.
fn read(world: &World, name: &str) -> Vec<Seen> {
    let file = std::fs::read(world.path(name)).expect("a capture");
    let (header, mut rest) = file.split_at(24);
    assert_eq!((&header[..4], header[20]), (&[0x4d, 0x3c, 0xb2, 0xa1][..], 101));
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let field = |at: usize| u32::from_le_bytes(*rest[at..].first_chunk().expect("a header"));
        let (at, len) = ((field(0), field(4)), field(8) as usize);
        assert_eq!(field(8), field(12), "cut");
        packets.push(Seen { at, bytes: rest[16..16 + len].to_vec() });
        rest = &rest[16 + len..];
    }
    packets
}

fn answer_upload(world: &World, bytes: usize) -> u16 {
    world.listen(move |mut stream| {
        let mut received = Vec::new();
        let read = stream.read_to_end(&mut received);
        let equal = read.is_ok() && received == roles::pattern(bytes);
        let _ = stream.write_all(if equal { b"equal" } else { b"different" });
    })
}

#[test]
fn each_capture_has_the_packets_of_its_end() {
    let Some(world) = World::new() else { return };
    let port = world.echo().to_string();
    // At most one request is lost: the fourth packet up.
    let args = ["--rtt", "20ms", "--rate", "up:1Mbit,down:none", "--queue", "3", "--pcap", "a/b"];
    let echoes = world.play(&args, &["flood", &port, "10"]).len();
    let (outside, inside) = (read(&world, "a/b/outside.pcap"), read(&world, "a/b/inside.pcap"));
    let count = |seen: &[Seen], up: bool| seen.iter().filter(|seen| seen.is_up() == up).count();
    assert_eq!((count(&inside, true), count(&inside, false)), (10, echoes));
    assert_eq!((count(&outside, true), count(&outside, false)), (echoes, echoes));
    assert!((4..10).contains(&echoes), "{echoes}");
    for side in [&outside, &inside] {
        assert!(side.is_sorted_by_key(Seen::nanos), "{side:?}");
    }
    // The same bytes arrive 10 ms later, and 8 ms more at 1 Mbit/s.
    let [entered, left] = [&inside, &outside].map(|side| side.iter().find(|seen| seen.is_up()).expect("a packet"));
    assert_eq!(entered.bytes, left.bytes);
    let took = left.nanos() - entered.nanos();
    assert!((18_000_000..500_000_000).contains(&took), "{took} ns");
}

#[test]
fn captures_appear_complete_or_not_at_all() {
    let Some(world) = World::new() else { return };
    let outcome = world.emulate(&["--pcap", "x", "--log", "y"], &["no-such-command"]);
    assert_eq!(outcome.status, Some(127), "{outcome:?}");
    let left = std::fs::read_dir(world.path("x")).expect("a folder").count();
    assert_eq!((left, world.path("y").exists()), (0, false));
    std::fs::write(world.path("z"), "").expect("a file");
    let outcome = world.emulate(&["--pcap", "z"], &["true"]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot write `z`: not a folder"), "{outcome:?}");
}

#[test]
fn super_packets_arrive_as_sent() {
    let Some(world) = World::new() else { return };
    const BYTES: usize = 3_000_000;
    let port = answer_upload(&world, BYTES).to_string();
    let args = ["--rtt", "4ms", "--offload", "--pcap", "captured"];
    let printed = world.play(&args, &["upload4", &port, &BYTES.to_string()]);
    assert_eq!(printed, ["equal"]);
    let inside = read(&world, "captured/inside.pcap");
    let longest = inside.iter().map(|seen| seen.bytes.len()).max();
    assert!(longest > Some(1500), "{longest:?}");
    // The capture has correct checksums, although they were left to the device.
    for seen in inside.iter().filter(|seen| seen.is_up()) {
        assert_eq!(seen.tcp_sum(), 0xffff, "{} bytes", seen.bytes.len());
    }
}

#[test]
fn offload_is_refused_with_hops_for_single_packets() {
    let Some(world) = World::new() else { return };
    for path in ["--rate=1Mbit", "--drop=data:1", "--duplicate=0.1", "--reorder=0.1:1ms", "--corrupt=0.1"] {
        let outcome = world.emulate(&["--offload", path], &["true"]);
        assert_eq!(outcome.status, Some(2), "{path}: {outcome:?}");
        assert!(outcome.stderr.contains("--offload: "), "{path}: {outcome:?}");
    }
}

#[test]
fn a_relay_refuses_super_packets_if_its_hops_expect_single_packets() {
    let Some(world) = World::new() else { return };
    let refused = |hops: Vec<HopSpec>| {
        let run = move || {
            let wire = Wire::open_with_offloads(1500)?;
            // Readable at once, because the other end is closed.
            let (stop, _) = UnixStream::pair().expect("sockets");
            Relay::new(&hops, &[], 1, 1500)?.run(wire.ends(), stop.as_fd())
        };
        // A program that another test starts holds the last device open until it runs (fork, then exec).
        for _ in 0..100 {
            match world.namespace.run(run.clone()).expect("a namespace") {
                Ok(_) => return false,
                Err(NetError::Offloads) => return true,
                Err(e) if e.to_string().contains("busy") => std::thread::sleep(Duration::from_millis(20)),
                Err(e) => panic!("{e}"),
            }
        }
        panic!("the device stays busy")
    };
    let probability = "0.5".parse().expect("a probability");
    assert!(!refused(vec![]));
    assert!(!refused(vec![HopSpec::Delay(Duration::from_millis(1))]));
    assert!(refused(vec![HopSpec::Duplicate { probability }]));
}
