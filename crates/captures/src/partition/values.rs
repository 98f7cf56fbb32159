//! Values that travel between machines, as bytes.
//!
//! ```text
//! magic, 8 bytes │ XXH3 of the rest, 8 bytes │ zstd: versions, value
//! ```
//!
//! A value is read by the same version of Recoup only, so that all machines find alike.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use thiserror::Error;
use twox_hash::XxHash3_64;

/// How every value begins.
const MAGIC: [u8; 8] = *b"\x89RCPVAL\n";

/// The version of the layout of all values.
const FORMAT: u32 = 1;

/// zstd's fastest usual level.
const LEVEL: i32 = 1;

/// The most bytes that are decompressed.
const MOST_BYTES: u64 = 16 << 30;

/// Why bytes are no value. Each message is one line.
#[derive(Debug, Error)]
pub enum ValueError {
    /// They do not begin like a value.
    #[error("expected a value of `recoup`")]
    Unknown,
    /// They are damaged.
    #[error("the value is damaged: {0}")]
    Damaged(String),
    /// Another version wrote them.
    #[error("the value is of Recoup {found}: expected {}", env!("CARGO_PKG_VERSION"))]
    Version {
        /// That version.
        found: String,
    },
}

/// A value as bytes.
///
/// # Errors
/// If there is not enough memory.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, ValueError> {
    let damaged = |error: &dyn std::fmt::Display| ValueError::Damaged(error.to_string());
    let versions = (FORMAT, env!("CARGO_PKG_VERSION"));
    let plain = postcard::to_stdvec(&(versions, value)).map_err(|error| damaged(&error))?;
    let packed = zstd::encode_all(&plain[..], LEVEL).map_err(|error| damaged(&error))?;
    let checksum = XxHash3_64::oneshot(&packed).to_le_bytes();
    Ok([&MAGIC[..], &checksum, &packed].concat())
}

/// The value that these bytes are.
///
/// # Errors
/// If they are damaged, or another version wrote them.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ValueError> {
    let damaged = |error: &dyn std::fmt::Display| ValueError::Damaged(error.to_string());
    let rest = bytes.strip_prefix(&MAGIC).ok_or(ValueError::Unknown)?;
    let (checksum, packed) = rest.split_at_checked(8).ok_or(ValueError::Unknown)?;
    if XxHash3_64::oneshot(packed).to_le_bytes() != checksum {
        return Err(ValueError::Damaged("its checksum differs".into()));
    }
    let mut plain = Vec::new();
    let decoder = zstd::Decoder::new(packed).map_err(|error| damaged(&error))?;
    let read = decoder.take(MOST_BYTES).read_to_end(&mut plain);
    read.map_err(|error| damaged(&error))?;
    type Versions = (u32, String);
    let (versions, rest) = postcard::take_from_bytes::<Versions>(&plain).map_err(|e| damaged(&e))?;
    if versions != (FORMAT, env!("CARGO_PKG_VERSION").to_owned()) {
        let (format, recoup) = versions;
        let found = format!("{recoup} (format {format})");
        return Err(ValueError::Version { found });
    }
    postcard::from_bytes(rest).map_err(|error| damaged(&error))
}
