//! pcapng captures: sections of blocks (draft-ietf-opsawg-pcapng).

use super::{
    Ending, Reason,
    classic::joined_capture,
    clock::Clock,
    error::Header,
    frames::Frame,
    link::Link,
    packet::Packet,
    records::{RecordSink, Step},
    window::Window,
};
use pcap_parser::{Block, OptionCode, parse_block_be, parse_block_le, parse_sectionheaderblock};
use recoup_units::Instant;

/// Bytes of a block's type and length at its start, and of its length at its end.
const FRAMING: usize = 12;
/// The longest block that is read, in bytes.
const LARGEST_BLOCK: usize = 1 << 24;
/// The most interfaces of a section that are kept.
const MOST_INTERFACES: usize = 1 << 16;
/// The option that holds a packet's flags (draft-ietf-opsawg-pcapng §4.3.1).
const PACKET_FLAGS: OptionCode = OptionCode(2);
/// The link type of raw IP packets.
const RAW: i32 = 101;
/// The only major version.
const VERSION: u16 = 1;

/// Block types (draft-ietf-opsawg-pcapng §10.1).
mod kind {
    pub const INTERFACE: u32 = 1;
    /// The obsolete packet block (appendix A).
    pub const OLD_PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const STATISTICS: u32 = 5;
    pub const ENHANCED_PACKET: u32 = 6;
    pub const JOURNAL: u32 = 9;
    pub const CUSTOM: [u32; 2] = [0x0000_0bad, 0x4000_0bad];
}

/// A section after its header.
#[derive(Clone, Debug)]
pub(super) struct Sections {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

/// An interface of a section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    /// `Err` with the number of an unknown link type.
    link: Result<Link, i32>,
    clock: Option<Clock>,
    /// Packets it dropped, according to the latest statistics.
    dropped: Option<u64>,
}

impl Sections {
    /// Reads the section header at the start of `window`.
    pub fn open(window: &mut Window<'_>, sink: &mut impl RecordSink) -> Result<Self, Header> {
        let offset = window.offset();
        if !window.fill(FRAMING) {
            return Err(Header::Over(window.ending(offset)));
        }
        let big_endian = match window.bytes()[8..12] {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            _ => return Err(Header::Damaged("not a pcapng section header".into())),
        };
        let section = Self { big_endian, interfaces: Vec::new() };
        let length = section.word(window.bytes(), 4);
        if !is_block_length(length, LARGEST_BLOCK) {
            return Err(Header::Damaged(impossible_length(length, LARGEST_BLOCK)));
        }
        let length = length as usize;
        if !window.fill(length) {
            return Err(Header::Over(window.ending(offset)));
        }
        let block = &window.bytes()[..length];
        match parse_sectionheaderblock(block) {
            Ok((_, header)) if header.major_version != VERSION => {
                return Err(Header::Damaged(format!("pcapng version {}: expected {VERSION}", header.major_version)));
            }
            Ok(_) if section.word(block, length - 4) as usize == length => {}
            _ => return Err(Header::Damaged("a damaged section header".into())),
        }
        sink.block(block);
        window.consume(length);
        Ok(section)
    }

    /// Ends the section: counts what its interfaces dropped.
    pub fn close(&mut self, sink: &mut impl RecordSink) {
        for (interface, number) in self.interfaces.drain(..).zip(0..) {
            if let Some(count) = interface.dropped {
                sink.dropped(number, count);
            }
        }
    }

    /// Reads the next block.
    // Inlined into one function, the formats would run out of registers.
    #[inline(never)]
    pub fn step(&mut self, window: &mut Window<'_>, sink: &mut impl RecordSink, packet: &mut Packet) -> Step {
        let bytes = window.bytes();
        let Some([kind, length]) = self.words(bytes) else {
            if window.fill(8) {
                return Step::Passed;
            }
            return Step::end(window.ending(window.offset()));
        };
        if kind != kind::ENHANCED_PACKET && !is_read(kind) {
            return self.skip_block(kind, length, window, sink);
        }
        if !is_block_length(length, LARGEST_BLOCK) {
            return damaged(window.offset(), impossible_length(length, LARGEST_BLOCK));
        }
        let length = length as usize;
        let Some(block) = bytes.get(..length) else {
            if window.fill(length) {
                return Step::Passed;
            }
            return Step::end(window.ending(window.offset()));
        };
        if self.word(block, length - 4) as usize != length {
            return damaged(window.offset(), LENGTHS_DIFFER.into());
        }
        let found = match kind {
            kind::ENHANCED_PACKET => self.enhanced(block, sink, packet),
            _ => self.other(kind, block, sink, packet),
        };
        sink.block(block);
        window.consume(length);
        if found { Step::Found } else { Step::Passed }
    }

    /// Skips a block that is not read, unless it begins another section or capture.
    #[cold]
    fn skip_block(&self, kind: u32, length: u32, window: &mut Window<'_>, sink: &mut impl RecordSink) -> Step {
        let offset = window.offset();
        if let Some(kind) = joined_capture(window) {
            return Step::another(kind);
        }
        // A skipped block may be of any length.
        if !is_block_length(length, usize::MAX) {
            return damaged(offset, impossible_length(length, usize::MAX));
        }
        if !window.skip(u64::from(length) - 4, |bytes| sink.block(bytes)) || !window.fill(4) {
            return Step::end(window.ending(offset));
        }
        if self.word(window.bytes(), 0) != length {
            return damaged(offset, LENGTHS_DIFFER.into());
        }
        sink.block(&window.bytes()[..4]);
        window.consume(4);
        if kind == kind::JOURNAL || kind::CUSTOM.contains(&kind) {
            sink.skip(Reason::NotPacket);
        }
        Step::Passed
    }

    /// An enhanced packet block: its fields have fixed places. Its options are rare and left to
    /// pcap-parser, which would make everything half as slow again.
    #[inline(always)]
    fn enhanced(&self, block: &[u8], sink: &mut impl RecordSink, packet: &mut Packet) -> bool {
        const DATA: usize = 28;
        let fields = self.words(block);
        let (Some(inner), Some([_, _, interface, high, low, captured, on_wire])) =
            (block.get(DATA..block.len() - 4), fields)
        else {
            sink.skip(Reason::Record);
            return false;
        };
        let captured = captured as usize;
        let Some(data) = inner.get(..captured) else {
            sink.skip(Reason::Record);
            return false;
        };
        let outgoing = if inner.len() > captured.next_multiple_of(4) { self.outgoing(block) } else { None };
        let seen = PacketFields { interface, ticks: u64::from(high) << 32 | u64::from(low), outgoing, on_wire };
        self.packet(seen, data, sink, packet)
    }

    /// The direction in the flags of an enhanced packet block.
    #[cold]
    fn outgoing(&self, block: &[u8]) -> Option<bool> {
        let Some(Block::EnhancedPacket(packet)) = self.parse(block) else {
            return None;
        };
        let mut options = packet.options.iter();
        let flags = options.find(|option| option.code == PACKET_FLAGS)?;
        match self.word(&flags.value, 0) & 3 {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        }
    }

    #[inline(always)]
    fn packet(&self, seen: PacketFields, data: &[u8], sink: &mut impl RecordSink, packet: &mut Packet) -> bool {
        let number = seen.interface;
        let Some(interface) = self.interfaces.get(number as usize) else {
            sink.skip(Reason::NoInterface);
            return false;
        };
        let at = match (&interface.clock, interface.link) {
            (Some(clock), _) => clock.instant(seen.ticks),
            (None, Err(_)) => Err(Instant::ZERO),
            (None, Ok(_)) => {
                sink.skip(Reason::NoClock);
                return false;
            }
        };
        let frame = Frame {
            at,
            link: interface.link,
            interface: number,
            outgoing: seen.outgoing,
            data,
            on_wire: seen.on_wire as usize,
        };
        sink.frame(frame, packet)
    }

    /// Another block; true if it holds a segment.
    #[cold]
    fn other(&mut self, kind: u32, block: &[u8], sink: &mut impl RecordSink, packet: &mut Packet) -> bool {
        match kind {
            kind::SIMPLE_PACKET => sink.skip(Reason::NoTime),
            kind::OLD_PACKET => return self.old_packet(block, sink, packet),
            kind::INTERFACE if self.interfaces.len() < MOST_INTERFACES => {
                let (interface, link) = self.interface(block);
                self.interfaces.push(interface);
                sink.interface(link);
            }
            kind::STATISTICS => self.statistics(block),
            _ => {}
        }
        false
    }

    /// Like an enhanced packet block, but interface and drop count share a word.
    fn old_packet(&self, block: &[u8], sink: &mut impl RecordSink, packet: &mut Packet) -> bool {
        let captured = self.word(block, 20) as usize;
        let inner = block.get(28..block.len() - 4);
        let Some(data) = inner.and_then(|inner| inner.get(..captured)) else {
            sink.skip(Reason::Record);
            return false;
        };
        let shared = self.word(block, 8);
        let seen = PacketFields {
            interface: if self.big_endian { shared >> 16 } else { shared & 0xffff },
            ticks: u64::from(self.word(block, 12)) << 32 | u64::from(self.word(block, 16)),
            outgoing: None,
            on_wire: self.word(block, 24),
        };
        self.packet(seen, data, sink, packet)
    }

    fn parse<'b>(&self, block: &'b [u8]) -> Option<Block<'b>> {
        let parsed = if self.big_endian { parse_block_be(block) } else { parse_block_le(block) };
        parsed.ok().map(|(_, block)| block)
    }

    /// An interface, and the number of its link type. If its description is invalid, it has no clock, but keeps its number.
    fn interface(&self, block: &[u8]) -> (Interface, i32) {
        let Some(Block::InterfaceDescription(interface)) = self.parse(block) else {
            return (Interface { link: Ok(Link::Raw), clock: None, dropped: None }, RAW);
        };
        // pcap-parser always reads it in little-endian order.
        let offset = if self.big_endian { interface.if_tsoffset.swap_bytes() } else { interface.if_tsoffset };
        let number = interface.linktype.0;
        let link = Link::of(number).ok_or(number);
        (Interface { link, clock: Clock::of_interface(interface.if_tsresol, offset), dropped: None }, number)
    }

    /// Notes how many packets an interface has dropped so far (draft-ietf-opsawg-pcapng §4.6).
    fn statistics(&mut self, block: &[u8]) {
        let Some(Block::InterfaceStatistics(statistics)) = self.parse(block) else {
            return;
        };
        let dropped = statistics.options.iter().find(|o| o.code == OptionCode::IsbIfDrop);
        let count = dropped.and_then(|option| option.value.first_chunk());
        let count =
            count.map(|bytes| if self.big_endian { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) });
        if let Some(interface) = self.interfaces.get_mut(statistics.if_id as usize) {
            interface.dropped = count.or(interface.dropped);
        }
    }

    /// The first words.
    #[inline(always)]
    fn words<const COUNT: usize>(&self, bytes: &[u8]) -> Option<[u32; COUNT]> {
        let words = bytes.as_chunks().0.first_chunk::<COUNT>()?;
        let words = words.map(u32::from_le_bytes);
        Some(if self.big_endian { words.map(u32::swap_bytes) } else { words })
    }

    #[inline(always)]
    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        match bytes.get(at..) {
            Some(&[a, b, c, d, ..]) if self.big_endian => u32::from_be_bytes([a, b, c, d]),
            Some(&[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        }
    }
}

/// The fields of a packet block.
struct PacketFields {
    interface: u32,
    ticks: u64,
    outgoing: Option<bool>,
    on_wire: u32,
}

#[inline]
fn is_read(kind: u32) -> bool {
    matches!(kind, kind::INTERFACE | kind::OLD_PACKET | kind::SIMPLE_PACKET | kind::STATISTICS | kind::ENHANCED_PACKET)
}

const LENGTHS_DIFFER: &str = "a block with two different lengths";

fn damaged(offset: u64, what: String) -> Step {
    Step::end(Ending::Damaged { offset, what })
}

#[inline]
fn is_block_length(length: u32, largest: usize) -> bool {
    let length = length as usize;
    length.is_multiple_of(4) && (FRAMING..=largest).contains(&length)
}

#[cold]
fn impossible_length(length: u32, largest: usize) -> String {
    match length as usize {
        length if length < FRAMING || !length.is_multiple_of(4) => {
            format!("a block of {length} bytes: expected a multiple of 4, at least {FRAMING}")
        }
        length => format!("a block of {length} bytes: expected {largest} at most"),
    }
}
