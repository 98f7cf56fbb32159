//! Options with and without sense.

use super::*;

#[test]
fn options_without_sense_stay_and_are_counted() {
    let Some(mut reports) = loaded() else { return };
    hide(&mut reports, v4(), [1000, 2000]);
    let mut report = ack(&[[1000, 2000]]);
    report.options.timestamps = None;
    let report = frame(v4(), &report);
    // NOP, NOP, SACK, its length.
    assert_eq!(report[OPTIONS_AT..OPTIONS_AT + 4], [1, 1, 5, 10]);
    for length in [0, 1, 2, 9, 11, 255] {
        let mut wrong = report.clone();
        wrong[OPTIONS_AT + 3] = length;
        stays(&mut reports, &wrong);
    }
    assert_eq!(reports.counts(), DuplicateReportCounts { hidden: 0, dropped: 0, not_understood: 6 });
}

/// What the program must make of options, found in another way; `None`: they stay.
fn without_report(options: &[u8], range: [u32; 2]) -> Option<Vec<u8>> {
    let mut at = 0;
    let mut sack: Option<(usize, &[u8])> = None;
    while at < options.len() && options[at] != 0 {
        if options[at] == 1 {
            at += 1;
            continue;
        }
        let len = usize::from(*options.get(at + 1)?);
        let option = options.get(at..at + len).filter(|_| len >= 2)?;
        if options[at] == 5 && sack.is_none() {
            if len < 10 || len % 8 != 2 {
                return None;
            }
            sack = Some((at, option));
        }
        at += len;
    }
    let (at, option) = sack?;
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let blocks: Vec<[u32; 2]> = option[2..].chunks(8).map(|block| [number(&block[..4]), number(&block[4..])]).collect();
    let [start, end] = blocks[0];
    // No number is so large that it wraps.
    let is_report = end <= ACK.0 || blocks.get(1).is_some_and(|second| start >= second[0] && end <= second[1]);
    if start >= end || !is_report || start < range[0] || end > range[1] {
        return None;
    }
    let mut place = match option.len() {
        10 => Vec::new(),
        len => [&[5, (len - 8) as u8], &option[10..]].concat(),
    };
    place.resize(option.len(), 1);
    let mut after = options.to_vec();
    after[at..at + place.len()].copy_from_slice(&place);
    Some(after)
}

/// A frame with these options, three bytes of data and a right TCP checksum.
fn with_options(options: &[u8]) -> Vec<u8> {
    let plain = frame(v4(), &Segment { payload_len: 3, options: Options::NONE, ..ack(&[]) });
    let mut frame = [&plain[..OPTIONS_AT], options, &plain[OPTIONS_AT..]].concat();
    frame[TCP_AT + 12] = (((20 + options.len()) / 4) << 4) as u8;
    let total = (frame.len() - 14) as u16;
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    frame[TCP_AT + 16..TCP_AT + 18].fill(0);
    let [from, to] = [v4().dst.ip(), v4().src.ip()];
    let sum = recoup_wire::pseudo_header(from, to, frame.len() - TCP_AT, 6).plus(&frame[TCP_AT..]).checksum();
    frame[TCP_AT + 16..TCP_AT + 18].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Options of a generator (PCG, its high bits): most have a sense.
fn any_options(below: &mut impl FnMut(u32) -> u32) -> Vec<u8> {
    let mut options = Vec::new();
    while options.len() < 40 && below(6) > 0 {
        match below(8) {
            0 | 1 => options.push(1),
            2 => options.extend([8, 10, 1, 2, 3, 4, 5, 6, 7, 8]),
            3 => options.extend([below(256) as u8, below(7) as u8, 9, 9]),
            4 if below(4) == 0 => options.push(below(256) as u8),
            _ => {
                let blocks = 1 + below(4);
                options.extend([5, 2 + 8 * blocks as u8]);
                for _ in 0..blocks {
                    let start = 100 * below(90);
                    options.extend([start, start + 100 * below(20)].map(u32::to_be_bytes).as_flattened());
                }
            }
        }
    }
    options.truncate(40);
    options.resize(options.len().next_multiple_of(4), below(2) as u8);
    options
}

#[test]
fn any_options_lose_the_report_alone() {
    let Some(mut reports) = loaded() else { return };
    let mut state = 0x853c_49e6_748f_ea9b_u64;
    let mut below = |most: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as u32) % most
    };
    let range = [1000, 7000];
    let mut changed = 0;
    for _ in 0..20_000 {
        let options = any_options(&mut below);
        let before = with_options(&options);
        hide(&mut reports, v4(), range);
        let (verdict, after) = run(&mut reports, &before);
        let wanted = without_report(&options, range);
        changed += u64::from(wanted.is_some());
        assert_eq!(verdict, PASSES);
        assert_eq!(after, wanted.map_or(before, |wanted| with_options(&wanted)), "options {options:?}");
        reports.forget(&v4()).unwrap();
    }
    assert!(changed > 1000, "{changed}");
    assert_eq!(reports.counts().hidden, changed);
}
