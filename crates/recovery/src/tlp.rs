//! Tail loss probe, and its restart.
//!
//! ```text
//! PTO = max(2·SRTT, 10 ms)                       more than one segment outstanding   (1)
//! PTO = max(2·SRTT, 1.5·SRTT + WCDelAckT)        one segment outstanding             (2)
//! TLP:   probe at now + PTO                      TLPR: probe at last send + min(PTO, RTO)
//! either way no later than the retransmission timer
//! ```
//! The probe is new data if the receive window permits, else the last segment again. A probe that
//! repeated the last segment and itself repaired its loss is noticed by the ACK that passes it
//! without a duplicate being reported, and answered with one window reduction.
//!
//! Sources: draft-dukkipati-tcpm-tcp-loss-probe-01 §2 (probing), §3 (detecting repaired losses);
//! tail-loss paper §2.2 (equations 1 and 2) and §2.3 (restart).
//!
//! Deviations: like Linux, "one probe a tail" holds until the probe is answered, so a second probe
//! needs new acknowledgments; where Linux 3.17 lets a second PTO pass silently and postpones the
//! RTO by it, none is armed here.

use recoup_units::{Instant, Offset};
use std::time::Duration;

/// The constants of equations 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRules {
    /// Count the probe timeout from the last transmission instead of from the last ACK (TLPR).
    pub restart: bool,
    /// The floor of equation 1.
    pub min: Duration,
    /// WCDelAckT: the longest a receiver is taken to hold an ACK.
    pub worst_delayed_ack: Duration,
}

impl ProbeRules {
    /// The draft's values (§2.1).
    pub const DRAFT_01: Self = Self {
        restart: false,
        min: Duration::from_millis(10),
        worst_delayed_ack: Duration::from_millis(200),
    };

    /// The probe timeout.
    pub fn timeout(&self, srtt: Duration, one_outstanding: bool) -> Duration {
        if one_outstanding {
            (srtt * 2).max(srtt * 3 / 2 + self.worst_delayed_ack)
        } else {
            (srtt * 2).max(self.min)
        }
    }
}

/// Probe timer and probe episode of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossProbe {
    deadline: Option<Instant>,
    due: bool,
    /// `snd_nxt` when the last segment was repeated as a probe (the draft's TLPHighRxt); `None`
    /// when no such probe is unanswered.
    high: Option<Offset>,
    /// Cleared by the probe itself, set again by the next ACK.
    spent: bool,
}

/// What an ACK says of an unanswered probe (draft §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// Nothing yet, or there is no probe.
    Open,
    /// Original and probe both arrived.
    Unneeded,
    /// Only the probe arrived: the original was lost and the network deserves a reduction.
    RepairedLoss,
}

impl LossProbe {
    /// When a probe is to be sent, if the timer runs.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The timer went off and the probe was not sent yet.
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// Whether another probe may be armed: the last one is answered.
    pub fn may_arm(&self) -> bool {
        self.high.is_none() && !self.due && !self.spent
    }

    /// Whether no repeated segment is waiting for its answer.
    pub fn is_answered(&self) -> bool {
        self.high.is_none()
    }

    /// Sets the timer.
    pub fn arm(&mut self, at: Instant) {
        self.deadline = Some(at);
    }

    /// Stops the timer.
    pub fn disarm(&mut self) {
        self.deadline = None;
    }

    /// The timer went off.
    pub fn on_expiry(&mut self) {
        self.deadline = None;
        self.due = true;
    }

    /// The probe was sent; `repeated` if it was not new data. `nxt` is `snd_nxt`.
    pub fn on_sent(&mut self, repeated: bool, nxt: Offset) {
        self.due = false;
        self.spent = true;
        if repeated {
            self.high = Some(nxt);
        }
    }

    /// Forgets the episode: a timeout makes it meaningless.
    pub fn on_timeout(&mut self) {
        *self = Self::default();
    }

    /// Takes in an ACK. `duplicate`: it neither advances nor carries SACK, data or window;
    /// `dsack`: it reports a duplicate arrival.
    pub fn on_ack(&mut self, cumulative: Offset, duplicate: bool, dsack: bool) -> ProbeAnswer {
        self.due = false;
        self.spent = false;
        let Some(high) = self.high else {
            return ProbeAnswer::Open;
        };
        let answer = if cumulative > high {
            if dsack {
                ProbeAnswer::Unneeded
            } else {
                ProbeAnswer::RepairedLoss
            }
        } else if cumulative == high && (duplicate || dsack) {
            ProbeAnswer::Unneeded
        } else {
            ProbeAnswer::Open
        };
        if answer != ProbeAnswer::Open {
            self.high = None;
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn equations_one_and_two() {
        // (SRTT, PTO with several outstanding, PTO with one), ms
        let cases = [
            (1, 10, 201),
            (5, 10, 207),
            (10, 20, 215),
            (80, 160, 320),
            (160, 320, 440),
            (400, 800, 800),
            (640, 1280, 1280),
        ];
        for (srtt, several, one) in cases {
            let rules = ProbeRules::DRAFT_01;
            assert_eq!(rules.timeout(ms(srtt), false), ms(several), "(1) at {srtt}");
            assert_eq!(
                rules.timeout(ms(srtt), true).as_millis(),
                one,
                "(2) at {srtt}"
            );
        }
    }

    #[test]
    fn the_ack_tells_what_the_probe_did() {
        let probe = |cumulative, duplicate, dsack| {
            let mut p = LossProbe::default();
            p.on_expiry();
            p.on_sent(true, Offset(100));
            (p.on_ack(Offset(cumulative), duplicate, dsack), p.may_arm())
        };
        assert_eq!(probe(50, true, false), (ProbeAnswer::Open, false));
        assert_eq!(probe(100, true, false), (ProbeAnswer::Unneeded, true));
        assert_eq!(probe(100, false, true), (ProbeAnswer::Unneeded, true));
        assert_eq!(probe(100, false, false), (ProbeAnswer::Open, false));
        assert_eq!(probe(120, false, false), (ProbeAnswer::RepairedLoss, true));
        assert_eq!(probe(120, false, true), (ProbeAnswer::Unneeded, true));
    }
}
