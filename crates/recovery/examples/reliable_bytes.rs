//! A reliable stream of bytes over UDP, through a relay on the loopback interface that loses, delays and reorders:
//! `cargo run --example reliable_bytes -- --loss 5 --seed 7`.
//!
//! A datagram of the sender holds an offset and data. A datagram of the receiver holds the offset below which it has
//! all data, and ranges: first a duplicate, if one arrived (RFC 2883), then the data that it has above that offset.

mod common;

use common::{Clock, Received, SIZE, Settings, datagram, gave_up, numbers, receive};
use recoup_recovery::{Ack, Counters, Offset, Sender, Span};
use std::io;
use std::net::UdpSocket;
use std::process::ExitCode;
use std::time::Duration;

/// The bytes that the receiver takes beyond those acknowledged. It keeps everything, so this never shrinks.
const WINDOW: u64 = 1 << 20;
/// The most ranges of an acknowledgment.
const RANGES: usize = 32;

fn main() -> ExitCode {
    common::run(|settings| {
        let (time, counters) = transfer(settings)?;
        Ok::<_, io::Error>(format!(
            "{}: {} bytes arrived intact in {:.2} s. Segments sent: {}, retransmissions: {}, \
             of these spurious: {}. Timeouts: {}.",
            settings.profile,
            settings.bytes,
            time.as_secs_f64(),
            counters.segments_sent,
            counters.retransmissions.total(),
            counters.dsacks,
            counters.timeouts.iter().sum::<u64>(),
        ))
    })
}

/// Transfers the data, checks that it arrives whole, and returns how long it took and what the sender counted.
fn transfer(settings: &Settings) -> io::Result<(Duration, Counters)> {
    let data = settings.data();
    let mut receiver = Receiver { data: vec![0; data.len()], received: Received::default() };
    let send = |socket: &UdpSocket| send(socket, &data, settings);
    let sent = common::transfer(settings, send, |datagram| receiver.answer(datagram))?;
    assert!(receiver.data == data, "the data arrived damaged");
    Ok(sent)
}

/// The sender's host: it owns the socket, the clock and the data.
fn send(socket: &UdpSocket, data: &[u8], settings: &Settings) -> io::Result<(Duration, Counters)> {
    let clock = Clock::start();
    let start = clock.now()?;
    let mut sender = Sender::established(start, settings.profile.mechanisms(), SIZE, WINDOW);
    sender.on_written(start, data.len() as u64);
    let mut buffer = [0; 2048];
    while sender.una() < sender.limit() {
        let now = clock.now()?;
        while let Some((at, timer)) = sender.next_timer()
            && at <= now
        {
            sender.on_timer(now, timer);
        }
        if sender.gave_up() {
            return Err(gave_up());
        }
        while let Some(what) = sender.next_send(now) {
            if let Some(span) = what.span() {
                let [from, to] = [span.start, span.end].map(|o| o.since(Offset::DATA) as usize);
                socket.send(&datagram([span.start.0], &data[from..to]))?;
            }
            sender.on_sent(now, what);
        }
        let timer = sender.next_timer().map(|(at, _)| at.since(now));
        if let Some(length) = receive(socket, timer.unwrap_or(Duration::MAX), &mut buffer)? {
            let numbers = numbers(&buffer[..length]);
            let (pairs, _) = numbers[1..].as_chunks();
            let ranges: Vec<Span> = pairs.iter().map(|[start, end]| Span::new(Offset(*start), Offset(*end))).collect();
            let ack = Ack::new(Offset(numbers[0]), WINDOW).with_ranges(&ranges);
            sender.on_ack(clock.now()?, &ack);
        }
    }
    Ok((clock.now()?.since(start), sender.counters()))
}

/// The receiver acknowledges every datagram at once.
struct Receiver {
    data: Vec<u8>,
    received: Received,
}

impl Receiver {
    fn answer(&mut self, segment: &[u8]) -> Vec<u8> {
        let (offset, payload) = segment.split_at(8);
        let span = Span::at(Offset(numbers(offset)[0]), payload.len() as u64);
        let from = span.start.since(Offset::DATA) as usize;
        self.data[from..from + payload.len()].copy_from_slice(payload);
        let duplicate = self.received.add(span).then_some(span);
        // The range that has just grown comes first: earlier acknowledgments reported the others (RFC 2018 §4).
        let newest = self.received.range_of(span);
        let others = self.received.descending().filter(|r| Some(*r) != newest);
        let cumulative = self.received.cumulative();
        let above = newest.into_iter().chain(others).filter(|r| r.end > cumulative);
        let ranges = duplicate.into_iter().chain(above).take(RANGES);
        let ranges = ranges.flat_map(|range| [range.start.0, range.end.0]);
        datagram([cumulative.0].into_iter().chain(ranges), &[])
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
        let (_, counters) = transfer(&settings).unwrap();
        let retransmissions = counters.retransmissions.total();
        assert!(retransmissions > 0, "{profile}: 5 % were lost");
        assert_eq!(counters.segments_sent, 250 + retransmissions, "{profile}");
    }
}
