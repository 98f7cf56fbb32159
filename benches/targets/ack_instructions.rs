//! Counts the sender's instructions per ACK with callgrind. The counts do not depend on the load of the
//! machine.
//!
//! Each benchmark runs one window of segments through a sender. The count divided by the segments of the
//! window is the cost of sending a segment and processing its ACK. It must not depend on the window (10,
//! 1,000 or 100,000 segments), whatever the SACK pattern. A timeout, a receiver that reneges and an undo
//! do touch every segment, in Linux too. Their rates are limited by the RTO, by max(SRTT/2, 10 ms) and by
//! the number of recovery episodes.

// The macros generate items without documentation.
#![allow(missing_docs)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use recoup_recovery::{Ack, Mechanisms, Sender, Trigger};
use recoup_units::{Instant, Offset, Segments, Span};
use std::hint::black_box;

const MSS: u64 = 1448;
const PEER_WINDOW: u64 = 1 << 40;

/// The SACK pattern of a window's ACKs.
#[derive(Clone, Copy)]
enum Pattern {
    /// No losses.
    None,
    /// Every hundredth segment is lost.
    Hundredth,
    /// Every second segment is lost. SACK blocks of one segment arrive from the top down: the maximum
    /// number of holes, and no block is adjacent to a known one.
    HostileDown,
    /// Every second segment is lost. SACK blocks of one segment arrive in random order.
    HostileJumps,
    /// SACKs of the upper half from its end down, then of every second segment of the rest: a long SACKed
    /// tail above holes.
    HostileTail,
}

/// A sender with its whole window in flight, and the ACKs of the window.
fn flight(mechanisms: Mechanisms, window: u64, pattern: Pattern) -> (Sender, Vec<Ack>) {
    let mechanisms = mechanisms.with(|m| m.initial_window = Segments(window as u32));
    let mut sender = Sender::new(&mechanisms, MSS as u32, Trigger::SynAck, false);
    send_all(&mut sender, Instant::ZERO);
    let opened = Instant::from_millis(80);
    sender.on_ack(opened, &Ack::new(Offset::DATA, PEER_WINDOW));
    sender.on_written(opened, window * MSS);
    send_all(&mut sender, opened);
    let acks = match pattern {
        Pattern::None => in_order(window, 0),
        Pattern::Hundredth => in_order(window, 100),
        Pattern::HostileDown => alone((0..window / 2).map(|i| window / 2 * 2 - 1 - 2 * i)),
        // 7,919 is prime, so every odd segment occurs once.
        Pattern::HostileJumps => {
            let odd = window / 2;
            alone((0..odd).map(move |i| i * 7919 % odd * 2 + 1))
        }
        Pattern::HostileTail => {
            let middle = window / 2;
            let tail = (middle..window).rev();
            alone(tail.chain((1..middle).step_by(2)))
        }
    };
    (sender, acks)
}

fn offset(segment: u64) -> Offset {
    Offset::DATA + segment * MSS
}

/// One ACK per SACKed segment, with one block each.
fn alone(segments: impl Iterator<Item = u64>) -> Vec<Ack> {
    let block = |n| Span::at(offset(n), MSS);
    segments.map(|n| Ack::new(Offset::DATA, PEER_WINDOW).with_blocks([block(n)])).collect()
}

/// The ACKs of a receiver that lacks every `lost`-th segment; 0 for none.
fn in_order(window: u64, lost: u64) -> Vec<Ack> {
    let mut cumulative = 0;
    let mut acks = Vec::new();
    // The latest blocks after the first hole, most recent first.
    let mut blocks: Vec<Span> = Vec::new();
    for segment in 0..window {
        if lost > 0 && segment % lost == lost - 1 {
            continue;
        }
        if segment == cumulative {
            cumulative += 1;
        } else {
            match blocks.first_mut() {
                Some(block) if block.end == offset(segment) => block.end = offset(segment + 1),
                _ => blocks.insert(0, Span::at(offset(segment), MSS)),
            }
            blocks.truncate(3);
        }
        let ack = Ack::new(offset(cumulative), PEER_WINDOW);
        acks.push(ack.with_blocks(blocks.iter().copied()));
    }
    acks
}

fn send_all(sender: &mut Sender, now: Instant) {
    while let Some(what) = sender.next_send(now) {
        sender.on_sent(now, what);
    }
}

const FACK: Mechanisms = Mechanisms::LINUX_3_17;
const RACK: Mechanisms = Mechanisms::LINUX_6;
const IS_LOST: Mechanisms = Mechanisms::RFC_6675;

#[library_benchmark]
#[bench::no_loss_10(flight(FACK, 10, Pattern::None))]
#[bench::no_loss_1000(flight(FACK, 1_000, Pattern::None))]
#[bench::no_loss_100000(flight(FACK, 100_000, Pattern::None))]
#[bench::no_loss_rack_1000(flight(RACK, 1_000, Pattern::None))]
#[bench::no_loss_rack_100000(flight(RACK, 100_000, Pattern::None))]
#[bench::one_percent_fack_1000(flight(FACK, 1_000, Pattern::Hundredth))]
#[bench::one_percent_fack_100000(flight(FACK, 100_000, Pattern::Hundredth))]
#[bench::one_percent_rack_1000(flight(RACK, 1_000, Pattern::Hundredth))]
#[bench::one_percent_rack_100000(flight(RACK, 100_000, Pattern::Hundredth))]
#[bench::hostile_down_fack_10(flight(FACK, 10, Pattern::HostileDown))]
#[bench::hostile_down_fack_1000(flight(FACK, 1_000, Pattern::HostileDown))]
#[bench::hostile_down_fack_100000(flight(FACK, 100_000, Pattern::HostileDown))]
#[bench::hostile_down_rack_10(flight(RACK, 10, Pattern::HostileDown))]
#[bench::hostile_down_rack_1000(flight(RACK, 1_000, Pattern::HostileDown))]
#[bench::hostile_down_rack_100000(flight(RACK, 100_000, Pattern::HostileDown))]
#[bench::hostile_jumps_fack_1000(flight(FACK, 1_000, Pattern::HostileJumps))]
#[bench::hostile_jumps_fack_100000(flight(FACK, 100_000, Pattern::HostileJumps))]
#[bench::hostile_jumps_rack_1000(flight(RACK, 1_000, Pattern::HostileJumps))]
#[bench::hostile_jumps_rack_100000(flight(RACK, 100_000, Pattern::HostileJumps))]
#[bench::hostile_tail_fack_1000(flight(FACK, 1_000, Pattern::HostileTail))]
#[bench::hostile_tail_fack_100000(flight(FACK, 100_000, Pattern::HostileTail))]
#[bench::hostile_tail_rack_1000(flight(RACK, 1_000, Pattern::HostileTail))]
#[bench::hostile_tail_rack_100000(flight(RACK, 100_000, Pattern::HostileTail))]
#[bench::hostile_tail_islost_1000(flight(IS_LOST, 1_000, Pattern::HostileTail))]
#[bench::hostile_tail_islost_100000(flight(IS_LOST, 100_000, Pattern::HostileTail))]
#[bench::hostile_jumps_islost_1000(flight(IS_LOST, 1_000, Pattern::HostileJumps))]
#[bench::hostile_jumps_islost_100000(flight(IS_LOST, 100_000, Pattern::HostileJumps))]
fn acks_of_a_window((mut sender, acks): (Sender, Vec<Ack>)) -> Sender {
    let begin = Instant::from_millis(160);
    for (i, ack) in acks.iter().enumerate() {
        // One microsecond apart, so that the order by time differs from that by sequence number.
        let now = begin + std::time::Duration::from_micros(i as u64);
        black_box(sender.on_ack(now, black_box(ack)));
        send_all(&mut sender, now);
    }
    sender
}

library_benchmark_group!(name = sender, benchmarks = acks_of_a_window);
main!(library_benchmark_groups = sender);
