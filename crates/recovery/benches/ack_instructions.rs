//! Instructions an ACK costs the sender, counted by callgrind, so that they do not depend on the
//! machine's mood.
//!
//! Each benchmark runs one window of 1,000 segments through a sender; the count divided by 1,000 is
//! the cost of sending a segment and taking in its ACK.

// What the macros generate has no documentation.
#![allow(missing_docs)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use recoup_recovery::{Ack, Mechanisms, Sender, Trigger};
use recoup_units::{Instant, Offset, Segments, Span};
use std::hint::black_box;

const MSS: u64 = 1448;
const WINDOW: u64 = 1000;

/// A sender with its whole window outstanding, and the ACKs that answer it. Every `lost`-th segment
/// is missing at the receiver, which reports the rest by SACK (0: nothing is missing).
fn flight(lost: u64) -> (Sender, Vec<Ack>) {
    let mechanisms = Mechanisms {
        initial_window: Segments(WINDOW as u32),
        ..Mechanisms::LINUX_3_17
    };
    let mut sender = Sender::new(&mechanisms, MSS as u32, Trigger::SynAck, false);
    send_all(&mut sender, Instant::ZERO);
    let window = 1 << 30;
    sender.on_ack(Instant::from_millis(80), &Ack::new(Offset::DATA, window));
    sender.on_written(Instant::from_millis(80), WINDOW * MSS);
    send_all(&mut sender, Instant::from_millis(80));
    (sender, acks(lost, window))
}

fn acks(lost: u64, window: u64) -> Vec<Ack> {
    let offset = |segment: u64| Offset::DATA + segment * MSS;
    let mut cumulative = 0;
    let mut acks = Vec::new();
    // The blocks after the first hole, most recent first.
    let mut blocks: Vec<Span> = Vec::new();
    for segment in 0..WINDOW {
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
        }
        let ack = Ack::new(offset(cumulative), window);
        acks.push(ack.with_blocks(blocks.iter().take(3).copied()));
    }
    acks
}

fn send_all(sender: &mut Sender, now: Instant) {
    while let Some(what) = sender.next_send(now) {
        sender.on_sent(now, what);
    }
}

#[library_benchmark]
#[bench::no_loss(flight(0))]
#[bench::one_percent_loss_with_sack(flight(100))]
fn acks_of_a_window((mut sender, acks): (Sender, Vec<Ack>)) -> Sender {
    let now = Instant::from_millis(160);
    for ack in &acks {
        black_box(sender.on_ack(now, black_box(ack)));
        send_all(&mut sender, now);
    }
    sender
}

library_benchmark_group!(name = sender, benchmarks = acks_of_a_window);
main!(library_benchmark_groups = sender);
