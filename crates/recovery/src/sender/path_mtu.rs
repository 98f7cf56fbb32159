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
//! A host that searches for the path MTU (RFC 4821) chooses the sizes of its probes. The sender decides when one may go
//! ([`send_mtu_probe`](Sender::send_mtu_probe)). A replay reports the probes that its capture shows.

use super::*;
use crate::counters::Ended;
use crate::detect::RackVersion;
use crate::sender::send::three_quarters;

/// The smallest congestion window with which a path MTU probe goes: its loss must be found by duplicate ACKs, and the
/// window must not suffer (RFC 4821 §7.4; Linux 6.12 `tcp_mtu_probe`).
const LEAST_WINDOW_TO_PROBE: Segments = Segments(11);

/// What [`Sender::send_mtu_probe`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MtuProbe {
    /// It sent the probe.
    Sent(Transmission),
    /// The windows have room for one segment, and soon for the probe: send no new data now.
    Wait,
    /// It sent nothing, and other transmissions go as usual.
    No,
}

/// The bytes of a span without the FIN of the stream.
fn data_len(fin: Option<Offset>) -> impl Fn(Span) -> u64 {
    move |span| span.len() - u64::from(fin.is_some_and(|fin| span.contains(fin)))
}

impl<C: CongestionControl> Sender<C> {
    /// The path takes segments with at most `mss` bytes of payload, fewer than before. Larger outstanding
    /// segments are lost; numbered packets are lost as others are.
    pub fn on_path_mtu(&mut self, now: Instant, mss: u32) {
        //= RFC 5681 §3.1 SHOULD: "cwnd SHOULD be reduced by the ratio of the old segment size to the new segment size."
        self.set_mss(now, mss.min(self.peer.mss));
        if self.board.numbers_packets() {
            return;
        }
        self.retransmit_smaller(now, mss, Trigger::Pmtu, |span| span.len() - 1);
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
        self.retransmit_smaller(now, mss, Trigger::MtuProbe, |span| span.len() - 1);
        self.log_changes(now);
    }

    /// As [`on_path_mtu`](Self::on_path_mtu), for a host that has a clock, and that need not have had an ICMP message
    /// (RFC 4821 §7.7): retransmissions count as sent when they are, and no segment is a byte too long.
    pub fn limit_segments(&mut self, now: Instant, mss: u32) {
        self.set_mss(now, mss.min(self.peer.mss));
        if !self.board.numbers_packets() {
            self.retransmit_smaller(now, mss, Trigger::Pmtu, data_len(self.stream.fin()));
            self.log_changes(now);
        }
    }

    /// As [`send_next`](Self::send_next), of a segment that is not too large. [`limit_segments`](Self::limit_segments) leaves
    /// whole what is SACKed, which goes again if the receiver reneges on it, and what there is no
    /// [memory](Self::limit_memory) for the parts of. It is cut here, or waits until the acknowledgment of others makes room
    /// (Linux 6.12 `__tcp_retransmit_skb`). Then the first segment takes its place as a probe, to draw an acknowledgment.
    pub fn send_next_that_fits(&mut self, now: Instant) -> Option<Transmission> {
        let data_len = data_len(self.stream.fin());
        let mss = u64::from(self.peer.mss);
        let is_too_large = |what: Transmission| matches!(what, Transmission::Again(span, _) if data_len(span) > mss);
        let mut next = self.next_send(now)?;
        if is_too_large(next) && !self.board.numbers_packets() {
            self.board.cut_larger(mss, &data_len);
            self.drop_waiting_copy();
            next = self.next_send(now)?;
            if is_too_large(next) {
                let first = self.board.first().filter(|_| self.timers.probe.is_due())?;
                next = Transmission::Again(first.span, Trigger::Tlp);
            }
        }
        self.commit(now, next, self.peer.mss);
        Some(next)
    }

    /// Segments may have up to `mss` bytes of payload, more than before. The congestion window keeps its bytes, as far
    /// as whole segments can (RFC 4821 §7.6.1; Linux 6.12 `tcp_mtup_probe_success`).
    pub fn raise_mss(&mut self, now: Instant, mss: u32) {
        let (mss, before) = (mss.min(Self::MOST_MSS), self.peer.mss);
        if mss <= before {
            return;
        }
        let window = &mut self.congestion;
        let segments = u64::from(window.cwnd.0) * u64::from(before) / u64::from(mss);
        window.cwnd = Segments(segments as u32).max(Segments::ONE);
        self.set_mss(now, mss);
    }

    /// Sends new data of `len` bytes in one segment, more than a full segment has, if it is time for it: nothing else is
    /// to be sent but new data, no loss is known, and enough data is written behind it that its loss would be found by
    /// duplicate ACKs. The congestion window becomes a segment smaller, as the probe is nearly two.
    ///
    /// Then the host calls [`raise_mss`](Self::raise_mss) once all of the probe is acknowledged,
    /// [`fail_mtu_probe`](Self::fail_mtu_probe) if the probe alone was lost, or else
    /// [`end_mtu_probe`](Self::end_mtu_probe) before anything is retransmitted.
    ///
    /// Source: RFC 4821 §7.4; Linux 6.12 `tcp_mtu_probe`.
    pub fn send_mtu_probe(&mut self, now: Instant, len: u32) -> MtuProbe {
        let full = u64::from(self.peer.full);
        let may = u64::from(len) > full
            && self.episode.state == State::Open
            && self.congestion.cwnd >= LEAST_WINDOW_TO_PROBE
            && !self.board.numbers_packets()
            && !self.is_probing_mtu();
        if !may {
            return MtuProbe::No;
        }
        let start = self.board.nxt();
        let needed = u64::from(len) + (u64::from(self.reordering().0) + 1) * full;
        let written = self.stream.fin().unwrap_or(self.stream.limit);
        let edge = self.peer.window.edge();
        let next = match self.next_send(now) {
            Some(Transmission::New(span)) => span,
            _ => return MtuProbe::No,
        };
        let fits = next.len() == full && start + needed <= written && self.board.una() + needed <= edge;
        if !fits || self.timers.persist.due {
            return MtuProbe::No;
        }
        if start + needed > edge || self.board.pipe() + Segments(2) > self.congestion.cwnd {
            // An ACK of what is in flight makes room. A sender that paces itself has a timer for its next segment.
            let comes = self.board.pipe() > Segments::ZERO && !self.paces();
            return if comes { MtuProbe::Wait } else { MtuProbe::No };
        }
        let probe = Transmission::New(Span::at(start, u64::from(len)));
        self.congestion.cwnd = self.congestion.cwnd.saturating_sub(Segments::ONE);
        self.commit(now, probe, len);
        self.note_mtu_probe(start + u64::from(len));
        MtuProbe::Sent(probe)
    }

    /// The probe that [`send_mtu_probe`](Self::send_mtu_probe) sent is lost, and nothing else that is known of, or an
    /// ICMP message told so. It goes again at once in segments of the usual size. The window is what it was before.
    pub fn fail_mtu_probe(&mut self, now: Instant) {
        self.on_mtu_probe_lost(now, self.peer.mss);
        self.congestion.cwnd += Segments::ONE;
    }

    /// The probe at `probe` counts as other data from now on, in segments of the usual size: it cannot be told whether
    /// it was lost because of its size (RFC 4821 §7.6.4).
    pub fn end_mtu_probe(&mut self, probe: Span) {
        self.stream.mtu_probe_end = self.board.una();
        let mss = u64::from(self.peer.full);
        let mut at = probe.start + mss;
        while at < probe.end {
            self.split_segment(at);
            at = at + mss;
        }
    }

    /// Cuts the outstanding segment that contains `offset` there. A replay does this when the capture shows
    /// that only a part was retransmitted.
    pub fn split_segment(&mut self, offset: Offset) {
        self.board.split_at(offset);
        self.drop_waiting_copy();
    }

    /// `data_len`: the bytes of a span without its FIN.
    fn retransmit_smaller(&mut self, now: Instant, mss: u32, trigger: Trigger, data_len: impl Fn(Span) -> u64) {
        let marks = self.board.marks();
        let losses = self.log.losses(now, LossDetector::PathMtu);
        self.board.lose_larger(u64::from(mss.max(1)), data_len, losses);
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
