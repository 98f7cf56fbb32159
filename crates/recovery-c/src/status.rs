//! The state and the counters of a sender.

use crate::abi::{Error, NONE, State, position};
use crate::handle::{Handle, done, look};
use crate::pointers::{check, write};
use core::time::Duration;
use recoup_recovery::{Sender, Trigger};
use recoup_units::BitRate;

/// The state of a sender. Windows, pipe and thresholds count segments or packets, unless their names say bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The lowest position that is not acknowledged.
    pub unacknowledged: u64,
    /// The next position to be sent for the first time.
    pub next: u64,
    /// The end of the data written.
    pub written: u64,
    /// The smoothed round-trip time, or RECOUP_NONE before the first sample.
    pub srtt_ns: u64,
    /// The variation of the round-trip time, or RECOUP_NONE before the first sample.
    pub rttvar_ns: u64,
    /// The retransmission timeout in force, back-off included.
    pub rto_ns: u64,
    /// The pacing rate in bits per second, or 0 before the first RTT sample.
    pub pacing_bits_per_second: u64,
    /// The congestion window in bytes.
    pub cwnd_bytes: u64,
    /// Bytes in flight. Where windows do not count bytes, every segment counts as a full one.
    pub bytes_in_flight: u64,
    /// The congestion window.
    pub cwnd: u32,
    /// The slow-start threshold; UINT32_MAX until the first reduction.
    pub ssthresh: u32,
    /// Segments in flight.
    pub pipe: u32,
    /// Segments outstanding: sent, and not acknowledged cumulatively. Those taken out as lost count until everything
    /// below them is settled.
    pub outstanding: u32,
    /// Retransmission timeouts since the peer last acknowledged new data.
    pub timeouts: u32,
    /// The state, RECOUP_STATE_….
    pub state: i32,
    /// 1 if the connection was given up, because its user timeout passed.
    pub gave_up: i32,
}

/// The counts of a sender since it was made.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, retransmissions included, copies not.
    pub sent: u64,
    /// Segments delivered.
    pub delivered: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Segments retransmitted by fast recovery.
    pub fast_retransmitted: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Retransmissions found lost.
    pub lost_retransmissions: u64,
    /// Duplicates that the receiver reported.
    pub duplicates: u64,
    /// Copies sent.
    pub copies: u64,
    /// Window reductions undone.
    pub undone: u64,
    /// How often reordering was detected.
    pub reordering_seen: u64,
    /// Acknowledgments and ranges that were ignored because they cannot be true.
    pub impossible: u64,
    /// Time in Recovery.
    pub in_recovery_ns: u64,
    /// Time in Loss.
    pub in_loss_ns: u64,
    /// Time with data outstanding.
    pub busy_ns: u64,
}

/// Writes the state of the sender.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_get_status(sender: *const Handle, status: *mut Status) -> i32 {
    // SAFETY: the host says that `sender` points to a sender that nobody changes, and that a status can be written.
    done(unsafe { put(sender, status, known) })
}

/// Writes the counts of the sender.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_get_counters(sender: *const Handle, counters: *mut Counters) -> i32 {
    // SAFETY: the host says that `sender` points to a sender that nobody changes, and that counters can be written.
    done(unsafe { put(sender, counters, counted) })
}

/// Writes what `of` says of the sender.
///
/// # Safety
/// As for [`look`]; `to` is null, or misaligned, or can be written.
unsafe fn put<T: Copy>(sender: *const Handle, to: *mut T, of: fn(&Sender) -> Result<T, Error>) -> Result<(), Error> {
    check(to)?;
    // SAFETY: the same duty of the caller.
    let value = unsafe { look(sender, of) }?;
    // SAFETY: the caller says that it can be written.
    unsafe { write(to, value) }
}

fn known(sender: &Sender) -> Result<Status, Error> {
    let rtt = sender.rtt();
    Ok(Status {
        unacknowledged: position(sender.una()),
        next: position(sender.nxt()),
        written: position(sender.limit()),
        srtt_ns: rtt.srtt().map_or(NONE, nanos),
        rttvar_ns: rtt.srtt().map_or(NONE, |_| nanos(rtt.rttvar())),
        rto_ns: nanos(sender.rto()),
        pacing_bits_per_second: sender.pacing_rate().map_or(0, BitRate::bits_per_second),
        cwnd_bytes: sender.cwnd_bytes(),
        bytes_in_flight: sender.bytes_in_flight(),
        cwnd: sender.cwnd().0,
        ssthresh: sender.ssthresh().0,
        pipe: sender.pipe().0,
        outstanding: sender.board().outstanding().0,
        timeouts: sender.timeouts(),
        state: State::number(sender.state())?,
        gave_up: i32::from(sender.gave_up()),
    })
}

fn counted(sender: &Sender) -> Result<Counters, Error> {
    let counters = sender.counters();
    Ok(Counters {
        sent: counters.segments_sent,
        delivered: counters.delivered,
        retransmitted: counters.retransmissions.total(),
        fast_retransmitted: counters.retransmissions.of(Trigger::Fast),
        probes: counters.probes,
        timeouts: counters.timeouts.iter().sum(),
        recoveries: counters.recoveries,
        lost_retransmissions: counters.lost_retransmissions,
        duplicates: counters.dsacks,
        copies: counters.copies,
        undone: counters.undone.iter().sum(),
        reordering_seen: counters.reordering_seen,
        impossible: counters.impossible_acks + counters.impossible_blocks + counters.impossible_sends,
        in_recovery_ns: nanos(counters.in_recovery),
        in_loss_ns: nanos(counters.in_loss),
        busy_ns: nanos(counters.busy),
    })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NONE)
}
