//! Time lost by a handshake whose SYN or SYN-ACK was retransmitted.
//!
//! ```text
//! lost = (ACK of the SYN-ACK) - (first SYN) - RTT      RTT: the shortest answer times of both ends
//! ```
//!
//! The capture point divides the round trip in two, and each end's shortest answer time measures one part, on all
//! packets of the connection. The first rule that holds names the cause:
//!
//! | rule | cause |
//! | --- | --- |
//! | the SYN was retransmitted, captured at its receiver, which had not answered the first one |
//! [`Cause::UnansweredSyn`] |
//! | the same; it had answered, and its retransmission of the SYN-ACK was spurious | [`Cause::DelaySpike`] |
//! | the same; it had answered | [`Cause::LostSynAck`] |
//! | the SYN was retransmitted; it was needed | [`Cause::LostSyn`] |
//! | the same; it was spurious, and the handshake lost less than half the time until then | [`Cause::DelaySpike`] |
//! | the same; it was spurious | [`Cause::LostSynAck`] |
//! | the same; the verdict is unknown | [`Cause::LostSynOrSynAck`] |
//! | only the SYN-ACK was retransmitted; it was needed | [`Cause::LostSynAck`] |
//! | the same; it was spurious | [`Cause::LateOrLostAcks`] |
//! | the same; the verdict is unknown | [`Cause::Unknown`] |
//!
//! A listener whose accept queue is full ignores the ACK that completes the handshake, and sends its SYN-ACK again
//! (Linux `tcp_check_req`, `tcp_abort_on_overflow`). Captured at the server, the ACK had arrived. What the client sent
//! meanwhile is then no lost data: the cause of its episode is [`Cause::IgnoredAck`].
//!
//! A client retransmits its SYN although the SYN arrived if the SYN-ACK did not (RFC 9293 §3.8.1). The verdict
//! tells the two apart where the SYN-ACK echoes the timestamp of the SYN that it answers, or comes too early to
//! answer the last SYN.
//!
//! Limits:
//!
//! - Captured at the server, a lost SYN is invisible: the SYN that arrives looks like the first one.
//! - A server that echoes the latest SYN's timestamp whichever it answered (SYN cookies, FreeBSD's SYN cache)
//!   makes a lost SYN-ACK look like a lost SYN to a capture at the client.
//! - A handshake that never completes lost nothing: nothing shows that anybody would have answered.
//! - A SYN that comes again after a reset had refused it begins another handshake.

use crate::{
    attribute::provisional::ProvisionalRow,
    finding::{Cause, EpisodeCost, LostTime, Vantage, Verdict},
};
use recoup_units::Instant;
use recoup_wire::SeqNumber;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct CompleteHandshake {
    /// From the first SYN to the ACK of a SYN-ACK.
    pub took: Duration,
    /// One round trip.
    pub rtt: Duration,
    /// From the connection's first packet to the last.
    pub life: Duration,
    /// Whether the SYN and the SYN-ACK were retransmitted before it was complete.
    pub retransmitted: [bool; 2],
    /// The SYN was retransmitted before the first SYN-ACK.
    pub unanswered: bool,
    /// Where the SYN was captured.
    pub vantage: Vantage,
}

/// Finds the first retransmission of a handshake among the `rows` of its connection, has it carry the cost, and
/// adds that to the `lost` time of its direction. `is_first`: whether a row is of the end that sent the SYN.
pub(crate) fn add_handshake(
    rows: &mut [ProvisionalRow],
    handshake: &CompleteHandshake,
    is_first: impl Fn(&ProvisionalRow) -> bool,
    lost: [&mut LostTime; 2],
) {
    let first_of = |side: usize| {
        let found = |row: &ProvisionalRow| row.retransmission.syn && is_first(row) == (side == 0);
        let position = || rows.iter().position(found);
        (handshake.retransmitted[side]).then(position).flatten()
    };
    let [syn, syn_ack] = [0, 1].map(first_of);
    let at_server = handshake.vantage == Vantage::Receiver && !handshake.unanswered;
    // The server's own retransmission shows whether its first answer arrived.
    let deciding = if at_server { syn_ack.or(syn) } else { syn.or(syn_ack) };
    let Some(first) = deciding else {
        return;
    };
    let time = handshake.took.saturating_sub(handshake.rtt);
    let cause = |verdict: Verdict| match syn {
        Some(_) if deciding == syn_ack => match verdict {
            Verdict::Spurious => Cause::DelaySpike,
            Verdict::Needed | Verdict::Unknowable => Cause::LostSynAck,
        },
        Some(_) => cause_of_syn(verdict, &rows[first], time, handshake),
        None => match verdict {
            Verdict::Needed => Cause::LostSynAck,
            Verdict::Spurious => Cause::LateOrLostAcks,
            Verdict::Unknowable => Cause::Unknown,
        },
    };
    let causes =
        [Some(rows[first].retransmission.verdict), rows[first].alternative.map(|alternative| alternative.verdict())];
    let [now, otherwise] = causes.map(|verdict| verdict.map(cause));
    let now = now.unwrap_or(Cause::Unknown);
    // A server captured at its own end retransmitted what was lost.
    let carrier = match now {
        Cause::LostSynAck => syn_ack.filter(|_| otherwise.is_none()).unwrap_or(first),
        _ => first,
    };
    let retransmitted = rows.iter().filter(|row| row.retransmission.syn).count();
    let side = usize::from(!is_first(&rows[carrier]));
    // Where packets of several connections are mixed, other time may lie within the handshake.
    let others = lost[0].total() + lost[1].total();
    let time = time.min(handshake.life.saturating_sub(others));
    let row = &mut rows[carrier];
    row.retransmission.cost = Some(EpisodeCost {
        recovering: Duration::ZERO,
        lost: time,
        detection: row.retransmission.detection,
        segments: u32::try_from(retransmitted).unwrap_or(u32::MAX),
        cause: now,
    });
    if let Some(alternative) = &mut row.alternative {
        alternative.cause = otherwise.or(Some(now));
    }
    lost[side].add(now, time);
}

/// Names the cause of the episode in which the client, side 0, repeats its first data, if the server had sent its SYN-ACK
/// again after the ACK `completed` the handshake. `first`: the number of that data.
pub(crate) fn name_ignored_ack(
    rows: &mut [ProvisionalRow],
    side: impl Fn(&ProvisionalRow) -> usize,
    (completed, first): (Instant, SeqNumber),
    lost: &mut LostTime,
) {
    let repeats_answer = |row: &ProvisionalRow| {
        let found = &row.retransmission;
        side(row) == 1 && found.syn && found.at > completed && found.vantage == Vantage::Sender
    };
    if !rows.iter().any(repeats_answer) {
        return;
    }
    let repeats_first = |row: &&mut ProvisionalRow| {
        let found = &row.retransmission;
        side(row) == 0 && !found.syn && found.seq == first && found.cost.is_some()
    };
    if let Some(row) = rows.iter_mut().find(repeats_first)
        && let Some(cost) = &mut row.retransmission.cost
    {
        lost.change(cost.lost, cost.cause, Cause::IgnoredAck);
        cost.cause = Cause::IgnoredAck;
        row.alternative = None;
        row.retransmission.provisional = false;
    }
}

fn cause_of_syn(verdict: Verdict, row: &ProvisionalRow, lost: Duration, handshake: &CompleteHandshake) -> Cause {
    if handshake.vantage == Vantage::Receiver {
        return if handshake.unanswered { Cause::UnansweredSyn } else { Cause::LostSynAck };
    }
    let waited = row.retransmission.detection.unwrap_or_default();
    match verdict {
        Verdict::Needed => Cause::LostSyn,
        Verdict::Spurious if lost < waited / 2 => Cause::DelaySpike,
        Verdict::Spurious => Cause::LostSynAck,
        Verdict::Unknowable => Cause::LostSynOrSynAck,
    }
}
