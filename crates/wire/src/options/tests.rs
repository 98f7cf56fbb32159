use super::*;

fn ts(value: u32, echo: u32) -> Option<Timestamps> {
    Some(Timestamps { value, echo })
}

/// `n` blocks `[0x10, 0x11]`, `[0x20, 0x21]`, …
fn blocks(n: u32) -> SackBlocks {
    (1..=n).map(|i| [SeqNumber(0x10 * i), SeqNumber(0x10 * i + 1)]).collect()
}

fn encoded(options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    options.encode(&mut out);
    out
}

/// The options in `bytes`, and whether all were valid.
fn read(bytes: &[u8]) -> (Options, bool) {
    // Earlier values must not matter.
    let mut options = Options { mss: Some(1), ..Options::NONE };
    let sound = options.read_all(bytes, false).sound;
    (options, sound)
}

#[test]
#[rustfmt::skip]
fn options_have_linuxs_layout() {
    let none = Options::NONE;
    let cases: &[(Options, &[u8])] = &[
        (none, &[]),
        (Options { mss: Some(1460), ..none }, &[2, 4, 0x05, 0xb4]),
        (Options { sack_permitted: true, ..none }, &[1, 1, 4, 2]),
        (Options { window_scale: Some(7), ..none }, &[1, 3, 3, 7]),
        (
            Options { timestamps: ts(0x0102_0304, 0x0506_0708), ..none },
            &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8],
        ),
        // A SYN of Linux: SACK-permitted replaces the two NOPs of data segments.
        (
            Options {
                mss: Some(1460), sack_permitted: true, timestamps: ts(9, 0), window_scale: Some(10),
                ..none
            },
            &[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 10],
        ),
        // A SYN without timestamps.
        (
            Options { mss: Some(536), sack_permitted: true, window_scale: Some(0), ..none },
            &[2, 4, 2, 0x18, 1, 1, 4, 2, 1, 3, 3, 0],
        ),
        (
            Options { sack: blocks(1), ..none },
            &[1, 1, 5, 10, 0, 0, 0, 0x10, 0, 0, 0, 0x11],
        ),
        (
            Options { sack: blocks(4), ..none },
            &[
                1, 1, 5, 34, 0, 0, 0, 0x10, 0, 0, 0, 0x11, 0, 0, 0, 0x20, 0, 0, 0, 0x21,
                0, 0, 0, 0x30, 0, 0, 0, 0x31, 0, 0, 0, 0x40, 0, 0, 0, 0x41,
            ],
        ),
        (
            Options { timestamps: ts(1, 2), sack: blocks(2), ..none },
            &[
                1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2,
                1, 1, 5, 18, 0, 0, 0, 0x10, 0, 0, 0, 0x11, 0, 0, 0, 0x20, 0, 0, 0, 0x21,
            ],
        ),
    ];
    for (options, bytes) in cases {
        assert_eq!(encoded(options), *bytes, "[{options}]");
        assert_eq!(options.encoded_len() as usize, bytes.len(), "[{options}]");
        assert_eq!(read(bytes), (*options, true));
    }
}

#[test]
fn as_many_sack_blocks_are_encoded_as_fit() {
    let syn =
        Options { mss: Some(1460), sack_permitted: true, timestamps: ts(1, 2), window_scale: Some(7), ..Options::NONE };
    let timestamps = Options { timestamps: ts(1, 2), ..Options::NONE };
    let cases = [
        // (other options, blocks given, blocks encoded, bytes)
        (Options::NONE, 4, 4, 36),
        (timestamps, 2, 2, 32),
        (timestamps, 3, 3, 40),
        (timestamps, 4, SackBlocks::MAX_WITH_TIMESTAMPS, 40),
        (syn, 4, 2, 40),
        (syn, 0, 0, 20),
    ];
    for (others, given, fit, len) in cases {
        let options = Options { sack: blocks(given), ..others };
        assert_eq!(options.sack_blocks_that_fit(), fit, "[{options}]");
        assert_eq!(options.encoded_len(), len, "[{options}]");
        let bytes = encoded(&options);
        assert_eq!(bytes.len(), len as usize, "[{options}]");
        let first = blocks(u32::try_from(fit).unwrap());
        assert_eq!(read(&bytes).0.sack, first);
    }
}

#[test]
#[rustfmt::skip]
fn layouts_of_other_stacks_are_decoded() {
    let none = Options::NONE;
    let mss = Options { mss: Some(0x0102), ..none };
    let reversed = [SeqNumber(0x20), SeqNumber(0x10)];
    let cases: &[(&str, &[u8], Options, bool)] = &[
        ("unknown kind skipped", &[254, 4, 9, 9, 2, 4, 1, 2], mss, false),
        ("unaligned", &[2, 4, 1, 2, 4, 2, 3, 3, 5], Options {
            sack_permitted: true, window_scale: Some(5), ..mss
        }, false),
        ("nothing counts behind the end of the list", &[0, 2, 4, 1, 2], none, false),
        ("the last of several counts", &[2, 4, 9, 9, 2, 4, 1, 2], mss, false),
        ("window scale above 14", &[3, 3, 15], Options { window_scale: Some(14), ..none }, false),
        ("MSS of 3 bytes skipped", &[2, 3, 1, 2, 4, 1, 2], mss, false),
        ("timestamps of 8 bytes skipped", &[8, 8, 0, 0, 0, 0, 0, 0, 2, 4, 1, 2], mss, false),
        ("timestamps of 11 bytes skipped", &[8, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 4, 1, 2], mss, false),
        ("SACK of a block and a half skipped", &[5, 6, 0, 0, 0, 1, 2, 4, 1, 2], mss, false),
        ("SACK without blocks", &[5, 2, 2, 4, 1, 2], mss, false),
        ("reversed block kept", &[5, 10, 0, 0, 0, 0x20, 0, 0, 0, 0x10], Options {
            sack: [reversed].into_iter().collect(), ..none
        }, false),
        ("two SACK options add up", &[
            5, 10, 0, 0, 0, 0x20, 0, 0, 0, 0x10, 5, 10, 0, 0, 0, 0x20, 0, 0, 0, 0x10,
        ], Options { sack: [reversed; 2].into_iter().collect(), ..none }, false),
        ("length 0", &[2, 4, 1, 2, 254, 0, 4, 2], mss, true),
        ("length 1", &[2, 4, 1, 2, 254, 1, 4, 2], mss, true),
        ("length past the header", &[2, 4, 1, 2, 8, 10, 0, 0], mss, true),
        ("kind without length", &[2, 4, 1, 2, 4], mss, true),
    ];
    for (what, bytes, options, malformed) in cases {
        assert_eq!(read(bytes), (*options, !malformed), "{what}");
    }
}

#[test]
fn a_fifth_sack_block_is_rejected() {
    let mut sack = blocks(4);
    assert!(!sack.push([SeqNumber(1), SeqNumber(2)]));
    assert_eq!(sack, blocks(4));
    assert_eq!(blocks(9), blocks(4));
    assert_eq!(blocks(3).iter().nth(2), Some([SeqNumber(0x30), SeqNumber(0x31)]));
    assert_eq!(blocks(2).to_string(), "{16:17}{32:33}");
}

#[test]
fn options_print_like_in_tcpdump() {
    let options =
        Options { mss: Some(1460), sack_permitted: true, timestamps: ts(1, 0), window_scale: Some(7), sack: blocks(1) };
    assert_eq!(options.to_string(), "mss 1460,sackOK,TS val 1 ecr 0,wscale 7,sack 1 {16:17}");
    assert_eq!(Options::NONE.to_string(), "");
}

fn copied(bytes: &[u8], cut: bool) -> Vec<u8> {
    let mut to = vec![0; bytes.len()];
    copy_known_options(bytes, cut, &mut to);
    to
}

#[test]
fn only_options_that_are_read_keep_their_contents() {
    let known = encoded(&Options {
        mss: Some(1460),
        sack_permitted: true,
        timestamps: ts(1, 2),
        window_scale: Some(7),
        sack: blocks(2),
    });
    assert_eq!(copied(&known, false), known);
    for (what, from, to) in [
        ("a cookie", &[34, 6, 9, 9, 9, 9, 2, 4, 1, 2][..], &[34, 6, 0, 0, 0, 0, 2, 4, 1, 2][..]),
        ("keys", &[30, 12, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9], &[30, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("behind the end", &[1, 0, 9, 9], &[1, 0, 0, 0]),
        ("MSS of a wrong length", &[2, 6, 9, 9, 9, 9], &[2, 6, 0, 0, 0, 0]),
        ("an impossible length", &[5, 1, 9, 9], &[5, 1, 0, 0]),
        ("longer than the header", &[5, 18, 9, 9], &[5, 18, 0, 0]),
    ] {
        assert_eq!(copied(from, false), to, "{what}");
    }
    // What a capture has of a SACK option is read, and of a cookie it is not.
    assert_eq!(copied(&[5, 18, 9, 9, 9, 9, 9, 9, 9, 9, 9], true), [5, 18, 9, 9, 9, 9, 9, 9, 9, 9, 0]);
    assert_eq!(copied(&[34, 18, 9, 9], true), [34, 18, 0, 0]);
}

proptest::proptest! {
    #[test]
    fn copied_options_are_read_as_before(bytes in proptest::collection::vec(0_u8..40, 0..41), cut: bool) {
        let read = |bytes: &[u8]| {
            let mut options = Options::NONE;
            let how = options.read_all(bytes, cut);
            (options, how)
        };
        proptest::prop_assert_eq!(read(&copied(&bytes, cut)), read(&bytes));
    }
}
