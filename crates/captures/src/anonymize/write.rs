//! Writes records: pcap for pcap and pcapng for pcapng, little-endian, in nanoseconds.

use super::rewrite::Written;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::blocks::section_header::SectionHeaderBlock;
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use recoup_trace::read::{LARGEST_RECORD, RawFrame};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// A custom block that is not to be copied when a capture is changed (draft-ietf-opsawg-pcapng §4.8), of the reserved
/// enterprise 0. It counts as a frame.
const CUSTOM_BLOCK: u32 = 0x4000_0bad;
const NO_ENTERPRISE: [u8; 4] = [0; 4];
/// The resolution of times: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// The flags of a packet that was received, and of one that was sent (draft-ietf-opsawg-pcapng §4.3.1).
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Writes captures one after another.
pub(super) struct Writer<W: Write>(State<W>);

enum State<W: Write> {
    /// Nothing is written yet.
    Begun(W),
    Classic(PcapWriter<W>),
    Sections(PcapNgWriter<W>),
    /// A header could not be written.
    Failed,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Self {
        Self(State::Begun(out))
    }

    /// The output, to begin another format.
    fn out(&mut self) -> io::Result<W> {
        match std::mem::replace(&mut self.0, State::Failed) {
            State::Begun(out) => Ok(out),
            State::Classic(writer) => Ok(writer.into_writer()),
            State::Sections(writer) => Ok(writer.into_inner()),
            State::Failed => Err(unexpected()),
        }
    }

    /// Begins a classic capture of this link type.
    pub fn classic(&mut self, link: i32) -> io::Result<()> {
        let header = PcapHeader {
            snaplen: LARGEST_RECORD as u32,
            datalink: data_link(link),
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        self.0 = State::Classic(PcapWriter::with_header(self.out()?, header).map_err(io_error)?);
        Ok(())
    }

    /// Begins a section of pcapng.
    pub fn section(&mut self) -> io::Result<()> {
        let header = SectionHeaderBlock { endianness: Endianness::Little, ..SectionHeaderBlock::default() };
        self.0 = State::Sections(PcapNgWriter::with_section_header(self.out()?, header).map_err(io_error)?);
        Ok(())
    }

    fn block<'b>(&mut self, block: impl PcapNgBlock<'b>) -> io::Result<()> {
        match &mut self.0 {
            State::Sections(writer) => writer.write_pcapng_block(block).map(drop).map_err(io_error),
            _ => Err(unexpected()),
        }
    }

    /// Adds an interface to the section. Of its options, none but the resolution of times has a place here.
    pub fn interface(&mut self, link: i32) -> io::Result<()> {
        let options = vec![InterfaceDescriptionOption::IfTsResol(NANOSECONDS)];
        self.block(InterfaceDescriptionBlock { linktype: data_link(link), snaplen: 0, options })
    }

    /// Says how many packets an interface dropped.
    pub fn dropped(&mut self, interface_id: u32, count: u64) -> io::Result<()> {
        let options = vec![InterfaceStatisticsOption::IsbIfDrop(count)];
        self.block(InterfaceStatisticsBlock { interface_id, timestamp: 0, options })
    }

    /// Adds a record that counts as a frame and holds none.
    pub fn no_frame(&mut self) -> io::Result<()> {
        self.block(UnknownBlock::new(CUSTOM_BLOCK, 0, &NO_ENTERPRISE))
    }

    /// Adds a frame: `original` with other bytes.
    pub fn frame(&mut self, original: &RawFrame<'_>, written: &Written) -> io::Result<()> {
        let timestamp = Duration::from_nanos(original.at.as_nanos());
        let original_len = u32::try_from(written.on_wire).unwrap_or(u32::MAX);
        let data = &written.data[..];
        if let State::Classic(writer) = &mut self.0 {
            return writer.write_packet(&PcapPacket::new(timestamp, original_len, data)).map(drop).map_err(io_error);
        }
        let direction = original.outgoing.map(|outgoing| if outgoing { OUTBOUND } else { INBOUND });
        self.block(EnhancedPacketBlock {
            interface_id: original.interface,
            timestamp,
            original_len,
            data: Cow::Borrowed(data),
            options: direction.map(EnhancedPacketOption::Flags).into_iter().collect(),
        })
    }
}

fn data_link(link: i32) -> DataLink {
    DataLink::from(link.cast_unsigned())
}

/// A record that does not fit what was begun; readers give none.
fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a record of pcapng outside of a section")
}

/// The I/O error within a pcap-file error, whose own text is about reading.
fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}
