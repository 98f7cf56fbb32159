//! Captures that are one stream: `--join`.

use super::{Captures, Progress, analyze};
use recoup_captures::analysis::Collector;
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Joined, JoinedFiles, PacketSource};
use std::path::PathBuf;

/// Analyzes several captures as one, in the order of their times. Captures that cannot be read are
/// left out.
pub fn analyze_joined<V: Collector>(
    captures: &[PathBuf],
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> V,
) -> Captures<V> {
    let mut joined = Joined::open(captures, &JoinedFiles::default());
    let failures = joined.failures().into_iter();
    let mut all = Captures {
        analyzed: Vec::new(),
        failures: failures.map(Into::into).collect(),
        begun: captures.len(),
        rotation: None,
    };
    if joined.files_to_read() > 0 {
        let name = joined.name().to_owned();
        match analyze(&name, joined, settings, progress, view) {
            Ok(analyzed) => all.analyzed.push(analyzed),
            Err(error) => all.failures.push(error),
        }
    }
    all
}
