//! Classic pcap captures (draft-ietf-opsawg-pcap).

use super::{
    Ending, LARGEST_RECORD, clock,
    error::Header,
    frames::Frame,
    link::Link,
    packet::Packet,
    records::{RecordSink, Step},
    sniff::{self, Kind},
    window::Window,
};
use pcap_parser::parse_pcap_header;

/// The length of the file header.
const HEADER: usize = 24;
/// The bits of the link type field that hold the link type. The others describe frame check
/// sequences.
const LINK_TYPE: i32 = 0x03ff_ffff;

/// A classic capture after its file header.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    big_endian: bool,
    /// Bytes of a record's header: 16, or 24 in the modified format.
    head: usize,
    /// Nanoseconds per unit of a timestamp's fraction.
    nanos: u32,
    /// `Err` with the number of an unknown link type.
    link: Result<Link, i32>,
    /// The number of the link type.
    pub link_number: i32,
}

impl Classic {
    /// Reads the file header at the start of `window`.
    pub fn open(window: &mut Window<'_>) -> Result<Self, Header> {
        let offset = window.offset();
        if !window.fill(HEADER) {
            return Err(Header::Over(window.ending(offset)));
        }
        let Ok((_, header)) = parse_pcap_header(window.bytes()) else {
            return Err(Header::Damaged("not a pcap header".into()));
        };
        let number = header.network.0 & LINK_TYPE;
        let classic = Self {
            big_endian: header.is_bigendian(),
            head: if header.is_modified_format() { 24 } else { 16 },
            nanos: if header.is_nanosecond_precision() { 1 } else { 1000 },
            link: Link::of(number).ok_or(number),
            link_number: number,
        };
        window.consume(HEADER);
        Ok(classic)
    }

    /// Reads the next record.
    // Inlined into one function, the formats would run out of registers.
    #[inline(never)]
    pub fn step(&mut self, window: &mut Window<'_>, sink: &mut impl RecordSink, packet: &mut Packet) -> Step {
        let bytes = window.bytes();
        let Some(record) = Record::at_start(bytes, self.big_endian) else {
            if window.fill(Record::SHORTEST) {
                return Step::Passed;
            }
            return Step::end(window.ending(window.offset()));
        };
        let size = self.head.saturating_add(record.captured as usize);
        let plausible = 1..=LARGEST_RECORD as u32;
        let data = bytes.get(self.head..size);
        let Some(data) = data.filter(|_| plausible.contains(&record.captured)) else {
            return self.unusual(record, window, sink, packet);
        };
        let found = sink.frame(self.frame(record, data), packet);
        window.consume(size);
        if found { Step::Found } else { Step::Passed }
    }

    #[inline(always)]
    fn frame<'a>(&self, record: Record, data: &'a [u8]) -> Frame<'a> {
        Frame {
            at: clock::of_record(record.seconds, record.fraction, self.nanos),
            link: self.link,
            interface: 0,
            outgoing: None,
            data,
            on_wire: record.length as usize,
        }
    }

    /// A record that is empty, incomplete or damaged.
    #[cold]
    fn unusual(
        &self,
        record: Record,
        window: &mut Window<'_>,
        sink: &mut impl RecordSink,
        packet: &mut Packet,
    ) -> Step {
        let offset = window.offset();
        let captured = record.captured as usize;
        if (captured == 0 || captured > LARGEST_RECORD)
            && let Some(kind) = joined_capture(window)
        {
            return Step::another(kind);
        }
        if captured > LARGEST_RECORD {
            return Step::end(Ending::Damaged {
                offset,
                what: format!("a packet of {captured} bytes: expected {LARGEST_RECORD} at most"),
            });
        }
        if !window.fill(self.head + captured) {
            return Step::end(window.ending(offset));
        }
        if captured == 0 {
            // It holds no segment.
            sink.frame(self.frame(record, &[]), packet);
            window.consume(self.head);
        }
        Step::Passed
    }
}

/// The header of a record.
#[derive(Clone, Copy)]
struct Record {
    seconds: u32,
    fraction: u32,
    captured: u32,
    length: u32,
}

impl Record {
    const SHORTEST: usize = 16;

    /// Decoded by hand: with pcap-parser it would take as long as everything else.
    #[inline(always)]
    fn at_start(bytes: &[u8], big_endian: bool) -> Option<Self> {
        let words = bytes.as_chunks().0.first_chunk()?;
        let words = words.map(u32::from_le_bytes);
        let [seconds, fraction, captured, length] = if big_endian { words.map(u32::swap_bytes) } else { words };
        Some(Self { seconds, fraction, captured, length })
    }
}

/// The kind of capture that begins here, because files were joined. Read as a record or block, its
/// header would be implausible.
pub(super) fn joined_capture(window: &mut Window<'_>) -> Option<Kind> {
    window.fill(12);
    let kind = sniff::header_kind(window.bytes())?;
    let certain = match (kind, window.bytes()) {
        // Version 2.4.
        (Kind::Classic, [_, _, _, _, 2, 0, 4, 0, ..] | [_, _, _, _, 0, 2, 0, 4, ..]) => true,
        (Kind::Sections, [_, _, _, _, _, _, _, _, magic @ ..]) => {
            magic.starts_with(&[0x1a, 0x2b, 0x3c, 0x4d]) || magic.starts_with(&[0x4d, 0x3c, 0x2b, 0x1a])
        }
        _ => false,
    };
    certain.then_some(kind)
}
