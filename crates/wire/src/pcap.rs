//! Capture files: classic pcap with nanosecond timestamps, raw IP packets (LINKTYPE_RAW, 101).
//!
//! The crate pcap-file writes the format (draft-ietf-opsawg-pcap), little-endian.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use recoup_units::Instant;

/// The snap length of [`Writer::new`], in bytes. No packet of [`encode`] is longer.
///
/// [`encode`]: crate::encode
pub const DEFAULT_SNAPLEN: u32 = 262_144;

/// A buffered writer of a capture file.
///
/// Call [`finish`](Self::finish) at the end: a writer that is dropped flushes too, but cannot report an
/// error.
#[derive(Debug)]
pub struct Writer<W: Write> {
    inner: PcapWriter<BufWriter<W>>,
    epoch: Duration,
}

impl<W: Write> Writer<W> {
    /// Starts a capture file on `out` that keeps whole packets.
    ///
    /// `epoch` is the time from 1970-01-01 UTC to [`Instant::ZERO`].
    ///
    /// # Errors
    /// When `out` fails.
    pub fn new(out: W, epoch: Duration) -> io::Result<Self> {
        Self::with_snaplen(out, epoch, DEFAULT_SNAPLEN)
    }

    /// Like [`new`](Self::new), but keeps only the first `snaplen` bytes of each packet. The file
    /// records the length of each packet.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn with_snaplen(out: W, epoch: Duration, snaplen: u32) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen,
            datalink: DataLink::RAW,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let inner = PcapWriter::with_header(BufWriter::new(out), header).map_err(io_error)?;
        Ok(Self { inner, epoch })
    }

    /// Adds an IP packet captured at `at`.
    ///
    /// # Errors
    /// When `out` fails, or when `at` is after the format's last second, in February 2106. The packet is
    /// then not written.
    pub fn write(&mut self, at: Instant, packet: &[u8]) -> io::Result<()> {
        let timestamp = self.epoch.saturating_add(Duration::from_nanos(at.as_nanos()));
        if timestamp.as_secs() > u64::from(u32::MAX) {
            let text = format!("packet at {} s since 1970: pcap timestamps end at {} s", timestamp.as_secs(), u32::MAX);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let original_len = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        let captured = original_len.min(self.inner.snaplen()) as usize;
        let packet = PcapPacket::new(timestamp, original_len, &packet[..captured]);
        self.inner.write_packet(&packet).map_err(io_error)?;
        Ok(())
    }

    /// Flushes everything and returns `out`.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.inner.into_writer().into_inner().map_err(io::IntoInnerError::into_error)?;
        out.flush()?;
        Ok(out)
    }
}

/// The I/O error within a pcap-file error, whose own text is about reading.
fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}

#[cfg(test)]
mod tests;
