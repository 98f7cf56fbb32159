//! What the program makes of single packets (BPF_PROG_TEST_RUN).

use super::*;
use aya::programs::{TestRun as _, TestRunOptions};
use recoup_wire::{Checksum, Flags, Options, Payload, SackBlocks, Segment, Timestamps, decode, encode};

mod options;

// linux/bpf.h: TCX_NEXT is -1, TCX_DROP 2.
const PASSES: u32 = u32::MAX;
const DROPPED: u32 = 2;

const ACK: SeqNumber = SeqNumber(5000);

/// The first byte of the TCP header in a frame of IPv4, and of its options.
const TCP_AT: usize = 14 + 20;
const OPTIONS_AT: usize = TCP_AT + 20;

/// As a copy is sent.
fn v4() -> Endpoints {
    Endpoints { src: "192.0.2.1:80".parse().unwrap(), dst: "198.51.100.2:4000".parse().unwrap() }
}

fn v6() -> Endpoints {
    Endpoints { src: "[2001:db8::1]:80".parse().unwrap(), dst: "[2001:db8::2]:4000".parse().unwrap() }
}

/// An acknowledgement with these blocks.
fn ack(blocks: &[[u32; 2]]) -> Segment {
    let mut sack = SackBlocks::NONE;
    for block in blocks {
        assert!(sack.push(block.map(SeqNumber)));
    }
    Segment {
        seq: SeqNumber(77),
        ack: ACK,
        payload_len: 0,
        window: 500,
        flags: Flags::ACK,
        options: Options { timestamps: Some(Timestamps { value: 1, echo: 2 }), sack, ..Options::NONE },
    }
}

/// A frame that arrives for a connection over which copies are sent.
fn frame(copy: Endpoints, segment: &Segment) -> Vec<u8> {
    let ether_type: [u8; 2] = if copy.src.is_ipv4() { [0x08, 0x00] } else { [0x86, 0xdd] };
    let mut frame = [&[2; 12], &ether_type[..]].concat();
    encode(segment, &copy.reverse(), 9, Payload::Fill(7), &mut frame).unwrap();
    frame
}

/// The program's verdict, and the frame after it.
fn run(reports: &mut DuplicateReports, frame: &[u8]) -> (u32, Vec<u8>) {
    let mut after = vec![0; frame.len() + 64];
    let options = TestRunOptions { data_in: Some(frame), data_out: Some(&mut after), ..TestRunOptions::new() };
    let result = reports.program().unwrap().test_run(options).unwrap();
    after.truncate(result.data_size_out as usize);
    (result.return_value, after)
}

/// A frame of this segment passes and has these blocks; all else is as it was.
#[track_caller]
fn becomes(reports: &mut DuplicateReports, copy: Endpoints, segment: &Segment, blocks: &[[u32; 2]]) {
    let before = frame(copy, segment);
    let (verdict, after) = run(reports, &before);
    assert_eq!((verdict, after.len()), (PASSES, before.len()));
    let decoded = decode(&after[14..]).unwrap();
    let expected = Options { sack: ack(blocks).options.sack, ..segment.options };
    assert_eq!(decoded.segment, Segment { options: expected, ..*segment });
    assert_eq!(decoded.tcp_checksum, Checksum::Correct);
    assert!(decoded.ip_checksum_ok && decoded.options_complete);
}

/// A frame passes as it is.
#[track_caller]
fn stays(reports: &mut DuplicateReports, before: &[u8]) {
    let (verdict, after) = run(reports, before);
    assert_eq!(verdict, PASSES);
    assert_eq!(after, before);
}

fn loaded() -> Option<DuplicateReports> {
    permitted(DuplicateReports::load())
}

fn hide(reports: &mut DuplicateReports, copy: Endpoints, range: [u32; 2]) {
    reports.hide(&copy, SeqNumber(range[0]), SeqNumber(range[1])).unwrap();
}

#[test]
fn a_report_is_hidden_once_for_each_call() {
    let Some(mut reports) = loaded() else { return };
    for copy in [v4(), v6()] {
        let report = ack(&[[1000, 2000], [6000, 7000]]);
        stays(&mut reports, &frame(copy, &report));
        hide(&mut reports, copy, [1000, 2000]);
        hide(&mut reports, copy, [1000, 2000]);
        becomes(&mut reports, copy, &report, &[[6000, 7000]]);
        becomes(&mut reports, copy, &report, &[[6000, 7000]]);
        stays(&mut reports, &frame(copy, &report));
    }
    assert_eq!(reports.counts(), DuplicateReportCounts { hidden: 4, dropped: 0, not_understood: 0 });
}

#[test]
fn all_numbers_of_blocks_lose_the_first_alone() {
    let Some(mut reports) = loaded() else { return };
    let blocks = [[1000, 2000], [6000, 7000], [8000, 9000], [9500, 9600]];
    for (count, has_timestamps) in [(1, true), (2, true), (3, true), (1, false), (2, false), (3, false), (4, false)] {
        // With data, so that none is dropped.
        let mut report = Segment { payload_len: 11, ..ack(&blocks[..count]) };
        if !has_timestamps {
            report.options.timestamps = None;
        }
        hide(&mut reports, v4(), [1000, 2000]);
        becomes(&mut reports, v4(), &report, &blocks[1..count]);
    }
}

#[test]
fn a_report_within_the_second_block_is_one_above_the_acknowledgement() {
    let Some(mut reports) = loaded() else { return };
    let report = ack(&[[6200, 6400], [6000, 7000], [8000, 9000]]);
    hide(&mut reports, v4(), [6000, 6400]);
    becomes(&mut reports, v4(), &report, &[[6000, 7000], [8000, 9000]]);
    // A block of its own is no report.
    hide(&mut reports, v4(), [6000, 6400]);
    stays(&mut reports, &frame(v4(), &ack(&[[6200, 6400], [8000, 9000]])));
    stays(&mut reports, &frame(v4(), &ack(&[[6200, 6400]])));
}

#[test]
fn reports_of_other_bytes_and_connections_stay() {
    let Some(mut reports) = loaded() else { return };
    hide(&mut reports, v4(), [1000, 2000]);
    for other in [[999, 2000], [1000, 2001], [2000, 3000], [2000, 1000], [1500, 1500]] {
        stays(&mut reports, &frame(v4(), &ack(&[other])));
    }
    let other_port = Endpoints { dst: "198.51.100.2:4001".parse().unwrap(), ..v4() };
    stays(&mut reports, &frame(other_port, &ack(&[[1000, 2000]])));
    // The other direction is that of the copies.
    stays(&mut reports, &frame(v4().reverse(), &ack(&[[1000, 2000]])));
    assert_eq!(reports.counts(), DuplicateReportCounts::default());
}

#[test]
fn sequence_numbers_wrap() {
    let Some(mut reports) = loaded() else { return };
    let report = Segment { ack: SeqNumber(400), ..ack(&[[u32::MAX - 99, 100], [500, 600]]) };
    hide(&mut reports, v4(), [u32::MAX - 199, 200]);
    becomes(&mut reports, v4(), &report, &[[500, 600]]);
}

#[test]
fn a_bare_duplicate_acknowledgement_is_dropped() {
    let Some(mut reports) = loaded() else { return };
    for copy in [v4(), v6()] {
        for _ in 0..9 {
            hide(&mut reports, copy, [1000, 2000]);
        }
        let report = ack(&[[1000, 2000]]);
        // The first one may be a new acknowledgement.
        becomes(&mut reports, copy, &report, &[]);
        assert_eq!(run(&mut reports, &frame(copy, &report)).0, DROPPED);
        // An older one is no news.
        assert_eq!(run(&mut reports, &frame(copy, &Segment { ack: SeqNumber(4999), ..report })).0, DROPPED);
        let other_window = Segment { window: 501, ..report };
        let news = [
            Segment { payload_len: 1, ..report },
            other_window,
            Segment { flags: Flags::ACK | Flags::ECE, ..other_window },
            Segment { flags: Flags::ACK | Flags::FIN, ..other_window },
            Segment { flags: Flags::ACK | Flags::RST, ..other_window },
            Segment { ack: ACK + 1, ..other_window },
        ];
        for news in news {
            becomes(&mut reports, copy, &news, &[]);
        }
    }
    assert_eq!(reports.counts(), DuplicateReportCounts { hidden: 18, dropped: 4, not_understood: 0 });
}

#[test]
fn ranges_that_the_kernel_retransmitted_and_closed_connections_are_hidden_no_more() {
    let Some(mut reports) = loaded() else { return };
    let report = ack(&[[1000, 2000], [6000, 7000]]);
    let plain = frame(v4(), &report);
    hide(&mut reports, v4(), [1000, 2000]);
    reports.stop_hiding(&v4(), SeqNumber(1999), SeqNumber(2500)).unwrap();
    stays(&mut reports, &plain);
    hide(&mut reports, v4(), [1000, 2000]);
    reports.forget(&v4()).unwrap();
    stays(&mut reports, &plain);
    // Neither needs to be known.
    reports.forget(&v4()).unwrap();
    reports.stop_hiding(&v4(), SeqNumber(0), SeqNumber(1)).unwrap();
    hide(&mut reports, v4(), [1000, 2000]);
    // Bytes beside the range do not matter.
    reports.stop_hiding(&v4(), SeqNumber(2000), SeqNumber(2500)).unwrap();
    becomes(&mut reports, v4(), &report, &[[6000, 7000]]);
    // A range in the place of one whose report was hidden begins anew.
    reports.stop_hiding(&v4(), SeqNumber(1000), SeqNumber(2000)).unwrap();
    hide(&mut reports, v4(), [1000, 2000]);
    becomes(&mut reports, v4(), &report, &[[6000, 7000]]);
}

#[test]
fn other_packets_pass_as_they_are() {
    let Some(mut reports) = loaded() else { return };
    let report = frame(v4(), &ack(&[[1000, 2000], [6000, 7000]]));
    hide(&mut reports, v4(), [1000, 2000]);
    hide(&mut reports, v6(), [1000, 2000]);
    let with = |at: usize, byte: u8| {
        let mut frame = report.clone();
        frame[at] = byte;
        frame
    };
    let vlan = [&report[..12], &[0x81, 0, 0, 5], &report[12..]].concat();
    // More fragments; a later fragment; UDP; no IPv4; a TCP header below 20 bytes; a cut packet.
    let mut others = vec![vlan, with(20, 0x20), with(21, 1), with(23, 17), with(14, 0x65), with(TCP_AT + 12, 0x40)];
    others.extend([TCP_AT, OPTIONS_AT, report.len() - 1].map(|len| report[..len].to_vec()));
    // Destination options before TCP (RFC 8200 §4.6).
    let v6 = frame(v6(), &ack(&[[1000, 2000], [6000, 7000]]));
    let mut extended = [&v6[..54], &[6, 0, 1, 4, 0, 0, 0, 0], &v6[54..]].concat();
    extended[20] = 60;
    others.push(extended);
    for other in others {
        stays(&mut reports, &other);
    }
}

/// What a packet costs: of another connection, and with a report that stays.
#[test]
#[ignore = "a measurement"]
fn cost() {
    let Some(mut reports) = loaded() else { return };
    let report = frame(v4(), &ack(&[[1000, 2000], [6000, 7000]]));
    let run = |reports: &mut DuplicateReports| {
        let options = TestRunOptions { data_in: Some(&report), repeat: 1_000_000, ..TestRunOptions::new() };
        reports.program().unwrap().test_run(options).unwrap().duration
    };
    println!("of another connection: {:?}", run(&mut reports));
    hide(&mut reports, v4(), [3000, 4000]);
    println!("with a report that stays: {:?}", run(&mut reports));
}
