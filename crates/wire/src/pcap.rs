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
mod tests {
    use super::*;

    /// A file that is full after a number of bytes, and reports it when flushed at the latest.
    #[derive(Debug)]
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() > self.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            match self.0 {
                0 => Err(io::ErrorKind::StorageFull.into()),
                _ => Ok(()),
            }
        }
    }

    #[test]
    fn a_file_has_the_expected_bytes() {
        let epoch = Duration::from_secs(0x6000_0000);
        let mut writer = Writer::with_snaplen(Vec::new(), epoch, 3).unwrap();
        // 1.000000002 s after the epoch, then cut at the snap length.
        let at = Instant::from_nanos(1_000_000_002);
        writer.write(at, &[0xaa, 0xbb]).unwrap();
        writer.write(Instant::ZERO, &[1, 2, 3, 4, 5]).unwrap();
        #[rustfmt::skip]
        let expected = [
            // Magic of nanosecond timestamps, version 2.4, zone, accuracy, snap length, link type.
            0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 101, 0, 0, 0,
            // Seconds, nanoseconds, captured length, original length, bytes.
            1, 0, 0, 0x60, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0xaa, 0xbb,
            0, 0, 0, 0x60, 0, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3,
        ];
        assert_eq!(writer.finish().unwrap(), expected);
    }

    #[test]
    fn a_full_disk_is_reported_at_the_latest_by_finish() {
        let file = 24 + 16 + 40;
        for (room, full) in [(24, true), (file - 1, true), (file, true), (file + 1, false)] {
            let mut writer = Writer::new(Full(room), Duration::ZERO).unwrap();
            writer.write(Instant::ZERO, &[0; 40]).unwrap();
            let result = writer.finish().map_err(|error| error.kind());
            assert_eq!(result.err(), full.then_some(io::ErrorKind::StorageFull), "room for {room} bytes");
        }
    }

    #[test]
    fn timestamps_end_in_2106() {
        let epoch = Duration::from_secs(u64::from(u32::MAX));
        let mut writer = Writer::new(Vec::new(), epoch).unwrap();
        writer.write(Instant::from_nanos(999_999_999), &[]).unwrap();
        let error = writer.write(Instant::from_millis(1000), &[]).unwrap_err();
        assert_eq!(error.to_string(), "packet at 4294967296 s since 1970: pcap timestamps end at 4294967295 s");
        assert_eq!(writer.finish().unwrap().len(), 24 + 16);
    }
}
