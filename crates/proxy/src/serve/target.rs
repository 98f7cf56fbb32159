//! The file name that a request's target stands for.

use percent_encoding::percent_decode;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Why a target stands for no file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoName {
    /// It is not a path as RFC 3986 §3.3 has them, or it has a NUL.
    Malformed,
    /// No file has this name: `..`, an empty name, an encoded slash.
    Nowhere,
}

/// The file name, below the folder that is served, for the path of a request's target: segments without `.`, `..`, slashes and
/// NULs.
///
/// Each segment is decoded by itself, once, so that nothing decoded is taken for a separator. Clients resolve `.` and `..`
/// themselves (RFC 3986 §5.2.4); what still has them is not for a file.
pub fn file_name(path: &str) -> Result<PathBuf, NoName> {
    let relative = path.strip_prefix('/').ok_or(NoName::Malformed)?;
    let mut name = Vec::with_capacity(relative.len());
    let mut is_somewhere = true;
    for (i, segment) in relative.split('/').enumerate() {
        let segment = decode(segment.as_bytes()).ok_or(NoName::Malformed)?;
        is_somewhere &= !matches!(segment.as_slice(), b"" | b"." | b"..") && !segment.contains(&b'/');
        if i > 0 {
            name.push(b'/');
        }
        name.extend(segment);
    }
    is_somewhere.then(|| OsString::from_vec(name).into()).ok_or(NoName::Nowhere)
}

/// A segment's bytes. `None` if it has a NUL, or a `%` without two hexadecimal digits.
fn decode(segment: &[u8]) -> Option<Vec<u8>> {
    let is_hex = |at: usize| segment.get(at).is_some_and(u8::is_ascii_hexdigit);
    let mut percents = segment.iter().enumerate().filter(|(_, byte)| **byte == b'%');
    let is_encoded = percents.all(|(at, _)| is_hex(at + 1) && is_hex(at + 2));
    let decoded: Vec<u8> = percent_decode(segment).collect();
    (is_encoded && !decoded.contains(&0)).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    #[test]
    fn names_are_decoded_once() {
        for (path, name) in [
            ("/a", Ok("a")),
            ("/a/b.txt", Ok("a/b.txt")),
            ("/a%20b/%C3%A4", Ok("a b/ä")),
            ("/%252e%252e/x", Ok("%2e%2e/x")),
            ("/...", Ok("...")),
            ("/a..b", Ok("a..b")),
            ("/", Err(NoName::Nowhere)),
            ("/a/", Err(NoName::Nowhere)),
            ("//a", Err(NoName::Nowhere)),
            ("/./a", Err(NoName::Nowhere)),
            ("/../a", Err(NoName::Nowhere)),
            ("/a/%2e%2E/b", Err(NoName::Nowhere)),
            ("/a%2fb", Err(NoName::Nowhere)),
            ("/%2fetc/passwd", Err(NoName::Nowhere)),
            ("", Err(NoName::Malformed)),
            ("*", Err(NoName::Malformed)),
            ("a", Err(NoName::Malformed)),
            ("/%", Err(NoName::Malformed)),
            ("/%4", Err(NoName::Malformed)),
            ("/%zz", Err(NoName::Malformed)),
            ("/%+1", Err(NoName::Malformed)),
            ("/a%00.txt", Err(NoName::Malformed)),
        ] {
            assert_eq!(file_name(path), name.map(PathBuf::from), "{path}");
        }
    }

    proptest! {
        /// Paths of the bytes that matter most.
        #[test]
        fn no_name_leads_out(path in "/([a./\\\\~]|%2[eEfF]|%5c|%00|%25|%[0-9a-fA-F]{2}|%){0,12}") {
            if let Ok(name) = file_name(&path) {
                prop_assert!(!name.as_os_str().is_empty());
                prop_assert!(name.components().all(|part| matches!(part, Component::Normal(_))), "{name:?}");
                prop_assert!(!name.as_os_str().as_encoded_bytes().contains(&0));
                // Nothing was normalized away, so that one file has one name.
                prop_assert!(name.components().collect::<PathBuf>().as_os_str() == name.as_os_str(), "{name:?}");
                prop_assert!(Path::new("/srv/files").join(&name).starts_with("/srv/files"));
            }
        }

        #[test]
        fn any_text_has_a_name_or_none(path in ".*") {
            let _ = file_name(&path);
        }
    }
}
