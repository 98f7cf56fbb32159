//! Packets of hand-made connections, in virtual time.

use super::*;
use crate::copies::decision::Outcome;
use crate::copies::packet::ETHERNET;
use crate::copies::summary::Summary;
use recoup_recovery::slp;
use recoup_support::profile::parse_profile;
use recoup_testing::{Fields, check_fields};
use recoup_wire::{Checksum, Options, Payload, Segment, Timestamps, decode, encode};
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

/// What the guard sent, and what it asked for.
#[derive(Debug, Default)]
struct World {
    sent: Vec<(u64, Segment)>,
    hidden: Vec<(u32, u32)>,
    shown: Vec<(u32, u32)>,
    forgotten: usize,
}

impl Reports for World {
    fn hide(&mut self, what: &Named, _interface: u32) -> io::Result<()> {
        self.hidden.push((what.seq.0, what.len));
        Ok(())
    }

    fn show(&mut self, what: &Named) {
        self.shown.push((what.seq.0, what.len));
    }

    fn forget(&mut self, _connection: &Endpoints) {
        self.forgotten += 1;
    }
}

const SERVER: &str = "192.0.2.1:80";
const CLIENT: &str = "192.0.2.2:40000";
const ISN: u32 = 1000;
const PEER_ISN: u32 = 9000;
const MSS: u32 = 1448;

/// A server's connection to one client, which the test writes.
struct Test {
    guard: Guard,
    world: World,
    now: u64,
    events: Vec<Event>,
    /// Another client than [`CLIENT`].
    client: Option<SocketAddr>,
}

fn settings(help: &str) -> Settings {
    let mechanisms = |name: &str| *parse_profile(name).unwrap().mechanisms();
    let mut helper = mechanisms(&format!("linux-6{help}"));
    if let Some(slp) = &mut helper.slp {
        slp.likelihoods = slp.likelihoods.with(slp::Kind::Tail, Ppm::ONE);
    }
    Settings {
        kernel: mechanisms("linux-6"),
        helper,
        learns_loss: true,
        acts: true,
        handshakes_only: false,
        control: Ppm::ZERO,
        key: 1,
        destination: Limit::packets(100),
        host: Limit::packets(1000),
        most: 100,
    }
}

impl Test {
    fn new(settings: Settings) -> Self {
        Self {
            guard: Guard::new(settings, Instant::ZERO),
            world: World::default(),
            now: 0,
            events: Vec::new(),
            client: None,
        }
    }

    /// Time passes; the guard sends what it wishes.
    fn until(&mut self, ms: u64) -> &mut Self {
        let end = Instant::from_millis(ms);
        while let Some(at) = self.guard.next_time().filter(|at| *at <= end) {
            let mut sent = Vec::new();
            self.guard.run(at, at, &mut self.world, &mut |frame, _| {
                let decoded = decode(&frame[ETHERNET..]).unwrap();
                assert_eq!(decoded.tcp_checksum, Checksum::Correct);
                sent.push((at.as_nanos() / 1_000_000, decoded.segment));
                Ok(())
            });
            self.world.sent.append(&mut sent);
        }
        self.now = ms;
        self.events.append(&mut self.guard.take_events());
        self
    }

    fn packet(&mut self, outgoing: bool, segment: Segment) -> &mut Self {
        let client = self.client.unwrap_or_else(|| CLIENT.parse().unwrap());
        let mut ends = Endpoints { src: SERVER.parse().unwrap(), dst: client };
        if !outgoing {
            ends = ends.reverse();
        }
        let mut frame = vec![0; ETHERNET];
        let bytes = vec![7; segment.payload_len as usize];
        encode(&segment, &ends, 5, Payload::Bytes(&bytes), &mut frame).unwrap();
        let packet = Packet::read(Instant::from_millis(self.now), outgoing, &frame, frame.len(), ETHERNET).unwrap();
        self.guard.on_packet(&packet, &mut self.world);
        self.events.append(&mut self.guard.take_events());
        self
    }

    fn options(syn: bool) -> Options {
        Options {
            timestamps: Some(Timestamps { value: 1, echo: 1 }),
            mss: syn.then_some(1460),
            window_scale: syn.then_some(7),
            sack_permitted: syn,
            ..Options::NONE
        }
    }

    fn syn(&mut self) -> &mut Self {
        let segment = Segment { seq: SeqNumber(PEER_ISN), flags: Flags::SYN, window: 64240, ..Segment::default() };
        self.packet(false, Segment { options: Self::options(true), ..segment })
    }

    fn syn_ack(&mut self) -> &mut Self {
        let flags = Flags::SYN | Flags::ACK;
        let segment =
            Segment { seq: SeqNumber(ISN), ack: SeqNumber(PEER_ISN + 1), flags, window: 64240, ..Segment::default() };
        self.packet(true, Segment { options: Self::options(true), ..segment })
    }

    /// The client acknowledges `bytes` bytes, with a SACK block.
    fn ack_with(&mut self, bytes: u32, block: Option<[u32; 2]>, payload_len: u32) -> &mut Self {
        let mut options = Self::options(false);
        if let Some(block) = block {
            options.sack.push(block.map(|edge| SeqNumber(ISN + 1 + edge)));
        }
        let segment = Segment {
            seq: SeqNumber(PEER_ISN + 1),
            ack: SeqNumber(ISN + 1 + bytes),
            flags: Flags::ACK,
            window: 502,
            payload_len,
            options,
        };
        self.packet(false, segment)
    }

    fn ack(&mut self, bytes: u32) -> &mut Self {
        self.ack_with(bytes, None, 0)
    }

    /// This host sends bytes of the stream.
    fn data(&mut self, start: u32, len: u32) -> &mut Self {
        let segment = Segment {
            seq: SeqNumber(ISN + 1 + start),
            ack: SeqNumber(PEER_ISN + 1),
            flags: Flags::ACK | Flags::PSH,
            window: 500,
            payload_len: len,
            options: Self::options(false),
        };
        self.packet(true, segment)
    }

    /// A handshake of 80 ms, in which the client also answers a copy of the SYN-ACK, and the client's request at 100.
    fn opened(settings: Settings) -> Self {
        let mut test = Self::new(settings);
        test.syn().syn_ack().until(80).ack(0).until(85).ack(0).until(100).ack_with(0, None, 200);
        test.world.sent.clear();
        test
    }

    fn outcomes(&self) -> Vec<(Kind, Act, Outcome, u128)> {
        let of = |event: &Event| match event {
            Event::Settled { decision, outcome, saved, .. } => {
                Some((decision.kind, decision.act, *outcome, saved.as_millis()))
            }
            _ => None,
        };
        self.events.iter().filter_map(of).filter(|(kind, ..)| *kind != Kind::SynAck).collect()
    }

    fn handshakes(&self) -> Vec<(Act, Outcome, u128)> {
        let of = |event: &Event| match event {
            Event::Settled { decision, outcome, saved, .. } if decision.kind == Kind::SynAck => {
                Some((decision.act, *outcome, saved.as_millis()))
            }
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }

    fn vetoes(&self) -> Vec<(Kind, Veto)> {
        self.guard.counts().vetoes.keys().copied().collect()
    }
}

#[test]
fn a_syn_ack_is_copied_after_its_gap_and_once() {
    let mut test = Test::new(settings("+slp"));
    test.syn().syn_ack().until(900);
    let [(at, copy)] = test.world.sent[..] else { panic!("{:?}", test.world.sent) };
    assert_eq!((at, copy.seq, copy.flags), (5, SeqNumber(ISN), Flags::SYN | Flags::ACK));
    assert_eq!(copy.options, Test::options(true));
    // Handshakes draw no reports.
    assert_eq!(test.world.hidden, []);
    // The original was lost: the ACK answers the copy.
    test.ack(0).until(2000);
    assert_eq!(test.handshakes(), [(Act::Sent, Outcome::Repaired, 995)]);
}

#[test]
fn an_answer_to_the_copy_of_a_syn_ack_shows_that_it_was_not_needed() {
    let mut test = Test::opened(settings("+slp"));
    test.until(700);
    assert_eq!(test.handshakes(), [(Act::Sent, Outcome::Needless, 0)]);
}

#[test]
fn a_dry_run_sends_nothing_and_says_what_the_kernel_lost() {
    let mut test = Test::new(Settings { acts: false, ..settings("+slp") });
    test.syn().syn_ack().until(1000).syn_ack().until(1080).ack(0).until(3000);
    assert_eq!(test.world.sent, []);
    assert_eq!(test.handshakes(), [(Act::Dry, Outcome::Repaired, 995)]);
    // The client asks again as well.
    let mut test = Test::new(Settings { acts: false, ..settings("+slp") });
    test.syn().syn_ack().until(1010).syn().syn_ack().until(1090).ack(0).until(3000);
    assert_eq!(test.handshakes(), [(Act::Dry, Outcome::Repaired, 1005)]);
    assert_eq!(test.guard.counts().left_alone.len(), 0);
}

#[test]
fn a_tail_is_probed_sooner_than_by_the_kernel() {
    let mut test = Test::opened(settings("+tlpr"));
    // Ten segments at 100; the ACK of nine at 180. One is outstanding: the probe would wait for a delayed ACK, and so for no longer
    // than the RTO, 280 ms, which the kernel counts from the ACK and TLPR from the transmission.
    test.data(0, 10 * MSS).until(180).ack(9 * MSS).until(379);
    assert_eq!(test.world.sent, []);
    test.until(385);
    let [(380, copy)] = test.world.sent[..] else { panic!("{:?}", test.world.sent) };
    assert_eq!((copy.seq, copy.payload_len), (SeqNumber(ISN + 1 + 9 * MSS), MSS));
    assert_eq!(test.world.hidden, [(ISN + 1 + 9 * MSS, MSS)]);
    test.until(460).ack(10 * MSS).until(600);
    assert_eq!(test.outcomes(), [(Kind::Probe, Act::Sent, Outcome::Repaired, 80)]);
}

#[test]
fn a_needless_copy_is_known_by_its_report() {
    let mut test = Test::opened(settings("+slp"));
    test.data(0, 500).until(111);
    let [(110, copy)] = test.world.sent[..] else { panic!("{:?}", test.world.sent) };
    assert_eq!(copy.payload_len, 500);
    test.until(180).ack(500).until(190).ack_with(500, Some([0, 500]), 0).until(400);
    assert_eq!(test.outcomes(), [(Kind::Tail, Act::Sent, Outcome::Needless, 0)]);
}

#[test]
fn the_segment_that_is_last_when_the_gap_is_over_is_copied() {
    let mut test = Test::opened(settings("+slp"));
    for i in 0..5 {
        test.data(i * MSS, MSS).until(102 + u64::from(i) * 2);
    }
    test.until(150);
    let seqs: Vec<_> = test.world.sent.iter().map(|(at, copy)| (*at, copy.seq.0 - ISN - 1)).collect();
    assert_eq!(seqs, [(118, 4 * MSS)]);
}

#[test]
fn after_the_kernels_own_nothing_is_sent_until_it_is_acknowledged() {
    let mut test = Test::opened(settings("+tlpr"));
    test.data(0, 2 * MSS).until(200).data(MSS, MSS).until(2000);
    assert_eq!(test.world.sent, []);
    assert_eq!(test.world.shown, [(ISN + 1 + MSS, MSS)]);
}

#[test]
fn a_repair_that_hid_a_loss_holds_help_back() {
    let mut test = Test::opened(settings("+slp"));
    test.data(0, 500).until(190).ack(500).until(300);
    assert_eq!(test.outcomes(), [(Kind::Tail, Act::Sent, Outcome::Repaired, 270)]);
    test.data(500, 500).until(380).ack(1000).until(900);
    assert_eq!(test.world.sent.len(), 1);
    assert_eq!(test.vetoes(), [(Kind::Tail, Veto::Hidden)]);
    test.until(1300).data(1000, 500).until(1390);
    assert_eq!(test.world.sent.len(), 2);
}

#[test]
fn a_connection_has_a_budget() {
    let mut test = Test::opened(settings("+slp"));
    for i in 0..20 {
        let at = 1000 + u64::from(i) * 1000;
        test.until(at).data(i * 500, 500).until(at + 80).ack((i + 1) * 500);
        test.until(at + 90).ack_with((i + 1) * 500, Some([i * 500, (i + 1) * 500]), 0);
    }
    // Four are free: the SYN-ACK's and three others. Then one in ten.
    assert_eq!(test.world.sent.len(), 5);
    assert_eq!(test.vetoes(), [(Kind::Tail, Veto::Connection)]);
}

#[test]
fn nothing_is_sent_late() {
    let mut test = Test::opened(settings("+slp"));
    test.data(0, 500);
    let late = Instant::from_millis(125);
    test.guard.run(late, late, &mut test.world, &mut |_, _| panic!("sent"));
    assert_eq!(test.vetoes(), [(Kind::Tail, Veto::Late)]);
}

#[test]
fn control_connections_are_left_alone() {
    let mut test = Test::opened(Settings { control: Ppm::ONE, ..settings("+slp") });
    test.data(0, 500).until(400).data(0, 500).until(480).ack(500).until(900);
    assert_eq!(test.world.sent, []);
    assert_eq!(test.outcomes(), [(Kind::Tail, Act::Control, Outcome::Repaired, 290)]);
    assert_eq!(test.handshakes(), [(Act::Control, Outcome::Needless, 0)]);
}

#[test]
fn a_connection_that_was_open_before_is_not_followed() {
    let mut test = Test::new(settings("+tlpr+slp"));
    test.data(0, 500).until(100).ack(500).until(1000);
    assert_eq!(test.guard.open(), 0);
    assert_eq!(test.world.sent, []);
}

#[test]
fn an_ack_of_what_was_never_sent_ends_help() {
    let mut test = Test::opened(settings("+tlpr+slp"));
    test.data(0, 500).ack(700).until(2000);
    assert_eq!(test.world.sent, []);
    assert_eq!(test.guard.counts().left_alone.get(&Odd::Unclear), Some(&1));
}

#[test]
fn a_connection_is_forgotten_when_it_is_over() {
    let mut test = Test::opened(settings("+tlpr+slp"));
    let reset = Segment { seq: SeqNumber(PEER_ISN + 1), flags: Flags::RST, ..Segment::default() };
    test.packet(false, reset);
    assert_eq!(test.guard.open(), 0);
    assert_eq!(test.guard.next_time(), None);
    assert_eq!(test.world.forgotten, 1);
}

#[test]
fn half_open_connections_are_forgotten() {
    let mut test = Test::new(settings("+slp"));
    test.syn().until(14_000);
    assert_eq!(test.guard.open(), 1);
    test.until(16_000);
    assert_eq!(test.guard.open(), 0);
}

#[test]
fn the_same_ports_again_are_left_alone() {
    let mut test = Test::opened(settings("+slp"));
    test.until(5000);
    let again = Segment { seq: SeqNumber(77), flags: Flags::SYN, options: Test::options(true), ..Segment::default() };
    test.packet(false, again).syn_ack();
    assert_eq!(test.guard.counts().left_alone.get(&Odd::Reused), Some(&1));
    test.until(9000);
    assert_eq!(test.world.sent, []);
}

/// A test whose guard follows connections if `from` or more questions were asked before, and how many were asked.
fn with_members(from: usize) -> (Test, Rc<Cell<usize>>) {
    let asked = Rc::new(Cell::new(0));
    let mut test = Test::new(settings("+slp"));
    let count = Rc::clone(&asked);
    test.guard = test.guard.with_members(Box::new(move |ends| {
        assert_eq!(*ends, Endpoints { src: SERVER.parse().unwrap(), dst: CLIENT.parse().unwrap() });
        count.set(count.get() + 1);
        count.get() > from
    }));
    (test, asked)
}

#[test]
fn a_connection_is_asked_for_once_and_not_before_it_is_answered() {
    let (mut test, asked) = with_members(0);
    test.syn().until(1).syn();
    assert_eq!((asked.get(), test.guard.counts().connections), (0, 0));
    test.syn_ack().until(80).ack(0).until(85).ack(0).until(100).ack_with(0, None, 200);
    test.data(0, 500).until(180).ack(500).until(300);
    assert_eq!((asked.get(), test.guard.counts().connections), (1, 1));
    assert_eq!(test.world.sent.len(), 2);
}

#[test]
fn a_connection_of_others_is_neither_helped_nor_counted() {
    let (mut test, asked) = with_members(usize::MAX);
    test.syn().syn_ack().until(80).ack(0).until(100).ack_with(0, None, 200).data(0, 500).until(500);
    assert_eq!((asked.get(), test.guard.open(), test.guard.next_time()), (2, 0, None));
    let counts = test.guard.counts();
    assert_eq!((counts.connections, counts.left_alone.len(), counts.vetoes.len()), (0, 0, 0));
    assert_eq!((test.world.sent.len(), test.events.len()), (0, 0));
}

/// With SYN cookies there is no socket before the client's ACK.
#[test]
fn a_connection_that_is_known_by_the_clients_ack_is_helped_from_then_on() {
    let (mut test, asked) = with_members(1);
    test.syn().syn_ack().until(80);
    assert_eq!(test.world.sent, []);
    test.ack(0).until(100).ack_with(0, None, 200).data(0, 500).until(111);
    assert_eq!((asked.get(), test.guard.counts().connections), (2, 1));
    let [(110, copy)] = test.world.sent[..] else { panic!("{:?}", test.world.sent) };
    assert_eq!(copy.payload_len, 500);
}

#[test]
fn what_makes_a_connection_odd_is_counted_of_members_alone() {
    for (from, left) in [(0, 1), (usize::MAX, 0)] {
        let (mut test, _) = with_members(from);
        test.syn().until(1);
        test.guard.on_missed();
        test.syn_ack().until(80).ack(0);
        let counts = test.guard.counts();
        assert_eq!((counts.connections, counts.left_alone.values().sum::<u64>()), (left, left));
    }
}

#[test]
fn a_connection_that_this_host_opens_is_asked_for_with_its_syn() {
    for (from, connections) in [(0, 1), (usize::MAX, 0)] {
        let (mut test, asked) = with_members(from);
        let segment = Segment { seq: SeqNumber(ISN), flags: Flags::SYN, window: 64240, ..Segment::default() };
        test.packet(true, Segment { options: Test::options(true), ..segment });
        assert_eq!((asked.get(), test.guard.open() as u64), (1, connections));
        assert_eq!(test.guard.counts().connections, connections);
    }
}

#[test]
fn a_summary_has_the_fields_of_its_schema() {
    let mut summary = Summary::default();
    let mut counts = Counts::default();
    for control in [Ppm::ZERO, Ppm::ONE] {
        let mut test = Test::opened(Settings { control, ..settings("+slp") });
        test.data(0, 500).until(190).ack_with(500, None, 200).until(300);
        // The first repair holds the second copy back.
        test.data(500, 500).until(400).ack_with(1000, None, 200).until(900).data(1000, 500).ack(9000);
        test.events.iter().for_each(|event| summary.hear(event));
        counts = test.guard.counts().clone();
        if control == Ppm::ZERO {
            assert_eq!(counts.vetoes.len(), 1);
        }
        counts.vetoes.insert((Kind::Tail, Veto::Hidden), 1);
    }
    let summary = summary.with_counts(counts, 1, recoup_kernel::DuplicateReportCounts::default());
    check_fields(&summary.document(), "", Fields::new());
    let lines = summary.lines().join("\n");
    assert!(lines.contains("copy of the last segment: 1 sent, 1 repaired a loss (270 ms before the kernel"), "{lines}");
    assert!(lines.contains("transfers, mean: 95.0 ms helped, 95.0 ms control, difference +0.0 ms"), "{lines}");
}

#[test]
fn many_connections_leave_nothing_behind() {
    let mut test = Test::new(Settings { most: 1000, ..settings("+tlpr+slp") });
    for number in 0..20_000_u32 {
        test.client =
            Some(SocketAddr::from(([10, 1, (number >> 8) as u8, number as u8], 40_000 + (number % 1000) as u16)));
        let begun = test.now;
        test.syn().syn_ack().until(begun + 1).ack_with(0, None, 200).data(0, 500).until(begun + 2).ack(500);
        if number % 2 == 0 {
            let reset = Segment { seq: SeqNumber(PEER_ISN + 201), flags: Flags::RST, ..Segment::default() };
            test.packet(false, reset);
        }
        test.events.clear();
        assert!(test.guard.open() <= 1000);
    }
    let counts = test.guard.counts();
    // Those that were not reset are followed until they are idle for long; others are beyond the bound meanwhile.
    assert_eq!(counts.connections + counts.beyond, 20_000);
    let end = test.now + 400_000;
    test.until(end);
    assert_eq!((test.guard.open(), test.guard.next_time()), (0, None));
}
