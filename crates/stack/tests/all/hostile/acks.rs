//! Peers that lie about what arrived.

use super::{peer::*, *};
use recoup_wire::{Options, Segment, SeqNumber};

/// An honest ACK of what a peer has, with one SACK block more.
fn with_block(peer: &Peer, block: [SeqNumber; 2]) -> Segment {
    let mut ack = peer.segment();
    ack.options.sack.push(block);
    ack
}

#[tokio::test]
async fn sack_blocks_of_what_was_never_sent_change_nothing() {
    // Where a block begins and ends: after what the ACK acknowledges, in bytes.
    const LIES: [[i64; 2]; 8] = [
        [1 << 20, (1 << 20) + 1448],
        [-100_000, -50_000],
        [50_000, 10_000],
        [0, 1 << 30],
        [1, 1 << 31],
        [-(1 << 30), 1 << 30],
        [100_000_000, -100_000_000],
        [5, 5],
    ];
    let (_stack, stream, mut peer) = open(LINUX).await;
    let sent = bytes(300_000);
    let writer = writes(stream, sent.clone());
    let mut turn = 0;
    let received = peer.receive_stream(|peer, _| {
        let place = |at: i64| SeqNumber((i64::from(peer.expected.0) + at) as u32);
        peer.send(&with_block(peer, LIES[turn % LIES.len()].map(place)), &[]);
        turn += 1;
    });
    assert!(timeout(PATIENCE, received).await.unwrap() == sent);
    let stream = writer.await.unwrap();
    // Nothing was lost, and nothing of the blocks is believed.
    let info = stream.info().unwrap();
    assert!(turn > 200 && info.total_retrans <= 2, "{turn} lies: {info:?}");
}

#[tokio::test]
async fn what_was_sacked_and_thrown_away_is_sent_again() {
    let (_stack, stream, mut peer) = open(LINUX).await;
    let sent = bytes(100_000);
    let writer = writes(stream, sent.clone());
    // All of the first flight but its first segment is SACKed, and none of it is kept.
    let first = peer.receive().await;
    let mut end = first.0.seq + first.0.payload_len;
    for (segment, payload) in peer.receive_all(Duration::from_millis(20)).await {
        let after = segment.seq + payload.len() as u32;
        end = if after.after(end) { after } else { end };
        peer.send(&with_block(&peer, [first.0.seq + first.0.payload_len, end]), &[]);
    }
    let received = peer.receive_stream(|peer, _| peer.send(&peer.segment(), &[]));
    assert!(timeout(PATIENCE, received).await.unwrap() == sent);
    writer.await.unwrap();
}

#[tokio::test]
async fn acks_of_what_was_not_sent_are_answered_within_a_budget() {
    let (stack, mut stream, mut peer) = open(LINUX).await;
    stream.write_all(b"some").await.unwrap();
    let (data, _) = peer.receive().await;
    // RFC 9293 §3.10.7.4: "send an ACK, drop the segment"; RFC 5961 §5 and §7: within a budget.
    for ahead in 0..5000 {
        let lie = Segment { ack: data.seq + 5 + ahead * 1000, ..peer.segment() };
        peer.send(&lie, b"with data that is not taken");
    }
    let answers = peer.receive_all(Duration::from_millis(20)).await;
    // At least 500 and less than 1500 in each second, of which there may be two; and a retransmission.
    assert!((500..3010).contains(&answers.len()), "{} answers", answers.len());
    assert!(answers.iter().all(|(ack, _)| ack.ack == peer.next), "{answers:?}");
    assert!(stack.stats().challenges_withheld > 1000, "{:?}", stack.stats());
    peer.expected = data.seq + 4;
    peer.send(&peer.segment(), &[]);
    lives(&mut stream, &mut peer).await;
}

/// The bytes in flight after a peer has acknowledged two flights of a stream in pieces of `piece` bytes.
async fn in_flight_after(options: Options, piece: u32) -> u32 {
    let (_stack, stream, mut peer) = open(options).await;
    let writer = writes(stream, bytes(3_000_000));
    for _ in 0..2 {
        for (segment, payload) in peer.receive_all(Duration::from_millis(10)).await {
            let end = segment.seq + payload.len() as u32;
            while peer.expected.before(end) {
                peer.expected += piece.min(end.since(peer.expected));
                peer.send(&peer.segment(), &[]);
            }
        }
    }
    peer.receive_all(Duration::from_millis(10)).await;
    writer.abort();
    peer.highest.since(peer.expected)
}

#[tokio::test]
async fn acks_cut_small_do_not_speed_a_sender_up() {
    // RFC 3465 §2.1, RFC 5681 §3.1: growth counts bytes that are newly acknowledged, not ACKs.
    for options in [LINUX, PLAIN] {
        let honest = in_flight_after(options, 1460).await;
        let cut = in_flight_after(options, 50).await;
        assert!(cut <= honest, "{cut} bytes in flight, {honest} with honest ACKs");
        assert!(honest > 40_000, "{honest}");
    }
}

#[tokio::test]
async fn duplicate_acks_that_nothing_caused_do_not_speed_a_sender_up() {
    for options in [LINUX, PLAIN] {
        let (_stack, stream, mut peer) = open(options).await;
        let sent = bytes(500_000);
        let writer = writes(stream, sent.clone());
        let mut flight = peer.receive_all(Duration::from_millis(10)).await;
        let first = flight.len();
        for _ in 0..5000 {
            peer.send(&peer.segment(), &[]);
        }
        let more = peer.receive_all(Duration::from_millis(50)).await;
        // Limited transmit (RFC 3042) and what fast recovery permits for those that the duplicates stand for
        // (RFC 5681 §3.2): as many as were in flight, and what the send buffer holds beside, which grows with the
        // congestion window. That is not as many as there are ACKs.
        assert!(more.len() <= 5 * first, "{} segments after a flight of {first}", more.len());
        flight.extend(more);
        let mut stream = Vec::new();
        flight.iter().for_each(|arrived| _ = peer.take(arrived, &mut stream));
        peer.send(&peer.segment(), &[]);
        let rest = peer.receive_stream(|peer, _| peer.send(&peer.segment(), &[]));
        stream.extend(timeout(PATIENCE, rest).await.unwrap());
        assert!(stream == sent);
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn acks_ahead_of_the_data_do_not_break_a_stream() {
    // "Optimistic ACKing" (Savage et al., "TCP Congestion Control with a Misbehaving Receiver", 1999). No sender can tell an
    // ACK of what is in flight from an honest one. An ACK beyond that is worth nothing.
    let (_stack, stream, mut peer) = open(LINUX).await;
    let sent = bytes(2_000_000);
    let writer = writes(stream, sent.clone());
    let mut lies = 0;
    let received = peer.receive_stream(|peer, _| {
        // Each ACK is followed by one of what may be in flight, and by one of what cannot be.
        for ahead in [1448, 100 * 1448, 10_000_000] {
            let lie = Segment { ack: peer.expected + ahead, ..peer.segment() };
            peer.send(&lie, &[]);
            lies += 1;
        }
    });
    // What was acknowledged is not sent again: the peer loses it if it did not arrive. Here everything arrives.
    assert!(timeout(PATIENCE, received).await.unwrap() == sent);
    let stream = writer.await.unwrap();
    let info = stream.info().unwrap();
    assert!(lies > 1000 && info.data_segs_out < 3000, "{lies} lies: {info:?}");
}

/// The time that the stack takes for one of many ACKs with SACK blocks of every second segment, when about `segments` small
/// segments are in flight.
async fn time_of_a_block(segments: u32) -> Duration {
    const BLOCKS: u32 = 4000;
    let (_stack, stream, mut peer) = open(Options { mss: Some(48), window_scale: Some(14), ..LINUX }).await;
    let writer = writes(stream, bytes(8 << 20));
    // The window grows as if all were well.
    let full = 36;
    loop {
        peer.receive_all(Duration::from_millis(5)).await;
        let in_flight = peer.highest.since(peer.expected) / full;
        if in_flight >= segments {
            break;
        }
        peer.expected += in_flight / 2 * full;
        peer.send(&peer.segment(), &[]);
    }
    let in_flight = peer.highest.since(peer.expected) / full;
    let mut draws = recoup_units::SplitMix(segments.into());
    let began = std::time::Instant::now();
    for _ in 0..BLOCKS {
        let place = 1 + 2 * draws.below(u64::from(in_flight) / 2 - 1) as u32;
        let left = peer.expected + place * full;
        peer.send(&with_block(&peer, [left, left + full]), &[]);
    }
    peer.receive_all(Duration::from_millis(5)).await;
    let each = began.elapsed() / BLOCKS;
    writer.abort();
    each
}

#[tokio::test]
async fn sack_blocks_of_many_small_segments_cost_little() {
    let few = timeout(PATIENCE, time_of_a_block(1000)).await.unwrap();
    let many = timeout(PATIENCE, time_of_a_block(40_000)).await.unwrap();
    assert!(many < 20 * few, "{few:?} with few segments in flight, {many:?} with many");
}
