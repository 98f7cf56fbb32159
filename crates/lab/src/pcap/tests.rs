use super::*;
use recoup_path::HopSpec;
use recoup_path::PathSpec;
use recoup_recovery::Profile;
use recoup_sim::{FlowSpec, Simulation, TimerModel};
use recoup_tcp::flow::Workload;
use recoup_tcp::{self as tcp, AckPolicy};
use recoup_wire::{Checksum, Decoded, decode};
use std::fs;
use std::process::Command;

/// A directory that is removed at the end of the test.
struct TestDir(PathBuf);

impl TestDir {
    fn new(test: &str) -> Self {
        let name = format!("recoup-capture-{test}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::remove_dir_all(&dir).ok();
        Self(dir)
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
        files.sort();
        files
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The expected numbers of packets at the client and at the server, and of damaged arrivals.
#[derive(Debug, Default)]
struct Expected {
    packets: [usize; 2],
    damaged: [usize; 2],
}

impl Observer for Expected {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        let end = match point {
            Point::Sent => direction,
            Point::Arrived => direction.reverse(),
            Point::Dropped(_) => return,
        } as usize;
        self.packets[end] += 1;
        self.damaged[end] += usize::from(packet.damage.is_some());
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

/// A flow of 10 segments over an RTT of 80 ms with additional `hops`; then both sides close.
fn run(flows: u64, hops: &[&str], observer: &mut impl Observer) {
    let profile: Profile = "linux-3.17+tlp".parse().unwrap();
    let config = tcp::Config { acks: AckPolicy::Quick, ..tcp::Config::new(*profile.mechanisms()) };
    let spec = FlowSpec {
        client: config,
        server: config,
        timers: TimerModel::Exact,
        workload: Workload::exchange(100, 14_480).closing(true),
    };
    let owd = HopSpec::Delay(Duration::from_millis(40));
    let hop = |text: &&str| match text.split_once(' ') {
        Some(("loss", rule)) => HopSpec::Loss(rule.parse().unwrap()),
        Some(("corrupt", probability)) => HopSpec::Corrupt { probability: probability.parse().unwrap() },
        Some(("duplicate", probability)) => HopSpec::Duplicate { probability: probability.parse().unwrap() },
        _ => panic!("{text}"),
    };
    let mut down: Vec<_> = hops.iter().map(hop).collect();
    down.push(owd.clone());
    let mut simulation = Simulation::new(&PathSpec { up: vec![owd], down }).unwrap();
    for flow in 0..flows {
        simulation.run(&spec, 1, FlowId(flow), observer);
    }
}

/// A capture: time in nanoseconds since 1970 and bytes of each packet.
type Packets = Vec<(u64, Vec<u8>)>;

fn read(path: &Path) -> Packets {
    let file = fs::read(path).unwrap();
    let mut packets = Vec::new();
    let mut rest = &file[24..];
    while !rest.is_empty() {
        let word = |i: usize| u32::from_le_bytes(rest[4 * i..4 * i + 4].try_into().unwrap());
        let end = 16 + word(2) as usize;
        assert_eq!(word(2), word(3), "whole packets");
        packets.push((u64::from(word(0)) * 1_000_000_000 + u64::from(word(1)), rest[16..end].to_vec()));
        rest = &rest[end..];
    }
    packets
}

/// Captures flows, and returns the packets at the client and at the server with their expected
/// numbers.
fn capture(test: &str, flows: u64, hops: &[&str]) -> ([Packets; 2], Expected) {
    let dir = TestDir::new(test);
    let paths = CapturePaths::new(&dir.0, "tail");
    let mut observers = (Capture::create(&paths).unwrap(), Expected::default());
    run(flows, hops, &mut observers);
    observers.0.finish().unwrap();
    assert_eq!(dir.files(), ["tail-receiver.pcap", "tail-sender.pcap"]);
    let packets = [read(&paths.client), read(&paths.server)];
    assert_eq!(packets.each_ref().map(Vec::len), observers.1.packets);
    (packets, observers.1)
}

/// All packets of a capture, which must be readable and complete.
fn decoded(packets: &[(u64, Vec<u8>)]) -> Vec<Decoded> {
    let decode = |(_, packet): &(u64, Vec<u8>)| {
        let decoded = decode(packet).unwrap();
        assert!(decoded.ip_checksum_ok && decoded.options_complete, "{decoded:?}");
        assert_eq!(decoded.tcp_checksum, Checksum::Correct);
        decoded
    };
    packets.iter().map(decode).collect()
}

#[test]
fn each_capture_has_the_packets_seen_at_its_end() {
    let ([client, server], _) = capture("ends", 1, &["loss data:10"]);
    let [at_client, at_server] = [decoded(&client), decoded(&server)];
    let data = |packets: &[Decoded]| {
        let data = packets.iter().filter(|p| p.segment.payload_len > 1000);
        data.count()
    };
    // Ten segments; the tenth is lost and retransmitted.
    assert_eq!((data(&at_server), data(&at_client)), (11, 10));
    // The SYN leaves the client at the epoch and reaches the server one one-way delay later.
    assert_eq!(client[0].0, 946_684_800_000_000_000);
    assert_eq!(server[0], (client[0].0 + 40_000_000, client[0].1.clone()));
    let endpoints = at_client[0].endpoints.to_string();
    assert_eq!(endpoints, "198.51.100.1:32768 > 192.0.2.1:80");
}

#[test]
fn retransmissions_carry_the_same_bytes() {
    let ([_, server], _) = capture("bytes", 1, &["loss data:3", "loss data:9-10"]);
    let packets = decoded(&server);
    let isn = packets.iter().find(|p| p.segment.flags == Flags::SYN | Flags::ACK);
    let isn = isn.unwrap().segment.seq;
    let mut stream = vec![0; 14_480];
    let mut copies = 0;
    for (decoded, (_, packet)) in packets.iter().zip(&server) {
        if decoded.endpoints.src.port() != 80 || decoded.payload.is_empty() {
            continue;
        }
        let start = decoded.segment.seq.since(isn + 1) as usize;
        for (place, &byte) in stream[start..].iter_mut().zip(&packet[decoded.payload.clone()]) {
            copies += usize::from(*place != 0);
            assert!(*place == 0 || *place == byte);
            *place = byte;
        }
    }
    assert_eq!(copies, 3 * 1448);
    assert_eq!(&stream[..32], b"000000000000000\n000000000000010\n");
    assert_eq!(&stream[14_464..], b"000000000003880\n");
}

#[test]
fn time_never_runs_backwards_and_flows_start_at_full_seconds() {
    let (ends, _) = capture("time", 5, &["loss bernoulli:0.1"]);
    for packets in ends {
        assert!(packets.is_sorted_by_key(|(at, _)| *at));
        let mut ports = Vec::new();
        let mut last = 0;
        for (decoded, (at, _)) in decoded(&packets).iter().zip(&packets) {
            let Endpoints { src, dst } = decoded.endpoints;
            let port = src.port().max(dst.port());
            if ports.last() != Some(&port) {
                ports.push(port);
                // At the server a flow begins one one-way delay later, unless its first SYN was lost.
                let after = at % 1_000_000_000;
                assert!(after == 0 || after == 40_000_000, "{at}");
                assert!(at / 1_000_000_000 > last / 1_000_000_000);
            }
            last = *at;
        }
        assert_eq!(ports, [32_768, 32_769, 32_770, 32_771, 32_772]);
    }
}

#[test]
fn identifications_count_up_and_network_duplicates_keep_them() {
    let ([client, server], _) = capture("ids", 2, &["loss data:4", "duplicate 0.2"]);
    let from_server = |packets: &[(u64, Vec<u8>)]| -> Vec<u16> {
        let packets = decoded(packets);
        let down = packets.iter().filter(|p| p.endpoints.src.port() == 80);
        down.map(|p| p.ip_id.unwrap()).collect()
    };
    let sent = from_server(&server);
    assert_eq!(sent, (0..sent.len() as u16).collect::<Vec<_>>());
    let mut arrived = from_server(&client);
    let all = arrived.len();
    arrived.sort_unstable();
    arrived.dedup();
    assert!(arrived.len() < all, "some were copied");
    assert_eq!(arrived.len(), sent.len() - 2, "one of each flow was lost");
}

#[test]
fn damage_is_one_bit_that_the_checksum_detects() {
    let ([client, server], expected) = capture("damage", 20, &["corrupt 0.3"]);
    let originals = decoded(&server);
    let damaged: Vec<_> = client
        .iter()
        .map(|(_, packet)| (packet, decode(packet).unwrap()))
        .filter(|(_, d)| d.tcp_checksum == Checksum::Wrong)
        .collect();
    assert_eq!(damaged.len(), expected.damaged[0]);
    assert!(damaged.len() > 50, "{}", damaged.len());
    for (packet, decoded) in damaged {
        let original = originals.iter().position(|o| (o.ip_id, o.endpoints) == (decoded.ip_id, decoded.endpoints));
        let (_, original) = &server[original.unwrap()];
        let differing = packet.iter().zip(original).map(|(a, b)| (a ^ b).count_ones());
        assert_eq!(differing.sum::<u32>(), 1);
        // The flags are not damaged.
        assert_eq!(packet[32..34], original[32..34]);
    }
}

#[test]
fn damage_can_reach_every_bit_except_the_spared_ones() {
    let mut reached = [0u8; 24];
    for bit in 0..144u64 {
        let mut segment = [0; 24];
        // The middle of the range of draws that select this bit.
        damage(&mut segment, (2 * bit + 1) * (u64::MAX / 288));
        reached.iter_mut().zip(segment).for_each(|(all, one)| *all |= one);
    }
    let mut expected = [0xff; 24];
    expected[..4].fill(0);
    expected[12..14].fill(0);
    assert_eq!(reached, expected);
    damage(&mut [0; 3], u64::MAX);
}

#[test]
fn every_flow_has_its_own_client() {
    let client = |flow| endpoints(flow, Direction::Up).src.to_string();
    let cases = [
        (0, "198.51.100.1:32768"),
        (28_255, "198.51.100.1:61023"),
        (28_256, "198.51.100.1:1024"),
        (59_999, "198.51.100.1:32767"),
        (60_000, "198.51.100.2:32768"),
        (15_239_999, "198.51.100.254:32767"),
        (15_240_000, "198.51.100.1:32768"),
    ];
    for (flow, text) in cases {
        assert_eq!(client(flow), text, "flow {flow}");
    }
}

#[test]
fn the_pattern_is_the_offset() {
    let cases: [(u32, u32, &[u8]); 4] =
        [(0, 17, b"000000000000000\n0"), (14, 4, b"0\n00"), (0x1_2345, 11, b"0000012340\n"), (u32::MAX, 3, b"\n00")];
    let mut payload = Vec::new();
    for (offset, len, bytes) in cases {
        fill(offset, len, &mut payload);
        let text = String::from_utf8_lossy(&payload);
        assert_eq!(payload, bytes, "{offset}, {len}: {text}");
    }
}

#[test]
fn each_flow_starts_at_the_full_second_after_the_last() {
    let dir = TestDir::new("start");
    let paths = CapturePaths::new(&dir.0, "x");
    let mut capture = Capture::create(&paths).unwrap();
    // The flows last about 0.5 s.
    for _ in 0..3 {
        run(1, &[], &mut capture);
    }
    capture.finish().unwrap();
    let packets = read(&paths.client);
    let syns = decoded(&packets).into_iter().zip(&packets);
    let syns = syns.filter(|(d, _)| d.segment.flags == Flags::SYN);
    let starts: Vec<_> = syns.map(|(_, (at, _))| at / 1_000_000_000 - 946_684_800).collect();
    assert_eq!(starts, [0, 1, 2]);
}

#[test]
fn files_appear_only_when_complete() {
    let dir = TestDir::new("atomic");
    let paths = CapturePaths::new(&dir.0, "linux-3.17+tlp/x");
    fs::create_dir_all(&dir.0).unwrap();
    fs::write(&paths.client, "before").unwrap();
    let names = ["linux-3.17+tlp_x-receiver.pcap", "linux-3.17+tlp_x-sender.pcap"];

    // Abandoned.
    let mut capture = Capture::create(&paths).unwrap();
    run(1, &[], &mut capture);
    drop(capture);
    assert_eq!(dir.files(), names[..1]);

    // Failed.
    let mut capture = Capture::create(&paths).unwrap();
    let mut packet = Packet::new(FlowId(3), 0, recoup_wire::Segment::default());
    packet.segment.payload_len = 65_535;
    capture.on_packet(Instant::ZERO, Point::Sent, Direction::Down, &packet);
    let error = capture.finish().unwrap_err().to_string();
    let expected =
        format!("cannot write `{}`: flow 3: packet of 65575 bytes: 65535 over V4 at most", paths.server.display());
    assert_eq!(error, expected);
    assert_eq!(dir.files(), names[..1]);
    assert_eq!(fs::read(&paths.client).unwrap(), b"before");

    // Done.
    Capture::create(&paths).unwrap().finish().unwrap();
    assert_eq!(dir.files(), names);
    assert_eq!(fs::read(&paths.client).unwrap().len(), 24);

    // No directory to write to.
    let under_a_file = paths.client.join("sub");
    let error = Capture::create(&CapturePaths::new(&under_a_file, "x")).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot write `{}`: ", under_a_file.display())), "{text}");
}

/// The output of a tool; `None`, with a message, when the tool is missing and not required.
fn tool(name: &str, arguments: &[&str], file: &Path) -> Option<String> {
    match Command::new(name).args(arguments).arg(file).output() {
        Ok(output) => {
            let stdout = String::from_utf8_lossy(&output.stdout);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}: {stderr}");
            Some(format!("{stdout}\n{stderr}"))
        }
        Err(error) => {
            let required = std::env::var_os("RECOUP_REQUIRE_TOOLS").is_some();
            assert!(!required, "{name}: {error}");
            eprintln!("SKIPPED: {name} is not installed");
            None
        }
    }
}

#[test]
fn other_tools_read_the_captures() {
    let dir = TestDir::new("tools");
    let paths = CapturePaths::new(&dir.0, "tail");
    let mut observers = (Capture::create(&paths).unwrap(), Expected::default());
    run(3, &["loss data:8-10"], &mut observers);
    observers.0.finish().unwrap();
    for (path, packets) in [&paths.client, &paths.server].into_iter().zip(observers.1.packets) {
        if let Some(text) = tool("tshark", TSHARK, path) {
            let lines: Vec<_> = text.lines().filter(|line| line.contains('|')).collect();
            assert_eq!(lines.len(), packets, "{text}");
            let odd: Vec<_> = lines.iter().filter(|line| !line.ends_with("||1|1")).collect();
            assert!(odd.is_empty(), "malformed, or a checksum is wrong: {odd:?}");
            let retransmissions = lines.iter().filter(|line| line.starts_with('1')).count();
            assert!(retransmissions >= 3, "{text}");
        }
        if let Some(text) = tool("tcptrace", &["-n", "-l", "-w", "--checksum"], path) {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let count = |what: &str| text.matches(what).count();
            assert!(text.contains(&format!("{packets} packets seen, {packets} TCP packets traced")), "{text}");
            assert_eq!(count("complete conn: yes"), 3, "{text}");
            assert_eq!(count("missed data: 0 bytes missed data: 0 bytes"), 3, "{text}");
            // The server retransmits three times; one copy of each segment reaches the client.
            let again = if path == &paths.server { 3 } else { 0 };
            let line = format!("rexmt data pkts: 0 rexmt data pkts: {again} ");
            assert_eq!(count(&line), 3, "{text}");
            assert_eq!(count("bad IP checksums: 0 bad TCP checksums: 0"), 1, "{text}");
            for complaint in ["arning", "rror", "hardware dup", "invalid"] {
                assert_eq!(count(complaint), 0, "{complaint}: {text}");
            }
        }
    }
}

/// One line per packet: retransmission, malformed, checksum states of IP and TCP (1: good).
const TSHARK: &[&str] = &[
    "-o",
    "ip.check_checksum:TRUE",
    "-o",
    "tcp.check_checksum:TRUE",
    "-T",
    "fields",
    "-E",
    "separator=|",
    "-e",
    "tcp.analysis.retransmission",
    "-e",
    "_ws.malformed",
    "-e",
    "ip.checksum.status",
    "-e",
    "tcp.checksum.status",
    "-r",
];
