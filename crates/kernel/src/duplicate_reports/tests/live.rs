//! The kernel's TCP beside a program that sends copies of its segments.

use super::*;
use crate::two_hosts::{Packets, THERE, THERE_V6, TwoHosts, connect};
use recoup_net::{Namespace, PacketRing};
use recoup_wire::{Decoded, Payload, Segment, Timestamps, decode_unverified, encode};
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const PORT: u16 = 4000;

/// A connection from here to there, over which copies are sent.
struct Pair {
    client: TcpStream,
    server: TcpStream,
    packets: Packets,
}

impl Pair {
    fn new(hosts: &TwoHosts, to: &'static str) -> Self {
        let listener = hosts.there.run(move || TcpListener::bind((to, PORT))).unwrap().unwrap();
        let packets = hosts.packets();
        let client = connect(&hosts.here, to, PORT, Duration::from_secs(5)).join().unwrap().unwrap();
        let (server, _) = listener.accept().unwrap();
        Self { client, server, packets }
    }

    /// The kernel's next segment of data, as a frame that can be sent, and its headers.
    fn segment(&mut self) -> (Vec<u8>, Decoded) {
        self.packets.frames();
        self.client.write_all(&[7; 100]).unwrap();
        self.server.read_exact(&mut [0; 100]).unwrap();
        let frames = self.packets.frames();
        let found = frames.iter().find_map(|frame| {
            let decoded = decode_unverified(&frame[14..]).ok().filter(|decoded| decoded.segment.payload_len > 0)?;
            Some((frame, decoded))
        });
        let (frame, decoded) = found.unwrap();
        // The kernel leaves the checksum to the device.
        let mut copy = frame[..14].to_vec();
        let payload = Payload::Bytes(&frame[14..][decoded.payload.clone()]);
        encode(&decoded.segment, &decoded.endpoints, 1, payload, &mut copy).unwrap();
        (copy, decoded)
    }

    /// Sends a copy, and waits for what comes of it.
    fn copy(&self, frame: &[u8]) {
        self.packets.send(frame).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
}

/// The bytes of a segment.
fn range(decoded: &Decoded) -> (SeqNumber, SeqNumber) {
    (decoded.segment.seq, decoded.segment.seq + decoded.segment.payload_len)
}

/// A count of /proc/net/netstat or /proc/net/snmp.
fn count(host: &Namespace, name: &'static str) -> u64 {
    let read = |file| fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
    let text = host.run(move || read("netstat") + &read("snmp")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let found = lines.chunks(2).find_map(|pair| {
        let place = pair[0].split(' ').position(|word| word == name)?;
        pair[1].split(' ').nth(place)?.parse().ok()
    });
    found.unwrap()
}

fn attach(hosts: &TwoHosts) -> Option<DuplicateReports> {
    permitted(hosts.watcher.run(|| DuplicateReports::attach("here")).unwrap())
}

/// Reports of duplicates that the kernel here has read, and those that were sent there.
fn reports_read_and_sent(hosts: &TwoHosts) -> (u64, u64) {
    (count(&hosts.here, "TCPDSACKRecv"), count(&hosts.there, "TCPDSACKOldSent"))
}

#[test]
fn the_kernel_reads_all_reports_but_those_of_copies() {
    let Some(hosts) = TwoHosts::new() else { return };
    let Some(mut reports) = attach(&hosts) else { return };
    for (round, to) in (0..).zip([THERE, THERE_V6]) {
        let mut pair = Pair::new(&hosts, to);
        let (frame, decoded) = pair.segment();
        let (start, end) = range(&decoded);
        reports.hide(&decoded.endpoints, start, end).unwrap();
        pair.copy(&frame);
        assert_eq!(reports_read_and_sent(&hosts), (round, 2 * round + 1));
        // The next copy is nobody's.
        pair.copy(&frame);
        assert_eq!(reports_read_and_sent(&hosts), (round + 1, 2 * round + 2));
        // The connection goes on.
        pair.segment();
        reports.forget(&decoded.endpoints).unwrap();
    }
    assert_eq!(reports.counts(), DuplicateReportCounts { hidden: 2, dropped: 0, not_understood: 0 });
    assert_eq!(count(&hosts.here, "InCsumErrors"), 0);
}

#[test]
fn a_dropped_report_is_never_read() {
    let Some(hosts) = TwoHosts::new() else { return };
    let Some(mut reports) = attach(&hosts) else { return };
    let mut pair = Pair::new(&hosts, THERE);
    let (_, first) = pair.segment();
    let (start, end) = range(&first);
    reports.hide(&first.endpoints, start, end).unwrap();
    // Its acknowledgement is the first that is seen.
    let (frame, second) = pair.segment();
    let (start, end) = range(&second);
    reports.hide(&second.endpoints, start, end).unwrap();
    let before = count(&hosts.here, "InSegs");
    pair.copy(&frame);
    assert_eq!(reports.counts(), DuplicateReportCounts { hidden: 1, dropped: 1, not_understood: 0 });
    assert_eq!(count(&hosts.here, "InSegs"), before);
    assert_eq!(reports_read_and_sent(&hosts), (0, 1));
    // The connection goes on.
    pair.segment();
}

/// The kernel there leaves the checksum to the device (CHECKSUM_PARTIAL).
#[test]
fn a_changed_segment_of_another_kernel_is_taken() {
    let Some(hosts) = TwoHosts::new() else { return };
    let Some(mut reports) = attach(&hosts) else { return };
    let mut pair = Pair::new(&hosts, THERE);
    let (frame, decoded) = pair.segment();
    let (start, end) = range(&decoded);
    reports.hide(&decoded.endpoints, start, end).unwrap();
    // No acknowledgement came since the connection is known. This one may be new, so that it is not dropped.
    let before = count(&hosts.here, "InSegs");
    pair.copy(&frame);
    assert_eq!(reports.counts(), DuplicateReportCounts { hidden: 1, dropped: 0, not_understood: 0 });
    assert_eq!(count(&hosts.here, "InSegs"), before + 1);
    assert_eq!(reports_read_and_sent(&hosts), (0, 1));
    assert_eq!(count(&hosts.here, "InCsumErrors"), 0);
}

/// Data beside a report, in a segment whose checksum TCP has yet to check.
#[test]
fn data_beside_a_report_is_taken() {
    let Some(hosts) = TwoHosts::new() else { return };
    let Some(mut reports) = attach(&hosts) else { return };
    let mut pair = Pair::new(&hosts, THERE);
    let (_, decoded) = pair.segment();
    let (start, end) = range(&decoded);
    reports.hide(&decoded.endpoints, start, end).unwrap();
    // Ten bytes that the kernel there does not know of.
    let mut report = Segment { seq: decoded.segment.ack, ack: end, payload_len: 10, ..decoded.segment };
    assert!(report.options.sack.push([start, end]));
    let timestamps = report.options.timestamps.unwrap();
    report.options.timestamps = Some(Timestamps { value: timestamps.echo.wrapping_add(1000), echo: timestamps.value });
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    encode(&report, &decoded.endpoints.reverse(), 1, Payload::Fill(9), &mut frame).unwrap();
    let ring = hosts.there.run(|| PacketRing::open(Some("there"), &Default::default())).unwrap().unwrap();
    ring.send(&frame).unwrap();
    let mut received = [0; 10];
    pair.client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    pair.client.read_exact(&mut received).unwrap();
    assert_eq!(received, [9; 10]);
    assert_eq!(reports.counts(), DuplicateReportCounts { hidden: 1, dropped: 0, not_understood: 0 });
    assert_eq!((count(&hosts.here, "TCPDSACKRecv"), count(&hosts.here, "InCsumErrors")), (0, 0));
}

#[test]
fn the_kernel_detaches_the_program_of_a_killed_process() {
    let Some(hosts) = TwoHosts::new() else { return };
    let mut pair = Pair::new(&hosts, THERE);
    let (frame, decoded) = pair.segment();
    let (start, end) = range(&decoded);
    let holds = format!("{} {} {} {}", decoded.endpoints.src, decoded.endpoints.dst, start.0, end.0);
    if permitted(DuplicateReports::load()).is_none() {
        return;
    }
    let mut child = hosts.watcher.run(move || holder(&holds)).unwrap();
    pair.copy(&frame);
    assert_eq!(reports_read_and_sent(&hosts), (0, 1));
    child.kill().unwrap();
    child.wait().unwrap();
    pair.copy(&frame);
    assert_eq!(reports_read_and_sent(&hosts), (1, 2));
}

/// Names the connection and the range for [`hides_until_it_is_killed`].
const HOLDS: &str = "RECOUP_TEST_HOLDS";

/// A process of this program, in the calling thread's namespace, that hides reports of a range.
fn holder(holds: &str) -> Child {
    let name = "duplicate_reports::tests::live::hides_until_it_is_killed";
    let mut child = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--ignored", "--nocapture"])
        .env(HOLDS, holds)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("holds")));
    child
}

#[test]
#[ignore = "a part of the_kernel_detaches_the_program_of_a_killed_process"]
fn hides_until_it_is_killed() {
    let Ok(holds) = env::var(HOLDS) else { return };
    let words: Vec<&str> = holds.split(' ').collect();
    let [src, dst, start, end] = words[..] else { panic!("{holds}") };
    let copy = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
    let mut reports = DuplicateReports::attach("here").unwrap();
    for _ in 0..9 {
        reports.hide(&copy, SeqNumber(start.parse().unwrap()), SeqNumber(end.parse().unwrap())).unwrap();
    }
    println!("holds");
    // Until the other end of the pipe is gone, too.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
