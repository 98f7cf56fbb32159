//! Writes in Linux's ways, and the options that govern them.

use super::*;
use recoup_tcp::{Push, SendLimits, WriteMode};

/// Payload bytes of each data packet that a call sends.
fn sizes(send: impl FnOnce(&mut dyn Sink)) -> Vec<u32> {
    let mut sizes = Vec::new();
    send(&mut |packet: &[u8]| sizes.push(decode(packet).unwrap().segment.payload_len));
    sizes.retain(|size| *size > 0);
    sizes
}

#[test]
fn more_to_come_is_waited_for_and_a_push_ends_the_wait() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open();
    let more = WriteMode { more: true, ..WriteMode::default() };
    let during = sizes(|sink| {
        assert_eq!(pair.client.write_with_mode(pair.now, ours, &[1; 500], more, sink), Ok(500));
    });
    assert!(during.is_empty(), "{during:?}");
    pair.run(50);
    assert_eq!(pair.server.read(pair.now, theirs, &mut [0; 9]), Ok(Read::Nothing));
    pair.client.push(pair.now, ours).unwrap();
    pair.run(50);
    assert_eq!(pair.server.read(pair.now, theirs, &mut [0; 900]), Ok(Read::Bytes(500)));
}

#[test]
fn a_record_ends_a_segment() {
    let mut pair = Pair::new();
    let (ours, _) = pair.open();
    let record = WriteMode { ends_record: true, ..WriteMode::default() };
    for _ in 0..2 {
        pair.client.write_with_mode(pair.now, ours, &[1; 400], record, &mut |_: &[u8]| {}).unwrap();
    }
    pair.client.write(pair.now, ours, &[1; 400]).unwrap();
    let sent = sizes(|sink| while pair.client.poll_transmit(pair.now, sink) {});
    // The last waits for ACKs (Nagle's rule), the records do not.
    assert_eq!(sent, [400, 400]);
}

#[test]
fn a_long_write_is_transmitted_before_all_of_it_is_taken() {
    let mut pair = Pair::new();
    let mut options = pair.client.config().tcp;
    options.endpoint.push = Push::Burst { least: 2 };
    let local = SocketAddr::new(CLIENT.parse().unwrap(), 0);
    let server = "192.0.2.2:80".parse().unwrap();
    let ours = pair.client.connect_with(pair.now, local, server, Some(&options)).unwrap();
    pair.run(100);
    let mode = WriteMode::default();
    let during = sizes(|sink| {
        assert_eq!(pair.client.write_with_mode(pair.now, ours, &stream(60_000), mode, sink), Ok(60_000));
    });
    let after = sizes(|sink| while pair.client.poll_transmit(pair.now, sink) {});
    assert!(!during.is_empty());
    // The initial window of ten segments, and no more.
    assert_eq!(during.len() + after.len(), 10, "{during:?} {after:?}");
    pair.run(1000);
    assert_eq!(pair.client.unacknowledged(ours), Some(0));
}

#[test]
fn limits_can_be_changed() {
    let mut pair = Pair::new();
    let (ours, _) = pair.open();
    pair.client.set_limits(ours, SendLimits { buffer: 1000, unsent: u64::MAX }).unwrap();
    assert_eq!(pair.client.write(pair.now, ours, &[1; 5000]), Ok(1000));
    assert_eq!(pair.client.connection(ours).unwrap().queued(), 1000);
    pair.client.set_limits(ours, SendLimits { buffer: 3000, unsent: u64::MAX }).unwrap();
    assert_eq!(pair.client.write(pair.now, ours, &[1; 5000]), Ok(2000));
}

/// A sink without room.
struct Full;

impl Sink for Full {
    fn send(&mut self, _: &[u8]) {
        panic!("there is no room");
    }

    fn room(&self) -> usize {
        0
    }
}

#[test]
fn what_arrives_is_announced_although_nothing_can_be_sent() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open();
    pair.client.write(pair.now, ours, b"hi").unwrap();
    pair.client.close(pair.now, ours).unwrap();
    let mut packets: Vec<Vec<u8>> = Vec::new();
    while pair.client.poll_transmit(pair.now, &mut |packet: &[u8]| packets.push(packet.to_vec())) {}
    for packet in packets {
        pair.server.on_packet(pair.now, &packet, &mut Full);
    }
    assert!(pair.server.poll_transmit(pair.now, &mut Full));
    let event = pair.server.next_event().unwrap();
    assert!((event.connection, event.readable) == (theirs, true), "{event:?}");
}

#[test]
fn a_writer_that_waits_for_room_is_told_of_a_buffer_that_has_grown() {
    // The limit on unsent data stops writers before the buffer is full, so that it is no write that finds it too small.
    let mut pair = Pair::new();
    pair.client.config.tcp.tune_buffers = true;
    pair.client.config.tcp.unsent = 10_000;
    pair.client.config.tcp.send_buffer = 1 << 20;
    let (ours, theirs) = pair.open();
    let (chunk, mut into, mut received) = ([1; 512], [0; 65_536], 0);
    for _ in 0..200 {
        while pair.client.write(pair.now, ours, &chunk).unwrap() == chunk.len() {}
        pair.run(1);
        while let Read::Bytes(count) = pair.server.read(pair.now, theirs, &mut into).unwrap() {
            received += count;
        }
    }
    let (limits, wanted) = {
        let connection = pair.client.table.get(ours).unwrap();
        (connection.tcp.limits(), connection.tcp.wanted_send_buffer())
    };
    assert!(limits.buffer >= wanted.min(1 << 20) && wanted > 30_000, "{limits:?}, {wanted} wanted");
    assert!(received > 100_000, "{received}");
}
