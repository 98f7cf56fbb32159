use super::*;

/// Reads what [`encode`] writes, as `marks.js` does.
fn decode(encoded: &Encoded) -> Vec<Item> {
    let bytes = BASE64_STANDARD.decode(&encoded.bytes).unwrap();
    let mut bytes = bytes.into_iter();
    let mut byte = move || bytes.next().unwrap();
    let mut items = Vec::new();
    let (mut at, mut frame) = (0, 0);
    let mut last = [(0_u64, 0_u64); Kind::COUNT];
    for _ in 0..encoded.count {
        let head = byte();
        let mut unsigned = || {
            let (mut value, mut shift) = (0_u64, 0);
            loop {
                let next = byte();
                value |= u64::from(next & 0x7f) << shift;
                shift += 7;
                if next < 0x80 {
                    return value;
                }
            }
        };
        let signed = |zigzag: u64| (zigzag >> 1) ^ 0_u64.wrapping_sub(zigzag & 1);
        let kind = KINDS[usize::from(head & 0x1f)];
        at += unsigned();
        if head & HAS_FRAME != 0 {
            frame = signed(unsigned()).wrapping_add(frame);
        }
        let (last_high, last_length) = last[kind as usize];
        let low = signed(unsigned()).wrapping_add(last_high);
        let length = if kind.has_range() { signed(unsigned()).wrapping_add(last_length) } else { 0 };
        let texts = (head & HAS_TEXTS != 0).then(|| encoded.texts[unsigned() as usize].clone());
        let mut item = Item {
            kind,
            at,
            until: at,
            low,
            high: low + length,
            frame: (head & HAS_FRAME != 0).then_some(frame),
            texts,
            count: 1,
        };
        if head & IS_MERGED != 0 {
            item.count = unsigned();
            item.until += unsigned();
            if !kind.has_range() {
                item.high = signed(unsigned()).wrapping_add(low);
            }
        }
        last[kind as usize] = (item.high, length);
        items.push(item);
    }
    items
}

const KINDS: [Kind; Kind::COUNT] = [
    Kind::Data,
    Kind::Retransmission,
    Kind::Needed,
    Kind::Spurious,
    Kind::Unknowable,
    Kind::ExtraCopy,
    Kind::Acked,
    Kind::DuplicateAck,
    Kind::Sacked,
    Kind::ReceiveWindow,
    Kind::Note,
    Kind::Syn,
    Kind::Fin,
    Kind::Reset,
];

#[test]
fn kinds_have_the_numbers_that_the_script_expects() {
    let script = include_str!("../marks.js");
    let keys: Vec<&str> = script.split("{ key: \"").skip(1).collect();
    assert_eq!(keys.len(), Kind::COUNT);
    for (number, (kind, line)) in KINDS.into_iter().zip(keys).enumerate() {
        assert_eq!(kind as usize, number);
        let line = line.lines().next().unwrap();
        assert_eq!(line.contains("range: true"), kind.has_range(), "{line}");
    }
}

#[test]
fn marks_are_read_as_they_were_written() {
    let mut items = Vec::new();
    for (n, kind) in (0..).zip(KINDS.into_iter().cycle().take(200)) {
        let step: u64 = n * 0x9e37_79b9 % 100_000;
        let low = 1 + step * step;
        let high = if kind.has_range() { low + step } else { low };
        let mut item = Item {
            kind,
            at: n * n * 1000,
            until: n * n * 1000,
            low,
            high,
            frame: (n % 3 > 0).then_some(1_000_000 - step),
            texts: (n % 5 == 0).then(|| (format!("text {}", n % 4), "reason")),
            count: 1,
        };
        if n % 7 == 0 {
            (item.count, item.until) = (n + 2, item.at + step);
            item.high += if kind.has_range() { 0 } else { 500 };
        }
        items.push(item);
    }
    let encoded = encode(&items);
    assert_eq!(encoded.texts.len(), 4, "each text once");
    assert_eq!(decode(&encoded), items);
}

#[test]
fn a_mark_of_a_steady_transfer_takes_six_bytes() {
    let item = |n: u64| Item {
        kind: Kind::Data,
        at: n * 400,
        until: n * 400,
        low: 1 + n * 1448,
        high: 1449 + n * 1448,
        frame: Some(n * 2 + 1),
        texts: None,
        count: 1,
    };
    let items: Vec<Item> = (0..1000).map(item).collect();
    // 4 bytes of base64 hold 3.
    let bytes = encode(&items).bytes.len() * 3 / 4;
    assert!(bytes <= 6010, "{bytes}");
}

#[test]
fn extreme_marks_are_encoded() {
    let extreme = |at: u64, low: u64, high: u64| Item {
        kind: Kind::Data,
        at,
        until: 0,
        low,
        high,
        frame: Some(u64::MAX),
        texts: None,
        count: u64::MAX,
    };
    // Times that go back, ranges that end before they begin.
    let items = [extreme(u64::MAX, u64::MAX, 0), extreme(0, 0, u64::MAX)];
    assert_eq!(encode(&items).count, 2);
}
