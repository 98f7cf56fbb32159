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
