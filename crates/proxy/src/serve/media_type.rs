//! Media types by the endings of names.

use std::path::Path;

/// A type for what is unknown (RFC 2046 §4.5.1).
const UNKNOWN: &str = "application/octet-stream";

/// Endings of names and their media types, as IANA registers them. No type says how text is encoded, because a name does not.
const TYPES: &[(&[&str], &str)] = &[
    (&["html", "htm"], "text/html"),
    (&["txt", "log", "text", "conf"], "text/plain"),
    (&["css"], "text/css"),
    (&["csv"], "text/csv"),
    (&["md"], "text/markdown"),
    (&["js", "mjs"], "text/javascript"),
    (&["json", "map"], "application/json"),
    (&["xml"], "application/xml"),
    (&["xhtml"], "application/xhtml+xml"),
    (&["wasm"], "application/wasm"),
    (&["pdf"], "application/pdf"),
    (&["gz"], "application/gzip"),
    (&["zst"], "application/zstd"),
    (&["zip"], "application/zip"),
    (&["tar"], "application/x-tar"),
    (&["pcap"], "application/vnd.tcpdump.pcap"),
    (&["png"], "image/png"),
    (&["jpg", "jpeg"], "image/jpeg"),
    (&["gif"], "image/gif"),
    (&["webp"], "image/webp"),
    (&["avif"], "image/avif"),
    (&["svg"], "image/svg+xml"),
    (&["ico"], "image/vnd.microsoft.icon"),
    (&["mp3"], "audio/mpeg"),
    (&["ogg", "oga"], "audio/ogg"),
    (&["wav"], "audio/wav"),
    (&["mp4"], "video/mp4"),
    (&["webm"], "video/webm"),
    (&["m3u8"], "application/vnd.apple.mpegurl"),
    (&["mpd"], "application/dash+xml"),
    (&["m4s"], "video/iso.segment"),
    (&["ts"], "video/mp2t"),
    (&["woff"], "font/woff"),
    (&["woff2"], "font/woff2"),
    (&["ttf"], "font/ttf"),
    (&["otf"], "font/otf"),
];

/// The media type of a file with this name.
pub fn media_type(name: &Path) -> &'static str {
    let Some(ending) = name.extension().and_then(|ending| ending.to_str()) else { return UNKNOWN };
    let is_listed = |endings: &[&str]| endings.iter().any(|known| known.eq_ignore_ascii_case(ending));
    TYPES.iter().find(|(endings, _)| is_listed(endings)).map_or(UNKNOWN, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use std::collections::BTreeSet;

    #[test]
    fn endings_have_types() {
        for (name, expected) in [
            ("a.html", "text/html"),
            ("a/b.tar.GZ", "application/gzip"),
            ("a.json", "application/json"),
            ("html", UNKNOWN),
            (".html", UNKNOWN),
            ("a.", UNKNOWN),
            ("a.exe", UNKNOWN),
        ] {
            assert_eq!(media_type(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn each_ending_is_listed_once() {
        let endings: Vec<&str> = TYPES.iter().flat_map(|(endings, _)| endings.iter().copied()).collect();
        assert_eq!(endings.iter().collect::<BTreeSet<_>>().len(), endings.len());
        assert!(TYPES.iter().all(|(_, name)| HeaderValue::from_str(name).is_ok()));
    }
}
