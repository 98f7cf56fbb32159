//! Captures that can be sent: addresses replaced, payload and names left out, and the same analysis but for the names.
//!
//! ```text
//! RawReader: records, with the parts of each frame ─► rewrite ─► write: pcap, pcapng
//!                                                       └─ map: addresses, by a key
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `key` | the key: random, or from a secret |
//! | `map` | the keyed, prefix-preserving map of addresses |
//! | `rewrite`, `headers` | a frame without what names or tells anything; IP, TCP, UDP and ICMP headers |
//! | `write`, `pack` | records of pcap and pcapng; their compression |
//!
//! **Nothing is kept by default.** A frame begins as zeros. Into it go the fields that the analysis reads, so a field that is
//! forgotten is lost, and does not leak. Then the frame is read as any other: where that gives anything else than the
//! original with other names, the frame is replaced by a placeholder.

mod headers;
mod key;
mod map;
mod pack;
mod rewrite;
mod write;

pub use key::{Key, KeyError};
pub use map::{AddressMap, Mapped};
pub use pack::Packing;
pub use rewrite::PayloadMode;

use crate::capture::Progress;
use recoup_trace::read::{Ending, RawReader, RawRecord, RewriteError};
use rewrite::{Kind, Rewriter};
use std::io::Write;
use write::Writer;

/// What an anonymized capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anonymized {
    /// TCP segments.
    pub segments: u64,
    /// ICMP messages about segments.
    pub messages: u64,
    /// Fragments of IP packets, of which the IP header is kept.
    pub fragments: u64,
    /// Placeholders for other frames, and for records without a frame.
    pub placeholders: u64,
    /// Placeholders, among the others, for segments that could not be rewritten so that they read as before.
    pub given_up: u64,
    /// How the original ended. If it is damaged or cut, the rest is missing.
    pub ending: Ending,
}

/// Writes the records of a capture to `out` without what names or tells anything. `map` is the one for all captures that
/// are to map alike.
///
/// # Errors
/// A capture without frames of a known link type, or when `out` fails.
pub fn anonymize(
    reader: RawReader<'_>,
    map: &mut AddressMap,
    payload: PayloadMode,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<Anonymized, RewriteError> {
    let mut rewriter = Rewriter::new(map, payload);
    let mut writer = Writer::new(out);
    let mut found = Anonymized::default();
    let counts = reader.each(|record, taken| {
        progress.bytes_read(taken);
        match record {
            RawRecord::Classic(link) => writer.classic(link),
            RawRecord::Section => writer.section(),
            RawRecord::Interface(link) => writer.interface(link),
            RawRecord::Dropped(interface, count) => writer.dropped(interface, count),
            RawRecord::NoFrame(_) => {
                found.placeholders += 1;
                writer.no_frame()
            }
            RawRecord::Frame(frame) => {
                let written = rewriter.frame(&frame);
                match written.kind {
                    Kind::Segment => found.segments += 1,
                    Kind::Message => found.messages += 1,
                    Kind::Fragment => found.fragments += 1,
                    Kind::Placeholder => found.placeholders += 1,
                    Kind::GivenUp => {
                        found.placeholders += 1;
                        found.given_up += 1;
                    }
                }
                writer.frame(&frame, &written)
            }
        }
    })?;
    Ok(Anonymized { ending: counts.ending, ..found })
}

#[cfg(test)]
mod tests;
