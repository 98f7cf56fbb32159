//! Peers that lie about sequence numbers, timestamps, urgent data, and the end of their streams.

use super::{peer::*, *};
use recoup_wire::{Flags, Segment, Timestamps};
use std::io::ErrorKind;

/// What a stream gives before a wait for more.
async fn read_some(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    let mut into = vec![0; 10_000];
    while let Ok(count) = timeout(Duration::from_millis(5), stream.read(&mut into)).await {
        match count.unwrap() {
            0 => break,
            count => read.extend_from_slice(&into[..count]),
        }
    }
    read
}

#[tokio::test]
async fn urgent_data_is_read_as_other_data() {
    // RFC 9293 §3.8.5, RFC 6093 §3.2. The pointer may stand anywhere, and comes without data, too.
    let (_stack, mut stream, mut peer) = open(LINUX).await;
    let mut expected = Vec::new();
    for pointer in [0_u16, 1, 5, 1000, u16::MAX] {
        for payload in [&b"urgent"[..], b""] {
            let segment = Segment { flags: Flags::ACK | Flags::URG | Flags::PSH, ..peer.segment() };
            let write = |tcp: &mut [u8]| tcp[18..20].copy_from_slice(&pointer.to_be_bytes());
            peer.send_changed(&segment, payload, write);
            peer.next += payload.len() as u32;
            expected.extend_from_slice(payload);
        }
    }
    assert_eq!(read_some(&mut stream).await, expected);
    lives(&mut stream, &mut peer).await;
}

#[tokio::test]
async fn data_beyond_the_window_is_neither_kept_nor_read() {
    let (stack, mut stream, mut peer) = open(LINUX).await;
    let before = stack.memory();
    peer.receive_all(Duration::from_millis(1)).await;
    for place in 0..1000 {
        // From 100 MB on: no window here is that large.
        let far = Segment { seq: peer.next + 100_000_000 + place * 1400, ..peer.segment() };
        peer.send(&far, &[b'!'; 1400]);
    }
    let answers = peer.receive_all(Duration::from_millis(20)).await;
    assert!(answers.iter().all(|(ack, _)| ack.ack == peer.next && ack.options.sack.is_empty()));
    assert!(stack.memory() <= before, "{} bytes after {before}", stack.memory());
    // A window's worth is kept, and what is beyond its edge is cut off.
    let window = u32::from(answers.last().unwrap().0.window) << 7;
    assert!((1 << 12..4 << 20).contains(&window), "{window}");
    let edge = Segment { seq: peer.next + window - 10, ..peer.segment() };
    peer.send(&edge, &[b'e'; 1000]);
    let (ack, _) = peer.receive().await;
    let [left, right] = ack.options.sack.iter().next().unwrap();
    assert_eq!((left, right), (edge.seq, peer.next + window));
    lives(&mut stream, &mut peer).await;
}

#[tokio::test]
async fn timestamps_that_lie_delay_nobody_else() {
    let (_stack, mut stream, mut peer) = open(LINUX).await;
    peer.write(b"first");
    assert_eq!(read_some(&mut stream).await, b"first");
    // Echoes of what was never sent, and of the beginning of time: the RTO stays within its bounds (RFC 6298 §2.4, §2.5).
    for echo in [u32::MAX, 0, 1, 1 << 31, 0x7fff_ffff] {
        stream.write_all(b"data").await.unwrap();
        let arrived = peer.receive_all(Duration::from_millis(5)).await;
        arrived.iter().for_each(|arrived| _ = peer.take(arrived, &mut Vec::new()));
        let honest = peer.segment();
        let value = honest.options.timestamps.unwrap().value;
        let mut lie = honest;
        lie.options.timestamps = Some(Timestamps { value, echo });
        peer.send(&lie, &[]);
        peer.receive_all(Duration::from_millis(5)).await;
        let info = stream.info().unwrap();
        assert!((100_000..=120_000_000).contains(&info.rto), "{echo:#x}: {info:?}");
    }
    // A clock that goes backwards: the segment is an old duplicate (RFC 7323 §5.3), whatever it carries.
    let mut old = peer.segment();
    let Timestamps { value, echo } = old.options.timestamps.unwrap();
    old.options.timestamps = Some(Timestamps { value: value.wrapping_sub(5000), echo });
    for flags in [Flags::ACK, Flags::ACK | Flags::FIN] {
        peer.send(&Segment { flags, ..old }, b"from the past");
    }
    assert!(read_some(&mut stream).await.is_empty());
    lives(&mut stream, &mut peer).await;
    // A clock that jumps ahead holds for what follows.
    let mut ahead = peer.segment();
    ahead.options.timestamps = Some(Timestamps { value: value.wrapping_add(1 << 30), echo });
    peer.send(&ahead, b"from the future");
    peer.next += 15;
    assert_eq!(read_some(&mut stream).await, b"from the future");
    peer.write(b"the present is the past now");
    assert!(read_some(&mut stream).await.is_empty());
    // The peer's own data alone waits: the other direction goes on with each acceptable ACK.
    ahead.seq = peer.next - 27;
    peer.send(&ahead, b"the present is the past now");
    assert_eq!(read_some(&mut stream).await, b"the present is the past now");
}

#[tokio::test]
async fn the_first_fin_that_fits_ends_the_stream() {
    let (_stack, mut stream, mut peer) = open(LINUX).await;
    let fin = |peer: &Peer, at: u32, payload: &[u8]| {
        let segment = Segment { seq: peer.next + at, flags: Flags::ACK | Flags::FIN, ..peer.segment() };
        peer.send(&segment, payload);
    };
    // Beyond the window, far in the past: nothing.
    fin(&peer, 100_000_000, b"");
    fin(&peer, 0u32.wrapping_sub(50_000), b"");
    lives(&mut stream, &mut peer).await;
    // In the window, behind a gap: 20 bytes are missing. What claims to be behind the end is not taken; neither is an end
    // before or behind the first one.
    fin(&peer, 20, b"the end");
    fin(&peer, 100, b"a later end");
    peer.send(&Segment { seq: peer.next + 27, ..peer.segment() }, b"beyond the end");
    fin(&peer, 10, b"an end");
    peer.send(&peer.segment(), b"0123456789");
    peer.send(&Segment { seq: peer.next + 10, ..peer.segment() }, b"0123456789");
    let mut read = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut read)).await.unwrap().unwrap();
    assert_eq!(read.len(), 27, "{read}");
    assert!(read.starts_with("0123456789") && read.ends_with("the end"), "{read}");
    let acks = peer.receive_all(Duration::from_millis(60)).await;
    assert_eq!(acks.last().unwrap().0.ack, peer.next + 28);
}

#[tokio::test]
async fn a_syn_in_the_middle_is_challenged() {
    // RFC 5961 §4, wherever it stands, and with data and FIN.
    let (_stack, mut stream, mut peer) = open(LINUX).await;
    peer.receive_all(Duration::from_millis(5)).await;
    for place in [0, 1, 1000, 1 << 30, 0u32.wrapping_sub(1), 0u32.wrapping_sub(50_000)] {
        for flags in [Flags::SYN, Flags::SYN | Flags::ACK, Flags::SYN | Flags::FIN] {
            let syn = Segment { seq: peer.next + place, flags, ..peer.segment() };
            peer.send(&syn, b"data of a SYN");
            let (ack, payload) = peer.receive().await;
            let expected = (peer.expected, peer.next, Flags::ACK);
            assert_eq!((ack.seq, ack.ack, ack.flags), expected, "a SYN at {place}");
            assert!(payload.is_empty());
        }
    }
    lives(&mut stream, &mut peer).await;
}

#[tokio::test]
async fn a_reset_near_the_window_is_challenged_and_one_that_fits_is_obeyed() {
    let (_stack, mut stream, mut peer) = open(LINUX).await;
    peer.receive_all(Duration::from_millis(5)).await;
    for (place, answered) in [(1, true), (1000, true), (100_000_000, false), (0u32.wrapping_sub(1), false)] {
        for flags in [Flags::RST, Flags::RST | Flags::ACK] {
            let reset = Segment { seq: peer.next + place, flags, ..peer.segment() };
            peer.send(&reset, &[]);
            let answers = peer.receive_all(Duration::from_millis(5)).await;
            assert_eq!(answers.len(), usize::from(answered), "a reset at {place}: {answers:?}");
        }
    }
    lives(&mut stream, &mut peer).await;
    peer.send(&Segment { flags: Flags::RST, ..peer.segment() }, &[]);
    let over = timeout(PATIENCE, stream.read(&mut [0; 1])).await.unwrap().unwrap_err();
    assert_eq!(over.kind(), ErrorKind::ConnectionReset);
    assert!(peer.receive_all(Duration::from_millis(5)).await.is_empty());
}

/// The SYN of a new connection of the peer, from the same port.
fn syn_of_next(peer: &mut Peer) -> Segment {
    peer.next += 100_000;
    peer.echo = None;
    Segment { flags: Flags::SYN, options: LINUX, ..peer.segment() }
}

#[tokio::test]
async fn a_syn_right_behind_a_reset_opens_a_connection() {
    // From the same port, in one batch: a client that was killed, and a port that is used again at once.
    let (stack, mut peer) = stack_and_peer();
    let listener = TcpListener::bind(&stack, at(80)).unwrap();
    peer.connect(LINUX, 0xffff).await;
    let mut old = accepted(&listener).await;
    peer.receive_all(Duration::from_millis(5)).await;
    peer.send(&Segment { flags: Flags::RST, ..peer.segment() }, &[]);
    let syn = syn_of_next(&mut peer);
    peer.send(&syn, &[]);
    let (answer, _) = peer.receive().await;
    assert_eq!((answer.flags, answer.ack), (Flags::SYN | Flags::ACK, syn.seq + 1), "{answer:?}");
    assert_eq!(old.read(&mut [0; 1]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    peer.next += 1;
    peer.expected = answer.seq + 1;
    peer.echo = answer.options.timestamps.map(|timestamps| timestamps.value);
    peer.send(&peer.segment(), &[]);
    let mut new = accepted(&listener).await;
    lives(&mut new, &mut peer).await;

    // The stack has ended it, and has not said so yet. Its reset is no answer to the SYN.
    peer.receive_all(Duration::from_millis(5)).await;
    new.abort();
    let syn = syn_of_next(&mut peer);
    peer.send(&syn, &[]);
    let answers = peer.receive_all(Duration::from_millis(5)).await;
    let to_syn: Vec<_> = answers.iter().filter(|(answer, _)| answer.ack == syn.seq + 1).collect();
    assert!(matches!(to_syn[..], [(answer, _)] if answer.flags == Flags::SYN | Flags::ACK), "{answers:?}");
}
