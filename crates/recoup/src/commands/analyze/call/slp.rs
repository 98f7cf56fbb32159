//! The 2021 paper's analysis of captures: `recoup analyze --study=slp`.

use super::{AnalyzeError, Captures, Progress};
use crate::commands::plot::call::open_joined;
use crate::commands::whatif::call::Input;
use recoup_captures::analysis::Analyzed;
use recoup_captures::study::slp::{SlpStudy, Watch, study, study_stream};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Joined, JoinedFiles, PacketSource, Reader};
use std::path::{Path, PathBuf};

/// Studies captures. Files are read twice. Of a stream, which is read once, a limited number of packets is
/// kept. A capture that cannot be read does not keep the others from being studied.
pub fn study_all(input: Input<'_>, settings: &Settings, progress: &dyn Progress) -> Captures<SlpStudy> {
    let mut all = Captures { analyzed: Vec::new(), failures: Vec::new(), begun: 0, rotation: None };
    let mut add = |studied: Result<_, AnalyzeError>| match studied {
        Ok(studied) => all.analyzed.push(studied),
        Err(error) => all.failures.push(error),
    };
    match input {
        Input::Joined(captures) => {
            all.begun = captures.len();
            let mut joined = Joined::open(captures, &JoinedFiles::default());
            let failures: Vec<_> = joined.failures().into_iter().collect();
            failures.into_iter().for_each(|error| add(Err(error.into())));
            if joined.files_to_read() > 0 {
                add(study_joined(joined, captures, settings, progress));
            }
        }
        Input::Each(captures) => {
            for path in captures {
                all.begun += 1;
                add(study_one(path, settings, progress));
                if progress.is_stopped() {
                    break;
                }
            }
        }
    }
    all
}

fn study_joined(
    joined: Joined,
    captures: &[PathBuf],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Analyzed<SlpStudy>, AnalyzeError> {
    let name = joined.name().to_owned();
    watched(&name, joined.size(), progress, |watch| {
        let again = |_| open_joined(captures);
        Ok(study(&name, joined, again, settings, watch)?)
    })
}

fn study_one(path: &Path, settings: &Settings, progress: &dyn Progress) -> Result<Analyzed<SlpStudy>, AnalyzeError> {
    let name = path.display().to_string();
    let reader = Reader::open(path)?;
    let is_file = path.metadata().is_ok_and(|about| about.is_file());
    watched(&name, reader.size(), progress, |watch| {
        Ok(match is_file {
            true => study(&name, reader, |_| Reader::open(path), settings, watch)?,
            false => study_stream(&name, reader, settings, watch)?,
        })
    })
}

/// The progress of the second reading begins at 0 again.
fn watched<R>(name: &str, size: Option<u64>, progress: &dyn Progress, run: impl FnOnce(Watch<'_>) -> R) -> R {
    progress.capture_begins(name, size);
    let bytes = |bytes| {
        progress.bytes_read(bytes);
        !progress.is_stopped()
    };
    let result = run(Watch { first: &bytes, second: &bytes });
    progress.capture_ends();
    result
}
