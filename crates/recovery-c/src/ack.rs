//! Acknowledgments.

use crate::abi::{Ack, Acked, Error, Packet, PacketCallback, Range, offset, optional};
use crate::handle::{Handle, change, done, numbers};
use crate::pointers::{as_spans, check, read, write};
use core::ffi::c_void;
use core::time::Duration;
use recoup_recovery::{self as engine, AckSummary, Sender};
use recoup_units::Instant;

/// An ACK arrived, where positions count bytes. Writes to `acked` what it changed, unless `acked` is null. Data that
/// was never sent is not acknowledged: such an ACK, or such a range of it, is ignored and counted as impossible.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, NUMBERING.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_on_ack(sender: *mut Handle, now_ns: u64, ack: *const Ack, acked: *mut Acked) -> i32 {
    let now = Instant::from_nanos(now_ns);
    let tell = || {
        // SAFETY: the host says that `ack` points to an ACK.
        let ack = unsafe { read(ack) }?;
        let mut said = engine::Ack::new(offset(ack.cumulative)?, ack.window);
        said.timestamp_rtt = optional(ack.timestamp_rtt_ns).map(Duration::from_nanos);
        said.echo_sent_before = optional(ack.echo_sent_before_ns).map(Instant::from_nanos);
        said.ack_delay = Duration::from_nanos(ack.delay_ns);
        said.carries_data = ack.carries_data != 0;
        let process = |sender: &mut Sender| {
            // SAFETY: the host says that `range_count` ranges can be read and written there.
            unsafe { as_spans(ack.ranges, ack.range_count, |spans| sender.on_ack(now, &said.with_ranges(spans))) }
        };
        // SAFETY: the host says that `sender` points to a sender that nobody uses, and that what an ACK changed
        // can be written to `acked`.
        unsafe { report(sender, false, acked, process) }
    };
    done(tell())
}

/// An acknowledgment of numbered packets arrived. `ranges`: the packets that it reports, in any order; they may repeat
/// earlier reports. The call changes the ranges while it runs, and restores them. A range with a packet that was
/// never sent is ignored and counted as impossible. `delay_ns`: how long the receiver held the acknowledgment back, or
/// 0 if it does not say. Calls `each`, unless it is null, with every outstanding packet that this acknowledges, in no
/// particular order. Writes to `acked` what the acknowledgment changed, unless `acked` is null.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, NUMBERING.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_on_packets_acked(
    sender: *mut Handle,
    now_ns: u64,
    ranges: *mut Range,
    range_count: usize,
    delay_ns: u64,
    each: PacketCallback,
    context: *mut c_void,
    acked: *mut Acked,
) -> i32 {
    let (now, delay) = (Instant::from_nanos(now_ns), Duration::from_nanos(delay_ns));
    let call = |packet: &engine::Packet| {
        if let Some(each) = each {
            // SAFETY: the host says that the function may be called with its context and a packet.
            unsafe { each(context, &Packet::from(packet)) }
        }
    };
    let process = |sender: &mut Sender| {
        // SAFETY: the host says that `range_count` ranges can be read and written there.
        unsafe { as_spans(ranges, range_count, |spans| sender.on_packets_acked(now, spans, delay, call)) }
    };
    // SAFETY: the host says that `sender` points to a sender that nobody uses, and that what an ACK changed can be
    // written to `acked`.
    done(unsafe { report(sender, true, acked, process) })
}

/// The network or the host signals congestion by other means than a loss: an ECN mark (RFC 9002 §7.1, RFC 3168), or a
/// full local queue. The window falls, once per round trip. The ACK that reports the mark comes before this call.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_on_congestion_signal(sender: *mut Handle, now_ns: u64) -> i32 {
    // SAFETY: the host says that `sender` points to a sender that nobody uses.
    done(unsafe {
        change(sender, |sender| {
            sender.on_congestion_signal(Instant::from_nanos(now_ns));
            Ok(())
        })
    })
}

/// Processes an acknowledgment of `packets` or of bytes, and writes what it changed.
///
/// # Safety
/// As for [`change`]; `acked` is null, or misaligned, or can be written.
unsafe fn report(
    sender: *mut Handle,
    packets: bool,
    acked: *mut Acked,
    process: impl FnOnce(&mut Sender) -> Result<AckSummary, Error>,
) -> Result<(), Error> {
    if !acked.is_null() {
        check(acked)?;
    }
    // SAFETY: the same duty of the caller.
    unsafe { numbers(sender, packets) }?;
    // SAFETY: the same.
    let summary = unsafe { change(sender, process) }?;
    match acked.is_null() {
        true => Ok(()),
        // SAFETY: the caller says that it can be written.
        false => unsafe { write(acked, summary.into()) },
    }
}
