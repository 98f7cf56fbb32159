//! Which bytes a connection keeps, what it takes to send, and what it notifies the application of.

use super::*;
use crate::AckPolicy;
use recoup_recovery::Mechanisms;
use recoup_wire::{Options, SeqNumber, Timestamps};

const PEER_ISN: SeqNumber = SeqNumber(u32::MAX - 3);

const LIMITS: SendLimits = SendLimits { buffer: 3000, unsent: 2000 };

/// A connected server with a peer that is the test, at one instant.
struct Served {
    connection: Connection,
    now: Instant,
}

impl Served {
    fn new(config: &Config) -> Self {
        let mut served = Self { connection: Connection::listen(config, LIMITS), now: Instant::ZERO };
        let syn = Segment {
            flags: Flags::SYN,
            window: 60_000,
            options: Options {
                mss: Some(1000),
                timestamps: config.timestamps.then_some(Timestamps { value: 100, echo: 0 }),
                ..Options::NONE
            },
            ..Segment::default()
        };
        served.receive(0, &syn, b"");
        served.transmit();
        served.receive(1, &served.ack(1), b"");
        assert_eq!(served.connection.state(), State::Established);
        served
    }

    fn open() -> Self {
        Self::new(&config())
    }

    /// An ACK of everything below `offset`.
    fn ack(&self, offset: u32) -> Segment {
        let timestamps = self.connection.endpoint.timestamps.then_some(Timestamps { value: 100, echo: 1 });
        Segment {
            ack: SeqNumber(0) + offset,
            flags: Flags::ACK,
            window: 60_000,
            options: Options { timestamps, ..Options::NONE },
            ..Segment::default()
        }
    }

    /// A segment at `offset` of the peer's stream arrives.
    fn receive(&mut self, offset: u32, segment: &Segment, payload: &[u8]) {
        let segment = Segment { seq: PEER_ISN + offset, payload_len: payload.len() as u32, ..*segment };
        self.connection.deliver(self.now, &segment, payload);
    }

    fn data(&mut self, offset: u32, payload: &[u8]) {
        let segment = self.ack(1);
        self.receive(offset, &segment, payload);
    }

    fn write(&mut self, bytes: &[u8], mode: WriteMode) -> usize {
        let written = self.connection.write(self.now, bytes, mode, |_, _| {});
        written.unwrap()
    }

    /// The payload lengths of what is transmitted now, ACKs apart.
    fn transmit(&mut self) -> Vec<u32> {
        let mut lens = Vec::new();
        let mut segment = Segment::default();
        while let Some(what) = self.connection.poll_transmit(self.now, &mut segment) {
            let [front, back] = self.connection.payload(what.payload_span(&segment));
            assert_eq!(front.len() + back.len(), segment.payload_len as usize);
            lens.extend(Some(segment.payload_len).filter(|len| *len > 0));
        }
        lens
    }

    fn read(&mut self) -> Vec<u8> {
        let mut into = [0; 100];
        match self.connection.read(self.now, &mut into) {
            Ok(Read::Bytes(count)) => into[..count].to_vec(),
            _ => Vec::new(),
        }
    }
}

fn config() -> Config {
    Config { mss: 1000, timestamps: false, acks: AckPolicy::Quick, nagle: true, ..Config::new(Mechanisms::LINUX_6) }
}

#[test]
fn the_first_copy_of_a_byte_stays() {
    let mut served = Served::open();
    served.data(4, b"def");
    served.data(4, b"DEF");
    served.data(2, b"bcDE");
    served.data(1, b"aBC");
    assert_eq!(served.read(), b"abcdef");
}

#[test]
fn bytes_of_a_segment_the_endpoint_drops_change_nothing() {
    let mut served = Served::open();
    served.data(4, b"def");
    let never_sent = served.ack(90);
    served.receive(4, &never_sent, b"xyz");
    served.receive(1, &never_sent, b"xyz");
    served.data(1, b"abc");
    assert_eq!(served.read(), b"abcdef");

    let mut served = Served::new(&Config { timestamps: true, ..config() });
    served.data(4, b"def");
    let mut old = served.ack(1);
    old.options.timestamps = Some(Timestamps { value: 99, echo: 1 });
    served.receive(1, &old, b"xyzXYZ");
    assert_eq!(served.read(), b"");
    served.data(1, b"abc");
    assert_eq!(served.read(), b"abcdef");
}

#[test]
fn out_of_order_data_takes_memory_in_proportion_to_its_size() {
    let config = Config { receive_buffer: 4 << 20, ..config() };
    let mut served = Served::new(&config);
    let far = (4 << 20) - 10;
    served.data(far, b"x");
    assert!(served.connection.out_of_order_memory() < 1024);
    // Bytes that follow one another share a piece.
    (1..9).for_each(|i| served.data(far + i, b"x"));
    assert!(served.connection.out_of_order_memory() < 1024);
    assert_eq!(served.connection.received.len(), 0);
    served.connection.give_back_unused_memory(true);
    assert_eq!(served.connection.out_of_order_memory(), 0);
    assert!(!served.connection.endpoint().receiver().holds(Span::at(Offset(far.into()), 1)));
}

#[test]
fn too_much_out_of_order_data_is_discarded_from_its_end_and_taken_again() {
    let mut served = Served::new(&Config { receive_buffer: 4000, ..config() });
    let bytes: Vec<u8> = (0..4000_u32).map(|i| (i % 251) as u8).collect();
    let odd = || (1..4000_u32).step_by(2);
    let one = |served: &mut Served, at: u32| served.data(1 + at, &bytes[at as usize..][..1]);
    odd().rev().for_each(|at| one(&mut served, at));
    let most = LEAST_REASSEMBLY as usize;
    let held = served.connection.out_of_order_memory();
    assert!(held <= most && held > most / 2, "{held}");
    // What is nearest to the gap stays, and nothing is reported that is not held.
    let holds = |served: &Served, at: u32| {
        let span = Span::at(Offset::DATA + u64::from(at), 1);
        served.connection.endpoint().receiver().holds(span)
    };
    assert!(holds(&served, 1) && !holds(&served, 3999));
    assert_eq!(odd().filter(|at| holds(&served, *at)).count(), served.connection.reassembly.pieces());
    served.connection.discard_out_of_order();
    assert!(!odd().any(|at| holds(&served, at)));
    (0..4000).rev().for_each(|at| one(&mut served, at));
    (0..4000).for_each(|at| one(&mut served, at));
    let mut read = Vec::new();
    while read.len() < bytes.len() {
        read.extend(served.read());
    }
    assert_eq!(read, bytes);
    assert_eq!(served.connection.out_of_order_memory(), 0);
}

#[test]
fn bytes_beyond_the_window_are_not_kept() {
    let mut served = Served::new(&Config { receive_buffer: 4, ..config() });
    served.data(1, b"abcdef");
    assert_eq!(served.read(), b"abcd");
}

#[test]
fn the_payload_of_a_syn_is_left_to_its_retransmission() {
    let mut connection = Connection::listen(&config(), LIMITS);
    let syn = Segment { seq: PEER_ISN, flags: Flags::SYN, window: 60_000, payload_len: 3, ..Segment::default() };
    connection.deliver(Instant::ZERO, &syn, b"abc");
    assert_eq!(connection.endpoint().readable(), 0);
    let mut segment = Segment::default();
    connection.poll_transmit(Instant::ZERO, &mut segment);
    assert_eq!(segment.ack, PEER_ISN + 1);
    let mut served = Served { connection, now: Instant::ZERO };
    served.data(1, b"abc");
    assert_eq!(served.read(), b"abc");
}

#[test]
fn a_syn_that_is_refused_does_not_move_the_stream() {
    // A blind SYN-ACK that acknowledges the wrong number, before the true one.
    let mut connection = Connection::connect(&config(), LIMITS);
    let mut segment = Segment::default();
    connection.poll_transmit(Instant::ZERO, &mut segment);
    let syn_ack = |seq, ack| Segment {
        seq,
        ack: SeqNumber(ack),
        flags: Flags::SYN | Flags::ACK,
        window: 60_000,
        ..Segment::default()
    };
    connection.deliver(Instant::ZERO, &syn_ack(SeqNumber(77), 9), b"");
    connection.deliver(Instant::ZERO, &syn_ack(PEER_ISN, 1), b"");
    let mut served = Served { connection, now: Instant::ZERO };
    served.data(1, b"abc");
    assert_eq!(served.read(), b"abc");
}

#[test]
fn a_write_is_accepted_up_to_the_limits() {
    let mut served = Served::open();
    assert_eq!(served.write(&[1; 5000], WriteMode::default()), 2000);
    assert_eq!(served.connection.unsent(), 2000);
    served.transmit();
    assert_eq!(served.write(&[1; 5000], WriteMode::default()), 1000);
    assert_eq!(served.connection.queued(), 3000);
    served.connection.close(served.now);
    let shut = served.connection.write(served.now, b"x", WriteMode::default(), |_, _| {});
    assert_eq!(shut, Err(WriteError::Shut));
}

#[test]
fn a_writer_is_notified_when_the_full_send_buffer_has_drained() {
    let mut served = Served::open();
    served.write(&[1; 1000], WriteMode::default());
    served.transmit();
    assert_eq!(served.connection.notices().writable, 0, "nobody waits");
    served.write(&[1; 5000], WriteMode::default());
    served.transmit();
    assert_eq!(served.connection.notices().writable, 0, "3000 are queued");
    let ack = served.ack(1001);
    served.receive(1, &ack, b"");
    assert_eq!(served.connection.notices().writable, 1, "2000 are");
    let ack = served.ack(2001);
    served.receive(1, &ack, b"");
    assert_eq!(served.connection.notices().writable, 1);
}

#[test]
fn notices_report_the_handshake_data_and_the_end() {
    let mut connection = Connection::listen(&config(), LIMITS);
    assert_eq!(connection.notices(), Notices::default());
    let mut served = Served::open();
    let opened = Notices { opened: true, ..Notices::default() };
    assert_eq!(served.connection.notices(), opened);
    served.data(4, b"def");
    assert_eq!(served.connection.notices(), opened, "there is a hole");
    served.data(1, b"abc");
    assert_eq!(served.connection.notices().readable, 1);
    let mut fin = served.ack(1);
    fin.flags |= Flags::FIN;
    served.receive(7, &fin, b"");
    assert_eq!(served.connection.notices().readable, 2);
    let mut reset = served.ack(1);
    reset.flags = Flags::RST;
    served.receive(8, &reset, b"");
    assert!(served.connection.notices().closed);
    assert_eq!(served.read(), b"abcdef");
    let end = served.connection.read(served.now, &mut [0]);
    assert_eq!(end, Ok(Read::End));
}

#[test]
fn a_reset_is_reported_after_everything_is_read() {
    let mut served = Served::open();
    served.data(1, b"abc");
    let mut reset = served.ack(1);
    reset.flags = Flags::RST;
    served.receive(4, &reset, b"");
    assert_eq!(served.connection.peek(2), b"ab");
    assert_eq!(served.read(), b"abc");
    let end = served.connection.read(served.now, &mut [0]);
    assert_eq!(end, Err(Closed::ByReset));
}

#[test]
fn more_waits_for_a_full_segment_an_ack_or_an_rto() {
    let more = WriteMode { more: true, ..WriteMode::default() };
    let mut served = Served::open();
    served.write(&[1; 400], more);
    assert_eq!(served.transmit(), [0; 0]);
    served.write(&[1; 800], more);
    assert_eq!(served.transmit(), [1000]);
    let ack = served.ack(1001);
    served.receive(1, &ack, b"");
    assert_eq!(served.transmit(), [200]);
    let ack = served.ack(1201);
    served.receive(1, &ack, b"");
    served.write(&[1; 300], more);
    assert_eq!(served.transmit(), [0; 0]);
    let (at, wake) = served.connection.next_wake().unwrap();
    assert_eq!(wake, Wake::Held);
    served.now = at;
    served.connection.on_wake(at, wake);
    assert_eq!(served.transmit(), [300]);
}

#[test]
fn a_cork_holds_back_less_than_a_full_segment() {
    let mut served = Served::open();
    served.connection.set_corked(true);
    served.write(&[1; 1500], WriteMode::default());
    assert_eq!(served.transmit(), [1000]);
    assert_eq!(served.connection.unsent(), 500);
    served.connection.set_corked(false);
    served.connection.uncork(served.now);
    let ack = served.ack(1001);
    served.receive(1, &ack, b"");
    assert_eq!(served.transmit(), [500]);
}

#[test]
fn records_do_not_share_a_segment_and_the_fin_takes_what_is_held() {
    let record = WriteMode { ends_record: true, ..WriteMode::default() };
    let mut served = Served::open();
    for _ in 0..3 {
        served.write(&[1; 300], record);
    }
    // Nagle's rule holds back the last record alone.
    assert_eq!(served.transmit(), [300, 300]);
    let ack = served.ack(601);
    served.receive(1, &ack, b"");
    assert_eq!(served.transmit(), [300]);
    served.connection.set_corked(true);
    served.write(&[1; 200], WriteMode::default());
    assert_eq!(served.transmit(), [0; 0]);
    served.connection.close(served.now);
    assert_eq!(served.transmit(), [200]);
}

#[test]
fn an_idle_connection_gives_its_memory_back() {
    let mut served = Served::open();
    served.connection.set_limits(SendLimits { buffer: 1 << 20, unsent: 1 << 20 });
    assert_eq!(served.connection.memory(), 0);
    served.write(&[7; 50_000], WriteMode::default());
    served.transmit();
    served.data(1, &[8; 5000]);
    served.data(9001, &[9; 1000]);
    assert_eq!(served.connection.memory(), (64 << 10) + (8 << 10) + served.connection.out_of_order_memory());
    served.connection.shrink();
    assert_eq!(served.connection.queued(), 50_000);
    assert_eq!(served.connection.endpoint().receiver().readable(), 5000);

    served.data(5001, &[8; 4000]);
    let mut acked = 1;
    while acked < 50_001 {
        acked = served.connection.endpoint().sender().nxt().0 as u32;
        let ack = served.ack(acked);
        served.receive(10_001, &ack, b"");
        served.transmit();
    }
    while !served.read().is_empty() {}
    assert!(served.connection.memory() > 64 << 10);
    served.connection.shrink();
    assert_eq!(served.connection.memory(), 0);
    assert_eq!(served.connection.endpoint().sender().memory(), 0);
    served.write(b"more", WriteMode::default());
    assert_eq!(served.transmit(), [4]);
    served.data(10_001, b"and more");
    assert_eq!(served.read(), b"and more");
}
