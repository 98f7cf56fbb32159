use super::*;

/// RFC 1071 §4.1, word by word.
fn by_words(bytes: &[u8]) -> u16 {
    let mut sum: u64 = 0;
    for word in bytes.chunks(2) {
        sum += u64::from(u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[test]
fn a_sum_does_not_depend_on_where_the_bytes_are_split() {
    let mixed: Vec<u8> = (0..200_u32).map(|i| (i * i * 7 % 253) as u8).collect();
    let long: Vec<u8> = (0..70_001_u64).map(|i| (i * i % 251) as u8).collect();
    for bytes in [&mixed[..], &[0xff; 131], &[0; 64], &long] {
        for len in (0..bytes.len().min(140)).chain([bytes.len()]) {
            let bytes = &bytes[..len];
            let expected = by_words(bytes);
            for cut in [0, 1, 2, 7, 31, 32, 33, 64, 65].map(|cut| cut.min(len)) {
                let (front, back) = bytes.split_at(cut);
                let sum = Sum::default().plus(front).plus(back).checksum();
                assert_eq!(sum, expected, "{len} bytes cut at {cut}");
            }
        }
    }
}

#[test]
fn a_field_beyond_the_packet_is_reported() {
    let packet = [1, 2, 3, 4, 5];
    let max = usize::MAX;
    let cases = [(0, 4), (5, 0), (6, 0), (0, max), (max, 0), (max, max), (4, 0)];
    for (start, offset) in cases {
        let mut same = packet;
        assert!(!complete_checksum(&mut same, start, offset));
        assert_eq!(same, packet, "{start} {offset}");
    }
    let mut summed = packet;
    assert!(complete_checksum(&mut summed, 1, 2));
    assert_eq!(summed, [1, 2, 3, 0xf9, 0xf7]); // !(0x0203 + 0x0405)
}

#[test]
fn a_renewed_checksum_is_as_right_or_wrong_as_before() {
    let pseudo = |low: u8| pseudo_header([10, 0, 0, low].into(), [10, 0, 0, 2].into(), 24, TCP);
    let with = |field: u16, last: u8| {
        let mut tcp = [7; 24];
        tcp[16..18].copy_from_slice(&field.to_be_bytes());
        tcp[23] = last;
        tcp
    };
    let right = pseudo(1).plus(&with(0, 7)).checksum();
    for (field, expected) in
        [(right, Checksum::Correct), (!pseudo(1).checksum(), Checksum::Offloaded), (right ^ 0x40, Checksum::Wrong)]
    {
        let found = Checksum::judge(pseudo(1), &with(field, 7), field);
        assert_eq!(found, expected);
        let renewed = found.renewed(pseudo(9), &with(0, 0));
        assert_eq!(Checksum::judge(pseudo(9), &with(renewed, 0), renewed), expected);
    }
}
