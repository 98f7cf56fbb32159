//! Measured values beside usual ones.
//!
//! The usual values are those of Google's web servers (DC1) and video servers (DC2) in 2011: Dukkipati et
//! al., "Proportional Rate Reduction for TCP", section 2.1 and table 3. No later study of this size has
//! published them.

use super::super::facts::Facts;
use super::super::quic::Protocol;
use crate::wording::{millis, percent};
use recoup_trace::finding::Verdict;
use serde::Serialize;
use std::fmt;

/// Fewer segments or retransmissions than this say little about a share of them.
const FEW: u64 = 100;

/// A measured value and the range of usual ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The quantity: `segments retransmitted`.
    pub what: &'static str,
    /// The value, with its unit.
    pub value: String,
    /// The usual range, with its unit; `None` if there is none.
    pub usual: Option<&'static str>,
    /// The value is above the usual range, and there are enough samples to say so.
    pub is_unusual: bool,
}

impl fmt::Display for Comparison {
    /// For example `segments retransmitted: 8.1 % (usual: 2.5 to 5.6 %), more than usual`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.value)?;
        if let Some(usual) = self.usual {
            write!(f, " (usual: {usual})")?;
        }
        if self.is_unusual {
            f.write_str(", more than usual")?;
        }
        Ok(())
    }
}

/// All values that the capture shows.
pub fn comparisons(facts: &Facts) -> Vec<Comparison> {
    let mut all = Vec::new();
    // The usual values are those of TCP.
    let protocol = facts.protocol();
    let usual = |range| protocol.choose(Some(range), None);
    let is_tcp = protocol == Protocol::Tcp;
    let retransmitted = facts.retransmissions.total();
    if facts.segments > 0 {
        let share = retransmitted as f64 / facts.segments as f64;
        all.push(Comparison {
            what: protocol.choose("segments retransmitted", "loss declarations and probes, per packet"),
            value: percent(retransmitted as f64, facts.segments as f64),
            usual: usual("2.5 to 5.6 %"),
            is_unusual: is_tcp && facts.segments >= FEW && share > 0.056,
        });
    }
    let judged = retransmitted - facts.retransmissions.of_verdict(Verdict::Unknowable);
    // A trace without ACKs has no verdicts at all.
    if retransmitted > 0 && (is_tcp || judged > 0) {
        let spurious = facts.retransmissions.of_verdict(Verdict::Spurious);
        let share = spurious as f64 / retransmitted as f64;
        all.push(Comparison {
            what: protocol
                .choose("retransmissions that were spurious", "loss declarations and probes that were spurious"),
            value: percent(spurious as f64, retransmitted as f64),
            usual: usual("1.4 to 3.8 %"),
            is_unusual: is_tcp && retransmitted >= FEW && share > 0.038,
        });
    }
    let (recoveries, segments) = facts.fast_recoveries;
    if recoveries > 0 && is_tcp {
        let mean = segments as f64 / recoveries as f64;
        all.push(Comparison {
            what: "retransmissions per fast recovery",
            value: format!("{mean:.1}"),
            usual: Some("2.9 to 3.2"),
            is_unusual: recoveries >= FEW && mean > 3.15,
        });
    }
    if let (Some(median), Some(long)) = (facts.rtt.summary(), facts.long_rtt.summary()) {
        all.push(Comparison {
            what: "round-trip time, median and 99th percentile of a typical sender",
            value: format!("{}, {}", millis(median.p50), millis(long.p50)),
            usual: None,
            is_unusual: false,
        });
    }
    all
}
