//! Other parameters of loss detection for a profile: those that the 2007 study varies (§II, Table I).
//!
//! ```text
//! RTO = max(minRTO, m·srtt + k·rttvar)
//! srtt = (1 − b)·srtt + b·rtt      rttvar = (1 − a)·rttvar + a·|srtt − rtt|
//! D duplicate ACKs mean a loss
//! ```
//! A parameter that is not given stays as the profile has it, and so does the form of its estimator. On
//! Linux, whose RTTVAR is four times the deviation and has a floor of its own, k is (k/4)·RTTVAR, and a also
//! weights how RTTVAR falls.
//!
//! Beside them, those of the tail loss probe, which the study has not: PTO = f·SRTT, and for a single segment
//! f·SRTT + d (RFC 8985 §7.2: f = 2, d = TLP.max_ack_delay). They change nothing in a profile without a probe, and
//! nothing in RFC 9002's probe timeout, which has other terms. In Linux 6 the minimum of RTTVAR is d, too (`tcp_schedule_loss_probe`: `tcp_rto_min_us`), and so it is
//! here if d is not given.

use crate::profile::Mechanisms;
use crate::rtt::{Factor, RtoRules, Smoothing};
use crate::tlp::AckDelay;
use core::time::Duration;
use recoup_units::Segments;

/// Parameters that replace those of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// k, the factor of RTTVAR in the RTO.
    pub rttvar_factor: Option<Factor>,
    /// a, the weight of a sample in RTTVAR.
    pub rttvar_weight: Option<Factor>,
    /// b, the weight of a sample in SRTT.
    pub srtt_weight: Option<Factor>,
    /// m, the factor of SRTT in the RTO.
    pub srtt_factor: Option<Factor>,
    /// The minimum RTO.
    pub min_rto: Option<Duration>,
    /// The quantity that the minimum RTO bounds.
    pub minimum_of: MinimumOf,
    /// D, the duplicate ACKs that mean a loss.
    pub dupthresh: Option<Segments>,
    /// f, the factor of SRTT in the probe timeout.
    pub probe_srtt_factor: Option<Factor>,
    /// d, what the probe timeout of a single segment allows for a delayed ACK.
    pub probe_ack_delay: Option<AckDelay>,
}

/// The quantity that the minimum RTO bounds. The mechanisms `+minrto` and `+minrttvar` move the minimum that a
/// profile has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MinimumOf {
    /// The RTO, as in §II of the study. A floor that the profile has in RTTVAR stays as it is.
    #[default]
    Rto,
    /// On Linux of RTTVAR, as in its kernel; otherwise of the RTO.
    Rttvar,
}

impl MinimumOf {
    /// The name in settings and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rto => "rto",
            Self::Rttvar => "rttvar",
        }
    }

    /// Moves the minimum that Linux's estimator has. Other estimators keep theirs on the RTO.
    pub(crate) fn apply(self, rto: &mut RtoRules) {
        if rto.smoothing == Smoothing::Linux {
            self.set(rto.min.max(rto.min_variance), rto);
        }
    }

    /// Makes this the only minimum of the RTO.
    fn set(self, min: Duration, rto: &mut RtoRules) {
        (rto.min, rto.min_variance) = match self {
            Self::Rto => (min, Duration::ZERO),
            Self::Rttvar => (Duration::ZERO, min),
        };
    }
}

impl Parameters {
    /// Replaces the parameters of a profile.
    pub fn apply(&self, mechanisms: &mut Mechanisms) {
        self.apply_to_rto(&mut mechanisms.rto);
        if let (Some(min), MinimumOf::Rttvar) = (self.min_rto, self.minimum_of) {
            mechanisms.follow_least_rto(min);
        }
        if let Some(rules) = &mut mechanisms.probe {
            rules.srtt_factor = self.probe_srtt_factor.unwrap_or(rules.srtt_factor);
            rules.ack_delay = self.probe_ack_delay.unwrap_or(rules.ack_delay);
        }
        if let Some(dupthresh) = self.dupthresh {
            let rules = &mut mechanisms.detection;
            // A threshold that follows reordering still does.
            rules.max_dupthresh = match rules.max_dupthresh <= rules.dupthresh {
                true => dupthresh,
                false => rules.max_dupthresh.max(dupthresh),
            };
            rules.dupthresh = dupthresh;
        }
    }

    /// Replaces the parameters of an RTO.
    pub fn apply_to_rto(&self, rto: &mut RtoRules) {
        rto.rttvar_factor = self.rttvar_factor.unwrap_or(rto.rttvar_factor);
        rto.rttvar_weight = self.rttvar_weight.unwrap_or(rto.rttvar_weight);
        rto.srtt_weight = self.srtt_weight.unwrap_or(rto.srtt_weight);
        rto.srtt_factor = self.srtt_factor.unwrap_or(rto.srtt_factor);
        if let Some(min) = self.min_rto {
            match (self.minimum_of, rto.smoothing) {
                (MinimumOf::Rttvar, Smoothing::Linux) => MinimumOf::Rttvar.set(min, rto),
                _ => rto.min = min,
            }
        }
    }
}

#[cfg(test)]
mod tests;
