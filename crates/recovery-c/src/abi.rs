//! The structs and numbers that cross the boundary.
//!
//! Times are in nanoseconds since an epoch that the host chooses. Positions are bytes of the stream or numbers of
//! packets, both from 0.

use core::ffi::{c_char, c_void};
use recoup_recovery::{self as engine, Packet as SentPacket, Refused};
use recoup_units::{Offset, Span};

/// A time or duration that does not exist.
pub const NONE: u64 = u64::MAX;

/// The largest position.
pub const LAST_POSITION: u64 = 0x4000_0000_0000_0000;

/// The most segments or packets that a sender can be made for.
pub const MOST_OUTSTANDING: u32 = 0x8000_0000;

/// Why a function refused a call. The sender is as before.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A pointer is null.
    Null = -1,
    /// A pointer is not aligned.
    Misaligned = -2,
    /// The memory is smaller than recoup_sender_size() says.
    TooSmall = -3,
    /// No profile has this name.
    Profile = -4,
    /// A field of the settings is out of range.
    Settings = -5,
    /// The pointer does not lead to a sender, or the sender was freed.
    NotASender = -6,
    /// The function was called from inside a callback of the same sender.
    Busy = -7,
    /// A position is larger than RECOUP_LAST_POSITION.
    Position = -8,
    /// A number is none of the constants that belong there. A retransmission needs a trigger other than NONE.
    Constant = -9,
    /// New data must begin where the last ended, and be neither empty nor longer than 4 GiB; a packet has one number.
    NotNext = -10,
    /// A numbered packet is sent once.
    Repeated = -11,
    /// The connection was given up, because its user timeout passed.
    GivenUp = -12,
    /// As many segments are outstanding as the sender has memory for.
    Full = -13,
    /// The function is for the other kind of numbering.
    Numbering = -14,
    /// Only outstanding data is copied or retransmitted.
    NotOutstanding = -15,
    /// A sender with this profile needs the heap: use recoup_sender_new(). These are profiles that send copies
    /// ("+slp"), and profiles with adaptive thresholds ("+adaptive") where positions count bytes.
    NeedsHeap = -16,
    /// The transmission was refused for another reason.
    Refused = -17,
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotNext => Self::NotNext,
            Refused::Full => Self::Full,
            Refused::NotOutstanding => Self::NotOutstanding,
            Refused::Repeated => Self::Repeated,
            Refused::GivenUp => Self::GivenUp,
            _ => Self::Refused,
        }
    }
}

/// The unit of positions.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Bytes of a stream. Lost bytes are retransmitted at the same position.
    Bytes = 0,
    /// Packets. Each is sent once. The host sends the contents of a lost packet in a new packet.
    Packets = 1,
}

/// How a sender begins.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The profile, such as "linux-6" or "linux-3.17+rtor". A C string.
    pub profile: *const c_char,
    /// The time of the call.
    pub now_ns: u64,
    /// The peer's window before its first ACK, in bytes. Not used where packets are numbered.
    pub window: u64,
    /// The first RTT sample, from the host's handshake. 0 or RECOUP_NONE if there is none.
    pub first_rtt_ns: u64,
    /// Bytes of a full segment or packet, 1 to 2^30.
    pub segment_size: u32,
    /// The most segments or packets that can be outstanding, 1 to RECOUP_MOST_OUTSTANDING. For recoup_sender_new(),
    /// 0 means as many as the heap has room for.
    pub most_outstanding: u32,
    /// The unit of positions: RECOUP_NUMBERING_BYTES or RECOUP_NUMBERING_PACKETS.
    pub numbering: i32,
    /// Not 0 if windows count bytes: a small segment then fills the congestion window, and makes it grow, by its own
    /// bytes. Otherwise every segment counts as a full one.
    pub count_bytes: i32,
    /// Not 0 if the host paces by recoup_next_departure().
    pub paced: i32,
}

impl Settings {
    pub(crate) fn packets(&self) -> bool {
        self.numbering == Numbering::Packets as i32
    }
}

/// The kind of a transmission.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data, or a packet, for the first time.
    New = 0,
    /// Data, or a packet, for the first time, as a tail loss probe. It ignores the congestion window. Where packets are numbered, it may be due
    /// although nothing was written: send the contents of an outstanding packet again, or anything else that the
    /// peer acknowledges.
    NewProbe = 1,
    /// A retransmission.
    Again = 2,
    /// A copy of outstanding data before any sign of loss.
    Copy = 3,
    /// An empty segment that makes the peer send an ACK with its window.
    WindowProbe = 4,
}

/// The trigger of a retransmission.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The transmission is no retransmission, or its trigger has no name here.
    None = 0,
    /// Fast recovery.
    Fast = 1,
    /// Early retransmit (RFC 5827).
    Early = 2,
    /// The segment that the retransmission timer itself sends.
    Rto = 3,
    /// A further retransmission after a timeout.
    SlowStart = 4,
    /// A tail loss probe.
    Tlp = 5,
    /// The path MTU fell, and the segment is larger.
    PathMtu = 6,
    /// A larger segment that probed for a larger path MTU was lost.
    MtuProbe = 7,
}

const TRIGGERS: [(engine::Trigger, Trigger); 7] = [
    (engine::Trigger::Fast, Trigger::Fast),
    (engine::Trigger::Early, Trigger::Early),
    (engine::Trigger::Rto, Trigger::Rto),
    (engine::Trigger::SlowStart, Trigger::SlowStart),
    (engine::Trigger::Tlp, Trigger::Tlp),
    (engine::Trigger::Pmtu, Trigger::PathMtu),
    (engine::Trigger::MtuProbe, Trigger::MtuProbe),
];

/// A segment or packet that is to be sent, or was.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmission {
    /// The first position that it carries.
    pub start: u64,
    /// The first position after it. A window probe has neither.
    pub end: u64,
    /// One of RECOUP_KIND_….
    pub kind: i32,
    /// One of RECOUP_TRIGGER_….
    pub trigger: i32,
}

impl From<engine::Transmission> for Transmission {
    fn from(what: engine::Transmission) -> Self {
        let (kind, trigger) = match what {
            engine::Transmission::New(_) => (Kind::New, Trigger::None),
            engine::Transmission::NewProbe(_) => (Kind::NewProbe, Trigger::None),
            engine::Transmission::Again(_, by) => {
                let found = TRIGGERS.iter().find(|(trigger, _)| *trigger == by);
                (Kind::Again, found.map_or(Trigger::None, |found| found.1))
            }
            engine::Transmission::Copy(_) => (Kind::Copy, Trigger::None),
            engine::Transmission::WindowProbe => (Kind::WindowProbe, Trigger::None),
        };
        let span = what.span().unwrap_or(Span::new(Offset::DATA, Offset::DATA));
        Self { start: position(span.start), end: position(span.end), kind: kind as i32, trigger: trigger as i32 }
    }
}

impl TryFrom<Transmission> for engine::Transmission {
    type Error = Error;

    fn try_from(what: Transmission) -> Result<Self, Error> {
        let span = span(what.start, what.end)?;
        let is = |kind: Kind| what.kind == kind as i32;
        if is(Kind::New) {
            Ok(Self::New(span))
        } else if is(Kind::NewProbe) {
            Ok(Self::NewProbe(span))
        } else if is(Kind::Again) {
            let found = TRIGGERS.iter().find(|(_, by)| *by as i32 == what.trigger);
            let (trigger, _) = found.ok_or(Error::Constant)?;
            Ok(Self::Again(span, *trigger))
        } else if is(Kind::Copy) {
            Ok(Self::Copy(span))
        } else if is(Kind::WindowProbe) {
            Ok(Self::WindowProbe)
        } else {
            Err(Error::Constant)
        }
    }
}

/// Positions from `start` up to `end`, without `end`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first position.
    pub start: u64,
    /// The first position after it.
    pub end: u64,
}

/// An ACK, where positions count bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Everything below has arrived in order.
    pub cumulative: u64,
    /// The receiver's window: the bytes that it takes from `cumulative` on.
    pub window: u64,
    /// The ranges that arrived above `cumulative`, in any order. As in TCP, the first range may instead report a
    /// duplicate (RFC 2883): it is then below `cumulative`, or inside the second range. The call changes the ranges
    /// while it runs, and restores them. Null if there are none.
    pub ranges: *mut Range,
    /// The number of ranges.
    pub range_count: usize,
    /// The time since the segment whose timestamp is echoed was sent. 0 or RECOUP_NONE without timestamps.
    pub timestamp_rtt_ns: u64,
    /// The segment whose timestamp is echoed was sent before this time. 0 or RECOUP_NONE without timestamps.
    pub echo_sent_before_ns: u64,
    /// How long the receiver held this ACK back. 0 if it does not say.
    pub delay_ns: u64,
    /// Not 0 if the ACK came with data, so that it is no duplicate ACK.
    pub carries_data: i32,
}

/// The effects of an ACK.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// How far the lowest position not acknowledged moved.
    pub advanced: u64,
    /// Segments that the cumulative acknowledgment covers now.
    pub newly_acked: u32,
    /// Segments reported by a range for the first time.
    pub newly_sacked: u32,
    /// Segments that left the network.
    pub delivered: u32,
    /// Packets that were taken out as lost, and arrived after all.
    pub late: u32,
}

impl From<engine::AckSummary> for Acked {
    fn from(summary: engine::AckSummary) -> Self {
        Self {
            advanced: summary.una_advanced,
            newly_acked: summary.newly_acked.0,
            newly_sacked: summary.newly_sacked.0,
            delivered: summary.delivered.0,
            late: summary.late.0,
        }
    }
}

/// A packet or segment that was sent.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its number, or the first position that it carries.
    pub start: u64,
    /// The first position after it.
    pub end: u64,
    /// When it was last sent.
    pub sent_at_ns: u64,
    /// The host's token for it.
    pub token: u64,
    /// Its bytes, as the host reported them.
    pub size: u32,
}

impl From<&SentPacket> for Packet {
    fn from(packet: &SentPacket) -> Self {
        Self {
            start: position(packet.span.start),
            end: position(packet.span.end),
            sent_at_ns: packet.sent_at.as_nanos(),
            token: packet.token,
            size: packet.size,
        }
    }
}

/// A function of the host that receives each outstanding packet that an ACK acknowledges. `context` is the pointer
/// that the host passed with it. The packet is valid during the call alone. The function must return normally. If it
/// calls a function with the same sender, that function returns RECOUP_ERROR_BUSY.
pub type PacketCallback = Option<unsafe extern "C" fn(context: *mut c_void, packet: *const Packet)>;

/// The purpose of a timer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Delayed early retransmit.
    Early = 0,
    /// The reordering window of RACK, or RFC 9002's time threshold.
    Reorder = 1,
    /// Tail loss probe, or RFC 9002's probe timeout.
    Probe = 2,
    /// Retransmission timeout.
    Rto = 3,
    /// Zero-window probe.
    Persist = 4,
    /// The gap between a segment and its copy is over.
    Copy = 5,
    /// The user timeout: the connection is given up.
    User = 6,
    /// The next burst of a sender that paces by itself may leave.
    Pacing = 7,
}

const TIMERS: [(engine::Timer, Timer); 8] = [
    (engine::Timer::Early, Timer::Early),
    (engine::Timer::Reorder, Timer::Reorder),
    (engine::Timer::Probe, Timer::Probe),
    (engine::Timer::Rto, Timer::Rto),
    (engine::Timer::Persist, Timer::Persist),
    (engine::Timer::Copy, Timer::Copy),
    (engine::Timer::User, Timer::User),
    (engine::Timer::Pacing, Timer::Pacing),
];

impl Timer {
    /// The timer of the engine that `number` means.
    pub(crate) fn named(number: i32) -> Result<engine::Timer, Error> {
        let found = TIMERS.iter().find(|(_, timer)| *timer as i32 == number);
        found.map(|found| found.0).ok_or(Error::Constant)
    }

    /// The number of the engine's `timer`.
    pub(crate) fn number(timer: engine::Timer) -> Result<i32, Error> {
        let found = TIMERS.iter().find(|(of, _)| *of == timer);
        found.map(|found| found.1 as i32).ok_or(Error::Constant)
    }
}

/// The state of a sender, by Linux's names.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is missing.
    Open = 0,
    /// Something is missing, too little to be called lost.
    Disorder = 1,
    /// The congestion window is being reduced, and nothing is to be repaired.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

const STATES: [(engine::State, State); 5] = [
    (engine::State::Open, State::Open),
    (engine::State::Disorder, State::Disorder),
    (engine::State::Cwr, State::Cwr),
    (engine::State::Recovery, State::Recovery),
    (engine::State::Loss, State::Loss),
];

impl State {
    /// The number of the engine's `state`.
    pub(crate) fn number(state: engine::State) -> Result<i32, Error> {
        let found = STATES.iter().find(|(of, _)| *of == state);
        found.map(|found| found.1 as i32).ok_or(Error::Constant)
    }
}

/// The host's position of an offset. The SYN, which no C host sends, would be at 0 as well.
pub(crate) fn position(offset: Offset) -> u64 {
    offset.since(Offset::DATA)
}

/// A time or duration that the host may leave out. 0 leaves it out too: a host that clears its structures must not
/// report by that an RTT of zero, or an echo that proves every retransmission unnecessary.
pub(crate) fn optional(nanos: u64) -> Option<u64> {
    (nanos != 0 && nanos != NONE).then_some(nanos)
}

/// The offset at the host's `position`.
pub(crate) fn offset(position: u64) -> Result<Offset, Error> {
    match position <= LAST_POSITION {
        true => Ok(Offset::DATA + position),
        false => Err(Error::Position),
    }
}

/// The sequence space at the host's positions.
pub(crate) fn span(start: u64, end: u64) -> Result<Span, Error> {
    Ok(Span::new(offset(start)?, offset(end)?))
}
