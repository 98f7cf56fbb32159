//! A connection and its retransmissions, for tests.

use recoup_recovery::Trigger;
use recoup_trace::finding::{
    CapturePoint, Cause, Closing, Connection, Direction, EpisodeCost, Evidence, Opening, Retransmission, RttQuantiles,
    SenderState, Vantage, Verdict,
};
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use std::time::Duration;

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// When connections begin.
pub fn begun() -> Instant {
    Instant::from_millis(1_700_000_000_000)
}

/// A connection of a server, open for this long, that sent 100 kB a second.
pub fn connection(id: u64, seconds: u64) -> Connection {
    let rtt = RttQuantiles { samples: 9, p50: ms(60), p90: ms(80), p99: ms(90), ..RttQuantiles::default() };
    let bytes = 100_000 * seconds;
    let mut server =
        Direction { vantage: Vantage::Sender, segments: bytes / 1000, bytes, rtt: Some(rtt), ..Direction::default() };
    server.time.add(SenderState::Network, seconds * 1_000_000_000);
    let mut client = Direction { vantage: Vantage::Receiver, segments: 2, bytes: 300, ..Direction::default() };
    client.time.add(SenderState::Application, seconds * 1_000_000_000);
    Connection {
        id,
        endpoints: Endpoints { src: ([198, 51, 100, 1], 30_000 + id as u16).into(), dst: ([192, 0, 2, 1], 80).into() },
        opening: Opening::Handshake,
        closing: Closing::CaptureEnd,
        frames: 1..=90,
        begun: begun(),
        ended: begun() + Duration::from_secs(seconds),
        packets: 90 * seconds,
        handshake_rtt: Some(ms(60)),
        sack: Some(true),
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions: [client, server],
    }
}

/// A retransmission of the server in this frame, this long after the connection began, that no ACK has answered.
pub fn open_row(connection: &Connection, frame: u64, after: Duration) -> Retransmission {
    let cost =
        EpisodeCost { recovering: ms(0), lost: ms(0), detection: Some(ms(50)), segments: 1, cause: Cause::Unknown };
    Retransmission {
        frame,
        at: connection.begun + after,
        connection: connection.id,
        endpoints: connection.endpoints.reverse(),
        seq: SeqNumber(1000 * frame as u32),
        len: 1448,
        syn: false,
        fin: false,
        triggers: Trigger::Fast.into(),
        verdict: Verdict::Unknowable,
        evidence: Evidence::NotAcknowledged,
        copy: 1,
        detection: Some(ms(50)),
        recovery: None,
        rtt: Some(ms(60)),
        flight: 9,
        vantage: Vantage::Sender,
        provisional: false,
        capture_point: 0,
        cost: Some(cost),
    }
}

/// The same once its ACK has come.
pub fn repaired(row: Retransmission) -> Retransmission {
    let cost = EpisodeCost { recovering: ms(60), lost: ms(55), cause: Cause::LostSegment, ..row.cost.unwrap() };
    Retransmission {
        verdict: Verdict::Needed,
        evidence: Evidence::NoDuplicate,
        recovery: Some(ms(60)),
        cost: Some(cost),
        ..row
    }
}

/// Counts these retransmissions of its server, and the time that they lost.
pub fn with_rows(mut connection: Connection, rows: &[Retransmission]) -> Connection {
    let server = &mut connection.directions[1];
    for row in rows {
        server.retransmissions.add(row.triggers, row.verdict);
        if let Some(cost) = row.cost {
            server.lost.add(cost.cause, cost.lost);
        }
    }
    connection
}
