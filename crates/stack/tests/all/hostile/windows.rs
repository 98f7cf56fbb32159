//! Peers that lie about their windows and their MSS.

use super::{peer::*, *};
use recoup_wire::{Options, Segment};
use std::io::ErrorKind;

#[tokio::test]
async fn a_tiny_mss_is_raised_to_what_linux_takes() {
    // Linux tcp_min_snd_mss: 48 bytes, options included, of which timestamps take 12.
    for (mss, options, full) in [
        (Some(0), PLAIN, 48),
        (Some(1), PLAIN, 48),
        (Some(47), LINUX, 36),
        (Some(48), LINUX, 36),
        (Some(100), PLAIN, 100),
        (None, PLAIN, 536),
        (Some(u16::MAX), PLAIN, 1460),
        (Some(u16::MAX), LINUX, 1448),
    ] {
        let (_stack, stream, mut peer) = open(Options { mss, ..options }).await;
        let sent = bytes(40_000);
        let writer = writes(stream, sent.clone());
        let (mut longest, mut segments) = (0, 0);
        let received = peer.receive_stream(|peer, (_, payload)| {
            longest = longest.max(payload.len());
            segments += 1;
            peer.send(&peer.segment(), &[]);
        });
        assert!(timeout(PATIENCE, received).await.unwrap() == sent, "MSS {mss:?}");
        assert_eq!(longest, full, "MSS {mss:?}");
        assert!(segments <= sent.len() / full + 100, "MSS {mss:?}: {segments} segments");
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn a_window_of_one_byte_takes_one_packet_per_ack_at_most() {
    // With a larger window before, and with none.
    for first in [0xffff, 1] {
        let (stack, mut peer) = stack_and_peer();
        let listener = TcpListener::bind(&stack, at(80)).unwrap();
        peer.connect(PLAIN, first).await;
        let mut stream = accepted(&listener).await;
        if first > 1 {
            stream.write_all(b"ten bytes.").await.unwrap();
            let arrived = peer.receive().await;
            peer.take(&arrived, &mut Vec::new());
            peer.send(&Segment { window: 1, ..peer.segment() }, &[]);
        }
        let sent = bytes(1_000_000);
        let writer = writes(stream, sent.clone());
        let (mut received, mut packets) = (Vec::new(), 0);
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(900) {
            let Some(arrived) = peer.receive_within(Duration::from_millis(50)).await else {
                continue;
            };
            packets += 1;
            peer.take(&arrived, &mut received);
            peer.send(&Segment { window: 1, ..peer.segment() }, &[]);
        }
        // RFC 9293 §3.8.6.2.1: where the window is less than half the largest one, each piece waits for the override
        // timer. Where it is the largest one, each ACK permits the next byte.
        if first > 1 {
            assert!((1..=10).contains(&packets), "{packets} packets");
        } else {
            assert!(packets <= received.len() + 10, "{packets} packets for {} bytes", received.len());
        }
        assert!(!received.is_empty() && sent.starts_with(&received));
        // Once the window opens, the rest comes at once.
        peer.send(&peer.segment(), &[]);
        let rest = peer.receive_stream(|peer, _| peer.send(&peer.segment(), &[]));
        received.extend(timeout(PATIENCE, rest).await.unwrap());
        assert!(received == sent);
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn a_window_that_shrinks_ends_nothing() {
    // RFC 9293 §3.8.6: "the sending TCP peer MUST be robust against window shrinking"; RFC 7323 §2.4.
    for left in [0, 100, 3000] {
        let (_stack, stream, mut peer) = open(PLAIN).await;
        let sent = bytes(200_000);
        let writer = writes(stream, sent.clone());
        let mut received = Vec::new();
        for round in 0..3 {
            // The first segments arrive; the room of the others is gone.
            let before = peer.expected;
            while peer.expected.since(before) < 3000 {
                peer.send(&peer.segment(), &[]);
                let arrived = peer.receive().await;
                peer.take(&arrived, &mut received);
            }
            peer.receive_all(Duration::from_millis(10)).await;
            peer.send(&Segment { window: left, ..peer.segment() }, &[]);
            // Beyond the window nothing new is sent, and what was sent is not sent again and again.
            let edge = peer.expected + u32::from(left);
            let highest = peer.highest;
            let beyond = peer.receive_all(Duration::from_millis(100)).await;
            assert!(beyond.len() < 20, "{} segments beyond a window of {left} bytes", beyond.len());
            let news = beyond.iter().map(|(segment, _)| segment);
            let news: Vec<_> = news.filter(|s| !s.seq.before(highest) && !s.seq.before(edge)).collect();
            assert!(news.is_empty(), "window {left}, round {round}: {news:?}");
            beyond.iter().for_each(|arrived| _ = peer.take(arrived, &mut received));
            peer.send(&peer.segment(), &[]);
        }
        let rest = peer.receive_stream(|peer, _| peer.send(&peer.segment(), &[]));
        received.extend(timeout(PATIENCE, rest).await.unwrap());
        assert!(received == sent, "window {left}");
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn a_window_closed_for_ever_holds_a_writer_until_its_user_timeout() {
    let (stack, mut stream, mut peer) = open(PLAIN).await;
    peer.offer(0).await;
    stream.set_user_timeout(Duration::from_millis(1500)).unwrap();
    let began = std::time::Instant::now();
    let written = async {
        let sent = bytes(1 << 20);
        loop {
            if let Err(error) = stream.write_all(&sent).await {
                return error;
            }
        }
    };
    // Each probe is answered: the peer is there, but takes nothing.
    let mut probes = 0;
    let answers = async {
        loop {
            let (probe, payload) = peer.receive().await;
            assert!(payload.len() <= 1, "{probe:?}");
            probes += 1;
            peer.send(&Segment { window: 0, ..peer.segment() }, &[]);
        }
    };
    let error = tokio::select! {
        error = timeout(PATIENCE, written) => error.expect("the user timeout"),
        () = answers => unreachable!(),
    };
    let took = began.elapsed();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!((1400..4000).contains(&took.as_millis()), "{took:?}");
    assert!((2..20).contains(&probes), "{probes} probes");
    drop(stream);
    timeout(PATIENCE, stack.finished()).await.unwrap();
    assert_eq!(stack.connections(), 0);
}

#[tokio::test]
async fn a_window_closed_for_ever_without_a_user_timeout_is_probed_ever_less() {
    // RFC 9293 §3.8.6.1: "the sending TCP peer MUST allow the connection to stay open" while its probes are answered.
    let (_stack, stream, mut peer) = open(PLAIN).await;
    peer.offer(0).await;
    let sent = bytes(50_000);
    let writer = writes(stream, sent.clone());
    let began = std::time::Instant::now();
    let mut probes = Vec::new();
    while began.elapsed() < Duration::from_millis(1700) {
        if peer.receive_within(Duration::from_millis(100)).await.is_some() {
            probes.push(began.elapsed());
            peer.send(&Segment { window: 0, ..peer.segment() }, &[]);
        }
    }
    assert!((2..=5).contains(&probes.len()), "{probes:?}");
    let waits: Vec<_> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.windows(2).all(|pair| pair[1] > pair[0] * 3 / 2), "{waits:?}");
    peer.send(&peer.segment(), &[]);
    let received = peer.receive_stream(|peer, _| peer.send(&peer.segment(), &[]));
    assert!(timeout(PATIENCE, received).await.unwrap() == sent);
    writer.await.unwrap();
}
