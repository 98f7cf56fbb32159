//! Writes pcapng (draft-ietf-opsawg-pcapng): a section, little-endian, with times in nanoseconds.

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::SectionHeaderBlock;
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};
use recoup_units::Instant;
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// The resolution of times: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// The flags of a packet that was received, and of one that was sent (§4.3.1).
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A frame to be written.
#[derive(Clone, Copy, Debug)]
pub struct WrittenFrame<'a> {
    /// Its interface, in the order in which interfaces were added, from 0.
    pub interface: u32,
    /// When it was captured.
    pub at: Instant,
    /// Whether it was sent rather than received, if that is known.
    pub outgoing: Option<bool>,
    /// Its first bytes.
    pub data: &'a [u8],
    /// How many bytes it has.
    pub on_wire: usize,
}

/// Writes a section.
pub struct SectionWriter<W: Write>(PcapNgWriter<W>);

impl<W: Write> SectionWriter<W> {
    /// Begins a section.
    ///
    /// # Errors
    /// When `out` fails, as all of its methods.
    pub fn begin(out: W) -> io::Result<Self> {
        let header = SectionHeaderBlock { endianness: Endianness::Little, ..SectionHeaderBlock::default() };
        PcapNgWriter::with_section_header(out, header).map(Self).map_err(io_error)
    }

    /// Adds an interface with frames of this link type.
    ///
    /// # Errors
    /// When the output fails.
    pub fn interface(&mut self, link: i32) -> io::Result<()> {
        let options = vec![InterfaceDescriptionOption::IfTsResol(NANOSECONDS)];
        self.block(InterfaceDescriptionBlock { linktype: data_link(link), snaplen: 0, options })
    }

    /// Adds a frame with comments.
    ///
    /// # Errors
    /// When the output fails.
    pub fn frame(&mut self, frame: &WrittenFrame<'_>, comments: Vec<String>) -> io::Result<()> {
        let &WrittenFrame { interface, at, outgoing, data, on_wire } = frame;
        let comments = comments.into_iter().map(|comment| EnhancedPacketOption::Comment(comment.into()));
        let direction = outgoing.map(|outgoing| if outgoing { OUTBOUND } else { INBOUND });
        self.block(EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: u32::try_from(on_wire).unwrap_or(u32::MAX),
            data: Cow::Borrowed(data),
            options: comments.chain(direction.map(EnhancedPacketOption::Flags)).collect(),
        })
    }

    /// Adds another block.
    ///
    /// # Errors
    /// When the output fails.
    pub(crate) fn block<'b>(&mut self, block: impl PcapNgBlock<'b>) -> io::Result<()> {
        self.0.write_pcapng_block(block).map(drop).map_err(io_error)
    }

    /// The output after the section.
    pub fn into_inner(self) -> W {
        self.0.into_inner()
    }
}

pub(crate) fn data_link(link: i32) -> DataLink {
    DataLink::from(link.cast_unsigned())
}

/// The I/O error within a pcap-file error, whose own text is about reading.
pub(crate) fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}
