//! Packets with numbers, tokens, and data that is abandoned.

use super::super::*;
use crate::profile::Profile;
use crate::sender::{Refused, packet_number, packet_numbers};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SIZE: u32 = 1200;
const WAY: Duration = Duration::from_millis(20);

fn mechanisms(name: &str) -> Mechanisms {
    *name.parse::<Profile>().unwrap().mechanisms()
}

/// A host that sends tokens in numbered packets until each has arrived, and the network between.
struct Transfer {
    now: Instant,
    sender: Sender,
    waiting: Vec<u64>,
    /// Packets on their way to the receiver, and ACKs on their way to the sender.
    to_receiver: BTreeMap<(Instant, u64), u64>,
    to_sender: BTreeMap<(Instant, u64), Vec<Span>>,
    /// Numbers received.
    received: Vec<u64>,
    tokens: Vec<u64>,
    acked: Vec<u64>,
    lost: Vec<u64>,
    late: u32,
    random: u64,
}

impl Transfer {
    fn new(profile: &str, count: u64, seed: u64) -> Self {
        let mut sender = Sender::of_packets(Instant::ZERO, &mechanisms(profile), SIZE);
        sender.count_bytes(seed.is_multiple_of(2));
        Self {
            now: Instant::ZERO,
            sender,
            waiting: (0..count).rev().collect(),
            to_receiver: BTreeMap::new(),
            to_sender: BTreeMap::new(),
            received: Vec::new(),
            tokens: Vec::new(),
            acked: Vec::new(),
            lost: Vec::new(),
            late: 0,
            random: seed | 1,
        }
    }

    /// Below `most`.
    fn draw(&mut self, most: u64) -> u64 {
        // xorshift64 (Marsaglia, 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % most
    }

    /// `loss`, `reordered`: in a thousand. `late_by`: how much later a reordered packet arrives.
    fn run(&mut self, loss: u64, reordered: u64, late_by: Duration) {
        self.sender.on_written(self.now, self.waiting.len() as u64);
        for _ in 0..100_000 {
            self.send(loss, reordered, late_by);
            self.sender.check().unwrap();
            if self.waiting.is_empty() && self.sender.board().first().is_none() {
                return;
            }
            let timer = self.sender.next_timer();
            let arrival = self.to_receiver.keys().next().map(|k| k.0);
            let ack = self.to_sender.keys().next().map(|k| k.0);
            let next = [timer.map(|t| t.0), arrival, ack].into_iter().flatten().min();
            self.now = next.expect("nothing more happens").max(self.now);
            if arrival == next {
                self.arrive();
            } else if ack == next {
                self.hear();
            } else if let Some((_, timer)) = timer {
                self.sender.on_timer(self.now, timer);
            }
            self.sender.check().unwrap();
            while let Some(lost) = self.sender.take_lost(self.now) {
                self.sender.check().unwrap();
                self.lost.push(lost.number());
                self.waiting.push(lost.token);
                self.sender.on_written(self.now, 1);
            }
        }
        panic!("no end");
    }

    fn send(&mut self, loss: u64, reordered: u64, late_by: Duration) {
        while let Some(what) = self.sender.next_send(self.now) {
            // A probe repeats something if nothing waits.
            let token = self.waiting.pop().unwrap_or_default();
            let number = self.sender.on_packet_sent(self.now, what, SIZE, token).unwrap();
            assert_eq!(number, self.tokens.len() as u64);
            self.tokens.push(token);
            if self.draw(1000) < loss {
                continue;
            }
            let extra = match self.draw(1000) < reordered {
                true => late_by,
                false => Duration::ZERO,
            };
            self.to_receiver.insert((self.now + WAY + extra, number), number);
        }
    }

    fn arrive(&mut self) {
        let (_, number) = self.to_receiver.pop_first().unwrap();
        self.received.push(number);
        // Every packet so far, as ranges from the top down.
        let mut all = self.received.clone();
        all.sort_unstable();
        all.dedup();
        let mut ranges: Vec<Span> = Vec::new();
        for number in all.into_iter().rev() {
            match ranges.last_mut() {
                Some(range) if packet_number(*range) == number + 1 => {
                    *range = Span::new(packet_numbers(number..=number).start, range.end);
                }
                _ => ranges.push(packet_numbers(number..=number)),
            }
        }
        ranges.truncate(32);
        self.to_sender.insert((self.now + WAY, number), ranges);
    }

    fn hear(&mut self) {
        let (_, ranges) = self.to_sender.pop_first().unwrap();
        let acked = &mut self.acked;
        let summary = self.sender.on_packets_acked(self.now, &ranges, Duration::ZERO, |packet| {
            assert_eq!(packet.size, SIZE);
            acked.push(packet.number());
        });
        self.late += summary.late.0;
    }
}

#[test]
fn every_packet_is_acknowledged_or_lost_once() {
    for profile in [
        "rfc9002",
        "rfc9002+adaptive",
        "linux-6",
        "linux-6+adaptive",
        "linux-3.17",
        "rfc6675",
        "reno",
        "linux-3.17+tlp+rtor",
    ] {
        for (loss, reordered, seed) in [(0, 0, 1), (20, 0, 2), (200, 0, 3), (10, 100, 4), (500, 0, 5)] {
            let mut transfer = Transfer::new(profile, 400, seed);
            transfer.run(loss, reordered, Duration::from_millis(15));
            let case = format!("{profile}, {loss}, {reordered}");
            let mut seen: Vec<u64> = transfer.acked.iter().chain(&transfer.lost).copied().collect();
            seen.sort_unstable();
            let sent: Vec<u64> = (0..transfer.tokens.len() as u64).collect();
            assert_eq!(seen, sent, "{case}");
            let mut tokens: Vec<u64> = transfer.received.iter().map(|n| transfer.tokens[*n as usize]).collect();
            tokens.sort_unstable();
            tokens.dedup();
            assert_eq!(tokens, (0..400).collect::<Vec<_>>(), "{case}");
            if loss + reordered == 0 {
                assert_eq!(transfer.lost, [], "{case}");
            }
        }
    }
}

#[test]
fn packets_given_up_and_acknowledged_after_all_are_late() {
    let mut transfer = Transfer::new("linux-3.17", 200, 9);
    transfer.run(0, 100, Duration::from_millis(30));
    let received_and_lost = transfer.lost.iter().filter(|n| transfer.received.contains(n)).count();
    assert!(received_and_lost > 5, "{received_and_lost}");
    // The acknowledgments of the last ones arrive after the end.
    while !transfer.to_receiver.is_empty() || !transfer.to_sender.is_empty() {
        let arrival = transfer.to_receiver.keys().next().map(|k| k.0);
        let ack = transfer.to_sender.keys().next().map(|k| k.0);
        transfer.now = arrival.into_iter().chain(ack).min().unwrap();
        match arrival == Some(transfer.now) {
            true => transfer.arrive(),
            false => transfer.hear(),
        }
    }
    assert_eq!(transfer.late as usize, transfer.lost.len());
}

#[test]
fn tokens_come_back_with_their_packets() {
    let mut sender = Sender::of_packets(Instant::ZERO, &mechanisms("linux-6"), SIZE);
    let at = Instant::from_millis;
    sender.seed_rtt(Duration::from_millis(40));
    sender.on_written(at(0), 5);
    for token in 70..75 {
        let what = sender.next_send(at(0)).unwrap();
        sender.on_packet_sent(at(0), what, 100 + token as u32, token).unwrap();
    }
    assert_eq!(sender.next_send(at(0)), None);
    let mut acked = Vec::new();
    let ranges = [packet_numbers(3..=4), packet_numbers(1..=1)];
    sender.on_packets_acked(at(50), &ranges, Duration::ZERO, |p| acked.push((p.number(), p.token, p.size)));
    assert_eq!(acked, [(3, 73, 173), (4, 74, 174), (1, 71, 171)]);
    let lost = std::iter::from_fn(|| sender.take_lost(at(50)));
    let lost: Vec<_> = lost.map(|p| (p.number(), p.token)).collect();
    assert_eq!(lost, [(0, 70), (2, 72)]);
    assert_eq!((sender.board().first().is_none(), sender.pipe()), (true, Segments::ZERO));
    assert_eq!(sender.deadline(Timer::Rto), None);
}

/// Sends `count` packets at `now`, and returns their numbers.
fn send_packets(sender: &mut Sender, now: Instant, count: u64) -> Vec<u64> {
    sender.on_written(now, count);
    std::iter::from_fn(|| {
        let what = sender.next_send(now)?;
        Some(sender.on_packet_sent(now, what, SIZE, 0).unwrap())
    })
    .collect()
}

#[test]
fn acknowledgments_in_order_open_the_window() {
    for profile in ["rfc9002", "rfc9002+adaptive", "linux-6", "linux-3.17", "rfc6675", "reno"] {
        let mut sender = Sender::of_packets(Instant::ZERO, &mechanisms(profile), SIZE);
        let sent = send_packets(&mut sender, Instant::ZERO, 100);
        for number in &sent {
            let range = [packet_numbers(*number..=*number)];
            sender.on_packets_acked(Instant::ZERO + WAY, &range, Duration::ZERO, |_| ());
        }
        // Slow start: a segment for each acknowledged.
        let doubled = Segments(2 * sent.len() as u32);
        assert_eq!((sent.len(), sender.cwnd()), (10, doubled), "{profile}");
    }
}

#[test]
fn a_window_reduced_for_a_lost_packet_stays_reduced() {
    for profile in ["rfc9002", "rfc9002+adaptive", "linux-6", "linux-3.17", "rfc6675", "reno"] {
        let at = Instant::from_millis;
        let mut sender = Sender::of_packets(at(0), &mechanisms(profile), SIZE);
        sender.seed_rtt(Duration::from_millis(40));
        assert_eq!(send_packets(&mut sender, at(0), 10).len(), 10);
        let (mut now, mut lost) = (at(60), 0);
        let mut acked = vec![packet_numbers(1..=9)];
        // Round trips without a further loss.
        for _ in 0..3 {
            sender.on_packets_acked(now, &acked, Duration::ZERO, |_| ());
            lost += std::iter::from_fn(|| sender.take_lost(now)).count();
            let sent = send_packets(&mut sender, now, 10);
            acked = sent.into_iter().map(|n| packet_numbers(n..=n)).collect();
            now += Duration::from_millis(60);
        }
        assert_eq!((lost, sender.state()), (1, State::Open), "{profile}");
        assert_eq!(sender.counters().undone, [0; 3], "{profile}");
        assert!(sender.cwnd() < Segments(10), "{profile}: {}", sender.cwnd());
    }
}

#[test]
fn what_cannot_have_been_sent_is_refused() {
    let mut sender = Sender::of_packets(Instant::ZERO, &mechanisms("linux-6"), SIZE);
    let now = Instant::ZERO;
    let mut sent = |what| sender.on_packet_sent(now, what, 1, 0);
    let numbers = packet_numbers;
    assert_eq!(sent(Transmission::New(numbers(1..=1))), Err(Refused::NotNext));
    assert_eq!(sent(Transmission::New(numbers(0..=1))), Err(Refused::NotNext));
    assert_eq!(sent(Transmission::NewProbe(Span::at(Offset(1), 0))), Err(Refused::NotNext));
    assert_eq!(sent(Transmission::New(numbers(0..=0))), Ok(0));
    assert_eq!(sent(Transmission::Again(numbers(0..=0), Trigger::Fast)), Err(Refused::Repeated));
    assert_eq!(sent(Transmission::Copy(numbers(0..=0))), Err(Refused::Repeated));

    let mut bytes = Sender::established(now, &mechanisms("linux-6"), 100, 1000);
    bytes.on_sent(now, Transmission::New(Span::at(Offset(500), 100)));
    bytes.on_sent(now, Transmission::New(Span::at(Offset::DATA, u64::MAX)));
    assert_eq!((bytes.counters().impossible_sends, bytes.nxt()), (2, Offset::DATA));
}

#[test]
fn an_open_connection_begins_with_data() {
    let now = Instant::from_millis(5);
    let mut sender = Sender::established(now, &mechanisms("rfc6675"), 100, 450);
    assert_eq!((sender.next_send(now), sender.next_timer()), (None, None));
    sender.on_written(now, 1000);
    let mut sent = Vec::new();
    while let Some(what) = sender.next_send(now) {
        sender.on_sent(now, what);
        sent.extend(what.span().map(|s| (s.start.0, s.len())));
    }
    // The peer takes 450 bytes: a partial segment is worth sending only once it is half the window.
    assert_eq!(sent, [(1, 100), (101, 100), (201, 100), (301, 100)]);
    sender.on_ack(now + WAY, &Ack::new(Offset(401), 1000));
    assert_eq!(sender.rtt().srtt(), Some(WAY));
    sender.check().unwrap();
}

#[test]
fn more_ranges_than_a_tcp_option_holds_are_all_taken() {
    let now = Instant::ZERO;
    let mut sender = Sender::established(now, &mechanisms("linux-6"), 10, u64::MAX);
    sender.on_written(now, 1000);
    (0..60).for_each(|i| sender.on_sent(now, Transmission::New(Span::at(Offset(1 + 10 * i), 10))));
    let ranges: Vec<Span> = (0..20).map(|i| Span::at(Offset(11 + 20 * i), 10)).collect();
    let ack = Ack::new(Offset::DATA, u64::MAX).with_ranges(&ranges);
    let summary = sender.on_ack(now + WAY, &ack);
    assert_eq!(summary.newly_sacked, Segments(20));
    sender.check().unwrap();
}

#[test]
fn abandoned_data_is_not_repeated() {
    let at = Instant::from_millis;
    let mut sender = Sender::established(at(0), &mechanisms("linux-3.17"), 10, 10_000);
    sender.on_written(at(0), 100);
    let mut flight = Vec::new();
    while let Some(what) = sender.next_send(at(0)) {
        sender.on_sent(at(0), what);
        flight.extend(what.span());
    }
    assert_eq!(flight.len(), 10);
    // The first, the third and the last are worth nothing any more, then the first four are lost.
    for i in [0, 2, 9] {
        sender.abandon(at(1), flight[i]);
    }
    assert_eq!(sender.pipe(), Segments(10));
    let ack = Ack::new(Offset::DATA, 10_000).with_blocks([Span::new(flight[4].start, flight[8].end)]);
    sender.on_ack(at(50), &ack);
    sender.check().unwrap();
    // Nothing waits for the first: the second is the earliest outstanding.
    assert_eq!(sender.una(), flight[1].start);
    let mut again = Vec::new();
    while let Some(what) = sender.next_send(at(50)) {
        sender.on_sent(at(50), what);
        again.extend(what.span());
    }
    assert_eq!(again, [flight[1], flight[3]]);
    // The last is not acknowledged; after the timeout nothing is left to wait for.
    sender.on_ack(at(90), &Ack::new(flight[8].end, 10_000));
    assert_eq!(sender.una(), flight[9].start);
    let (due, timer) = sender.next_timer().unwrap();
    sender.on_timer(due, timer);
    assert_eq!((sender.next_send(due), sender.next_timer()), (None, None));
    sender.check().unwrap();
}

#[test]
fn what_was_not_sent_can_be_taken_back() {
    let now = Instant::ZERO;
    let mut sender = Sender::of_packets(now, &mechanisms("rfc6675"), SIZE);
    sender.on_written(now, 12);
    while let Some(what) = sender.next_send(now) {
        sender.on_sent(now, what);
    }
    let unsent = |sender: &Sender| sender.limit().since(sender.nxt());
    assert_eq!(unsent(&sender), 2);
    sender.on_withdrawn(now, 1);
    assert_eq!(unsent(&sender), 1);
    sender.on_withdrawn(now, 9);
    assert_eq!((unsent(&sender), sender.pipe()), (0, Segments(10)));
    sender.check().unwrap();
}

#[test]
fn small_packets_fill_the_window_by_their_bytes() {
    let at = Instant::from_millis;
    let sent = |by_bytes| {
        let mut sender = Sender::of_packets(at(0), &mechanisms("rfc6675"), 1000);
        sender.count_bytes(by_bytes);
        sender.on_written(at(0), 1000);
        let mut count = 0;
        while let Some(what) = sender.next_send(at(0)) {
            sender.on_packet_sent(at(0), what, 100, 0).unwrap();
            count += 1;
        }
        assert_eq!(sender.cwnd_bytes(), 10_000);
        sender.check().unwrap();
        (sender, count)
    };
    let (_, count) = sent(false);
    assert_eq!(count, 10);
    let (mut sender, count) = sent(true);
    // Another full packet must fit.
    assert_eq!((count, sender.bytes_in_flight()), (91, 9_100));
    // Nine packets are less than a full one; with the tenth the window grows by one.
    sender.on_packets_acked(at(40), &[packet_numbers(0..=8)], Duration::ZERO, |_| ());
    assert_eq!((sender.cwnd(), sender.bytes_in_flight()), (Segments(10), 8_200));
    sender.on_packets_acked(at(41), &[packet_numbers(0..=9)], Duration::ZERO, |_| ());
    assert_eq!((sender.cwnd(), sender.bytes_in_flight()), (Segments(11), 8_100));
    sender.check().unwrap();
}

#[test]
fn what_the_log_has_no_room_for_is_counted() {
    let now = Instant::ZERO;
    let mut sender = Sender::established(now, &mechanisms("linux-6"), 10, u64::MAX);
    sender.keep_events(true);
    sender.on_written(now, 10);
    for _ in 0..2 * crate::event::EventLog::MOST {
        sender.on_ack(now, &Ack::new(Offset::DATA, u64::MAX));
        let dsack = Span::at(Offset::DATA, 0);
        sender.on_ack(now, &Ack::new(Offset::DATA, u64::MAX).with_ranges(&[dsack]));
    }
    let kept = sender.drain_events().count() as u64;
    assert!(kept <= crate::event::EventLog::MOST as u64);
    assert!(sender.missed_events() > 0, "{kept}");
}

proptest! {
    /// Whatever the network does, every packet is accounted for once.
    #[test]
    fn any_network_ends(seed in any::<u64>(), loss in 0..400u64, reordered in 0..400u64, by_ms in 0..200u64,
                        which in 0..3usize) {
        let profile = ["linux-6", "linux-3.17+tlp", "rfc6675"][which];
        let mut transfer = Transfer::new(profile, 60, seed);
        transfer.run(loss, reordered, Duration::from_millis(by_ms));
        prop_assert_eq!(transfer.acked.len() + transfer.lost.len(), transfer.tokens.len());
    }
}

/// A packet taken out as lost is not late because later packets were acknowledged.
#[test]
fn lost_packets_do_not_move_adaptive_thresholds() {
    for profile in ["linux-6+adaptive", "rfc9002+adaptive"] {
        let mut transfer = Transfer::new(profile, 2000, 3);
        transfer.run(30, 0, Duration::ZERO);
        assert!(transfer.lost.len() > 30, "{profile}");
        let counters = transfer.sender.counters();
        assert_eq!((counters.reordering_seen, counters.undone), (0, [0; 3]), "{profile}");
        assert!(transfer.sender.losses.suspects.is_empty(), "{profile}");
    }
}

/// A stream of which lost segments are given up, instead of repeated, has lost them, and did not reorder them.
#[test]
fn segments_given_up_are_lost() {
    let at = Instant::from_millis;
    for profile in ["linux-6", "linux-3.17", "linux-6+adaptive", "rfc9002+adaptive"] {
        let mut sender = Sender::established(at(0), &mechanisms(profile), 100, 1 << 20);
        sender.seed_rtt(Duration::from_millis(40));
        sender.on_written(at(0), 2000);
        while let Some(what) = sender.next_send(at(0)) {
            sender.on_sent(at(0), what);
        }
        let above = [Span::new(Offset(101), Offset(901))];
        sender.on_ack(at(60), &Ack::new(Offset::DATA, 1 << 20).with_ranges(&above));
        assert!(sender.take_lost(at(60)).is_some(), "{profile}");
        sender.on_ack(at(61), &Ack::new(Offset(901), 1 << 20));
        assert!(sender.losses.suspects.is_empty(), "{profile}");
        let counters = sender.counters();
        assert_eq!((counters.reordering_seen, counters.undone), (0, [0; 3]), "{profile}");
        assert!(sender.cwnd() < Segments(10), "{profile}: {}", sender.cwnd());
    }
}
