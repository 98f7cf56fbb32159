//! Text inputs of bounded length.

use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read};
use std::path::Path;
use std::string::FromUtf8Error;

/// Reads a whole text of at most `longest` bytes.
///
/// # Errors
/// Longer input ([`ErrorKind::FileTooLarge`]; no more than one byte beyond the limit is read), text
/// that is not UTF-8, and errors of the reader.
pub fn read_text(input: impl Read, longest: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.take(longest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        return Err(too_long(longest));
    }
    String::from_utf8(bytes).map_err(not_text)
}

/// Reads a whole file as [`read_text`] does.
///
/// # Errors
/// As [`read_text`], and when the file cannot be opened.
pub fn read_file(path: &Path, longest: u64) -> io::Result<String> {
    read_text(File::open(path)?, longest)
}

/// Reads a line of at most `longest` bytes, its end included, into `line`, which is cleared first.
/// Returns whether there was one.
///
/// # Errors
/// As [`read_text`], for the line.
pub fn read_line(input: &mut impl BufRead, line: &mut String, longest: u64) -> io::Result<bool> {
    let mut bytes = std::mem::take(line).into_bytes();
    bytes.clear();
    input.take(longest + 1).read_until(b'\n', &mut bytes)?;
    if bytes.len() as u64 > longest {
        return Err(too_long(longest));
    }
    *line = String::from_utf8(bytes).map_err(not_text)?;
    Ok(!line.is_empty())
}

fn not_text(_: FromUtf8Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "expected UTF-8 text")
}

fn too_long(longest: u64) -> io::Error {
    let limit = match longest {
        n if n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n => format!("{n} bytes"),
    };
    io::Error::new(ErrorKind::FileTooLarge, format!("longer than {limit}, the most that is read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_up_to_the_limit_is_read() {
        assert_eq!(read_text(&b"abc"[..], 3).unwrap(), "abc");
        let error = read_text(&b"\xff"[..], 3).unwrap_err();
        assert_eq!(error.to_string(), "expected UTF-8 text");
    }

    #[test]
    fn lines_are_read_up_to_the_limit() {
        let mut input = &b"ab\nc\n\nabcdef\n"[..];
        let mut line = String::new();
        for expected in ["ab\n", "c\n", "\n"] {
            assert!(read_line(&mut input, &mut line, 3).unwrap());
            assert_eq!(line, expected);
        }
        let error = read_line(&mut input, &mut line, 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(!read_line(&mut &b""[..], &mut line, 3).unwrap());
    }

    #[test]
    fn an_endless_text_is_refused_after_the_limit() {
        let mut endless = io::repeat(b'{').take(100);
        let error = read_text(&mut endless, 3).unwrap_err();
        assert_eq!(error.to_string(), "longer than 3 bytes, the most that is read");
        assert_eq!(endless.limit(), 96, "one byte beyond the limit is read");
        let error = read_text(io::repeat(b'{'), 1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "longer than 1 MiB, the most that is read");
        // The limit cuts a character in two.
        let error = read_text("ää".as_bytes(), 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }
}
