//! A reliable stream of bytes over UDP, through a relay on the loopback interface that loses, delays and reorders:
//! `cargo run --example reliable_bytes -- --loss 5 --seed 7`.
//!
//! The sender's datagrams hold an offset and data. The receiver's hold the offset below which it has everything,
//! and ranges: a duplicate if one arrived (RFC 2883), then what it has above.

mod common;

use common::{Clock, Received, SIZE, Settings, datagram, numbers, receive, relay, socket};
use recoup_recovery::{Ack, Counters, Sender};
use recoup_units::{Offset, Span};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The bytes that the receiver takes beyond those acknowledged. It keeps everything, so this never shrinks.
const WINDOW: u64 = 1 << 20;
/// The most ranges of an acknowledgment.
const RANGES: usize = 32;

#[allow(dead_code, reason = "the tests call `transfer`")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::from_arguments()?;
    let (time, counters) = transfer(&settings)?;
    let Settings { bytes, profile, .. } = &settings;
    println!(
        "{profile}: {bytes} bytes arrived whole in {:.2} s. {} segments were sent, {} of them retransmissions; {} \
         arrived twice. {} timeouts.",
        time.as_secs_f64(),
        counters.segments_sent,
        counters.retransmissions.total(),
        counters.dsacks,
        counters.timeouts.iter().sum::<u64>(),
    );
    Ok(())
}

/// Transfers the data, checks that it arrives whole, and returns how long it took and what the sender counted.
pub fn transfer(settings: &Settings) -> io::Result<(Duration, Counters)> {
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

/// The host of a sender: it owns the socket, the clock and the data.
fn send_all(
    socket: &UdpSocket,
    data: &[u8],
    settings: &Settings,
) -> io::Result<(Duration, Counters)> {
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
        while let Some(what) = sender.next_send(now) {
            if let Some(span) = what.span() {
                let [from, to] = [span.start, span.end].map(|o| o.since(Offset::DATA) as usize);
                socket.send(&datagram([span.start.0], &data[from..to]))?;
            }
            sender.on_sent(now, what);
        }
        let wait = sender
            .next_timer()
            .map_or(Duration::MAX, |(at, _)| at.since(now));
        if let Some(length) = receive(socket, wait, &mut buffer)? {
            let numbers = numbers(&buffer[..length]);
            let (ranges, _) = numbers[1..].as_chunks();
            let ranges: Vec<Span> = ranges
                .iter()
                .map(|[a, b]| Span::new(Offset(*a), Offset(*b)))
                .collect();
            let ack = Ack::new(Offset(numbers[0]), WINDOW).with_ranges(&ranges);
            sender.on_ack(clock.now()?, &ack);
        }
    }
    Ok((clock.now()?.since(start), sender.counters()))
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
        let (offset, payload) = buffer[..length].split_at(8);
        let span = Span::at(Offset(numbers(offset)[0]), payload.len() as u64);
        let from = span.start.since(Offset::DATA) as usize;
        data[from..from + payload.len()].copy_from_slice(payload);
        let duplicate = received.add(span).then_some(span);
        // The range that has just grown comes first, where an ACK that is lost does most harm.
        let newest = received.range_of(span);
        let others = received
            .from_the_top()
            .filter(|range| Some(*range) != newest);
        let above = newest
            .into_iter()
            .chain(others)
            .filter(|r| r.end > received.cumulative());
        let ranges = duplicate.into_iter().chain(above).take(RANGES);
        let ranges = ranges.flat_map(|range| [range.start.0, range.end.0]);
        socket.send(&datagram(
            [received.cumulative().0].into_iter().chain(ranges),
            &[],
        ))?;
    }
    Ok(data)
}
