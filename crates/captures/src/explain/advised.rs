//! Adds what would have helped to the facts of a capture, from a second reading of it.

use super::advice::{self, Advice};
use super::facts::Facts;
use crate::analysis::Analyzed;
use crate::whatif::rerun_candidates;
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Counts, PacketSource, ReadError};

/// Runs connections again, and notes what would have helped. Facts [without
/// candidates](Facts::with_advice) stay as they are. `goes_on` ends the reruns by returning `false`.
///
/// # Errors
/// When the capture cannot be opened again.
pub fn advise<T: PacketSource>(
    analyzed: &mut Analyzed<Facts>,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    settings: &Settings,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<(), ReadError> {
    let Some(candidates) = analyzed.findings.candidates() else {
        return Ok(());
    };
    let answer = rerun_candidates(analyzed, candidates, again, &advice::request(), settings, &|_, _| goes_on())?;
    analyzed.findings.advice = Advice::new(&answer);
    Ok(())
}
