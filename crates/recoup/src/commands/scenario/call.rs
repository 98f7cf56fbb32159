//! A scenario from a capture: `recoup scenario from` without its arguments and its printing.

use crate::commands::plot::call::open_joined;
use crate::commands::whatif::call::{RerunProgress, watched};
use recoup_captures::whatif::{InferenceError, InferredScenario, infer_scenario, infer_scenario_of_stream};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{PacketSource, Reader};
use std::path::{Path, PathBuf};

/// The scenario of a capture; `-` is standard input. Several captures are one, in the order of their times.
///
/// # Errors
/// When a capture cannot be read, or when no connection shows what a scenario needs.
pub fn scenario_from(
    captures: &[PathBuf],
    settings: &Settings,
    progress: &dyn RerunProgress,
) -> Result<InferredScenario, InferenceError> {
    match captures {
        [one] => of_one(one, settings, progress),
        several => {
            let joined = open_joined(several)?;
            let name = joined.name().to_owned();
            watched(&name, joined.size(), progress, |watch| {
                let again = |_| open_joined(several);
                infer_scenario(&name, joined, again, settings, watch)
            })
        }
    }
}

/// A file is read twice. Of a stream, which is read once, a limited number of packets is kept.
fn of_one(path: &Path, settings: &Settings, progress: &dyn RerunProgress) -> Result<InferredScenario, InferenceError> {
    let name = path.display().to_string();
    let reader = Reader::open(path)?;
    let is_file = path.metadata().is_ok_and(|about| about.is_file());
    watched(&name, reader.size(), progress, |watch| match is_file {
        true => {
            let again = |_| Reader::open(path);
            infer_scenario(&name, reader, again, settings, watch)
        }
        false => infer_scenario_of_stream(&name, reader, settings, watch),
    })
}
