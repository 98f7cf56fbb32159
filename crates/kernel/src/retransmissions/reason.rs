//! The kernel's reason for a retransmission, from the state of its connection just after it was passed on.
//!
//! The kernel does not record a reason. Each of its functions that retransmit leaves a state that tells it from the others
//! (Linux 6.18, net/ipv4/tcp_timer.c, tcp_output.c, tcp_input.c, tcp_recovery.c):
//!
//! | function | state |
//! | --- | --- |
//! | `tcp_send_loss_probe` | its timer is still pending, and the segment is not marked lost or no recovery has begun |
//! | `tcp_retransmit_timer` | no timer is pending (`tcp_write_timer_handler` cleared it), and the state is Loss (`tcp_enter_loss`) |
//! | `tcp_xmit_retransmit_queue`, called by `tcp_rack_reo_timeout` | Recovery, and the pending reordering timer is due |
//! | the same, called for an ACK | Recovery: fast retransmission; Loss: after a timeout |
//! | the same, called by `tcp_non_congestion_loss_retransmit` | Loss, which no timeout began and which cannot be undone |
//!
//! `tcp_xmit_retransmit_queue` retransmits only segments that are marked lost.

use super::record::Record;

recoup_units::named! {
    /// Why the kernel retransmitted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Reason {
        /// Fast retransmission, for an ACK.
        Fast = "fast",
        /// Fast retransmission, because the reordering timer was due (RFC 8985 §6.3).
        ReorderingTimer = "reordering_timer",
        /// The retransmission timer was due.
        Timeout = "timeout",
        /// For an ACK after a timeout, before all data sent until then was acknowledged.
        AfterTimeout = "after_timeout",
        /// Tail loss probe.
        LossProbe = "loss_probe",
        /// The segment was too large for the path, or the peer refused data in the SYN: congestion was not the cause.
        NonCongestion = "non_congestion",
        /// A SYN.
        Syn = "syn",
        /// A SYN-ACK.
        SynAck = "syn_ack",
        /// The state fits none of these.
        Unknown = "unknown",
    }
}

// TCP_CA_* in linux/tcp.h.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

// ICSK_TIME_* in include/net/inet_connection_sock.h.
const NO_TIMER: u8 = 0;
const LOSS_PROBE_TIMER: u8 = 5;
const REORDERING_TIMER: u8 = 6;

// Flags of the TCP header (RFC 9293 §3.1).
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

impl Reason {
    pub(super) fn of(record: &Record) -> Self {
        let is_syn = record.tcp_flags & SYN != 0;
        let is_ack = record.tcp_flags & ACK != 0;
        match (record.ca_state, record.pending) {
            _ if is_syn && is_ack => Self::SynAck,
            _ if is_syn => Self::Syn,
            (state, LOSS_PROBE_TIMER) if state < RECOVERY || !record.marked_lost => Self::LossProbe,
            (LOSS, NO_TIMER) => Self::Timeout,
            (LOSS, _) if !record.after_timeout && !record.can_undo => Self::NonCongestion,
            (LOSS, _) => Self::AfterTimeout,
            (RECOVERY, REORDERING_TIMER) if record.timer_expired => Self::ReorderingTimer,
            (RECOVERY, _) => Self::Fast,
            _ => Self::Unknown,
        }
    }

    /// In words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fast => "fast retransmission",
            Self::ReorderingTimer => "fast retransmission by the reordering timer",
            Self::Timeout => "retransmission timeout",
            Self::AfterTimeout => "retransmission after a timeout",
            Self::LossProbe => "loss probe",
            Self::NonCongestion => "loss without congestion",
            Self::Syn => "SYN",
            Self::SynAck => "SYN-ACK",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::plain;
    use super::*;

    const RETRANSMISSION_TIMER: u8 = 1;
    const OPEN: u8 = 0;

    fn data(ca_state: u8, pending: u8) -> Record {
        Record { tcp_flags: ACK, ca_state, pending, marked_lost: true, can_undo: true, ..plain() }
    }

    #[test]
    fn handshake_segments_are_told_by_their_flags() {
        let timeout = data(LOSS, NO_TIMER);
        assert_eq!(Reason::of(&Record { tcp_flags: SYN, ..timeout }), Reason::Syn);
        assert_eq!(Reason::of(&Record { tcp_flags: SYN | ACK, ..timeout }), Reason::SynAck);
    }

    #[test]
    fn a_probe_is_sent_while_its_timer_is_pending() {
        let probe = Record { marked_lost: false, ..data(OPEN, LOSS_PROBE_TIMER) };
        assert_eq!(Reason::of(&probe), Reason::LossProbe);
        // The timer was set before recovery began.
        assert_eq!(Reason::of(&Record { ca_state: RECOVERY, ..probe }), Reason::LossProbe);
        assert_eq!(Reason::of(&data(RECOVERY, LOSS_PROBE_TIMER)), Reason::Fast);
    }

    #[test]
    fn only_the_retransmission_timer_itself_leaves_no_timer() {
        assert_eq!(Reason::of(&data(LOSS, NO_TIMER)), Reason::Timeout);
        assert_eq!(Reason::of(&data(LOSS, RETRANSMISSION_TIMER)), Reason::AfterTimeout);
    }

    #[test]
    fn a_loss_that_no_timeout_began_and_none_can_undo_is_without_congestion() {
        let lost = Record { can_undo: false, ..data(LOSS, RETRANSMISSION_TIMER) };
        assert_eq!(Reason::of(&lost), Reason::NonCongestion);
        assert_eq!(Reason::of(&Record { after_timeout: true, ..lost }), Reason::AfterTimeout);
    }

    #[test]
    fn the_reordering_timer_is_due_when_it_retransmits() {
        let ack = data(RECOVERY, REORDERING_TIMER);
        assert_eq!(Reason::of(&ack), Reason::Fast);
        assert_eq!(Reason::of(&Record { timer_expired: true, ..ack }), Reason::ReorderingTimer);
    }
}
