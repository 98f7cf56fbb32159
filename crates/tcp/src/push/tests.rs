//! Which segments of a flow carry the bit.

use crate::{AckPolicy, Config, Endpoint, Push};
use recoup_recovery::Mechanisms;
use recoup_units::Instant;
use recoup_wire::{Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use std::time::Duration;

const MSS: u16 = 1000;

/// A connected sender, 100 ms from its peer.
struct Flow {
    endpoint: Endpoint,
    now: Instant,
}

impl Flow {
    fn new(push: Push) -> Self {
        let config =
            Config { mss: MSS, timestamps: false, acks: AckPolicy::Quick, push, ..Config::new(Mechanisms::LINUX_6) };
        let mut flow = Self { endpoint: Endpoint::listen(&config), now: Instant::ZERO };
        let syn = Segment {
            flags: Flags::SYN,
            window: 32_792,
            options: Options {
                mss: Some(MSS),
                sack_permitted: true,
                window_scale: Some(7),
                timestamps: None::<Timestamps>,
                ..Options::NONE
            },
            ..Segment::default()
        };
        flow.endpoint.on_segment(flow.now, &syn);
        flow.sent();
        flow.pass(100);
        flow.ack(1, &[]);
        flow
    }

    fn pass(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn ack(&mut self, to: u32, sacked: &[[u32; 2]]) {
        let mut sack = SackBlocks::NONE;
        for [a, b] in sacked {
            sack.push([SeqNumber(*a), SeqNumber(*b)]);
        }
        let ack = Segment {
            seq: SeqNumber(1),
            ack: SeqNumber(to),
            flags: Flags::ACK,
            window: 257,
            options: Options { sack, ..Options::NONE },
            ..Segment::default()
        };
        self.endpoint.on_segment(self.now, &ack);
    }

    /// The segments sent now: first byte in thousands, `P` behind those that carry the bit.
    fn sent(&mut self) -> String {
        let mut text = String::new();
        let mut segment = Segment::default();
        while self.endpoint.poll_transmit(self.now, &mut segment).is_some() {
            let push = segment.flags.contains(Flags::PSH);
            text += &format!("{}{} ", segment.seq.0 / 1000, if push { "P" } else { "" });
        }
        text.trim_end().into()
    }
}

const BURST: Push = Push::Burst { least: 2 };

#[test]
fn the_end_of_a_write() {
    let mut flow = Flow::new(Push::WriteEnd);
    flow.endpoint.write(flow.now, 3000);
    assert_eq!(flow.sent(), "0 1 2P");
    flow.endpoint.write(flow.now, 2000);
    assert_eq!(flow.sent(), "3 4P");
}

#[test]
fn the_end_of_a_burst_too() {
    let mut flow = Flow::new(BURST);
    flow.endpoint.write(flow.now, 30_000);
    assert_eq!(flow.sent(), "0 1P 2 3P 4 5P 6 7P 8 9P");
    flow.pass(100);
    flow.ack(1001, &[]);
    assert_eq!(flow.sent(), "10 11P");
    flow.ack(4001, &[]);
    assert_eq!(flow.sent(), "12 13P 14 15P 16 17P");
}

#[test]
fn a_burst_of_one_does_not_push() {
    let mut flow = Flow::new(BURST);
    flow.endpoint.write(flow.now, 30_000);
    flow.sent();
    flow.pass(100);
    flow.ack(1, &[[1001, 2001]]);
    assert_eq!(flow.sent(), "10"); // limited transmit
}

#[test]
fn the_minimum_burst_is_allowed_at_any_pacing_rate() {
    let mut flow = Flow::new(Push::Burst { least: 10 });
    flow.endpoint.write(flow.now, 30_000);
    assert_eq!(flow.sent(), "0 1 2 3 4P 5 6 7 8 9P"); // half the window at most
}

#[test]
fn a_write_is_marked_after_half_the_window_is_queued() {
    let mut flow = Flow::new(Push::Burst { least: 1 });
    flow.endpoint.write(flow.now, 60_000);
    let mut all = String::new();
    let mut acked = 1;
    while acked < 40_000 {
        all += &flow.sent();
        all += " ";
        flow.pass(50); // so slow that every burst is of one segment, but for the acknowledged pair
        acked += 1000;
        flow.ack(acked, &[]);
    }
    // Chunks of 16 segments; the second begins more than 16 448 bytes after the first byte.
    assert!(all.contains(" 31P "), "{all}");
    assert!(!all.contains(" 15P "), "{all}");
}

#[test]
fn a_retransmission_carries_the_bit_of_its_write_but_not_of_its_burst() {
    let mut flow = Flow::new(BURST);
    flow.endpoint.write(flow.now, 4000);
    assert_eq!(flow.sent(), "0 1P 2 3P");
    // All four sent again, one by one, as the timer and slow start have it.
    let mut again = vec![];
    for acked in [1001, 2001, 3001] {
        while again.len() < acked as usize / 1000 {
            let (at, timer) = flow.endpoint.next_timer().unwrap();
            flow.now = at;
            flow.endpoint.on_timer(at, timer);
            let sent = flow.sent();
            if !sent.is_empty() && sent != "3P" {
                again.push(sent);
            }
        }
        flow.pass(1);
        flow.ack(acked, &[]);
        let more = flow.sent();
        if !more.is_empty() {
            again.push(more);
        }
    }
    assert_eq!(again[0], "0");
    assert!(again.concat().contains("3P"), "{again:?}");
    assert!(!again.concat().contains("1P"), "{again:?}");
}
