//! Was the window reduction unnecessary? Keeps the state needed to undo an episode.
//!
//! ```text
//! on entering Recovery or Loss:  remember snd_una, cwnd and ssthresh
//! DSACK:   every retransmission of the episode was reported as a duplicate          RFC 3708 §2
//! Eifel:   the first ACK after a retransmission echoes a timestamp from before it   RFC 3522 §3.2
//! F-RTO:   data never retransmitted arrived although all was marked lost            RFC 5682 §3.1
//! packets: every packet declared lost in the episode was acknowledged later
//! undo:    cwnd = max(cwnd, cwnd before), ssthresh = max(ssthresh, ssthresh before)
//! ```
//! The response is Linux's (`tcp_undo_cwnd_reduction`). RFC 4015's response sets the window to the flight
//! size plus min(bytes_acked, IW) and adapts the RTO; neither is done here.
//!
//! Deviations: Linux 3.17 returns a Reno sender to max(cwnd, 2·ssthresh); Linux 6.12 and this module return
//! it to the previous window. Retransmissions are counted, not remembered one by one, as in Linux: each DSACK
//! that ends above the episode's start explains one.

use recoup_units::{Instant, Offset, Segments, Span};

/// The kinds of proof a profile accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct UndoRules {
    /// Accept DSACKs for all retransmissions.
    pub dsack: bool,
    /// Accept a timestamp from before the first retransmission.
    pub timestamps: bool,
}

impl UndoRules {
    /// Accepts neither DSACKs nor timestamps.
    pub const NONE: Self = Self { dsack: false, timestamps: false };
    /// Accepts both, as Linux does.
    pub const ALL: Self = Self { dsack: true, timestamps: true };
}

/// The proof that a reduction was unnecessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Proof {
    /// Every retransmission was reported as a duplicate, or every packet declared lost was acknowledged.
    Dsack,
    /// A timestamp from before the first retransmission was echoed, or nothing was retransmitted; with adaptive
    /// thresholds, all segments judged lost were late by this or by the time of their ACK.
    Timestamp,
    /// Data never retransmitted arrived after a timeout (F-RTO).
    Frto,
}

impl Proof {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Dsack, Self::Timestamp, Self::Frto];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dsack => "dsack",
            Self::Timestamp => "timestamp",
            Self::Frto => "frto",
        }
    }
}

/// The window before a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PriorWindow {
    /// The congestion window.
    pub cwnd: Segments,
    /// The slow-start threshold, at least three quarters of the window (Linux `tcp_current_ssthresh`).
    pub ssthresh: Segments,
}

/// The undo state of the current episode.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Undo {
    /// When the first retransmission was sent (Linux's retrans_stamp).
    first_retransmission: Option<Instant>,
    /// `snd_una` at the start of the episode (Linux's undo_marker).
    marker: Offset,
    /// Whether the episode can be undone.
    open: bool,
    /// Whether there is a window to restore, `before`.
    restores: bool,
    before: PriorWindow,
    /// Whether data of the episode was retransmitted, or may be from before it.
    retransmitted: bool,
    /// Retransmissions not yet explained by a DSACK.
    unexplained: u32,
}

impl Undo {
    /// Begins an episode at `una`. `in_flight`: earlier retransmissions that may still trigger DSACKs.
    /// `before`: the window to restore; `None` if the window also fell for another reason.
    pub fn begin(&mut self, una: Offset, in_flight: u32, before: Option<PriorWindow>) {
        self.marker = una;
        self.open = true;
        self.retransmitted = in_flight > 0;
        self.unexplained = in_flight;
        self.restores = before.is_some();
        self.before = before.unwrap_or_default();
    }

    /// The episode can no longer be undone.
    pub fn forbid(&mut self) {
        self.open = false;
    }

    /// Data of the episode was retransmitted.
    pub fn on_retransmission(&mut self, now: Instant) {
        self.retransmitted = true;
        self.unexplained = self.unexplained.saturating_add(1);
        self.first_retransmission.get_or_insert(now);
    }

    /// No retransmission is outstanding: later timestamps are compared with the next one.
    pub fn forget_retransmission(&mut self) {
        self.first_retransmission = None;
    }

    /// When the first outstanding retransmission was sent.
    pub fn first_retransmission(&self) -> Option<Instant> {
        self.first_retransmission
    }

    /// A DSACK reported `duplicate`, `segments` long. Returns whether it belongs to this episode.
    pub fn on_dsack(&mut self, duplicate: Span, segments: u32) -> bool {
        let ours = self.open && duplicate.end > self.marker;
        if ours {
            self.unexplained = self.unexplained.saturating_sub(segments);
        }
        ours
    }

    /// `packets` that were declared lost in the episode were acknowledged after all.
    pub fn explain(&mut self, packets: Segments) {
        self.unexplained = self.unexplained.saturating_sub(packets.0);
    }

    /// The network also signalled congestion: there is no window to restore (RFC 4015 §3.1 step 9; Linux).
    pub fn keep_reduced(&mut self) {
        self.restores = false;
    }

    /// Whether DSACKs explain every retransmission of the episode.
    pub fn all_duplicates(&self) -> bool {
        self.open && self.retransmitted && self.unexplained == 0
    }

    /// Whether the data an ACK acknowledges was sent before the first retransmission, judging by the echoed
    /// timestamp (`None`: no timestamp). Always true if nothing was retransmitted.
    pub fn original_acked(&self, echo_sent_before: Option<Instant>) -> bool {
        self.open
            && match (self.first_retransmission, echo_sent_before) {
                (None, _) => true,
                (Some(first), Some(echo)) => echo <= first,
                (Some(_), None) => false,
            }
    }

    /// `snd_una` at the start of the episode, while it can be undone.
    pub fn began_at(&self) -> Option<Offset> {
        self.open.then_some(self.marker)
    }

    /// Undoes the episode and returns the window to restore.
    pub fn take(&mut self) -> Option<PriorWindow> {
        self.open = false;
        core::mem::take(&mut self.restores).then_some(self.before)
    }

    /// Whether an episode could still be undone.
    pub fn is_open(&self) -> bool {
        self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn span(start: u64, end: u64) -> Span {
        Span::new(Offset(start), Offset(end))
    }

    #[test]
    fn dsacks_explain_retransmissions_one_by_one() {
        let mut undo = Undo::default();
        undo.begin(Offset(100), 0, None);
        assert!(!undo.all_duplicates(), "nothing was retransmitted yet");
        undo.on_retransmission(at(1));
        undo.on_retransmission(at(2));
        undo.on_dsack(span(50, 100), 1);
        assert!(!undo.all_duplicates());
        undo.on_dsack(span(100, 200), 1);
        assert!(!undo.all_duplicates(), "the first was of data before");
        undo.on_dsack(span(200, 300), 1);
        assert!(undo.all_duplicates());
        undo.forbid();
        assert!(!undo.all_duplicates());
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_identifies_the_original() {
        let mut undo = Undo::default();
        undo.begin(Offset(100), 0, None);
        assert!(undo.original_acked(None), "nothing was retransmitted");
        undo.on_retransmission(at(50));
        undo.on_retransmission(at(70));
        for (echo, original) in [(None, false), (Some(50), true), (Some(51), false)] {
            assert_eq!(undo.original_acked(echo.map(at)), original, "{echo:?}");
        }
    }
}
