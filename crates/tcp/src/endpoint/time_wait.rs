//! What is left of a connection in TIME-WAIT whose application has let it go.
//!
//! An endpoint in TIME-WAIT only answers late segments. That takes 24 bytes, which a host can keep in its place.
//! [`TimeWait`] gives the answers of [`Endpoint`], with these exceptions: it reports no duplicates by DSACK and echoes
//! no congestion marks, and a number from before the connection's first counts as an old one of it.
//!
//! Sources: RFC 9293 §3.6.1, §3.10.7.4 (TIME-WAIT); RFC 6191 §2 (which SYNs open a connection anew); RFC 7323 §5.3
//! (PAWS); RFC 5961 §3–§5 (challenge ACKs); Linux `tcp_timewait_state_process`.
//!
//! A reset with exactly the next sequence number ends the wait, as any other connection (RFC 5961 §3.2), and as in Linux
//! by default (`tcp_rfc1337` = 0). RFC 1337 §3 would ignore it, for this hazard remains: an old duplicate draws an ACK, and
//! a peer that has forgotten the connection answers the ACK with such a reset. The wait then ends too early.
//!
//! Deviations, as Linux. From RFC 6191 §2: a SYN that opens nothing draws a challenge ACK (RFC 5961 §4.2), and is not
//! dropped silently. A SYN with timestamps after a connection without them needs a greater sequence
//! number. The RFC relies on the rule that a segment without timestamps is dropped where they were agreed on. This
//! endpoint takes such segments, and old duplicates are among them. From RFC 9293 §3.6.1: where the SYN
//! of a new connection turns out to be an old duplicate, the old connection does not return to TIME-WAIT.

use super::input::TS_RECENT_LIFE;
use super::*;

/// How far the first sequence number of a connection must be beyond the last one's next: more than an unscaled window
/// (Linux `tcp_timewait_state_process`). Nothing that the peer keeps of the old connection is then a number of the new
/// one.
const ISN_STEP: u32 = 65_537;

/// A connection in TIME-WAIT whose application has let it go. Addresses and ports are the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWait {
    /// SND.NXT: one beyond our FIN.
    send_next: SeqNumber,
    /// RCV.NXT: one beyond the peer's FIN.
    receive_next: SeqNumber,
    ts_recent: u32,
    /// The end of the wait, in seconds, rounded up.
    until: u32,
    /// When `ts_recent` arrived, in minutes, modulo 2^16 (45 days).
    ts_recent_minute: u16,
    /// The window offered to the peer, scaled.
    window: u16,
    /// The largest window the peer offered, scaled, rounded up.
    peer_window: u16,
    /// The shift of our windows, the shift of the peer's, and whether timestamps were agreed on.
    scales: Scales,
}

const _: () = assert!(size_of::<TimeWait>() <= 24);

/// Two shifts of 0 to 14 and a flag, in two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scales {
    ours: u8,
    /// The peer's shift, and [`TIMESTAMPS`](Self::TIMESTAMPS).
    theirs: u8,
}

impl Scales {
    const TIMESTAMPS: u8 = 1 << 7;

    const fn timestamps(self) -> bool {
        self.theirs & Self::TIMESTAMPS != 0
    }

    const fn peer(self) -> u8 {
        self.theirs & !Self::TIMESTAMPS
    }
}

/// What to do about a segment of a connection in TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeWaitAnswer {
    /// Nothing.
    Nothing,
    /// Send this ACK. The peer repeats what it had sent, mostly because our ACK of its FIN was lost.
    Acknowledge(Segment),
    /// Send this ACK, if the host's limit permits: anybody may have sent the segment (RFC 5961 §7).
    Challenge(Segment),
    /// The segment is a SYN that may open a new connection in place of the old one. The new connection's ISN must be
    /// this number or a later one (RFC 9293 §3.6.1, MAY-2). A host that does not open one does nothing, or sends the ACK
    /// of [`TimeWait::acknowledgment`].
    BeginsAnew(SeqNumber),
    /// The peer reset the connection: forget it.
    Ended,
}

impl TimeWait {
    /// What is to be kept of an endpoint in TIME-WAIT; `None` in other states, or while it owes a segment.
    pub fn of(endpoint: &Endpoint) -> Option<Self> {
        let owes = endpoint.acks.is_due() || endpoint.acks.deadline().is_some() || endpoint.reset_due.is_some();
        let acknowledged = endpoint.sender.una() == endpoint.sender.nxt();
        Self::snapshot(endpoint).filter(|_| acknowledged && !owes)
    }

    /// As [`of`](Self::of), whatever the endpoint owes.
    fn snapshot(endpoint: &Endpoint) -> Option<Self> {
        let until = endpoint.time_wait_until.filter(|_| endpoint.state == State::TimeWait)?;
        let (scale, peer_scale) = (endpoint.scale, endpoint.peer_scale);
        let flag = if endpoint.timestamps { Scales::TIMESTAMPS } else { 0 };
        let window = endpoint.receiver.edge().since(endpoint.receiver.next()) >> scale;
        let largest = endpoint.sender.peer_window().largest().div_ceil(1 << peer_scale);
        Some(Self {
            send_next: endpoint.isn.at(endpoint.sender.nxt()),
            receive_next: endpoint.ack_number(),
            ts_recent: endpoint.ts_recent,
            until: seconds_up(until),
            ts_recent_minute: minute(endpoint.ts_recent_at.max(oldest(until))),
            window: window.min(0xffff) as u16,
            peer_window: largest.min(0xffff) as u16,
            scales: Scales { ours: scale, theirs: peer_scale | flag },
        })
    }

    /// When the wait ends: up to a second later than that of an endpoint.
    pub fn until(&self) -> Instant {
        Instant::from_millis(u64::from(self.until) * 1000)
    }

    /// The ACK that says where the connection stands.
    pub fn acknowledgment(&self, now: Instant) -> Segment {
        let timestamps = self.scales.timestamps().then(|| Timestamps { value: timestamp(now), echo: self.ts_recent });
        Segment {
            seq: self.send_next,
            ack: self.receive_next,
            flags: Flags::ACK,
            window: self.window,
            options: Options { timestamps, ..Options::NONE },
            ..Segment::default()
        }
    }

    /// Takes in a segment whose checksum is right.
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) -> TimeWaitAnswer {
        use TimeWaitAnswer::{Acknowledge, BeginsAnew, Challenge, Ended, Nothing};
        let start = i64::from(segment.seq.distance_from(self.receive_next));
        let window = i64::from(self.window) << self.scales.ours;
        if segment.flags.contains(Flags::RST) {
            return match start {
                0 => Ended,
                _ if start > 0 && start <= window => Challenge(self.acknowledgment(now)), // RFC 5961 §3.2
                _ => Nothing,
            };
        }
        if segment.flags.contains(Flags::SYN) {
            let anew = self.begins_anew(now, segment);
            return anew.map_or_else(|| Challenge(self.acknowledgment(now)), BeginsAnew); // RFC 5961 §4.2
        }
        let end = start + i64::from(segment.sequence_len());
        let acceptable = end >= 0 && start <= window;
        if !acceptable || !self.paws_accepts(now, segment) {
            return Challenge(self.acknowledgment(now));
        }
        if !segment.flags.contains(Flags::ACK) {
            return Nothing;
        }
        // RFC 5961 §5.2
        let acked = i64::from(segment.ack.distance_from(self.send_next));
        if acked > 0 || acked < -(i64::from(self.peer_window) << self.scales.peer()) {
            return Challenge(self.acknowledgment(now));
        }
        self.peer_window = self.peer_window.max(segment.window);
        if let Some(theirs) = self.timestamps_of(segment).filter(|_| start <= 0) {
            (self.ts_recent, self.ts_recent_minute) = (theirs.value, minute(now));
        }
        if segment.sequence_len() == 0 {
            return Nothing;
        }
        if segment.flags.contains(Flags::FIN) && end == 0 {
            // "Acknowledge it, and restart the 2 MSL timeout" (RFC 9293 §3.10.7.4).
            self.until = seconds_up(now + TIME_WAIT);
        }
        Acknowledge(self.acknowledgment(now))
    }

    /// Where a new connection may begin, if a SYN may open one: its timestamp is later than the last one, or is not
    /// earlier and its sequence number is beyond the last one (RFC 6191 §2).
    fn begins_anew(&self, now: Instant, segment: &Segment) -> Option<SeqNumber> {
        let others = Flags::ACK | Flags::RST | Flags::FIN;
        if !segment.flags.contains(Flags::SYN) || segment.flags.intersects(others) || !self.paws_accepts(now, segment) {
            return None;
        }
        let last = SeqNumber(self.ts_recent);
        let later = self.timestamps_of(segment).is_some_and(|theirs| SeqNumber(theirs.value).after(last));
        (later || segment.seq.after(self.receive_next)).then(|| self.send_next + ISN_STEP)
    }

    fn timestamps_of(&self, segment: &Segment) -> Option<Timestamps> {
        segment.options.timestamps.filter(|_| self.scales.timestamps())
    }

    /// RFC 7323 §5.3 (R1), §5.5, as the endpoint's, but the age of the timestamp is counted in minutes.
    fn paws_accepts(&self, now: Instant, segment: &Segment) -> bool {
        self.timestamps_of(segment).is_none_or(|theirs| {
            let age = Duration::from_secs(60) * u32::from(minute(now).wrapping_sub(self.ts_recent_minute));
            !SeqNumber(theirs.value).before(SeqNumber(self.ts_recent)) || age >= TS_RECENT_LIFE
        })
    }
}

impl Endpoint {
    /// Whether `segment`, a SYN, may open a new connection in place of this one, which is in TIME-WAIT. Returns the
    /// lowest ISN that the new connection may have; see [`TimeWaitAnswer::BeginsAnew`]. The endpoint itself answers each
    /// SYN with a challenge ACK.
    pub fn begins_anew(&self, now: Instant, segment: &Segment) -> Option<SeqNumber> {
        TimeWait::snapshot(self)?.begins_anew(now, segment)
    }
}

/// The earliest arrival of a timestamp whose age still differs from that of later ones: beyond [`TS_RECENT_LIFE`], and
/// with days to go before minutes of 16 bits have made a turn.
fn oldest(now: Instant) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_sub((TS_RECENT_LIFE + TS_RECENT_LIFE / 2).as_nanos() as u64))
}

/// The minute that `at` lies in, modulo 2^16.
fn minute(at: Instant) -> u16 {
    (at.as_nanos() / 60_000_000_000) as u16
}

/// `at` in seconds, rounded up.
fn seconds_up(at: Instant) -> u32 {
    u32::try_from(at.as_nanos().div_ceil(1_000_000_000)).unwrap_or(u32::MAX)
}
