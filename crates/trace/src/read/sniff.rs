//! Recognizes a file by its first bytes.

/// How many bytes are needed.
pub(super) const HEAD_LENGTH: u64 = 32;

/// How many bytes show whether a JSON text is a trace of QUIC.
pub(super) const JSON_HEAD_LENGTH: usize = 1 << 12;

/// What a trace of QUIC is.
pub(super) const QLOG: &str = "a qlog trace of QUIC";

/// What a file without a byte is.
pub(super) const EMPTY: &str = "empty";

/// The formats of captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// pcap.
    Classic,
    /// pcapng.
    Sections,
}

/// The supported compressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

/// How a file that begins with `head` is compressed: gzip (RFC 1952 §2.3.1) or zstd, whose first
/// frame may be skippable (RFC 8878 §3.1).
pub(super) fn compression(head: &[u8]) -> Option<Compression> {
    match *head {
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
        _ => None,
    }
}

/// The kind of capture that begins with `head`, or what it is instead.
pub(super) fn kind(head: &[u8]) -> Result<Kind, &'static str> {
    if let Some(kind) = header_kind(head) {
        return Ok(kind);
    }
    Err(match head {
        [] => EMPTY,
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "compressed by xz",
        [b'B', b'Z', b'h', ..] => "compressed by bzip2",
        [0x04, 0x22, 0x4d, 0x18, ..] => "compressed by lz4",
        [b'P', b'K', 3, 4, ..] => "a zip archive",
        [b's', b'n', b'o', b'o', b'p', 0, ..] => "a snoop capture",
        [0xa1, 0xb2, 0xcd, 0x34, ..] => "a modified pcap capture in big-endian order",
        _ if compression(head).is_some() => "compressed twice",
        _ if is_qlog(head) => QLOG,
        _ if is_json(head) => "a JSON text, but no qlog trace",
        _ => "not a capture",
    })
}

/// Whether a file that begins with `head` is a JSON text or a sequence of them (RFC 7464).
pub(super) fn is_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    matches!(head.trim_ascii_start(), [b'{', ..] | [0x1e, ..])
}

/// Whether a JSON text is a trace of QUIC: the version or the schema is in its first bytes
/// (draft-ietf-quic-qlog-main-schema §3). A trace without a header begins with the name of an event.
fn is_qlog(head: &[u8]) -> bool {
    const SIGNS: [&[u8]; 5] =
        [b"\"qlog_version\"", b"\"qlog_format\"", b"urn:ietf:params:qlog", b":packet_sent\"", b":packet_received\""];
    is_json(head) && SIGNS.iter().any(|sign| head.windows(sign.len()).any(|part| part == *sign))
}

/// The kind of capture whose header begins `bytes`.
pub(super) fn header_kind(bytes: &[u8]) -> Option<Kind> {
    // pcap in µs, in ns, and in the modified format, which is read in little-endian order only
    // (draft-ietf-opsawg-pcap §4); the section header of pcapng (draft-ietf-opsawg-pcapng §4.1).
    match *bytes {
        [0xd4, 0xc3, 0xb2, 0xa1, ..] | [0xa1, 0xb2, 0xc3, 0xd4, ..] => Some(Kind::Classic),
        [0x4d, 0x3c, 0xb2, 0xa1, ..] | [0xa1, 0xb2, 0x3c, 0x4d, ..] => Some(Kind::Classic),
        [0x34, 0xcd, 0xb2, 0xa1, ..] => Some(Kind::Classic),
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => Some(Kind::Sections),
        _ => None,
    }
}
