//! Invariants of the findings, for any capture.

use recoup_trace::{
    analyze::{Findings, Kept},
    finding::{Connection, Direction, Evidence, Retransmission, Revision, RttQuantiles, Tally, Verdict},
    read::CapturedPacket,
};
use recoup_wire::Flags;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Checks each connection when it ends, and keeps all.
#[derive(Debug, Default)]
pub struct Checked(pub Kept);

impl Findings for Checked {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        check(&connection, retransmissions);
        self.0.connection(connection, retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        assert!(revision.retransmission.provisional);
        let before = self.0.revisions;
        self.0.revision(revision);
        assert_eq!(self.0.revisions, before + 1);
    }
}

/// Checks that a connection is consistent with its retransmissions and with itself.
fn check(connection: &Connection, retransmissions: &[Retransmission]) {
    let mut tallies = [Tally::default(); 2];
    for row in retransmissions {
        assert_eq!(row.connection, connection.id);
        assert_eq!(row.capture_point, connection.capture_point.number);
        let side = usize::from(row.endpoints != connection.endpoints);
        assert!(side == 0 || row.endpoints == connection.endpoints.reverse());
        let direction = &connection.directions[side];
        assert_eq!(row.vantage, direction.vantage);
        check_row(row, connection.duration());
        tallies[side].add(row.triggers, row.verdict);
    }
    let point = &connection.capture_point;
    assert!(point.number < point.count, "{point:?}");
    assert!(point.count > 1 || point.apart.is_none(), "{point:?}");
    let rising = |pair: &[Retransmission]| pair[0].frame < pair[1].frame;
    assert!(retransmissions.windows(2).all(rising));
    let segments: u64 = connection.directions.iter().map(|d| d.segments).sum();
    assert!(segments <= connection.packets);
    assert!(connection.handshake_rtt <= Some(connection.duration()));
    for (direction, tally) in connection.directions.iter().zip(&tallies) {
        assert_eq!(direction.retransmissions, *tally);
        check_direction(direction, connection.duration());
    }
}

fn check_row(row: &Retransmission, duration: Duration) {
    assert!(row.copy >= 1);
    assert!(row.len > 0 || row.syn || row.fin, "nothing was sent again");
    let longest = row.detection.max(row.recovery);
    assert!(longest.unwrap_or_default() <= duration, "{row:?}");
    // Round trips from the capture point to either end.
    assert!(row.rtt.unwrap_or_default() <= duration * 2, "{row:?}");
    let says_nothing = matches!(
        row.evidence,
        Evidence::NotAcknowledged | Evidence::NoReports | Evidence::LooksFirst | Evidence::Ambiguous
    );
    assert_eq!(row.verdict == Verdict::Unknowable, says_nothing, "{row:?}");
    for part in [row.detection_rtts(), row.recovery_rtts()] {
        assert!(part.is_none_or(|rtts| rtts >= 0.0 && rtts.is_finite()));
    }
}

fn check_direction(direction: &Direction, duration: Duration) {
    assert!(direction.retransmissions.total() <= direction.segments);
    assert!(u64::from(direction.episodes) <= direction.retransmissions.total());
    assert!(direction.detecting_and_recovering <= duration);
    if let Some(rtt) = direction.rtt {
        check_rtt(&rtt, duration);
    }
    if let Some(best) = direction.profile.best() {
        assert!(best.explained <= best.of && !best.profile.is_empty());
    }
}

fn check_rtt(rtt: &RttQuantiles, duration: Duration) {
    assert!(rtt.samples > 0);
    let rising = [rtt.min, rtt.p50, rtt.p90, rtt.p99, rtt.max];
    assert!(rising.is_sorted(), "{rtt:?}");
    assert!(rtt.min <= rtt.mean && rtt.mean <= rtt.max, "{rtt:?}");
    assert!(rtt.max <= duration);
}

/// Checks that the findings of a whole capture are consistent with its packets.
pub fn check_all(found: &Kept, packets: &[CapturedPacket]) {
    let ids: BTreeSet<_> = found.connections.iter().map(|c| c.id).collect();
    let count = found.connections.len();
    assert!(ids.len() == count && ids.into_iter().eq(0..count as u64));
    let counted: u64 = found.connections.iter().map(|c| c.packets).sum();
    assert_eq!(counted, packets.len() as u64);
    let by_frame: BTreeMap<_, _> = packets.iter().map(|p| (p.frame, p)).collect();
    let mut frames = BTreeSet::new();
    for row in &found.retransmissions {
        assert!(frames.insert(row.frame), "frame {} twice", row.frame);
        let packet = by_frame.get(&row.frame).expect("a frame that was captured");
        let segment = &packet.segment;
        assert_eq!(row.endpoints, packet.endpoints);
        // Within a connection time never decreases, even if the capture's clock does.
        assert!(row.at >= packet.at);
        assert_eq!((row.seq, row.len), (segment.seq, segment.payload_len));
        let flags = [row.syn, row.fin];
        assert_eq!(flags, [Flags::SYN, Flags::FIN].map(|f| segment.flags.contains(f)));
    }
}
