use super::*;
use recoup_trace::read::Packet;
use recoup_wire::{Segment, SeqNumber};

/// The client, the server.
const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;

/// A tracker, and what it reported.
#[derive(Default)]
struct Followed {
    tracker: Tracker,
    exchanges: Vec<Exchange>,
}

impl Followed {
    /// A segment `at` ms: from where on it has how many bytes, and what it acknowledges. Bytes count from 0.
    fn segment(&mut self, at: u64, direction: Direction, (start, bytes): (u32, u32), ack: u32) {
        // The ISNs are close to the wrap of sequence numbers.
        let first = |direction| SeqNumber(if direction == UP { u32::MAX - 50 } else { 7_000 });
        let other = if direction == UP { DOWN } else { UP };
        self.take(at, direction, Flags::ACK, first(direction) + 1 + start, first(other) + 1 + ack, bytes);
    }

    fn take(&mut self, at: u64, direction: Direction, flags: Flags, seq: SeqNumber, ack: SeqNumber, payload_len: u32) {
        let segment = Segment { seq, ack, flags, payload_len, ..Segment::default() };
        let at = Instant::from_millis(at);
        let packet = CapturedPacket { at, segment, ..CapturedPacket::from(&Packet::default()) };
        self.exchanges.extend(self.tracker.packet(direction, &packet));
    }

    fn handshake(&mut self) {
        let (client, server) = (SeqNumber(u32::MAX - 50), SeqNumber(7_000));
        self.take(0, UP, Flags::SYN, client, SeqNumber(0), 0);
        self.take(5, DOWN, Flags::SYN | Flags::ACK, server, client + 1, 0);
        self.segment(50, UP, (0, 0), 0);
    }

    fn finish(mut self) -> (Vec<[u64; 3]>, Option<Complete>) {
        let (last, complete) = self.tracker.finish();
        self.exchanges.extend(last);
        let found = self.exchanges.iter().map(|one| [one.request, one.response, one.time.as_millis() as u64]);
        (found.collect(), complete)
    }
}

#[test]
fn a_response_takes_until_its_last_ack() {
    let mut of = Followed::default();
    of.handshake();
    of.segment(60, UP, (0, 300), 0);
    of.segment(80, DOWN, (0, 1000), 300);
    // Lost, and sent again.
    of.segment(81, DOWN, (1000, 1000), 300);
    of.segment(130, UP, (300, 0), 1000);
    of.segment(330, DOWN, (1000, 1000), 300);
    of.segment(380, UP, (300, 0), 2000);
    // The second request, which acknowledges the first response once more.
    of.segment(400, UP, (300, 100), 2000);
    of.segment(410, DOWN, (2000, 50), 400);
    assert_eq!(of.exchanges.len(), 1);
    assert_eq!(of.exchanges[0].wait, Some(Duration::from_millis(20)));
    of.segment(460, UP, (400, 0), 2050);
    let (exchanges, complete) = of.finish();
    assert_eq!(exchanges, [[300, 2000, 320], [100, 50, 60]]);
    let expected = Complete { begun: Instant::ZERO, bytes: [400, 2050], time: Duration::from_millis(460) };
    assert_eq!(complete, Some(expected));
}

#[test]
fn requests_that_overlap_are_one_and_pauses_part_what_one_end_sends() {
    let mut of = Followed::default();
    of.handshake();
    of.segment(60, UP, (0, 300), 0);
    of.segment(80, DOWN, (0, 1000), 300);
    // Before the response is acknowledged.
    of.segment(90, UP, (300, 200), 0);
    of.segment(100, DOWN, (1000, 500), 500);
    of.segment(150, UP, (500, 0), 1500);
    // The server sends on its own, at once and after a pause.
    of.segment(200, DOWN, (1500, 10), 500);
    of.segment(250, UP, (500, 0), 1510);
    of.segment(5000, DOWN, (1510, 20), 500);
    of.segment(5050, UP, (500, 0), 1530);
    let (exchanges, _) = of.finish();
    assert_eq!(exchanges, [[500, 1510, 190], [0, 20, 50]]);
}

#[test]
fn what_is_not_acknowledged_has_no_time() {
    let mut of = Followed::default();
    // The capture begins within the connection.
    of.segment(60, UP, (0, 300), 0);
    of.segment(80, DOWN, (0, 1000), 300);
    let (exchanges, complete) = of.finish();
    assert_eq!((exchanges, complete), (Vec::new(), None));
}
