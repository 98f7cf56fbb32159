//! Diagrams of packet captures: pcap and pcapng, read by pcap-parser, decoded by `recoup_wire`.
//!
//! A capture may cut packets anywhere behind the TCP header's fixed part. Checksums are not looked
//! at: hosts that leave them to the network card record wrong ones. Of what the diagram shows, a
//! capture knows all but why something was sent again; and that it was, it knows only of what it
//! has seen before: near the receiver, a repaired loss looks like data sent late.
//!
//! Time 0 is the connection's first packet. Where the sender's SYN is missing, numbers count from the
//! lowest that its data or its peer's ACKs have; where either SYN is, the scale of the window is
//! unknown (RFC 7323 §2.2), and none is told.

mod connections;
mod link;
mod list;

use super::source::{Choice, Source, SourceError};
use connections::Connections;
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};
use recoup_units::Instant;
use std::io::{self, Cursor, Read};

/// How much of a file is held at first, and at most: the largest packet or header there may be.
const BUFFER: usize = 1 << 16;
const LARGEST_BUFFER: usize = 1 << 26;

/// A clock of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    /// Ticks a second.
    rate: u64,
    /// Added to the time, in seconds.
    offset: i64,
}

impl Clock {
    /// The clock of a pcapng interface: its resolution as in its option, 10^-n s or, with the
    /// highest bit set, 2^-n s (draft-ietf-opsawg-pcapng §4.2).
    fn of_interface(resolution: u8, offset: i64) -> Option<Self> {
        let exponent = u32::from(resolution & 0x7f);
        let rate = match resolution & 0x80 {
            0 => 10u64.checked_pow(exponent),
            _ => 1u64.checked_shl(exponent),
        }?;
        Some(Self { rate, offset })
    }

    fn instant(self, ticks: u64) -> Instant {
        let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(self.rate);
        let nanos = nanos as i128 + i128::from(self.offset) * 1_000_000_000;
        Instant::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

/// Where packets come from: a whole classic capture, or an interface of a pcapng section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: i32,
    clock: Option<Clock>,
}

/// Reads a capture.
pub(super) fn read(
    file: &str,
    input: impl Read + Send,
    choice: &Choice,
) -> Result<Source, SourceError> {
    let wrong = |why: String| SourceError::Capture {
        file: file.into(),
        why,
    };
    let (header, input) = first_block(input).map_err(|source| SourceError::Unreadable {
        file: file.into(),
        source,
    })?;
    match first_length(&header) {
        length if length <= header.len() => {}
        0..=LARGEST_BUFFER => return Err(wrong("the capture ends within its header".into())),
        length => {
            return Err(wrong(format!(
                "damaged: a header of {length} bytes: expected {LARGEST_BUFFER} at most"
            )));
        }
    }
    let mut capacity = BUFFER.max(2 * header.len());
    // One read of the chain gives the header whole.
    let input = Cursor::new(header).chain(input);
    let mut reader = create_reader(capacity, input).map_err(|e| wrong(reading_error(&e)))?;
    let mut packets = Packets::new(choice);
    loop {
        let more = match reader.next() {
            Ok((length, block)) => {
                packets.take(&block).map_err(wrong)?;
                reader.consume(length);
                continue;
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::UnexpectedEof) => {
                packets
                    .notes
                    .push("the capture ends within a packet".into());
                break;
            }
            Err(PcapError::Incomplete(_)) => 0,
            Err(PcapError::BufferTooSmall) if capacity < LARGEST_BUFFER => capacity,
            Err(e) => return Err(wrong(packets.place(&reading_error(&e)))),
        };
        if more > 0 {
            capacity += more;
            reader.grow(capacity);
        }
        let refilled = reader.refill();
        refilled.map_err(|e| wrong(packets.place(&reading_error(&e))))?;
    }
    packets.finish(file)
}

/// The first block of a pcapng file, which pcap-parser looks at after one read, however little that
/// gave; and what follows. Its length stands behind its type in the byte order of the magic number
/// after it (draft-ietf-opsawg-pcapng §4.1). Of other files some bytes.
fn first_block<R: Read>(mut input: R) -> io::Result<(Vec<u8>, R)> {
    let mut block = Vec::new();
    // A classic capture's header is no longer than pcapng's shortest first block.
    input.by_ref().take(28).read_to_end(&mut block)?;
    let length = first_length(&block).min(LARGEST_BUFFER);
    let rest = length.saturating_sub(block.len());
    input.by_ref().take(rest as u64).read_to_end(&mut block)?;
    Ok((block, input))
}

/// How long a file that begins like this says its first block is, if it is pcapng; else 0.
fn first_length(head: &[u8]) -> usize {
    const MAGIC: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
    let length = match head.get(..12) {
        Some(&[0x0a, 0x0d, 0x0d, 0x0a, a, b, c, d, ref magic @ ..]) => match *magic == MAGIC {
            true => u32::from_be_bytes([a, b, c, d]),
            false => u32::from_le_bytes([a, b, c, d]),
        },
        _ => 0,
    };
    length as usize
}

/// What pcap-parser says, without the bytes it stumbled over.
fn reading_error<I>(error: &PcapError<I>) -> String {
    match error {
        PcapError::Eof | PcapError::UnexpectedEof | PcapError::Incomplete(_) => {
            "the capture ends within its header".into()
        }
        PcapError::BufferTooSmall => {
            format!("a packet of more than {LARGEST_BUFFER} bytes")
        }
        PcapError::ReadError => "cannot be read further".into(),
        PcapError::HeaderNotRecognized | PcapError::NomError(..) | PcapError::OwnedNomError(..) => {
            "damaged: expected a packet as pcap or pcapng has it".into()
        }
    }
}

/// The packets of a capture, one after another.
struct Packets<'a> {
    choice: &'a Choice,
    interfaces: Vec<Interface>,
    big_endian: bool,
    /// Packets so far, as other tools count them.
    count: u64,
    /// Those that are TCP but cannot be read: how many, and what is wrong with the first.
    unread: u64,
    first_unread: String,
    connections: Connections,
    notes: Vec<String>,
}

impl<'a> Packets<'a> {
    fn new(choice: &'a Choice) -> Self {
        Self {
            choice,
            interfaces: Vec::new(),
            big_endian: false,
            count: 0,
            unread: 0,
            first_unread: String::new(),
            connections: Connections::new(choice.connection),
            notes: Vec::new(),
        }
    }

    fn place(&self, why: &str) -> String {
        format!("after packet {}: {why}", self.count)
    }

    fn take(&mut self, block: &PcapBlockOwned<'_>) -> Result<(), String> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let rate = match header.is_nanosecond_precision() {
                    true => 1_000_000_000,
                    false => 1_000_000,
                };
                self.interfaces = vec![Interface {
                    link: header.network.0,
                    clock: Some(Clock { rate, offset: 0 }),
                }];
                self.check_link(0)
            }
            PcapBlockOwned::Legacy(packet) => {
                let rate = self
                    .interfaces
                    .first()
                    .and_then(|i| i.clock)
                    .map_or(1, |c| c.rate);
                let ticks = u64::from(packet.ts_sec) * rate + u64::from(packet.ts_usec);
                self.packet(0, ticks, packet.data, packet.caplen)
            }
            PcapBlockOwned::NG(block) => self.take_block(block),
        }
    }

    fn take_block(&mut self, block: &Block<'_>) -> Result<(), String> {
        match block {
            Block::SectionHeader(header) => {
                self.big_endian = header.big_endian();
                self.interfaces.clear();
                Ok(())
            }
            Block::InterfaceDescription(interface) => {
                let offset = match self.big_endian {
                    true => interface.if_tsoffset.swap_bytes(),
                    false => interface.if_tsoffset,
                };
                self.interfaces.push(Interface {
                    link: interface.linktype.0,
                    clock: Clock::of_interface(interface.if_tsresol, offset),
                });
                Ok(())
            }
            Block::EnhancedPacket(packet) => {
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                self.check_link(packet.if_id)?;
                self.packet(packet.if_id, ticks, packet.data, packet.caplen)
            }
            Block::SimplePacket(_) => Err(self.place(
                "a packet without a time (pcapng's simple packet block): expected each with its own",
            )),
            _ => Ok(()),
        }
    }

    fn check_link(&self, interface: u32) -> Result<(), String> {
        let Some(interface) = self.interface(interface) else {
            return Err(self.place("a packet of an interface that was not described"));
        };
        if interface.clock.is_none() {
            return Err(self.place("the interface's time resolution has no use"));
        }
        match link::is_known(interface.link) {
            true => Ok(()),
            false => Err(format!(
                "link type {}: expected {}",
                interface.link,
                link::KNOWN
            )),
        }
    }

    fn interface(&self, number: u32) -> Option<Interface> {
        self.interfaces.get(number as usize).copied()
    }

    fn packet(
        &mut self,
        interface: u32,
        ticks: u64,
        data: &[u8],
        captured: u32,
    ) -> Result<(), String> {
        self.count += 1;
        let Some(Interface {
            link,
            clock: Some(clock),
        }) = self.interface(interface)
        else {
            return Ok(());
        };
        // Padding behind it does not count.
        let data = &data[..data.len().min(captured as usize)];
        let Some(ip) = link::ip_packet(link, data) else {
            return Ok(());
        };
        match recoup_wire::decode(ip) {
            Ok(decoded) => self.connections.take(clock.instant(ticks), &decoded),
            Err(recoup_wire::DecodeError::NotTcp(_)) => {}
            Err(e) => {
                self.unread += 1;
                if self.unread == 1 {
                    self.first_unread = format!("packet {}: {e}", self.count);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, file: &str) -> Result<Source, SourceError> {
        if self.unread > 0 {
            let more = match self.unread {
                1 => String::new(),
                n => format!(" (and {} more)", n - 1),
            };
            self.notes
                .push(format!("left out {}{more}", self.first_unread));
        }
        let mut source = self.connections.finish(file, self.choice)?;
        source.notes.splice(..0, self.notes);
        Ok(source)
    }
}

#[cfg(test)]
mod tests;
