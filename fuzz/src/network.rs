//! Two endpoints and a network controlled by the fuzzer. It decides which segments arrive, when and how
//! often, which forged segments arrive, and which timers expire.

use crate::AnySegment;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use recoup_recovery as recovery;
use recoup_recovery::profile::{BASES, Mechanism};
use recoup_tcp::{AckPolicy, Closed, Config, Endpoint, State, Timer};
use recoup_units::{Instant, Offset};
use recoup_wire::{Segment, SeqNumber};
use std::{collections::VecDeque, time::Duration};

/// The one-way delay of the faultless network at the end.
const DELAY: Duration = Duration::from_millis(10);
/// The number of events after which a flow counts as stuck.
const MOST_EVENTS: u32 = 200_000;

/// The side that connects and the side that listens.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Connects.
    Client,
    /// Listens.
    Server,
}

/// One side's settings.
#[derive(Arbitrary, Clone, Debug)]
pub struct AnyHost {
    profile: u8,
    /// Additional mechanisms, one bit each.
    mechanisms: u64,
    acks: u8,
    mss: u16,
    buffer: u16,
    /// The number of doublings of the buffer's size.
    ample: u8,
    isn: u32,
    timestamps: bool,
    sack: bool,
}

/// A step of the fuzzer.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// A segment in flight arrives, not always the oldest.
    Arrive(Side, u8),
    /// A copy of a segment in flight arrives.
    ArriveTwice(Side, u8),
    /// A segment in flight is lost.
    Lose(Side, u8),
    /// A forged segment arrives.
    Stray(Side, Near, Near, AnySegment),
    /// The next timer expires.
    Timer(Side),
    /// A timer expires early, or a timer that is not running.
    Late(Side, u8),
    /// Milliseconds pass.
    Wait(u8),
    /// The application writes.
    Write(Side, u16),
    /// The application reads.
    Read(Side, u16),
    /// The application closes.
    Close(Side),
    /// The application aborts.
    Abort(Side),
}

/// The base of a forged segment's numbers.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Near {
    /// 0: any number.
    Nothing,
    /// The lowest outstanding or expected number.
    Low,
    /// The next number to be sent, or the window's right edge.
    High,
    /// The initial number.
    Initial,
}

/// Both endpoints and the segments in flight.
pub struct Network {
    ends: [Endpoint; 2],
    isns: [SeqNumber; 2],
    /// The largest payload of a segment, in bytes.
    segment: u64,
    /// Segments in flight to each side.
    under_way: [VecDeque<Segment>; 2],
    written: [u64; 2],
    read: [u64; 2],
    now: Instant,
    /// Whether nothing harmful has happened so far: every forged segment was outside the window.
    honest: bool,
    /// Prints every segment sent, to analyze a crash (`RECOUP_TRACE=1`).
    traced: bool,
}

impl AnyHost {
    fn config(&self) -> Config {
        let mut mechanisms = BASES[usize::from(self.profile) % BASES.len()].1;
        for (bit, mechanism) in Mechanism::ALL.iter().enumerate() {
            if self.mechanisms >> bit & 1 == 1 {
                mechanism.apply(&mut mechanisms);
            }
        }
        let acks = match self.acks % 3 {
            0 => AckPolicy::Quick,
            1 => AckPolicy::Delayed(Duration::from_millis(u64::from(self.acks) * 2)),
            _ => AckPolicy::Linux { quick: u32::from(self.acks) / 8 },
        };
        Config {
            acks,
            mss: self.mss % 2000 + 1,
            receive_buffer: u64::from(self.buffer).max(1) << (self.ample % 11),
            isn: SeqNumber(self.isn),
            timestamps: self.timestamps,
            sack: self.sack,
            ..Config::new(mechanisms)
        }
    }
}

impl Network {
    /// A network with the client's SYN in flight.
    pub fn new(client: &AnyHost, server: &AnyHost) -> Self {
        let (client, server) = (client.config(), server.config());
        let mut network = Self {
            ends: [Endpoint::connect(&client), Endpoint::listen(&server)],
            isns: [client.isn, server.isn],
            segment: [client.mss.into(), server.mss.into()]
                .into_iter()
                .chain([client.receive_buffer, server.receive_buffer])
                .min()
                .unwrap_or(1),
            under_way: Default::default(),
            written: [0; 2],
            read: [0; 2],
            now: Instant::ZERO,
            honest: true,
            traced: std::env::var_os("RECOUP_TRACE").is_some(),
        };
        network.transmit();
        network
    }

    /// Delivers all segments in flight, up to 15 times.
    pub fn exchange(&mut self, times: u8) {
        for _ in 0..times % 16 {
            self.calm_step();
        }
    }

    /// Takes a step, and checks the invariants.
    pub fn take(&mut self, step: &Step) {
        let before = [0, 1].map(|side| self.progress(side));
        self.act(step);
        self.transmit();
        for (side, (una, next, edge)) in before.into_iter().enumerate() {
            let end = &self.ends[side];
            end.sender().check().expect("a sound sender");
            let after = self.progress(side);
            assert!(una <= after.0 && next <= after.1 && edge <= after.2);
            assert!(after.0 <= end.sender().nxt() && after.1 <= after.2);
            if let State::Closed(_) = end.state() {
                assert_eq!(end.next_timer(), None);
            }
        }
    }

    /// `snd_una`, the next byte expected and the window's right edge. None may ever decrease.
    fn progress(&self, side: usize) -> (Offset, Offset, Offset) {
        let end = &self.ends[side];
        let (sender, receiver) = (end.sender(), end.receiver());
        (sender.una(), receiver.next(), receiver.edge())
    }

    fn act(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Arrive(to, which) => {
                if let Some(segment) = self.pick(to, which).and_then(|i| self.under_way[to as usize].remove(i)) {
                    self.ends[to as usize].on_segment(now, &segment);
                }
            }
            Step::ArriveTwice(to, which) => {
                if let Some(i) = self.pick(to, which) {
                    let segment = self.under_way[to as usize][i];
                    self.ends[to as usize].on_segment(now, &segment);
                }
            }
            Step::Lose(to, which) => {
                if let Some(i) = self.pick(to, which) {
                    self.under_way[to as usize].remove(i);
                }
            }
            Step::Stray(to, seq, ack, ref any) => {
                let segment = self.stray(to as usize, seq, ack, any);
                self.honest &= self.outside(to as usize, &segment);
                self.ends[to as usize].on_segment(now, &segment);
            }
            Step::Timer(of) => self.fire(of as usize),
            Step::Late(of, which) => {
                let timer = recovery::Timer::ALL[usize::from(which) % recovery::Timer::ALL.len()];
                let end = &mut self.ends[of as usize];
                if end.sender().deadline(timer).is_none_or(|at| at <= now) {
                    end.on_timer(now, Timer::Recovery(timer));
                }
            }
            Step::Wait(ms) => self.now = now + Duration::from_millis(ms.into()),
            // A few segments at most, to save time.
            Step::Write(of, bytes) => self.write(of as usize, u64::from(bytes) % (20 * self.segment)),
            Step::Read(of, bytes) => {
                let bytes = u64::from(bytes).min(self.ends[of as usize].readable());
                self.read(of as usize, bytes);
            }
            Step::Close(of) => self.ends[of as usize].close(now),
            Step::Abort(of) => {
                self.honest = false;
                self.ends[of as usize].abort();
            }
        }
    }

    fn pick(&self, to: Side, which: u8) -> Option<usize> {
        usize::from(which).checked_rem(self.under_way[to as usize].len())
    }

    /// A segment to `to`. Its numbers, SACK blocks and timestamps count from the bases `seq` and `ack`.
    fn stray(&self, to: usize, seq: Near, ack: Near, any: &AnySegment) -> Segment {
        let end = &self.ends[to];
        let from = |near, number: u32, isn: SeqNumber, low: Offset, high: Offset| {
            let signed = SeqNumber(i32::from(number as i16) as u32);
            match near {
                Near::Nothing => SeqNumber(number),
                Near::Low => isn.at(low) + signed.0,
                Near::High => isn.at(high) + signed.0,
                Near::Initial => isn + signed.0,
            }
        };
        let (sender, receiver) = (end.sender(), end.receiver());
        let seq_of = |n| from(seq, n, self.isns[1 - to], receiver.next(), receiver.edge());
        let ack_of = |n| from(ack, n, self.isns[to], sender.una(), sender.nxt());
        let mut segment = Segment::from(any);
        segment.seq = seq_of(any.seq);
        segment.ack = ack_of(any.ack);
        let blocks = any.options.sack.iter().flatten();
        segment.options.sack = blocks.map(|&(left, len)| [ack_of(left), ack_of(left) + (len & 0x3fff)]).collect();
        if let Some(timestamps) = &mut segment.options.timestamps {
            let clock = (self.now.as_nanos() / 1_000_000) as u32;
            timestamps.echo = clock.wrapping_sub(timestamps.echo & 0xff);
            timestamps.value = clock.wrapping_add(timestamps.value & 0xff);
        }
        segment
    }

    /// Whether `segment` is outside the window of `to`, so that it must be harmless.
    fn outside(&self, to: usize, segment: &Segment) -> bool {
        let end = &self.ends[to];
        let (next, edge) = (end.receiver().next(), end.receiver().edge());
        let start = segment.seq.unwrap(self.isns[1 - to], next);
        next > Offset::SYN && !matches!(end.state(), State::Closed(_)) && start.is_some_and(|start| start > edge)
    }

    fn write(&mut self, side: usize, bytes: u64) {
        let end = &mut self.ends[side];
        // A closed application accepts no data.
        if end.sender().fin().is_none() && !matches!(end.state(), State::Closed(_)) {
            self.written[side] += bytes;
        }
        end.write(self.now, bytes);
    }

    fn read(&mut self, side: usize, bytes: u64) {
        self.ends[side].read(self.now, bytes);
        self.read[side] += bytes;
    }

    fn read_all(&mut self, side: usize) {
        let readable = self.ends[side].readable();
        self.read(side, readable);
    }

    fn fire(&mut self, side: usize) {
        if let Some((at, timer)) = self.ends[side].next_timer() {
            self.now = self.now.max(at);
            self.ends[side].on_timer(self.now, timer);
        }
    }

    fn transmit(&mut self) {
        for (side, end) in self.ends.iter_mut().enumerate() {
            let mut sent = 0;
            let mut segment = Segment::default();
            while end.poll_transmit(self.now, &mut segment).is_some() {
                sent += 1;
                let cwnd = end.sender().cwnd().0;
                assert!(sent <= cwnd.saturating_add(100), "an endless train");
                assert!(segment.options.sack.len() <= 4);
                assert!(segment.header_len() <= 60);
                if self.traced {
                    let from = ["client", "server"][side];
                    eprintln!("{:?} {from}: {}", self.now, segment);
                }
                self.under_way[1 - side].push_back(segment);
            }
        }
    }

    /// From here on the network has no faults, and the applications finish. If nothing harmful happened
    /// before, both streams must arrive complete. In any case nothing may panic.
    pub fn finish(mut self) {
        // It is too early for the user timeout.
        let early = self.now < Instant::from_millis(60_000);
        for side in [0, 1] {
            self.ends[side].close(self.now);
            self.read_all(side);
        }
        self.transmit();
        // Forged segments may cause an endless exchange of ACKs.
        let most = if self.honest { MOST_EVENTS } else { 1000 };
        for _ in 0..most {
            if !self.calm_step() {
                return self.check_end(early);
            }
        }
        assert!(!self.honest, "the flow never ends: {:?}", self.ends);
    }

    /// Delivers all segments in flight, or expires the next timer. Returns false if there is neither.
    fn calm_step(&mut self) -> bool {
        if self.under_way.iter().any(|q| !q.is_empty()) {
            self.now += DELAY;
            for side in [0, 1] {
                for segment in std::mem::take(&mut self.under_way[side]) {
                    self.ends[side].on_segment(self.now, &segment);
                }
                self.read_all(side);
            }
        } else {
            let due = |side: &usize| self.ends[*side].next_timer().map(|(at, _)| at);
            let next = [0, 1].into_iter().filter(|s| due(s).is_some()).min_by_key(due);
            let Some(side) = next else {
                return false;
            };
            self.fire(side);
        }
        self.transmit();
        for end in &self.ends {
            end.sender().check().expect("a sound sender");
        }
        true
    }

    fn check_end(&self, early: bool) {
        let states = [0, 1].map(|side| self.ends[side].state());
        let gave_up = states.contains(&State::Closed(Closed::ByTimeout));
        if !self.honest || (gave_up && !early) {
            return;
        }
        if states[1] == State::Closed(Closed::Gracefully) && self.ends[1].receiver().next() == Offset(0) {
            return; // closed before a connection
        }
        assert_eq!(self.read, [self.written[1], self.written[0]], "{states:?}");
    }
}
