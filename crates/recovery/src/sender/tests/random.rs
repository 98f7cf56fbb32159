//! Whatever happens, in whatever order: what must hold of any sender holds.
//!
//! Any base profile with any mechanisms on top; peers with SACK and without, with timestamps and
//! without. ACKs come from a plausible receiver and from a hostile one, timers fire when due and when
//! not, the host sends at once or lets the sender wait. At the end a perfect network takes over, on
//! which everything written must be acknowledged: no state is a dead end.

use super::super::*;
use super::network::{CopyWatch, copying, offer};
use super::script::MSS;
use crate::ack::Ack;
use crate::profile::{BASES, Mechanism, Profile, RecoveryFill};
use crate::scoreboard::SentSegment;
use crate::slp::{Kind, SlpRules};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use recoup_units::Ppm;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A base and up to five mechanisms on top.
fn profile() -> impl Strategy<Value = String> {
    let bases = BASES.map(|(name, ..)| name);
    let mechanisms = vec(prop::sample::select(&Mechanism::ALL[..]), 0..6);
    (prop::sample::select(bases.to_vec()), mechanisms).prop_map(|(base, mechanisms)| {
        let name = |name: String, m: &Mechanism| name + "+" + m.name();
        mechanisms.iter().fold(base.to_string(), name)
    })
}

/// Rules for copies: those of the profile; or such as make any segment worth one, at once or a
/// while after.
fn slp() -> impl Strategy<Value = Option<SlpRules>> {
    let all = |gap| SlpRules { gap, ..copying(&Kind::ALL) };
    let gaps = [Ppm::ZERO, SlpRules::PAPER.gap, Ppm::ONE];
    option::weighted(0.6, prop::sample::select(gaps.map(all).to_vec()))
}

#[derive(Clone, Debug)]
enum Op {
    Wait(u64),
    /// The application writes this many bytes.
    Write(u64),
    Close,
    SetMss(u32),
    /// The path MTU falls, or a probe for a larger one fails.
    PathMtu {
        mss: u32,
        probe: bool,
    },
    /// The sender probes for a larger path MTU by itself, and then learns that the probe is lost, or gives it up.
    Probe {
        len: u32,
        lost: Option<bool>,
    },
    /// Segments become smaller without a message, or larger.
    Limit(u32),
    Raise(u32),
    /// The segment with the byte this far above `snd_una` is retransmitted in two parts.
    Split(u64),
    /// An ACK that stops on a border of segments and SACKs whole ones, counted from `snd_una`.
    Ack {
        segments: usize,
        blocks: Vec<(usize, usize)>,
        window: u64,
        duplicate: bool,
        told: Told,
    },
    /// Any numbers at all, near `snd_una`; `far`: beyond what was ever sent.
    Nonsense {
        cumulative: u64,
        blocks: Vec<(u64, u64)>,
        window: u64,
        far: bool,
        data: bool,
    },
    /// Time passes to the next timer, which goes off.
    Fire,
    /// A timer is reported that may not be due, or not even run.
    Misfire(usize),
    /// The host takes at most this many segments, not all there are.
    Send(usize),
    /// The network signals congestion.
    Congest,
    Nagle(bool),
}

fn op() -> impl Strategy<Value = Op> {
    let window = prop_oneof![4 => Just(1 << 20), 2 => 0..20 * MSS, 1 => Just(0)];
    let blocks = prop_oneof![2 => Just(Vec::new()), 3 => vec((0..16usize, 0..4usize), 1..4)];
    let anywhere = vec((0..20 * MSS, 0..6 * MSS), 0..5);
    prop_oneof![
        3 => (0..200u64).prop_map(Op::Wait),
        3 => (0..30 * MSS).prop_map(Op::Write),
        1 => Just(Op::Close),
        1 => (0..1500u32).prop_map(Op::SetMss),
        1 => (0..1500u32, any::<bool>()).prop_map(|(mss, probe)| Op::PathMtu { mss, probe }),
        1 => (0..4000u32, any::<Option<bool>>()).prop_map(|(len, lost)| Op::Probe { len, lost }),
        1 => (0..1500u32).prop_map(Op::Limit),
        1 => (0..3000u32).prop_map(Op::Raise),
        1 => (0..20_000u64).prop_map(Op::Split),
        12 => (0..6usize, blocks, window.clone(), any::<bool>(), told()).prop_map(
            |(segments, blocks, window, duplicate, told)| {
                Op::Ack { segments, blocks, window, duplicate, told }
            }
        ),
        3 => (0..12 * MSS, anywhere, window, prop::bool::weighted(0.2), any::<bool>()).prop_map(
            |(cumulative, blocks, window, far, data)| Op::Nonsense { cumulative, blocks, window, far, data }
        ),
        3 => Just(Op::Fire),
        1 => (0..Timer::ALL.len()).prop_map(Op::Misfire),
        2 => (0..4usize).prop_map(Op::Send),
        1 => Just(Op::Congest),
        1 => any::<bool>().prop_map(Op::Nagle),
    ]
}

/// Further contents of an ACK: a duplicate that arrived, counted in segments from six below
/// `snd_una`; how many ms ago the segment was sent whose timestamp it echoes.
#[derive(Clone, Copy, Debug)]
struct Told {
    dsack: Option<u64>,
    echo: Option<u64>,
}

fn told() -> impl Strategy<Value = Told> {
    let dsack = option::weighted(0.2, 0..16u64);
    let echo = option::weighted(0.5, 0..400u64);
    (dsack, echo).prop_map(|(dsack, echo)| Told { dsack, echo })
}

/// Segments of all runs that were sent together.
static TOGETHER: AtomicUsize = AtomicUsize::new(0);
/// Path MTU probes of all runs.
static PROBES: AtomicUsize = AtomicUsize::new(0);
/// How often an idle sender got an ACK.
static IDLE: AtomicUsize = AtomicUsize::new(0);
/// How often the window of a sender held it.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// A sender, and what its peer has seen of it.
struct Run {
    sender: Sender,
    now: Instant,
    /// The furthest the peer ever opened its window.
    edge: Offset,
    copies: CopyWatch,
}

impl Run {
    fn new(profile: &str, slp: Option<SlpRules>, answered: bool, sack: bool) -> Result<Self, TestCaseError> {
        let profile: Profile = profile.parse().unwrap();
        let mut mechanisms = *profile.mechanisms();
        mechanisms.slp = slp.or(mechanisms.slp);
        let mut run = Self {
            sender: Sender::new(&mechanisms, MSS as u32, Trigger::SynAck, true),
            now: Instant::ZERO,
            edge: Offset::DATA,
            copies: CopyWatch::new(),
        };
        run.send(usize::MAX)?;
        run.sender.set_sack(sack);
        if answered {
            run.now += Duration::from_millis(80);
            run.ack(&Ack::new(Offset::DATA, 1 << 20))?;
        }
        Ok(run)
    }

    /// Applies `op`. Then the host sends what it is offered, unless it holds back.
    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::Wait(ms) => {
                // A host is never later for a timer than this.
                let until = self.now + Duration::from_millis(*ms);
                let due = self.sender.next_timer().map_or(until, |(at, _)| at);
                self.now = self.now.max(until.min(due));
            }
            Op::Write(bytes) => self.sender.on_written(self.now, *bytes),
            Op::Close => self.sender.close(self.now),
            Op::SetMss(mss) => self.sender.set_mss(self.now, *mss),
            Op::PathMtu { mss, probe: true } => {
                self.sender.note_mtu_probe(self.sender.nxt());
                self.sender.on_mtu_probe_lost(self.now, *mss);
            }
            Op::PathMtu { mss, .. } => self.sender.on_path_mtu(self.now, *mss),
            Op::Probe { len, lost } => {
                // A probe takes a sender in the state Open with a window of eleven segments.
                for _ in 0..3 {
                    self.sender.on_written(self.now, 20 * MSS);
                    self.send(usize::MAX)?;
                    self.now += Duration::from_millis(10);
                    self.ack(&Ack::new(self.sender.nxt(), 1 << 20))?;
                }
                self.sender.on_written(self.now, 20 * MSS);
                if let MtuProbe::Sent(what) = self.sender.send_mtu_probe(self.now, *len) {
                    PROBES.fetch_add(1, Ordering::Relaxed);
                    let span = what.span().unwrap();
                    prop_assert!(span.len() == u64::from(*len) && span.end <= self.edge, "{:?}", span);
                    self.check()?;
                    match lost {
                        Some(true) => self.sender.fail_mtu_probe(self.now),
                        Some(false) => self.sender.end_mtu_probe(span),
                        None => {}
                    }
                }
            }
            Op::Limit(mss) => self.sender.limit_segments(self.now, *mss),
            Op::Raise(mss) => self.sender.raise_mss(self.now, *mss),
            Op::Split(above) => self.sender.split_segment(self.sender.una() + *above),
            Op::Ack { segments, blocks, window, duplicate, told } => {
                let segments = if *duplicate { 0 } else { *segments };
                let ack = self.plausible(segments, blocks, *window, *told);
                self.ack(&ack)?;
            }
            Op::Nonsense { cumulative, blocks, window, far, data } => {
                let base = Offset(self.sender.una().0.saturating_sub(3 * MSS));
                let beyond = if *far { 1 << 40 } else { 0 };
                let blocks = blocks.iter().map(|&(at, len)| Span::at(base + at, len));
                let mut ack = Ack::new(base + *cumulative + beyond, *window).with_blocks(blocks);
                ack.carries_data = *data;
                ack.timestamp_rtt = data.then_some(Duration::from_millis(*cumulative));
                self.ack(&ack)?;
            }
            Op::Fire => self.fire()?,
            Op::Misfire(i) => {
                let timer = Timer::ALL[*i];
                if timer != Timer::User {
                    self.sender.on_timer(self.now, timer);
                }
            }
            Op::Send(most) => return self.send(*most),
            Op::Congest => self.sender.on_congestion_signal(self.now),
            Op::Nagle(on) => self.sender.set_nagle(*on),
        }
        self.check()?;
        self.send(usize::MAX)
    }

    /// An ACK of the first `segments` outstanding, SACKing runs (first, further) of the rest.
    fn plausible(&self, segments: usize, blocks: &[(usize, usize)], window: u64, told: Told) -> Ack {
        let out: Vec<Span> = self.sender.board().iter().map(|s| s.span).collect();
        let acked = segments.min(out.len());
        let cumulative = out[..acked].last().map_or(self.sender.una(), |s| s.end);
        let blocks = blocks.iter().filter_map(|&(first, further)| {
            let first = acked + 1 + first;
            let last = out.get(first + further).or(out.last())?;
            Some(Span::new(out.get(first)?.start, last.end))
        });
        let duplicate = told.dsack.map(|n| {
            let start = Offset((cumulative.0 + n * MSS).saturating_sub(6 * MSS).max(1));
            Span::at(start, MSS)
        });
        let mut ack = Ack::new(cumulative, window).with_blocks(duplicate.into_iter().chain(blocks));
        if let Some(ago) = told.echo.map(Duration::from_millis) {
            ack.timestamp_rtt = Some(ago);
            ack.echo_sent_before = Some(self.now - ago + Duration::from_millis(1));
        }
        ack
    }

    fn ack(&mut self, ack: &Ack) -> Result<(), TestCaseError> {
        let (una, nxt) = (self.sender.una(), self.sender.nxt());
        if (una..=nxt).contains(&ack.cumulative) {
            self.edge = self.edge.max(ack.cumulative + ack.window);
        }
        let before = self.sender.clone();
        let summary = self.sender.on_ack(self.now, ack);
        self.check_idle(&before, ack)?;
        self.copies.follow(&self.sender);
        prop_assert!(self.sender.una() >= una, "snd_una went back");
        prop_assert_eq!(self.sender.nxt(), nxt, "an ACK sends nothing by itself");
        prop_assert_eq!(summary.una_advanced, self.sender.una().since(una));
        if ack.cumulative > nxt {
            let quiet = |s: &Sender| (s.state(), s.cwnd(), s.peer_window(), s.next_timer());
            prop_assert_eq!(quiet(&self.sender), quiet(&before), "an ACK of data never sent");
        }
        Ok(())
    }

    /// A sender that was idle takes the ACK in the short way, too.
    fn check_idle(&self, before: &Sender, ack: &Ack) -> Result<(), TestCaseError> {
        let mut idle = before.clone();
        if !ack.has_blocks() && idle.take_ack_when_idle(self.now, ack.cumulative, ack.window) {
            prop_assert_eq!(format!("{:?}", idle), format!("{:?}", self.sender));
            IDLE.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn fire(&mut self) -> Result<(), TestCaseError> {
        if let Some((at, timer)) = self.sender.next_timer() {
            self.now = self.now.max(at);
            self.sender.on_timer(self.now, timer);
            prop_assert_eq!(self.sender.gave_up(), timer == Timer::User);
            let loss = timer == Timer::Rto && self.sender.una() > Offset::SYN;
            prop_assert!(
                !loss || self.sender.cwnd() == self.sender.pipe() + Segments::ONE,
                "a timeout leaves room for one segment"
            );
            prop_assert!(
                !loss || matches!(self.sender.next_send(self.now), Some(Transmission::Again(..))),
                "a timeout sends nothing"
            );
        }
        Ok(())
    }

    /// The host transmits what it is offered, up to `most` segments.
    fn send(&mut self, most: usize) -> Result<(), TestCaseError> {
        for sent in 0..most {
            if sent < 2 {
                self.try_together(most - sent)?;
            }
            self.check_held()?;
            let Some(what) = self.sender.next_send(self.now) else {
                return Ok(());
            };
            self.judge(what)?;
            match sent {
                0 | 1 => self.send_both_ways(what)?,
                _ => self.sender.on_sent(self.now, what),
            }
            offer(&mut self.sender, self.now, what);
            self.check()?;
        }
        Ok(())
    }

    /// Sends `what`, which the sender offers, and asserts that [`Sender::send_next`] does the same.
    fn send_both_ways(&mut self, what: Transmission) -> Result<(), TestCaseError> {
        let mut at_once = self.sender.clone();
        self.sender.on_sent(self.now, what);
        prop_assert_eq!(at_once.send_next(self.now), Some(what));
        prop_assert_eq!(format!("{:?}", at_once), format!("{:?}", self.sender));
        Ok(())
    }

    /// Segments sent together leave the sender as if they had been sent one by one.
    fn try_together(&self, most: usize) -> Result<(), TestCaseError> {
        let mut together = self.sender.clone();
        together.log = Log::new(false);
        let mut single = together.clone();
        let MoreSent { segments: sent, all } = together.send_more(self.now, most.min(20) as u32);
        for _ in 0..sent {
            let what = single.next_send(self.now);
            let full = matches!(what, Some(Transmission::New(span)) if span.len() == single.peer.mss.into());
            prop_assert!(full, "{what:?} among {sent} full segments");
            what.into_iter().for_each(|what| single.on_sent(self.now, what));
        }
        let same = sent == 0 || format!("{single:?}") == format!("{together:?}");
        prop_assert!(same, "{sent} segments:\n{single:?}\n{together:?}");
        prop_assert!(!all || together.next_send(self.now).is_none(), "more than {sent} segments: {together:?}");
        TOGETHER.fetch_add(sent as usize, Ordering::Relaxed);
        Ok(())
    }

    /// A sender that its window holds offers nothing.
    fn check_held(&self) -> Result<(), TestCaseError> {
        let held = self.sender.is_held_by_window(self.now);
        let next = self.sender.next_send(self.now);
        prop_assert!(!held || next.is_none(), "{next:?} although the window is full: {:?}", self.sender);
        HELD.fetch_add(usize::from(held), Ordering::Relaxed);
        Ok(())
    }

    /// Asserts that `what` may be sent now.
    fn judge(&mut self, what: Transmission) -> Result<(), TestCaseError> {
        let sender = &self.sender;
        let room = sender.pipe() < sender.cwnd();
        prop_assert!(!sender.gave_up());
        match what {
            Transmission::New(span) | Transmission::NewProbe(span) => {
                prop_assert_eq!(span.start, sender.nxt());
                prop_assert!(!span.is_empty() && span.end <= sender.limit());
                prop_assert!(span.end <= self.edge || span.end == Offset::DATA, "beyond the window");
                prop_assert!(span.end <= sender.peer.window.edge(), "beyond the window as it is now");
                prop_assert!(room || matches!(what, Transmission::NewProbe(_)), "pipe is at cwnd");
            }
            Transmission::Again(span, trigger) => {
                let found = sender.board().iter().find(|s| s.span == span);
                prop_assert!(found.is_some(), "{} is no outstanding segment", span);
                // A probe repeats the last segment, whatever is known of it (RFC 8985 §7.3; Linux).
                let probe = trigger == Trigger::Tlp;
                prop_assert!(probe || found.is_some_and(|s| !s.sacked), "{} has arrived", span);
                // The rescue is the last segment missing, sent again before or not (RFC 6675 §4
                // NextSeg rule 4).
                let last = sender.board().iter().rev().find(|s| !s.sacked);
                let rescue = sender.mechanisms.recovery_fill == RecoveryFill::HolesAndRescue
                    && last.is_some_and(|last| last.span == span);
                prop_assert!(probe || rescue || found.is_some_and(|s| !s.retransmitted), "{} is on its way", span);
                prop_assert!(probe || sender.episode.release == Release::Forced || room, "pipe is at cwnd");
            }
            Transmission::Copy(span) => {
                let judged = self.copies.judge(sender, span);
                judged.map_err(TestCaseError::fail)?;
            }
            Transmission::WindowProbe => {
                prop_assert!(sender.board().first().is_none() && sender.nxt() < sender.limit());
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        self.sender.check().map_err(TestCaseError::fail)?;
        let sender = &self.sender;
        prop_assert_eq!(sender.next_send(self.now), sender.next_send(self.now), "asking changes it");
        prop_assert_eq!(
            sender.wants_to_retransmit(self.now),
            matches!(sender.next_send(self.now), Some(Transmission::Again(..)))
        );
        prop_assert_eq!(sender.next_timer(), sender.next_timer(), "asking changes it");
        let running = Timer::ALL.into_iter().filter_map(|timer| Some((sender.deadline(timer)?, timer)));
        let first = running.min_by_key(|(at, _)| *at).filter(|_| !sender.gave_up());
        prop_assert_eq!(sender.next_timer(), first);
        // Without SACK, duplicate ACKs stand for segments that arrived.
        let board = sender.board();
        let count = |holds: fn(&SentSegment) -> bool| board.iter().filter(|s| holds(s)).count();
        let flying = count(|s| !s.sacked && !s.lost) + count(|s| s.retransmitted);
        let duplicates = board.sacked().0 as usize - count(|s| s.sacked);
        prop_assert!(duplicates == 0 || !sender.uses_sack());
        prop_assert_eq!(sender.pipe().0 as usize, flying.saturating_sub(duplicates));
        let waits = sender.una() > Offset::SYN && sender.una() < sender.limit();
        let idle = sender.next_send(self.now).is_none() && sender.next_timer().is_none();
        prop_assert!(sender.gave_up() || !waits || !idle, "stalled: {sender:?}");
        self.sender.drain_events().for_each(drop);
        Ok(())
    }

    /// Everything sent arrives from now on, and the peer has room: all that was written is
    /// acknowledged.
    fn finish(&mut self) -> Result<(), TestCaseError> {
        self.send(usize::MAX)?;
        for _ in 0..10_000 {
            let sender = &self.sender;
            if sender.gave_up() || sender.una() == sender.limit() {
                return Ok(());
            }
            if sender.board().first().is_some() {
                self.now += Duration::from_millis(1);
                self.ack(&Ack::new(self.sender.nxt(), 1 << 20))?;
            } else {
                self.fire()?; // a closed window: the probe's answer opens it
                self.send(usize::MAX)?;
                self.ack(&Ack::new(self.sender.nxt(), 1 << 20))?;
            }
            self.check()?;
            self.send(usize::MAX)?;
        }
        Err(TestCaseError::fail(format!("stuck: {:?}", self.sender)))
    }
}

#[test]
fn the_invariants_hold_whatever_happens() {
    whatever_happens();
    assert!(TOGETHER.load(Ordering::Relaxed) > 1000, "none was sent together");
    assert!(HELD.load(Ordering::Relaxed) > 1000, "no window was full");
    assert!(IDLE.load(Ordering::Relaxed) > 1000, "no sender was idle");
    assert!(PROBES.load(Ordering::Relaxed) > 100, "{} path MTU probes", PROBES.load(Ordering::Relaxed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6 * ProptestConfig::default().cases))]

    fn whatever_happens(
        profile in profile(),
        slp in slp(),
        sack in prop::bool::weighted(0.85),
        answered in prop::bool::weighted(0.9),
        ops in vec(op(), 1..100),
    ) {
        let mut run = Run::new(&profile, slp, answered, sack)?;
        for op in &ops {
            run.apply(op)?;
        }
        run.finish()?;
    }
}
