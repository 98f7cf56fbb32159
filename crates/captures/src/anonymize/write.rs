//! Writes records: pcap for pcap and pcapng for pcapng, little-endian, in nanoseconds.

use super::rewrite::Written;
use crate::pcapng::{SectionWriter, WrittenFrame, data_link, io_error};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::{Endianness, TsResolution};
use recoup_trace::read::{LARGEST_RECORD, RawFrame};
use std::io::{self, Write};
use std::time::Duration;

/// A custom block that is not to be copied when a capture is changed (draft-ietf-opsawg-pcapng §4.8), of the reserved
/// enterprise 0. It counts as a frame.
const CUSTOM_BLOCK: u32 = 0x4000_0bad;
const NO_ENTERPRISE: [u8; 4] = [0; 4];

/// Writes captures one after another.
pub(super) struct Writer<W: Write>(State<W>);

enum State<W: Write> {
    /// Nothing is written yet.
    Begun(W),
    Classic(PcapWriter<W>),
    Sections(SectionWriter<W>),
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
        self.0 = State::Sections(SectionWriter::begin(self.out()?)?);
        Ok(())
    }

    fn sections(&mut self) -> io::Result<&mut SectionWriter<W>> {
        match &mut self.0 {
            State::Sections(writer) => Ok(writer),
            _ => Err(unexpected()),
        }
    }

    /// Adds an interface to the section. Of its options, none but the resolution of times has a place here.
    pub fn interface(&mut self, link: i32) -> io::Result<()> {
        self.sections()?.interface(link)
    }

    /// Says how many packets an interface dropped.
    pub fn dropped(&mut self, interface_id: u32, count: u64) -> io::Result<()> {
        let options = vec![InterfaceStatisticsOption::IsbIfDrop(count)];
        self.sections()?.block(InterfaceStatisticsBlock { interface_id, timestamp: 0, options })
    }

    /// Adds a record that counts as a frame and holds none.
    pub fn no_frame(&mut self) -> io::Result<()> {
        self.sections()?.block(UnknownBlock::new(CUSTOM_BLOCK, 0, &NO_ENTERPRISE))
    }

    /// Adds a frame: `original` with other bytes.
    pub fn frame(&mut self, original: &RawFrame<'_>, written: &Written) -> io::Result<()> {
        let &RawFrame { at, interface, outgoing, .. } = original;
        let (data, on_wire) = (&written.data[..], written.on_wire);
        if let State::Classic(writer) = &mut self.0 {
            let (time, len) = (Duration::from_nanos(at.as_nanos()), u32::try_from(on_wire).unwrap_or(u32::MAX));
            return writer.write_packet(&PcapPacket::new(time, len, data)).map(drop).map_err(io_error);
        }
        self.sections()?.frame(&WrittenFrame { interface, at, outgoing, data, on_wire }, Vec::new())
    }
}

/// A record that does not fit what was begun; readers give none.
fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a record of pcapng outside of a section")
}
