//! Reliable pieces of a file in numbered packets over UDP, as in QUIC, through a relay on the loopback interface
//! that loses, delays and reorders: `cargo run --example reliable_packets -- --loss 5 --seed 7`.
//!
//! No packet is sent twice: a piece whose packet is lost goes into a new packet. A datagram of the sender holds the
//! number of the packet, the number of the piece, and the piece. A datagram of the receiver holds ranges of packet
//! numbers.

mod common;

use common::{Clock, Received, SIZE, Settings, datagram, gave_up, numbers, receive};
use recoup_recovery::{Packet, Sender, Span, packet_number, packet_numbers};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::UdpSocket;
use std::process::ExitCode;
use std::time::Duration;

/// The most ranges of an acknowledgment.
const RANGES: usize = 32;

/// An event of the example.
#[derive(Debug, Default)]
struct Report {
    /// From the first packet to the last acknowledgment.
    time: Duration,
    /// Packets sent.
    packets: u64,
    /// Packets declared lost.
    lost: u64,
    /// Packets declared lost that were acknowledged later: they were not lost.
    late: u64,
    /// Retransmission timeouts.
    timeouts: u64,
}

fn main() -> ExitCode {
    common::run(|settings| {
        let report = transfer(settings)?;
        Ok::<_, io::Error>(format!(
            "{}: {} bytes arrived intact in {:.2} s. Packets sent: {}, declared lost: {}, \
             of these only late: {}. Timeouts: {}.",
            settings.profile,
            settings.bytes,
            report.time.as_secs_f64(),
            report.packets,
            report.lost,
            report.late,
            report.timeouts,
        ))
    })
}

/// Transfers the data, checks that it arrives whole, and returns what happened.
fn transfer(settings: &Settings) -> io::Result<Report> {
    let data = settings.data();
    let mut receiver = Receiver { data: vec![0; data.len()], received: Received::default() };
    let send = |socket: &UdpSocket| send(socket, &data, settings);
    let report = common::transfer(settings, send, |datagram| receiver.answer(datagram))?;
    assert!(receiver.data == data, "the data arrived damaged");
    Ok(report)
}

/// The host of the sender: it decides what goes into each packet.
fn send(socket: &UdpSocket, data: &[u8], settings: &Settings) -> io::Result<Report> {
    let clock = Clock::start();
    let start = clock.now()?;
    let pieces: Vec<&[u8]> = data.chunks(SIZE as usize).collect();
    let mut waiting: VecDeque<u64> = (0..pieces.len() as u64).collect();
    let mut missing: BTreeSet<u64> = waiting.iter().copied().collect();
    let mut sender = Sender::of_packets(start, settings.profile.mechanisms(), SIZE);
    sender.on_written(start, pieces.len() as u64);
    let mut report = Report::default();
    let mut buffer = [0; 2048];
    while !missing.is_empty() {
        let now = clock.now()?;
        while let Some((at, timer)) = sender.next_timer()
            && at <= now
        {
            sender.on_timer(now, timer);
        }
        if sender.gave_up() {
            return Err(gave_up());
        }
        while let Some(lost) = sender.take_lost(now) {
            report.lost += 1;
            waiting.push_front(lost.token);
            sender.on_written(now, 1);
        }
        while let Some(what) = sender.next_send(now) {
            // A probe may be due although nothing waits. It carries the last missing piece again.
            let piece = waiting.pop_front().or(missing.last().copied());
            let piece = piece.expect("a piece is missing");
            let payload = pieces[piece as usize];
            let number = sender.on_packet_sent(now, what, payload.len() as u32, piece).map_err(io::Error::other)?;
            socket.send(&datagram([number, piece], payload))?;
            report.packets += 1;
        }
        let timer = sender.next_timer().map(|(at, _)| at.since(now));
        if let Some(length) = receive(socket, timer.unwrap_or(Duration::MAX), &mut buffer)? {
            let numbers = numbers(&buffer[..length]);
            let (pairs, _) = numbers.as_chunks();
            let ranges: Vec<Span> = pairs.iter().map(|[first, last]| packet_numbers(*first..=*last)).collect();
            let acked = |packet: &Packet| {
                missing.remove(&packet.token);
            };
            let summary = sender.on_packets_acked(clock.now()?, &ranges, Duration::ZERO, acked);
            report.late += u64::from(summary.late.0);
        }
    }
    report.time = clock.now()?.since(start);
    report.timeouts = sender.counters().timeouts.iter().sum();
    Ok(report)
}

/// The receiver acknowledges every packet at once.
struct Receiver {
    data: Vec<u8>,
    received: Received,
}

impl Receiver {
    fn answer(&mut self, packet: &[u8]) -> Vec<u8> {
        let (header, payload) = packet.split_at(16);
        let header = numbers(header);
        let from = header[1] as usize * SIZE as usize;
        self.data[from..from + payload.len()].copy_from_slice(payload);
        self.received.add(packet_numbers(header[0]..=header[0]));
        let last = |range: Span| packet_number(range) + range.len() - 1;
        let ranges = self.received.descending().take(RANGES);
        datagram(ranges.flat_map(|r| [packet_number(r), last(r)]), &[])
    }
}

#[test]
fn everything_arrives_under_loss() {
    for profile in ["linux-6", "rfc6675"] {
        let settings = Settings {
            bytes: 300_000,
            profile: profile.parse().unwrap(),
            loss: recoup_units::Ppm::percent(5),
            ..Settings::default()
        };
        let report = transfer(&settings).unwrap();
        assert!(report.lost > 0, "{profile}: 5 % were lost");
        assert!(report.packets >= 250 + report.lost - report.late, "{profile}: {report:?}");
    }
}
