//! What copies do to those who send them, and to the others.

use super::{CongestionCell, Copying, PROFILES, Setup, THINK_TIMES, difference};
use crate::claims::{Claim, ClaimVerdict, claim, ours};
use recoup_lab::stats::Estimate;

/// All claims.
pub fn all(_cells: &[CongestionCell]) -> Vec<Claim> {
    let _ = (ours, claim, difference, PROFILES, THINK_TIMES, Copying::All, ClaimVerdict::Holds);
    let _: Option<(Setup, Estimate)> = None;
    vec![]
}
