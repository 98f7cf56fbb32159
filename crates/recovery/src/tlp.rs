//! Tail loss probe (TLP), and TLP restart (TLPR).
//!
//! ```text
//! PTO with several segments outstanding, and with one:
//!   draft-01:  max(2·SRTT, 10 ms)      max(2·SRTT, 1.5·SRTT + WCDelAckT)           (1), (2)
//!   RFC 8985:  2·SRTT                  2·SRTT + WCDelAckT                          §7.2
//!   Linux 6:   2·SRTT + 2 ms           2·SRTT + WCDelAckT
//!   RFC 9002:  (SRTT + max(4·RTTVAR, 1 ms) + max_ack_delay) · 2^n, n probe timeouts in a row    §6.2.1
//! TLP:   probe at now + PTO            TLPR: probe at last send + min(PTO, RTO)
//! both: no later than the retransmission timer
//! ```
//! The probe is new data if the receive window permits, or else a retransmission of the last segment. If
//! that retransmission repaired a loss, an ACK passes it without a duplicate being reported. The sender
//! responds with one window reduction.
//!
//! Sources: draft-dukkipati-tcpm-tcp-loss-probe-01 §2 (probing), §3 (detecting repaired losses);
//! tail-loss paper §2.2 (equations 1 and 2) and §2.3 (restart); RFC 8985 §7; Linux 6.12
//! `tcp_schedule_loss_probe`, `tcp_process_tlp_ack`.
//!
//! The draft probes only when the window is used up or nothing is left to send. RFC 8985 and later Linux
//! always probe, also while the window is reduced for a reason other than a loss (CWR). The draft waits
//! for an answer only to a retransmitted segment; RFC 8985 waits for an answer to any probe.
//!
//! RFC 9002's probe timeout takes the place of the retransmission timeout (§6.2). It counts from the last
//! transmission, doubles at each expiry, and sends two probes: what is marked lost, or new data, or the
//! segments whose last transmission is the oldest. An expiry marks nothing lost and does not reduce the window.
//! The timer does not run while the timer of the time threshold does.
//!
//! Deviations, beside those at the rules:
//!
//! - With RFC 9002's timer, the handshake keeps TCP's retransmission timer, and without SACK the retransmission
//!   timeout remains.
//! - If probes repaired the only losses, the window is reduced once, as in TLP. In QUIC the ACK of a probe
//!   declares the originals lost, with the same effect.
//! - Linux 3.17 lets a second PTO expire without a probe, which postpones the RTO. Here no second PTO is
//!   armed.
//! - TLPR's timer is PTO − T_last (tail-loss paper §2.3). The paper does not say what happens if that is not above zero as an
//!   ACK arrives. With `+tlpr` the probe leaves at once. With `+tlprfull` the timer runs for a full PTO, as that of RTO
//!   restart runs for a full RTO (RFC 7765 §4; module `rto`).

use crate::rtt::Factor;
use core::time::Duration;
pub(crate) use peer_ack_delay::PeerAckDelay;
use recoup_units::{Instant, Offset, Segments, Span};

mod peer_ack_delay;

const MS: u64 = 1_000_000;

/// [`AckDelay::WORST`], for other timers that allow for a delayed ACK.
pub(crate) const WORST_DELAYED_ACK: Duration = Duration::from_millis(200);

/// The version of TLP: its probe timeout and its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ProbeVersion {
    /// draft-dukkipati-tcpm-tcp-loss-probe-01, as in the tail-loss paper and from Linux 3.10 on.
    Draft01,
    /// RFC 8985 §7.
    Rfc8985,
    /// Linux 6.
    Linux6,
    /// RFC 9002 §6.2.
    Rfc9002,
}

/// max_ack_delay of RFC 9002's probe timeout, in ns: how long a receiver is assumed to hold an ACK back
/// (RFC 9000 §18.2, the default).
pub(crate) const MAX_ACK_DELAY: u64 = 25_000_000;

/// How many probes follow an expiry of RFC 9002's timer (§6.2.4).
//= RFC 9002 §6.2.4 MAY: "An endpoint MAY send up to two full-sized datagrams containing ack-eliciting packets to avoid
//=   an expensive consecutive PTO expiration due to a single lost datagram"
const PROBES: u8 = 2;

/// What is added to the probe timeout of a single outstanding segment, whose ACK the receiver may delay.
///
/// RFC 8985 leaves it to the sender: "the sender MAY inflate the PTO by TLP.max_ack_delay" (§7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum AckDelay {
    /// Always this long, in µs.
    Fixed(u32),
    /// As long as this receiver held such ACKs back of late; 200 ms while that is unknown, and at most.
    Measured,
}

impl AckDelay {
    /// WCDelAckT: the longest delayed ACK that the sender assumes (draft-01 §2.1; RFC 8985 §7.2 TLP.max_ack_delay).
    pub const WORST: Self = Self::Fixed(200_000);
}

/// The rules of the tail loss probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ProbeRules {
    /// The version of TLP.
    pub version: ProbeVersion,
    /// Count the probe timeout from the last transmission instead of from the last ACK (TLPR).
    pub restart: bool,
    /// With `restart`: a probe that is overdue as an ACK arrives waits for a full probe timeout, instead of leaving at once.
    #[cfg_attr(feature = "serde", serde(default))]
    pub full_if_overdue: bool,
    /// The factor of SRTT, which all versions but RFC 9002's have: 2.
    #[cfg_attr(feature = "serde", serde(default = "usual_factor"))]
    pub srtt_factor: Factor,
    /// What is added for a single segment, in all versions but RFC 9002's.
    #[cfg_attr(feature = "serde", serde(default = "usual_ack_delay"))]
    pub ack_delay: AckDelay,
}

const USUAL_FACTOR: Factor = Factor::whole(2);

#[cfg(feature = "serde")]
const fn usual_factor() -> Factor {
    USUAL_FACTOR
}

#[cfg(feature = "serde")]
const fn usual_ack_delay() -> AckDelay {
    AckDelay::WORST
}

impl ProbeRules {
    /// The rules of draft-01.
    pub const DRAFT_01: Self = Self::of(ProbeVersion::Draft01);
    /// The rules of RFC 8985.
    pub const RFC_8985: Self = Self::of(ProbeVersion::Rfc8985);
    /// The rules of Linux 6.
    pub const LINUX_6: Self = Self::of(ProbeVersion::Linux6);
    /// The rules of RFC 9002.
    pub const RFC_9002: Self = Self::of(ProbeVersion::Rfc9002);

    const fn of(version: ProbeVersion) -> Self {
        Self { version, restart: false, full_if_overdue: false, srtt_factor: USUAL_FACTOR, ack_delay: AckDelay::WORST }
    }

    /// The probe timeout; `None` if there is no SRTT and this version requires one, and with RFC 9002, whose
    /// timeout depends on RTTVAR. A delay that is measured counts as unknown.
    pub fn timeout(&self, srtt: Option<Duration>, outstanding: Segments) -> Option<Duration> {
        let srtt = srtt.map(|srtt| u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX));
        self.timeout_nanos(srtt, outstanding, &PeerAckDelay::default()).map(Duration::from_nanos)
    }

    /// What is added to the factor of SRTT for a single segment, in ns.
    fn held_nanos(&self, srtt: u64, peer: &PeerAckDelay) -> u64 {
        match self.ack_delay {
            AckDelay::Fixed(micros) => u64::from(micros) * 1000,
            AckDelay::Measured => peer.beyond(srtt),
        }
    }

    /// The probe timeout in nanoseconds: the fast path, since every transmission needs it.
    #[inline(always)] // for each ACK and each transmission
    pub(crate) fn timeout_nanos(&self, srtt: Option<u64>, outstanding: Segments, peer: &PeerAckDelay) -> Option<u64> {
        if self.version == ProbeVersion::Rfc9002 {
            return None;
        }
        let one = outstanding == Segments::ONE;
        let Some(srtt) = srtt else {
            // RFC 8985 §7.2; Linux TCP_TIMEOUT_INIT.
            //= RFC 8985 §7.2 SHOULD: "Second, when there is no SRTT estimate available, the PTO SHOULD be 1 second."
            return self.is_modern().then_some(1000 * MS);
        };
        //= RFC 8985 §7.2 step: "First, the default PTO interval is 2*SRTT."
        let twice = self.srtt_factor.times(srtt);
        Some(match self.version {
            ProbeVersion::Draft01 if one => {
                let half_more = srtt.saturating_mul(3) / 2;
                twice.max(half_more.saturating_add(self.held_nanos(srtt, peer)))
            }
            ProbeVersion::Draft01 => twice.max(10 * MS),
            //= RFC 8985 §7.2 MAY: "Third, when the FlightSize is one segment, the sender MAY inflate the PTO by
            //=   TLP.max_ack_delay"
            _ if one => twice.saturating_add(self.held_nanos(srtt, peer)),
            ProbeVersion::Rfc8985 | ProbeVersion::Rfc9002 => twice,
            ProbeVersion::Linux6 => twice.saturating_add(2 * MS),
        })
    }

    /// Whether this is RFC 8985's version or later: it probes even if the window has room, and waits for an
    /// answer also to a probe of new data.
    pub fn is_modern(&self) -> bool {
        self.version != ProbeVersion::Draft01
    }
}

/// The probe timer and the unanswered probe of one sender.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct LossProbe {
    deadline: Option<Instant>,
    /// Probes to be sent.
    due: u8,
    /// `snd_nxt` when the last probe was sent (the draft's TLPHighRxt, RFC 8985's TLP.end_seq).
    high: Offset,
    /// The unanswered probe.
    out: Option<Unanswered>,
    /// Cleared by the probe itself, set again by the next ACK.
    spent: bool,
}

/// The kind of an unanswered probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Unanswered {
    /// A retransmission of the last segment.
    Repeated,
    /// New data.
    New,
}

/// The answer of an ACK to a probe (draft §3.2, RFC 8985 §7.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeAnswer {
    /// Nothing yet, or no probe is unanswered.
    Open,
    /// Original and probe both arrived, or the probe was new data.
    Unneeded,
    /// Only the probe arrived: the original was lost, so the window must be reduced.
    RepairedLoss,
}

impl LossProbe {
    /// When a probe is to be sent, if the timer runs.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the timer has expired and the probe was not sent yet.
    pub fn is_due(&self) -> bool {
        self.due > 0
    }

    /// Whether the timer has expired and one probe is left to be sent.
    pub fn is_last_due(&self) -> bool {
        self.due == 1
    }

    /// Whether the timer may be armed: the last probe is answered. Linux 6 always arms it, and checks for an
    /// unanswered probe when the timer expires (`tcp_send_loss_probe`).
    #[inline]
    pub fn may_arm(&self, rules: &ProbeRules) -> bool {
        //= RFC 8985 §7.3 step: "Second, the sender has obtained an RTT measurement since the last loss probe
        //=   transmission or the start of the connection, whichever was later."
        //= deviation: the condition is any ACK since the last probe, as in Linux
        let answered = self.out.is_none() && !self.spent;
        !self.is_due() && (answered || rules.version == ProbeVersion::Linux6)
    }

    /// Whether no probe waits for its answer.
    pub fn is_answered(&self) -> bool {
        self.out.is_none()
    }

    /// Whether a probe that retransmitted the last segment waits for its answer.
    pub fn repeat_is_out(&self) -> bool {
        self.out == Some(Unanswered::Repeated)
    }

    /// Whether a DSACK reports the probe that retransmitted the last segment (Linux FLAG_DSACK_TLP).
    pub fn is_of_probe(&self, duplicate: Span) -> bool {
        self.repeat_is_out() && self.high == duplicate.end
    }

    /// Sets the timer.
    pub fn arm(&mut self, at: Instant) {
        self.deadline = Some(at);
    }

    /// Stops the timer.
    pub fn disarm(&mut self) {
        self.deadline = None;
    }

    /// The timer expired: a probe is due, unless the last one still waits for its answer.
    pub fn on_expiry(&mut self) {
        self.deadline = None;
        //= RFC 8985 §7.3 MUST: "When the PTO timer expires, the sender MUST check whether both of the following
        //=   conditions are met before sending a loss probe:"
        //= RFC 8985 §7.3 step: "First, there is no other previous loss probe still in flight."
        self.due = u8::from(self.out.is_none());
    }

    /// RFC 9002's timer expired: two probes are due.
    pub fn on_probe_timeout(&mut self) {
        self.deadline = None;
        //= RFC 9002 §6.2.4 MUST: "When a PTO timer expires, a sender MUST send at least one ack-eliciting packet in the
        //=   packet number space as a probe."
        self.due = PROBES;
    }

    /// The probe was sent. `repeated`: it was a retransmission, not new data. `nxt` is `snd_nxt`.
    pub fn on_sent(&mut self, rules: &ProbeRules, repeated: bool, nxt: Offset) {
        self.due = self.due.saturating_sub(1);
        self.spent = true;
        if repeated || rules.is_modern() {
            self.high = nxt;
            self.out = Some(match repeated || self.repeat_is_out() {
                true => Unanswered::Repeated,
                false => Unanswered::New,
            });
        }
    }

    /// Forgets the unanswered probe: a timeout or a recovery makes it meaningless.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// An ACK arrived: no probe is due any more, and the timer may be armed once the last one is answered.
    #[inline]
    pub fn on_heard(&mut self) {
        self.due = 0;
        self.spent = false;
    }

    /// Processes an ACK. `duplicate`: the ACK does not advance and carries no SACK, data or window update.
    /// `dsack`: the duplicate arrival that the ACK reports.
    pub fn on_ack(
        &mut self,
        rules: &ProbeRules,
        cumulative: Offset,
        duplicate: bool,
        dsack: Option<Span>,
    ) -> ProbeAnswer {
        self.on_heard();
        let Some(out) = self.out else {
            return ProbeAnswer::Open;
        };
        let (high, repeated) = (self.high, out == Unanswered::Repeated);
        let both_arrived = match rules.version {
            ProbeVersion::Draft01 | ProbeVersion::Rfc9002 => dsack.is_some(),
            //= RFC 8985 §7.4.2 step: "If the sender receives an ACK matching either case, then the sender estimates
            //=   that the receiver received both the original data segment and the TLP probe retransmission."
            _ => dsack.is_some_and(|dsack| dsack.end == high),
        };
        let answer = if cumulative < high {
            ProbeAnswer::Open
        } else if !repeated || both_arrived {
            ProbeAnswer::Unneeded
        } else if cumulative > high {
            //= RFC 8985 §7.4.2 MUST: "If the TLP sender does not receive such an indication, then it MUST assume that
            //=   the original data segment, the TLP retransmission, or a corresponding ACK was lost for congestion
            //=   control purposes."
            ProbeAnswer::RepairedLoss
        } else if duplicate {
            ProbeAnswer::Unneeded
        } else {
            ProbeAnswer::Open
        };
        //= RFC 8985 §7.4.2 step: "The sender considers the TLP episode to be done and records that fact by setting
        //=   TLP.end_seq to None."
        if answer != ProbeAnswer::Open {
            self.out = None;
        }
        answer
    }
}

#[cfg(test)]
mod tests;
