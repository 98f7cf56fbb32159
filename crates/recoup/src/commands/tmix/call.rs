//! Connection vectors of Tmix from a capture: `recoup tmix extract` without its arguments and its printing.

use crate::commands::analyze::call::Progress;
use crate::commands::plot::call::open_joined;
use recoup_captures::filter::Filter;
use recoup_captures::tmix::{Extraction, extract};
use recoup_trace::analyze::ConnectionFilter;
use recoup_trace::read::{PacketSource, ReadError, Reader};
use std::path::PathBuf;

/// Vectors, and what to know about the capture.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// The vectors, and what was left out.
    pub extraction: Extraction,
    /// Lines about frames that were not read, and the like.
    pub notes: Vec<String>,
}

/// The vectors of a capture; `-` is standard input. Several captures are one, in the order of their times. When
/// `progress` is stopped, they are those of the packets read by then.
///
/// # Errors
/// When a capture cannot be read.
pub fn vectors_of(
    captures: &[PathBuf],
    filter: Option<&Filter>,
    progress: &dyn Progress,
) -> Result<Extracted, ReadError> {
    match captures {
        [one] => read(Reader::open(one)?, filter, progress),
        several => read(open_joined(several)?, filter, progress),
    }
}

fn read<S: PacketSource>(
    mut source: S,
    filter: Option<&Filter>,
    progress: &dyn Progress,
) -> Result<Extracted, ReadError> {
    progress.capture_begins(source.name(), source.size());
    let filter = filter.map(|filter| filter as &dyn ConnectionFilter);
    let extraction = extract(&mut source, filter, |source| {
        progress.bytes_read(source.taken());
        !progress.is_stopped()
    });
    progress.capture_ends();
    let counts = source.stop()?;
    Ok(Extracted { extraction, notes: counts.notes() })
}
