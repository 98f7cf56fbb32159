//! The bounded memory of the second reading, and the file of likelihoods.

use super::collect::{Found, FoundConnection};
use super::run::Following;
use super::*;
use crate::reread::Sought;
use crate::reread::TakesPackets;
use crate::study::slp::{Capture, Known, Report};
use recoup_lab::settings::Settings;
use recoup_recovery::slp::Kind;
use recoup_trace::finding::CapturePoint;
use recoup_trace::read::{CapturedPacket, Packet};
use recoup_units::{Direction, Instant};
use recoup_wire::{Flags, SeqNumber};
use std::path::Path;

/// A connection that is followed.
fn found(connections: u64) -> Found {
    let packet = CapturedPacket::from(&Packet::default());
    let rows = (0..connections).map(|connection| FoundConnection {
        known: Known { connection, counted: [true, true], ..Known::default() },
        sought: Sought {
            id: connection,
            endpoints: packet.endpoints,
            frames: 1..=u64::MAX,
            point: CapturePoint::default(),
            tunnels: Default::default(),
        },
        is_over: true,
        has_repeats: true,
    });
    Found { rows: rows.collect(), ..Found::default() }
}

fn segment(frame: u64, seq: u32) -> CapturedPacket {
    let mut packet = CapturedPacket::from(&Packet::default());
    packet.frame = frame;
    packet.at = Instant::from_millis(frame);
    packet.segment.flags = Flags::ACK;
    packet.segment.seq = SeqNumber(seq);
    packet.segment.payload_len = 100;
    packet
}

#[test]
fn memory_is_bounded_by_forgetting_old_transmissions() {
    let found = found(2);
    let mut following = Following::new(&found);
    following.most_held = 64;
    let mut frame = 0;
    let mut send = |following: &mut Following<'_>, connection, number: u32| {
        frame += 1;
        let packet = segment(frame, 100 * number);
        following.packet(connection, Direction::Down, &packet);
        assert!(following.held <= 64);
    };
    for number in 0..500 {
        send(&mut following, 0, number);
        send(&mut following, 1, number);
    }
    send(&mut following, 0, 499); // still known
    send(&mut following, 0, 3); // forgotten
    let (capture, notes) = following.finish();
    assert_eq!((capture.samples.len(), capture.unseen), (1, 1));
    assert!(notes[0].contains("forgotten"), "{notes:?}");
    assert_eq!(capture.packets[1][&Flags::ACK.bits()], 1002);
}

/// A report in which some kinds have retransmissions, all with one trigger.
fn report(counts: &[(Kind, u64, u64)]) -> Report {
    let mut report = Report::new(&Capture::default());
    for (kind, timeouts, retransmissions) in counts {
        let share = &mut report.kinds[*kind as usize];
        share.timeouts = *timeouts;
        share.retransmissions = *retransmissions;
        share.q = Some(*timeouts as f64 / *retransmissions as f64);
    }
    report
}

#[test]
fn the_setting_reads_the_likelihoods_written() {
    let report = report(&[(Kind::Syn, 12, 12), (Kind::Psh, 3, 20), (Kind::Tail, 9, 9)]);
    let (file, note) = likelihoods_file(&report, "a\nb.pcap");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("q.csv"), file).unwrap();
    let mut settings = Settings::default();
    settings.set("slp.q", "q.csv", folder.path()).unwrap();
    let q = |kind| settings.slp.likelihoods.of(kind).millionths();
    assert_eq!([Kind::Syn, Kind::Psh, Kind::Tail, Kind::Other].map(q), [1_000_000, 150_000, 0, 0]);
    assert!(note.unwrap().contains("tail (9)"));
}

#[test]
fn a_capture_without_enough_retransmissions_has_a_file_that_is_read_all_the_same() {
    let (file, note) = likelihoods_file(&report(&[]), "empty.pcap");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("q.csv"), file).unwrap();
    let mut settings = Settings::default();
    settings.set("slp.q", "q.csv", Path::new(folder.path())).unwrap();
    assert!(note.is_some());
}
