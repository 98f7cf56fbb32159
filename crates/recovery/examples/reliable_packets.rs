//! Reliable pieces of a file in numbered packets over UDP, as in QUIC, through a relay on the loopback interface
//! that loses, delays and reorders: `cargo run --example reliable_packets -- --loss 5 --seed 7`.
//!
//! No packet is repeated. The sender's datagrams hold the number of the packet, the number of the piece, and the
//! piece. The receiver's hold ranges of packet numbers. A piece whose packet is lost goes into a new packet.

mod common;

use common::{Clock, Received, SIZE, Settings, datagram, numbers, receive, relay, socket};
use recoup_recovery::{Sender, packet_numbers};
use recoup_units::{Offset, Span};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The most ranges of an acknowledgment.
const RANGES: usize = 32;

/// What happened.
#[derive(Debug, Default)]
pub struct Report {
    pub time: Duration,
    /// Packets sent, and those declared lost.
    pub packets: u64,
    pub lost: u64,
    /// Packets declared lost that were acknowledged after all.
    pub late: u64,
    pub timeouts: u64,
}

#[allow(dead_code, reason = "the tests call `transfer`")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::from_arguments()?;
    let report = transfer(&settings)?;
    let Settings { bytes, profile, .. } = &settings;
    println!(
        "{profile}: {bytes} bytes arrived whole in {:.2} s. {} packets were sent; {} were declared lost, {} of them \
         arrived late. {} timeouts.",
        report.time.as_secs_f64(),
        report.packets,
        report.lost,
        report.late,
        report.timeouts,
    );
    Ok(())
}

/// Transfers the data, checks that it arrives whole, and returns what happened.
pub fn transfer(settings: &Settings) -> io::Result<Report> {
    let (here, middle, there) = (socket()?, socket()?, socket()?);
    let ends = [here.local_addr()?, there.local_addr()?];
    here.connect(middle.local_addr()?)?;
    there.connect(middle.local_addr()?)?;
    let data = settings.data();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let relay = scope.spawn(|| relay(&middle, ends, settings, &stop));
        let receiver = scope.spawn(|| receive_all(&there, data.len(), &stop));
        let sent = send_all(&here, &data, settings);
        stop.store(true, Ordering::Relaxed);
        relay.join().expect("the relay does not panic")?;
        let received = receiver.join().expect("the receiver does not panic")?;
        assert!(sent.is_err() || received == data, "data arrived damaged");
        sent
    })
}

/// The host of a sender: it decides what goes into each packet.
fn send_all(socket: &UdpSocket, data: &[u8], settings: &Settings) -> io::Result<Report> {
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
        while let Some(lost) = sender.take_lost(now) {
            report.lost += 1;
            waiting.push_front(lost.token);
            sender.on_written(now, 1);
        }
        while let Some(what) = sender.next_send(now) {
            // A probe may come when nothing waits. It repeats the newest missing piece.
            let Some(piece) = waiting.pop_front().or(missing.last().copied()) else {
                break;
            };
            let payload = pieces[piece as usize];
            let size = payload.len() as u32;
            let number = sender
                .on_packet_sent(now, what, size, piece)
                .map_err(io::Error::other)?;
            socket.send(&datagram([number, piece], payload))?;
            report.packets += 1;
        }
        let wait = sender
            .next_timer()
            .map_or(Duration::MAX, |(at, _)| at.since(now));
        if let Some(length) = receive(socket, wait, &mut buffer)? {
            let numbers = numbers(&buffer[..length]);
            let (ranges, _) = numbers.as_chunks();
            let ranges: Vec<Span> = ranges
                .iter()
                .map(|[first, last]| packet_numbers(*first..=*last))
                .collect();
            let acked = |packet: &recoup_recovery::Packet| {
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

/// Receives until `stop`, and acknowledges every datagram at once.
fn receive_all(socket: &UdpSocket, length: usize, stop: &AtomicBool) -> io::Result<Vec<u8>> {
    let mut data = vec![0; length];
    let mut received = Received::default();
    let mut buffer = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        let Some(length) = receive(socket, Duration::MAX, &mut buffer)? else {
            continue;
        };
        let (header, payload) = buffer[..length].split_at(16);
        let [number, piece] = numbers(header)[..] else {
            unreachable!("the header holds two numbers");
        };
        let from = piece as usize * SIZE as usize;
        data[from..from + payload.len()].copy_from_slice(payload);
        received.add(packet_numbers(number..=number));
        let number_of = |offset: Offset| offset.since(Offset::DATA);
        let ranges = received.from_the_top().take(RANGES);
        let ranges = ranges.flat_map(|range| [number_of(range.start), number_of(range.end) - 1]);
        socket.send(&datagram(ranges, &[]))?;
    }
    Ok(data)
}
