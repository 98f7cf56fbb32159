//! Captures that say themselves what happened: comments on retransmissions and on the frames where time was lost.
//!
//! ```text
//! first reading:  analysis ─► Remarks: what to say of which frame
//! second reading: CopyReader: frames and blocks as they are ─► Copier ─► pcapng
//!                                 └► Originals: which frame a retransmission repeats
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `remarks` | what an analysis says of frames |
//! | `originals` | the frames that retransmissions repeat, and the numbers of frames in the copy |
//! | `copier` | the copy: pcapng as it is with comments added, pcap as pcapng |

mod copier;
mod originals;
mod remarks;

pub use remarks::{Remarks, RemarksOf};

use crate::capture::Progress;
use copier::Copier;
use originals::Originals;
use recoup_trace::read::{CopiedRecord, CopyReader, Ending, RewriteError};
use std::io::Write;

/// What an annotated capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotated {
    /// Frames, also those that hold no segment.
    pub frames: u64,
    /// Frames that were left out, because their connections lost no time.
    pub left_out: u64,
    /// Comments added.
    pub comments: u64,
    /// How the original ended. If it is damaged or cut, the rest is missing.
    pub ending: Ending,
}

/// Copies a capture to `out` as pcapng, with these remarks as comments. With `only_slow`, frames that belong to no
/// connection that lost time are left out.
///
/// # Errors
/// A capture without frames of a known link type, or when `out` fails.
pub fn annotate(
    reader: CopyReader<'_>,
    remarks: &Remarks,
    only_slow: bool,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<Annotated, RewriteError> {
    let mut copier = Copier::new(out);
    let mut originals = Originals::of(remarks);
    let mut found = Annotated::default();
    // The number of the frame in the capture, from 1.
    let mut number = 0;
    let take = |record: CopiedRecord<'_>| match record {
        CopiedRecord::Classic(link) => copier.classic(link),
        CopiedRecord::Block(bytes) => copier.block(bytes),
        CopiedRecord::NoFrame => {
            number += 1;
            found.frames += 1;
            Ok(())
        }
        CopiedRecord::Frame(frame) => {
            number += 1;
            if only_slow && !frame.packet.as_ref().is_some_and(|packet| remarks.is_slow(number, packet)) {
                found.left_out += 1;
                return copier.leave_out();
            }
            found.frames += 1;
            let comments = match &frame.packet {
                Some(packet) => originals.comments(remarks, (number, found.frames), packet),
                None => Vec::new(),
            };
            copier.frame(&frame, comments)
        }
    };
    let counts = reader.each(take, |taken| progress.bytes_read(taken))?;
    Ok(Annotated { comments: copier.comments(), ending: counts.ending, ..found })
}

#[cfg(test)]
mod tests;
