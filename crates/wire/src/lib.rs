//! TCP segments, UDP datagrams and messages of ICMP as values, and their encoding as packets.
//!
//! Endpoints consume and produce [`Segment`]s: header fields and options as a small `Copy` value,
//! without payload. The payload stays in socket buffers and capture files. [`encode`] and [`decode`]
//! convert between segments and IPv4 or IPv6 packets with correct checksums. [`decode_headers`] is a fast
//! decoder for captures, and [`pcap::Writer`] writes packets to a capture file.
//!
//! ```
//! use recoup_wire::{Endpoints, Flags, Payload, Segment, SeqNumber, decode, encode};
//!
//! let endpoints = Endpoints {
//!     src: "192.0.2.1:40000".parse()?,
//!     dst: "192.0.2.2:80".parse()?,
//! };
//! let segment = Segment {
//!     seq: SeqNumber(7),
//!     ack: SeqNumber(9),
//!     flags: Flags::PSH | Flags::ACK,
//!     window: 500,
//!     payload_len: 5,
//!     ..Segment::default()
//! };
//! let mut packet = Vec::new();
//! encode(&segment, &endpoints, 1, Payload::Bytes(b"hello"), &mut packet)?;
//!
//! let decoded = decode(&packet)?;
//! assert_eq!(decoded.segment, segment);
//! assert_eq!(&packet[decoded.payload], b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `segment`, `options`, `seq`, `flags`, `ecn` | a TCP segment as a value; sequence numbers are unwrapped here |
//! | `encode`, `decode`, `headers`, `pcap` | to and from bytes with true checksums, or headers alone, fast; capture files |
//! | `ip`, `udp`, `icmp` | what IP headers hold; UDP datagrams; ICMP and ICMPv6, with the packets that they quote |
//! | `fragment` | fragments of IP packets: read, made, and their headers put together |
//! | `bpf` | programs that the kernel runs on frames before a socket gets them |
//! | `payload` | where extension headers and the payload of an IP packet are, for what carries TCP inside |

pub mod bpf;
mod checksum;
mod decode;
mod ecn;
mod encode;
mod endpoints;
mod flags;
mod fragment;
mod headers;
mod icmp;
mod ip;
mod options;
mod payload;
pub mod pcap;
mod segment;
mod seq;
mod udp;

pub use checksum::{Checksum, Sum, complete_checksum, pseudo_header};
pub use decode::{DecodeError, Decoded, decode, decode_unverified};
pub use ecn::Ecn;
pub use encode::{CommonHeaders, EncodeError, Payload, TCP_CHECKSUM_OFFSET, encode, encode_headers};
pub use endpoints::Endpoints;
pub use flags::Flags;
pub use fragment::{FragmentError, IpFragment, cut_into_fragments};
pub use headers::{Headers, RareHeaders, decode_headers};
pub use icmp::{
    DecodedIcmp, ICMP_HEADER_LEN, IcmpMessage, Quoted, QuotedHeader, Unreachable, decode_icmp, encode_icmp, quotable,
};
pub use ip::{IpFields, ip_ends};
pub use options::{Options, SackBlocks, Timestamps, copy_known_options};
pub use payload::{Fragment, IpPayload, extension_headers, ip_payload};
pub use segment::{IpVersion, Segment, TCP_HEADER_LEN, ip_len};
pub use seq::SeqNumber;
pub use udp::{
    DecodedUdp, PacketError, UDP_CHECKSUM_OFFSET, UDP_HEADER_LEN, decode_udp, encode_udp, encode_udp_headers,
};
