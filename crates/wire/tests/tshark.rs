//! Checks checksums and option layouts with tshark.
//!
//! Skipped where tshark is not installed, unless `RECOUP_REQUIRE_TOOLS` is set.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options, Payload, SackBlocks, Segment, SeqNumber, Timestamps, encode, pcap};

/// The fields that tshark prints, in this order.
const FIELDS: [&str; 16] = [
    "frame.time_epoch",
    "frame.len",
    "ip.checksum.status",
    "tcp.checksum.status",
    "_ws.malformed",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags.str",
    "tcp.window_size_value",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.sack_perm",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
];

/// tshark's value for "good" in a checksum status field.
const GOOD: &str = "1";

/// The output of tshark for `file`; `None` when tshark is not installed.
fn tshark(file: &Path, arguments: &[&str]) -> Option<String> {
    let result = Command::new("tshark")
        .args(["-n", "-o", "tcp.check_checksum:TRUE"])
        .args(["-o", "ip.check_checksum:TRUE"])
        .args(["-o", "tcp.relative_sequence_numbers:FALSE"])
        .arg("-r")
        .arg(file)
        .args(arguments)
        .output();
    match result {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "tshark: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) if std::env::var_os("RECOUP_REQUIRE_TOOLS").is_some() => {
            panic!("tshark: {error}, and RECOUP_REQUIRE_TOOLS is set")
        }
        Err(error) => {
            eprintln!("skipped: tshark: {error}");
            None
        }
    }
}

/// A connection's handshake, a loss, and its close.
fn segments() -> Vec<Segment> {
    let options = |value, echo| Options { timestamps: Some(Timestamps { value, echo }), ..Options::NONE };
    let syn = Segment {
        seq: SeqNumber(u32::MAX),
        flags: Flags::SYN,
        window: 64240,
        options: Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..options(100, 0) },
        ..Segment::default()
    };
    let data = Segment {
        seq: SeqNumber(0),
        ack: SeqNumber(501),
        flags: Flags::PSH | Flags::ACK,
        window: 502,
        payload_len: 1447,
        options: options(101, 200),
    };
    let sack = |blocks: &[[u32; 2]], options| Segment {
        seq: SeqNumber(501),
        ack: SeqNumber(0),
        flags: Flags::ACK,
        window: 600,
        payload_len: 0,
        options: Options { sack: blocks.iter().map(|b| b.map(SeqNumber)).collect::<SackBlocks>(), ..options },
    };
    let fin = Segment {
        seq: SeqNumber(1447),
        flags: Flags::FIN | Flags::ACK,
        payload_len: 0,
        options: Options::NONE,
        ..data
    };
    let three = [[7000, 8000], [5000, 6000], [3000, 4000]];
    let four = [[7000, 8000], [5000, 6000], [3000, 4000], [1000, 2000]];
    vec![syn, data, sack(&three, options(201, 101)), sack(&four, Options::NONE), fin]
}

/// The rows tshark should print for [`segments`], from the fifth field on.
const EXPECTED: [&str; 5] = [
    "|4294967295|0|··········S·|64240|1460|7|0402|100|0||",
    "|0|501|·······AP···|502||||101|200||",
    "|501|0|·······A····|600||||201|101|7000,5000,3000|8000,6000,4000",
    "|501|0|·······A····|600||||||7000,5000,3000,1000|8000,6000,4000,2000",
    "|1447|501|·······A···F|502|||||||",
];

#[test]
fn tshark_reads_what_was_written() {
    let cases = [
        ("v4", "192.0.2.1:40000", "192.0.2.2:80", GOOD, 20),
        ("v6", "[2001:db8::1]:40000", "[2001:db8::2]:80", "", 40),
    ];
    for (name, src, dst, ip_checksum, ip_header) in cases {
        let endpoints = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wire-{name}.pcap"));
        write_capture(&file, &endpoints);

        let mut arguments = vec!["-T", "fields", "-E", "separator=|"];
        for field in FIELDS {
            arguments.extend(["-e", field]);
        }
        let Some(rows) = tshark(&file, &arguments) else {
            return;
        };
        let rows: Vec<&str> = rows.lines().collect();
        assert_eq!(rows.len(), EXPECTED.len(), "{rows:#?}");
        for ((i, segment), (row, rest)) in segments().iter().enumerate().zip(rows.iter().zip(EXPECTED)) {
            let len = ip_header + segment.header_len() + segment.payload_len;
            let expected = format!("1700000000.00000000{i}|{len}|{ip_checksum}|{GOOD}|{rest}");
            // Some versions of tshark separate the bytes of SACK-permitted by a colon.
            assert_eq!(row.replace(':', ""), expected, "{name}, {segment}");
        }
        no_complaints(&file);
    }
}

/// Writes [`segments`] between `endpoints`, one nanosecond apart. ACKs go in the other direction.
fn write_capture(file: &Path, endpoints: &Endpoints) {
    let out = std::fs::File::create(file).unwrap();
    let mut writer = pcap::Writer::new(out, Duration::from_secs(1_700_000_000)).unwrap();
    let mut packet = Vec::new();
    for (i, segment) in segments().iter().enumerate() {
        let endpoints = match segment.is_pure_ack() {
            true => endpoints.reverse(),
            false => *endpoints,
        };
        packet.clear();
        // An odd payload length, so that the last byte's padding in the checksum matters.
        let payload = Payload::Fill(0xa5);
        encode(segment, &endpoints, i as u16, payload, &mut packet).unwrap();
        writer.write(Instant::from_nanos(i as u64), &packet).unwrap();
    }
    writer.finish().unwrap();
}

/// Nothing in the file is malformed, and no warning is about checksums, options or lengths. Warnings of
/// the TCP analysis are expected, because the connection has gaps.
fn no_complaints(file: &Path) {
    let filter = "_ws.malformed || _ws.short || tcp.checksum.status == 0 || ip.checksum.status == 0 \
                  || _ws.expert.group == \"Checksum\" || _ws.expert.group == \"Malformed\" \
                  || _ws.expert.group == \"Protocol\"";
    let complaints = tshark(file, &["-Y", filter]).unwrap_or_default();
    assert_eq!(complaints, "");
}
