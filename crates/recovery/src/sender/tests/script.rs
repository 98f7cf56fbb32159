//! A sender driven by hand, in milliseconds and segment numbers.
//!
//! ```text
//! flow.at(160).sack(0, &[4..=4]).sends("fast 1");
//! ```
//! reads: at 160 ms an ACK arrives that acknowledges nothing but SACKs segment 4, and the sender
//! repeats segment 1 by fast retransmit. Data segment n is the n-th of [`MSS`] bytes. The trace is
//! complete or the test fails: time cannot pass a timer that is due or a segment that is to be sent, and
//! the test cannot end with a segment that is to be sent.

use super::super::*;
use crate::ack::Ack;
use crate::counters::Recovery;
use crate::profile::Profile;
use crate::slp::{Carried, SlpRules};
use crate::undo::Proof;
use core::ops::RangeInclusive;

/// Payload of a full segment, in bytes.
pub(super) const MSS: u64 = 1000;

pub(super) struct Script {
    pub(super) sender: Sender,
    now: Instant,
    /// Payload of a segment that has a number, in bytes.
    unit: u64,
    /// Offered by every ACK that comes, in bytes.
    window: u64,
    /// Echoed by the next ACK: the timestamp of a segment sent at this, in ms.
    echo: Option<u64>,
    /// Where writes ended: the segment that does carries PSH.
    ends: Vec<Offset>,
    /// The bytes of headers in a packet.
    headers: u32,
    events: Vec<Event>,
}

impl Drop for Script {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let unsent = self.sent();
        assert_eq!(unsent, "", "unsent as the test ends, at {}", self.now);
    }
}

impl Script {
    /// A sender of `profile` that has sent nothing yet.
    pub(super) fn new(profile: &str) -> Self {
        let profile: Profile = profile.parse().unwrap();
        Self::of(profile.mechanisms(), Trigger::Syn)
    }

    /// A sender with these mechanisms. `syn`: the trigger of a retransmission of its SYN.
    fn of(mechanisms: &Mechanisms, syn: Trigger) -> Self {
        Self {
            sender: Sender::new(mechanisms, MSS as u32, syn, true),
            now: Instant::ZERO,
            unit: MSS,
            window: 1 << 20,
            echo: None,
            ends: Vec::new(),
            headers: 40,
            events: Vec::new(),
        }
    }

    /// A sender of `profile`, which copies by the rules `change` makes of the paper's.
    pub(super) fn copying(profile: &str, syn: Trigger, change: impl Fn(&mut SlpRules)) -> Self {
        let profile: Profile = profile.parse().unwrap();
        let mut mechanisms = *profile.mechanisms();
        change(mechanisms.slp.get_or_insert(SlpRules::PAPER));
        Self::of(&mechanisms, syn)
    }

    /// A sender at `rtt` ms. Its SYN left at 0 ms and was answered at `rtt` ms, so SRTT is `rtt` ms.
    pub(super) fn connected(profile: &str, rtt: u64) -> Self {
        Self::connected_with(profile, rtt, 1 << 20)
    }

    /// A connected sender whose peer offers `window` bytes.
    pub(super) fn connected_with(profile: &str, rtt: u64, window: u64) -> Self {
        let mut script = Self::new(profile);
        script.window(window).opens(rtt);
        script
    }

    /// Its SYN leaves, and is answered `rtt` ms later.
    #[track_caller]
    pub(super) fn opens(&mut self, rtt: u64) -> &mut Self {
        self.sends("SYN").at(rtt).ack(0)
    }

    /// Segments are numbered by `unit` bytes of payload from now on.
    pub(super) fn unit(&mut self, unit: u64) -> &mut Self {
        self.unit = unit;
        self
    }

    /// Sets the bytes of headers in a packet.
    pub(super) fn headers(&mut self, bytes: u32) -> &mut Self {
        self.headers = bytes;
        self
    }

    /// A connected sender whose peer does not report by SACK.
    pub(super) fn without_sack(profile: &str, rtt: u64) -> Self {
        let mut script = Self::connected(profile, rtt);
        script.sender.set_sack(false);
        script
    }

    /// A connected sender whose segments are numbered by `unit` bytes of payload instead of by full segments.
    pub(super) fn small(profile: &str, rtt: u64, unit: u64) -> Self {
        let mut script = Self::connected(profile, rtt);
        script.unit(unit);
        script
    }

    /// It is `ms` now.
    #[track_caller]
    pub(super) fn at(&mut self, ms: u64) -> &mut Self {
        let now = Instant::from_millis(ms);
        assert!(now >= self.now, "time runs backwards to {ms} ms");
        let waiting = self.sender.next_send(self.now);
        assert_eq!(waiting.map(|w| self.describe(w)), None, "unsent at {}", self.now);
        if let Some((at, timer)) = self.sender.next_timer() {
            assert!(at >= now, "{timer:?} is due at {at}, before {ms} ms");
        }
        self.now = now;
        self
    }

    /// The application writes `segments` full segments.
    pub(super) fn writes(&mut self, segments: u64) -> &mut Self {
        self.writes_bytes(segments * self.unit)
    }

    /// The application writes `bytes` bytes.
    pub(super) fn writes_bytes(&mut self, bytes: u64) -> &mut Self {
        self.sender.on_written(self.now, bytes);
        self.ends.push(self.sender.limit());
        self.checked()
    }

    /// The application writes segments `first..=last` one by one, and each is sent by itself.
    #[track_caller]
    pub(super) fn trickles(&mut self, first: u64, last: u64) -> &mut Self {
        for n in first..=last {
            let name = match self.unit {
                MSS => n.to_string(),
                unit => format!("{n}:{unit}"),
            };
            self.writes(1).sends(&name);
        }
        self
    }

    /// The network signals congestion without a loss.
    pub(super) fn congested(&mut self) -> &mut Self {
        self.sender.on_congestion_signal(self.now);
        self.checked()
    }

    /// The application closes.
    pub(super) fn closes(&mut self) -> &mut Self {
        self.sender.close(self.now);
        self.checked()
    }

    /// ACKs offer `bytes` from now on.
    pub(super) fn window(&mut self, bytes: u64) -> &mut Self {
        self.window = bytes;
        self
    }

    /// An ACK of everything through segment `n` arrives (0: of the SYN).
    pub(super) fn ack(&mut self, n: u64) -> &mut Self {
        self.sack(n, &[])
    }

    /// An ACK through segment `n` that SACKs `blocks`, the latest first.
    pub(super) fn sack(&mut self, n: u64, blocks: &[RangeInclusive<u64>]) -> &mut Self {
        let unit = self.unit;
        let blocks = blocks.iter().map(|b| Span::new(start(*b.start(), unit), start(*b.end() + 1, unit)));
        let mut ack = Ack::new(start(n + 1, unit), self.window).with_blocks(blocks);
        if let Some(sent) = self.echo.take() {
            // The timestamp clock ticks once a millisecond.
            ack.timestamp_rtt = Some(self.now.since(Instant::from_millis(sent)));
            ack.echo_sent_before = Some(Instant::from_millis(sent + 1));
        }
        self.takes(ack)
    }

    /// The next ACK echoes the timestamp of a segment sent at `ms`.
    pub(super) fn echoing(&mut self, ms: u64) -> &mut Self {
        self.echo = Some(ms);
        self
    }

    /// `ack` arrives.
    pub(super) fn takes(&mut self, ack: Ack) -> &mut Self {
        self.sender.on_ack(self.now, &ack);
        self.checked()
    }

    /// The sender sends all it wants to, which is `expected`: segment numbers, what is repeated
    /// after the name of its trigger; or `nothing`.
    #[track_caller]
    pub(super) fn sends(&mut self, expected: &str) -> &mut Self {
        let mut sent = self.sent();
        if sent.is_empty() {
            sent.push_str("nothing");
        }
        assert_eq!(sent, expand(expected), "at {}", self.now);
        self
    }

    /// The sender sends all it wants to, and this tells what, one by one.
    #[track_caller]
    pub(super) fn sent(&mut self) -> String {
        let mut sent: Vec<String> = Vec::new();
        while let Some(what) = self.sender.next_send(self.now) {
            sent.push(self.describe(what));
            self.sender.on_sent(self.now, what);
            self.offers(what);
            self.checked();
            assert!(sent.len() < 1000, "no end of sending: {}", sent.join(", "));
        }
        sent.join(", ")
    }

    /// Offers a copy of data that was just sent for the first time.
    fn offers(&mut self, what: Transmission) {
        if let Some(span) = what.span().filter(|_| what.is_new()) {
            let ends = |end: &Offset| span.start < *end && *end <= span.end;
            let carried = Carried { ip_len: span.len() as u32 + self.headers, push: self.ends.iter().any(ends) };
            self.sender.offer_copy(self.now, span, carried);
        }
    }

    /// `timer` stands at `ms`.
    #[track_caller]
    pub(super) fn timer(&mut self, timer: Timer, ms: u64) -> &mut Self {
        let at = Some(Instant::from_millis(ms));
        assert_eq!(self.sender.deadline(timer), at, "{timer:?} at {}", self.now);
        self
    }

    /// `timer` does not run.
    #[track_caller]
    pub(super) fn no_timer(&mut self, timer: Timer) -> &mut Self {
        assert_eq!(self.sender.deadline(timer), None, "{timer:?} at {}", self.now);
        self
    }

    /// Nothing happens until `timer` goes off at `ms`.
    #[track_caller]
    pub(super) fn expires(&mut self, timer: Timer, ms: u64) -> &mut Self {
        let next = (Instant::from_millis(ms), timer);
        assert_eq!(self.sender.next_timer(), Some(next), "at {}", self.now);
        self.at(ms).sender.on_timer(Instant::from_millis(ms), timer);
        self.checked()
    }

    /// Nothing happens until `timer` goes off, whenever that is; in ms, rounded up.
    #[track_caller]
    pub(super) fn fires(&mut self, timer: Timer) -> u64 {
        let Some((at, next)) = self.sender.next_timer() else {
            panic!("no timer runs at {}", self.now);
        };
        assert_eq!(next, timer, "at {}", self.now);
        assert_eq!(self.sender.next_send(self.now), None, "unsent at {}", self.now);
        self.now = at;
        self.sender.on_timer(at, timer);
        self.checked();
        at.since(Instant::ZERO).as_micros().div_ceil(1000) as u64
    }

    #[track_caller]
    pub(super) fn state(&mut self, state: State) -> &mut Self {
        assert_eq!(self.sender.state(), state, "state at {}", self.now);
        self
    }

    #[track_caller]
    pub(super) fn cwnd(&mut self, segments: u32) -> &mut Self {
        assert_eq!(self.sender.cwnd(), Segments(segments), "cwnd at {}", self.now);
        self
    }

    #[track_caller]
    pub(super) fn ssthresh(&mut self, segments: u32) -> &mut Self {
        assert_eq!(self.sender.ssthresh(), Segments(segments), "ssthresh at {}", self.now);
        self
    }

    #[track_caller]
    pub(super) fn pipe(&mut self, segments: u32) -> &mut Self {
        assert_eq!(self.sender.pipe(), Segments(segments), "pipe at {}", self.now);
        self
    }

    /// The RTO in force is `ms`.
    #[track_caller]
    pub(super) fn rto(&mut self, ms: u64) -> &mut Self {
        assert_eq!(self.sender.rto(), Duration::from_millis(ms), "RTO at {}", self.now);
        self
    }

    /// dupthresh is `segments`.
    #[track_caller]
    pub(super) fn dupthresh(&mut self, segments: u32) -> &mut Self {
        assert_eq!(self.sender.reordering(), Segments(segments), "dupthresh at {}", self.now);
        self
    }

    /// Reductions were taken back this often by DSACKs, timestamps and F-RTO.
    #[track_caller]
    pub(super) fn undone(&mut self, dsack: u64, timestamp: u64, frto: u64) -> &mut Self {
        let undone = Proof::ALL.map(|proof| self.sender.counters().undone_by(proof));
        assert_eq!(undone, [dsack, timestamp, frto], "undone at {}", self.now);
        self
    }

    /// The recovery finished last.
    #[track_caller]
    pub(super) fn last_recovery(&self) -> Recovery {
        *self.sender.recoveries().last().expect("a finished recovery")
    }

    /// How often `event` happened so far.
    pub(super) fn count(&self, event: Event) -> usize {
        self.events.iter().filter(|e| **e == event).count()
    }

    /// The segments marked lost so far, and by whom, in that order.
    pub(super) fn marked(&self) -> Vec<(u64, crate::event::LossDetector)> {
        let marked = |e: &Event| match *e {
            Event::MarkedLost { span, by } => Some((number(span, self.unit), by)),
            _ => None,
        };
        self.events.iter().filter_map(marked).collect()
    }

    #[track_caller]
    fn checked(&mut self) -> &mut Self {
        self.events.extend(self.sender.drain_events().map(|(_, e)| e));
        if let Err(broken) = self.sender.check() {
            panic!("at {}: {broken}", self.now);
        }
        self
    }

    fn describe(&self, what: Transmission) -> String {
        let name = |span: Span| self.name(span);
        match what {
            Transmission::New(span) => name(span),
            Transmission::NewProbe(span) => format!("probe {}", name(span)),
            Transmission::Again(span, trigger) => format!("{} {}", trigger.name(), name(span)),
            Transmission::Copy(span) => format!("copy {}", name(span)),
            Transmission::WindowProbe => "window probe".into(),
        }
    }

    /// `7`; `7:300` if it is 300 bytes long; `7+FIN`, `FIN`, `SYN`.
    fn name(&self, span: Span) -> String {
        if span.start == Offset::SYN {
            return "SYN".into();
        }
        let fin = self.sender.fin().is_some_and(|fin| span.contains(fin));
        let payload = span.len() - u64::from(fin);
        let number = number(span, self.unit);
        match (payload, fin) {
            (0, true) => "FIN".into(),
            (MSS, true) => format!("{number}+FIN"),
            (MSS, false) => number.to_string(),
            _ => format!("{number}:{payload}"),
        }
    }
}

/// The span of data segments `first..=last`.
pub(super) fn segments(first: u64, last: u64) -> Span {
    Span::new(start(first, MSS), start(last + 1, MSS))
}

/// Where segment `n` begins.
fn start(n: u64, unit: u64) -> Offset {
    Offset::DATA + (n - 1) * unit
}

/// The segment in which `span` begins.
fn number(span: Span, unit: u64) -> u64 {
    span.start.since(Offset::DATA) / unit + 1
}

/// `fast 2-4, 11` spelt out: `fast 2, fast 3, fast 4, 11`.
fn expand(text: &str) -> String {
    let spell = |item: &str| -> Vec<String> {
        let (prefix, range) = item.rsplit_once(' ').unwrap_or(("", item));
        let bounds = range.split_once('-').map(|(a, b)| (a.parse(), b.parse()));
        match bounds {
            Some((Ok(first), Ok(last))) => {
                (first..=last).map(|n: u64| format!("{prefix} {n}").trim_start().to_string()).collect()
            }
            _ => vec![item.to_string()],
        }
    };
    text.split(", ").flat_map(spell).collect::<Vec<_>>().join(", ")
}
