//! Drives a sender as a host would that makes mistakes, and one whose peer lies: calls out of order, ranges
//! and times of any kind. Nothing panics, the sender's invariants hold after every call, and each packet is
//! acknowledged or lost once at most.

#![no_main]

use libfuzzer_sys::{
    arbitrary::{self, Arbitrary},
    fuzz_target,
};
use recoup_recovery::{
    Ack, Sender, Timer, Transmission, Trigger,
    profile::{BASES, Mechanism},
};
use recoup_units::{Instant, Offset, Span};
use std::{collections::HashSet, time::Duration};

#[derive(Arbitrary, Debug)]
struct Case {
    base: u8,
    added: Vec<u8>,
    mss: u16,
    opening: Opening,
    events: bool,
    paced: bool,
    by_bytes: bool,
    calls: Vec<Call>,
}

#[derive(Arbitrary, Debug, PartialEq, Eq, Clone, Copy)]
enum Opening {
    Handshake,
    Established { window: u32 },
    Packets,
}

/// A range near what is outstanding, or anywhere.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Range {
    Outstanding { from: u16, len: u16 },
    Any { start: u64, end: u64 },
}

#[derive(Arbitrary, Debug)]
enum Call {
    Wait { micros: u32 },
    Back { micros: u16 },
    UntilTimer,
    Written { bytes: u32 },
    WrittenAny { bytes: u64 },
    Withdrawn { bytes: u64 },
    Send { most: u8 },
    SendMore { most: u8 },
    SentNew { range: Range },
    SentAgain { range: Range, trigger: u8 },
    SentCopy { range: Range },
    SentProbe { range: Range },
    Ack { to: Range, window: u32, ranges: Vec<Range>, data: bool, echo: Option<u32> },
    PacketsAcked { ranges: Vec<Range>, delay_micros: u32 },
    Timer { which: u8 },
    TakeLost,
    Abandon { range: Range },
    Close,
    Mss { mss: u16 },
    PathMtu { mss: u16 },
    Congestion,
    SeedRtt { micros: u32 },
    Sack { on: bool },
    DrainEvents,
}

fuzz_target!(|case: Case| Host::new(&case).run(&case.calls));

struct Host {
    now: Instant,
    sender: Sender,
    packets: bool,
    /// Numbers acknowledged or lost.
    settled: HashSet<u64>,
}

impl Host {
    fn new(case: &Case) -> Self {
        let mut mechanisms = BASES[usize::from(case.base) % BASES.len()].1;
        for added in case.added.iter().take(4) {
            Mechanism::ALL[usize::from(*added) % Mechanism::ALL.len()].apply(&mut mechanisms);
        }
        let (now, mss) = (Instant::from_millis(1), u32::from(case.mss));
        let mut sender = match case.opening {
            Opening::Handshake => Sender::new(&mechanisms, mss, Trigger::Syn, false),
            Opening::Established { window } => Sender::established(now, &mechanisms, mss, window.into()),
            Opening::Packets => Sender::of_packets(now, &mechanisms, mss),
        };
        sender.keep_events(case.events);
        sender.set_paced(case.paced);
        sender.count_bytes(case.by_bytes);
        Self { now, sender, packets: case.opening == Opening::Packets, settled: HashSet::new() }
    }

    fn run(&mut self, calls: &[Call]) {
        for call in calls {
            self.call(call);
            if let Err(broken) = self.sender.check() {
                panic!("after {call:?}: {broken}");
            }
            assert!(self.sender.next_departure(self.now) >= self.now);
            // Asking changes nothing.
            assert_eq!(self.sender.next_send(self.now), self.sender.next_send(self.now));
        }
    }

    fn span(&self, range: Range) -> Span {
        match range {
            Range::Any { start, end } => Span::new(Offset(start), Offset(end)),
            Range::Outstanding { from, len } => {
                let full = if self.packets { 1 } else { u64::from(self.sender.mss()) };
                let start = self.sender.una() + u64::from(from) % 64 * full;
                Span::at(start, u64::from(len) % 16 * full)
            }
        }
    }

    fn spans(&self, ranges: &[Range]) -> Vec<Span> {
        ranges.iter().map(|range| self.span(*range)).collect()
    }

    fn call(&mut self, call: &Call) {
        let (now, sender) = (self.now, &mut self.sender);
        match call {
            Call::Wait { micros } => self.now += Duration::from_micros((*micros).into()),
            Call::Back { micros } => {
                let back = Duration::from_micros((*micros).into());
                self.now = Instant::ZERO + now.since(Instant::ZERO).saturating_sub(back);
            }
            Call::UntilTimer => {
                if let Some((at, timer)) = sender.next_timer() {
                    self.now = now.max(at);
                    sender.on_timer(self.now, timer);
                }
            }
            Call::Written { bytes } => sender.on_written(now, (*bytes).into()),
            Call::WrittenAny { bytes } => sender.on_written(now, *bytes),
            Call::Withdrawn { bytes } => sender.on_withdrawn(now, *bytes),
            Call::Send { most } => {
                for token in 0..*most {
                    let Some(what) = sender.next_send(now) else {
                        break;
                    };
                    let taken = sender.on_packet_sent(now, what, sender.mss() >> (token % 4), token.into());
                    assert!(taken.is_ok(), "{what:?} was offered: {taken:?}");
                }
            }
            Call::SendMore { most } => {
                sender.send_more(now, (*most).into());
            }
            Call::SentNew { range } => {
                let span = self.span(*range);
                self.sender.on_sent(now, Transmission::New(span));
            }
            Call::SentProbe { range } => {
                let span = self.span(*range);
                self.sender.on_sent(now, Transmission::NewProbe(span));
            }
            Call::SentAgain { range, trigger } => {
                let trigger = Trigger::ALL[usize::from(*trigger) % Trigger::ALL.len()];
                let span = self.span(*range);
                self.sender.on_sent(now, Transmission::Again(span, trigger));
            }
            Call::SentCopy { range } => {
                let span = self.span(*range);
                self.sender.on_sent(now, Transmission::Copy(span));
            }
            Call::Ack { to, window, ranges, data, echo } => {
                let (to, ranges) = (self.span(*to).start, self.spans(ranges));
                let mut ack = Ack::new(to, (*window).into());
                ack.carries_data = *data;
                ack.timestamp_rtt = echo.map(|micros| Duration::from_micros(micros.into()));
                ack.echo_sent_before = echo.map(|_| now);
                self.sender.on_ack(now, &ack.with_ranges(&ranges));
            }
            Call::PacketsAcked { ranges, delay_micros } => {
                let delay = Duration::from_micros((*delay_micros).into());
                let (ranges, settled) = (self.spans(ranges), &mut self.settled);
                let packets = self.packets;
                self.sender.on_packets_acked(now, &ranges, delay, |packet| {
                    assert!(!packets || settled.insert(packet.number()), "acknowledged again");
                });
            }
            Call::Timer { which } => {
                sender.on_timer(now, Timer::ALL[usize::from(*which) % Timer::ALL.len()]);
            }
            Call::TakeLost => {
                while let Some(lost) = sender.take_lost(now) {
                    let first = self.settled.insert(lost.number());
                    assert!(first || !self.packets, "lost again");
                }
            }
            Call::Abandon { range } => {
                let span = self.span(*range);
                self.sender.abandon(now, span);
            }
            Call::Close => sender.close(now),
            Call::Mss { mss } => sender.set_mss(now, (*mss).into()),
            Call::PathMtu { mss } => sender.on_path_mtu(now, (*mss).into()),
            Call::Congestion => sender.on_congestion_signal(now),
            Call::SeedRtt { micros } => sender.seed_rtt(Duration::from_micros((*micros).into())),
            Call::Sack { on } => sender.set_sack(*on),
            Call::DrainEvents => drop(sender.drain_events().count()),
        }
    }
}
