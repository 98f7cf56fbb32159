//! Segments that are too large for the path.
//!
//! ```text
//! the path MTU falls:       every larger segment is lost. It goes again at once in smaller segments.
//!                           The window stays.                       RFC 1191 §6.4, RFC 8201 §5.4
//! a path MTU probe is lost: its data goes again at once in segments of the usual size.
//!                           The window stays.                       RFC 4821 §7.6.2
//! ```
//! Neither loss is a sign of congestion. Linux keeps the state Loss until what was outstanding is
//! acknowledged (Linux 6.12 `tcp_simple_retransmit`, `tcp_v4_mtu_reduced`, `tcp_fastretrans_alert`).
//!
//! In Linux, an ICMP message does not update the clock by which segments are stamped (`tcp_mstamp`). What it
//! makes the sender retransmit counts as sent at the time of the last ACK or transmission, so that RACK may
//! soon find it lost.
//!
//! Deviation: this sender sends no path MTU probes of its own. A replay reports the probes that its capture shows.

use super::*;
use crate::counters::Ended;
use crate::detect::RackVersion;
use crate::sender::send::three_quarters;

impl<C: CongestionControl> Sender<C> {
    /// The path takes segments with at most `mss` bytes of payload, fewer than before. Larger outstanding
    /// segments are lost; numbered packets are lost as others are.
    pub fn on_path_mtu(&mut self, now: Instant, mss: u32) {
        //= RFC 5681 §3.1 SHOULD: "cwnd SHOULD be reduced by the ratio of the old segment size to the new segment size."
        self.set_mss(now, mss.min(self.peer.mss));
        if self.board.numbers_packets() {
            return;
        }
        self.retransmit_smaller(now, mss, Trigger::Pmtu);
        if self.rack_version() == Some(RackVersion::Linux6) {
            let stream = &mut self.stream;
            stream.stopped_clock = Some(stream.last_sent_at.max(stream.last_heard_at));
        }
        self.log_changes(now);
    }

    /// The segment that ends at `end` is larger than the others, to probe for a larger path MTU. While it is
    /// outstanding, a timeout is not tested for being spurious (Linux 6.12 `tcp_enter_loss`).
    pub fn note_mtu_probe(&mut self, end: Offset) {
        self.stream.mtu_probe_end = end;
    }

    /// Whether a path MTU probe is outstanding.
    pub(super) fn is_probing_mtu(&self) -> bool {
        self.stream.mtu_probe_end > self.board.una()
    }

    /// Whether the earliest outstanding segment, if it was a path MTU probe and is lost, counts as a failed
    /// probe: no window reduction is under way for another loss (Linux 6.12 `tcp_fastretrans_alert`).
    pub fn may_fail_probe(&self) -> bool {
        match self.episode.state {
            State::Open | State::Disorder => true,
            // A replay learns of the probe after the ACK that began the recovery.
            State::Recovery => self.episode.undo.began_at() == Some(self.board.una()),
            State::Cwr | State::Loss => false,
        }
    }

    /// The earliest outstanding segment was a path MTU probe and is lost. Other segments have at most `mss`
    /// bytes. A window reduction for this loss is undone.
    pub fn on_mtu_probe_lost(&mut self, now: Instant, mss: u32) {
        self.stream.mtu_probe_end = self.board.una();
        if self.episode.state == State::Recovery
            && let Some(before) = self.episode.undo.take()
        {
            self.congestion.cwnd = before.cwnd;
            self.congestion.ssthresh = before.ssthresh;
        }
        self.retransmit_smaller(now, mss, Trigger::MtuProbe);
        self.log_changes(now);
    }

    /// Cuts the outstanding segment that contains `offset` there. A replay does this when the capture shows
    /// that only a part was retransmitted.
    pub fn split_segment(&mut self, offset: Offset) {
        self.board.split_at(offset);
        self.drop_waiting_copy();
    }

    fn retransmit_smaller(&mut self, now: Instant, mss: u32, trigger: Trigger) {
        let marks = self.board.marks();
        let losses = self.log.losses(now, LossDetector::PathMtu);
        self.board.lose_larger(u64::from(mss.max(1)), losses);
        self.drop_waiting_copy();
        if self.board.marks() == marks {
            return;
        }
        self.episode.loss_trigger = trigger;
        self.episode.release = Release::ByPipe;
        if self.episode.state == State::Loss {
            return;
        }
        let last_cwnd = self.congestion.cwnd;
        if !self.reducing() {
            let ssthresh = self.congestion.ssthresh;
            self.congestion.ssthresh = ssthresh.max(three_quarters(last_cwnd));
        }
        // A reduction may have closed the window, and no longer opens it.
        self.congestion.cwnd = last_cwnd.max(Segments::ONE);
        if self.episode.state == State::Recovery {
            self.note_recovery_ended(now, last_cwnd, Ended::Undone);
        }
        self.episode.undo.forbid();
        self.episode.frto = Frto::Off;
        self.episode.timeout_due = false;
        self.episode.recovery_point = self.board.nxt();
        self.timers.early = None;
        self.timers.reorder = None;
        self.timers.probe.forget();
        self.set_state(now, State::Loss);
        self.keep_probe_timeout(now);
    }
}
