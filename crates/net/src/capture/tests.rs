use super::*;

/// Times in seconds and nanoseconds, and packets, of a capture.
fn read(mut file: &[u8]) -> Vec<([u32; 2], Vec<u8>)> {
    let mut take = |len: usize| {
        let (taken, rest) = file.split_at_checked(len)?;
        file = rest;
        Some(taken)
    };
    assert_eq!(take(24).map(|header| header[20]), Some(101));
    let mut packets = Vec::new();
    while let Some(header) = take(16) {
        let [seconds, nanos, captured, len] =
            [0, 4, 8, 12].map(|at| u32::from_le_bytes(*header[at..].first_chunk().unwrap()));
        assert_eq!(captured, len);
        packets.push(([seconds, nanos], take(len as usize).unwrap().to_vec()));
    }
    packets
}

#[test]
fn each_side_has_its_packets_in_order() {
    let capture = PacketCapture::start(Vec::new(), Vec::new()).unwrap();
    let none = VnetHeader::default();
    // Enough for several blocks, by two relays one after another.
    let long = vec![7; BLOCK_LEN / 2 + 1];
    for relay in 0..2 {
        let mut tap = capture.tap();
        let start = monotonic();
        for n in 0..10 {
            let side = if n % 2 == 0 { Side::Inside } else { Side::Outside };
            tap.see(side, start + n, none, &[relay, n as u8]);
            tap.see(side, start + n, none, &long);
        }
    }
    let files = capture.finish().unwrap().map(|file| read(&file));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    for (file, odd) in files.iter().zip([1, 0]) {
        let short: Vec<_> = file.iter().step_by(2).map(|(_, packet)| &packet[..]).collect();
        let expected: Vec<_> = (0..2).flat_map(|relay| (0..5).map(move |n| [relay, 2 * n + odd])).collect();
        assert_eq!(short, expected);
        assert!(file.iter().skip(1).step_by(2).all(|(_, packet)| *packet == long));
        assert!(file.is_sorted_by_key(|(at, _)| *at));
        let late = now.as_secs() - u64::from(file[0].0[0]);
        assert!(late < 60, "{late} s ago");
    }
}

#[test]
fn checksums_left_to_others_are_completed() {
    let capture = PacketCapture::start(Vec::new(), Vec::new()).unwrap();
    let header = VnetHeader { flags: VnetHeader::NEEDS_CSUM, csum_start: 2, csum_offset: 2, ..VnetHeader::default() };
    capture.tap().see(Side::Outside, 0, header, &[9, 9, 1, 2, 0, 5]);
    let [outside, inside] = capture.finish().unwrap().map(|file| read(&file));
    // The complement of 0x0102 + 5.
    assert_eq!(outside[0].1, [9, 9, 1, 2, 0xfe, 0xf8]);
    assert!(inside.is_empty());
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let capture = PacketCapture::start(Full(100), Full(1 << 20)).unwrap();
    let mut tap = capture.tap();
    for n in 0..10 {
        tap.see(Side::Outside, n, VnetHeader::default(), &[0; BLOCK_LEN / 2]);
    }
    drop(tap);
    let error = capture.finish().err().map(|e| e.kind());
    assert_eq!(error, Some(io::ErrorKind::StorageFull));
}
