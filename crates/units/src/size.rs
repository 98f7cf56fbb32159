//! Numbers of bytes as people write them: `20kB`, `64KiB`, `1500B`.
//!
//! Units are those of the SI and of IEC 80000-13: 1 kB is 1000 bytes, 1 KiB is 1024. `KB` is read as
//! `kB`.

use alloc::format;
use alloc::string::String;
/// The units that [`format_bytes`] writes, the largest of a kind first, with their bytes.
const DECIMAL: [(&str, u64); 4] = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
const BINARY: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// Reads a whole number of bytes with a unit (`B`, `kB`, `KiB`, `MB`, `MiB`, `GB`, `GiB`, `TB`, `TiB`)
/// or without one. `None` for any other text, and above 2⁶⁴ − 1 bytes.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim_start() {
        "" | "B" => 1,
        "KB" => 1000,
        unit => {
            let mut units = DECIMAL.iter().chain(&BINARY);
            units.find(|(name, _)| *name == unit)?.1
        }
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

/// Writes a number of bytes as [`parse_bytes`] reads it, in the largest decimal unit that divides it,
/// else in the largest binary one, else in bytes: `20kB`, `64KiB`, `1500B`.
pub fn format_bytes(bytes: u64) -> String {
    let divides = |(_, scale): &&(&str, u64)| bytes > 0 && bytes.is_multiple_of(*scale);
    let mut units = DECIMAL.iter().chain(&BINARY);
    match units.find(divides) {
        Some((name, scale)) => format!("{}{name}", bytes / scale),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes, written) in [
            ("20kB", 20_000, "20kB"),
            ("20 KB", 20_000, "20kB"),
            ("64KiB", 65_536, "64KiB"),
            ("65536", 65_536, "64KiB"),
            ("1024000", 1_024_000, "1024kB"),
            ("1500B", 1500, "1500B"),
            ("2000MB", 2_000_000_000, "2GB"),
            ("1TiB", 1 << 40, "1TiB"),
            ("0", 0, "0B"),
        ] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
            assert_eq!(format_bytes(bytes), written);
            assert_eq!(parse_bytes(written), Some(bytes));
        }
    }

    #[test]
    fn other_sizes_are_refused() {
        for text in ["", "kB", "-1", "+1", "1.5kB", "20kb", "20kbit", "1e3", "1 0", "99999999TB"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }
}
