//! Reads the emulator's log, and finds each packet's frames in the captures.

use crate::accuracy::truth::{Carries, Sent};
use recoup_tcp::flow::Host;
use recoup_trace::read::{CapturedPacket, Reader};
use recoup_units::{Offset, Span};
use recoup_wire::{Flags, SeqNumber};
use serde_json::Value;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

/// A line of the log about a TCP packet.
#[derive(Clone, Copy, Debug)]
struct Logged {
    by: Host,
    /// The packet's number in its direction.
    number: u64,
    seq: u64,
    payload: u64,
    /// When it left the path; `None` if it was lost.
    departure: Option<u64>,
}

fn log(path: &Path) -> Vec<Logged> {
    let text = std::fs::read_to_string(path).expect("a log");
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let tcp = line.get("tcp")?;
        let number = |of: &Value, name: &str| of[name].as_u64().expect("a number");
        Some(Logged {
            by: match line["direction"].as_str() {
                Some("up") => Host::Client,
                _ => Host::Server,
            },
            number: number(&line, "packet"),
            seq: number(tcp, "seq"),
            payload: number(tcp, "payload"),
            departure: match line["fate"].as_str() {
                Some("delivered") => line["departure"].as_u64(),
                _ => None,
            },
        })
    };
    text.lines().filter_map(line).collect()
}

/// The TCP packets of a capture that `by` sent.
fn frames(path: &Path, by: Host, port: u16) -> Vec<CapturedPacket> {
    let mut reader = Reader::open(path).expect("a capture");
    let mut packets = Vec::new();
    while let Some(packet) = reader.next() {
        let server = packet.endpoints.src.port() == port;
        if server == (by == Host::Server) {
            packets.push(*packet);
        }
    }
    packets
}

/// Numbers connections by the client's endpoint.
#[derive(Default)]
struct Connections {
    numbers: HashMap<SocketAddr, u64>,
    isns: HashMap<(u64, Host), SeqNumber>,
}

impl Connections {
    fn place(&mut self, packet: &CapturedPacket, by: Host) -> (u64, Span) {
        let client = match by {
            Host::Client => packet.endpoints.src,
            Host::Server => packet.endpoints.dst,
        };
        let next = self.numbers.len() as u64;
        let flow = *self.numbers.entry(client).or_insert(next);
        let segment = &packet.segment;
        if segment.flags.contains(Flags::SYN) {
            self.isns.insert((flow, by), segment.seq);
        }
        let isn = self.isns[&(flow, by)];
        // No connection sends 4 GB.
        let start = Offset(u64::from(segment.seq.since(isn)));
        (flow, Span::at(start, u64::from(segment.sequence_len())))
    }
}

/// Every packet with sequence space that either host sent.
pub fn read(folder: &Path, port: u16) -> Vec<Sent> {
    let log = log(&folder.join("log"));
    let mut connections = Connections::default();
    let mut sent = Vec::new();
    for by in [Host::Client, Host::Server] {
        let log: Vec<Logged> = log.iter().filter(|line| line.by == by).copied().collect();
        let arrived = arrivals(&log, folder, by, port);
        let mut entered = log;
        entered.sort_by_key(|line| line.number);
        entered.dedup_by_key(|line| line.number);
        let seen = frames(&super::capture(folder, by), by, port);
        assert_eq!(entered.len(), seen.len(), "packets sent by the {}", by.name());
        for (line, packet) in entered.iter().zip(&seen) {
            check(line, packet);
            let (flow, span) = connections.place(packet, by);
            if span.is_empty() {
                continue;
            }
            let arrived = arrived.get(&line.number).copied();
            let (syn, payload) = (packet.segment.flags.contains(Flags::SYN), line.payload > 0);
            sent.push(Sent {
                flow,
                by,
                span,
                carries: Carries::of(syn, payload),
                frame: packet.frame,
                arrived,
                intact: arrived.is_some(),
                reason: None,
            });
        }
    }
    sent
}

/// The receiver's frame of each packet that arrived, by the packet's number.
fn arrivals(log: &[Logged], folder: &Path, by: Host, port: u16) -> HashMap<u64, u64> {
    let far = match by {
        Host::Client => Host::Server,
        Host::Server => Host::Client,
    };
    let mut left: Vec<&Logged> = log.iter().filter(|line| line.departure.is_some()).collect();
    left.sort_by_key(|line| line.departure);
    let seen = frames(&super::capture(folder, far), by, port);
    assert_eq!(left.len(), seen.len(), "packets that reached the {}", far.name());
    let mut arrived = HashMap::new();
    for (line, packet) in left.into_iter().zip(&seen) {
        check(line, packet);
        arrived.entry(line.number).or_insert(packet.frame);
    }
    arrived
}

/// Checks that a line of the log and a captured packet belong together.
fn check(line: &Logged, packet: &CapturedPacket) {
    let segment = &packet.segment;
    let (seq, payload) = (u64::from(segment.seq.0), u64::from(segment.payload_len));
    assert_eq!((line.seq, line.payload), (seq, payload), "{line:?}, {packet:?}");
}
