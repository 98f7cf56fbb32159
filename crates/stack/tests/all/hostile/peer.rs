//! A peer that says what a test has it say.

use super::*;
use recoup_stack::device::{PacketReceiver, PacketSender, channel};
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, Timestamps, decode, encode, pseudo_header};
use std::time::Instant;

/// The options of a SYN as Linux sends them.
pub const LINUX: Options = Options {
    mss: Some(1460),
    window_scale: Some(7),
    sack_permitted: true,
    timestamps: Some(Timestamps { value: 1, echo: 0 }),
    ..Options::NONE
};

/// The options of a SYN with an MSS alone.
pub const PLAIN: Options = Options { mss: Some(1460), ..Options::NONE };

/// A segment of the stack, and its payload.
pub type Arrived = (Segment, Vec<u8>);

/// One end of a connection without any rules.
pub struct Peer {
    sender: PacketSender,
    receiver: PacketReceiver,
    pub path: Endpoints,
    began: Instant,
    /// The sequence number of the next byte to send.
    pub next: SeqNumber,
    /// The sequence number of the next byte expected.
    pub expected: SeqNumber,
    /// The end of what the stack has sent.
    pub highest: SeqNumber,
    /// The timestamp to echo, if there are timestamps.
    pub echo: Option<u32>,
}

/// A stack, and a peer at the other end of its device.
pub fn stack_and_peer() -> (Stack, Peer) {
    let (device, packets) = channel(1500, 1 << 14);
    let stack = Stack::new(device, config(SERVER)).unwrap();
    let (sender, receiver) = packets.split();
    let path = Endpoints { src: SocketAddr::new(CLIENT.parse().unwrap(), 1000), dst: at(80) };
    // Sequence numbers wrap soon.
    let next = SeqNumber(0xffff_f000);
    let [expected, highest] = [SeqNumber(0); 2];
    (stack, Peer { sender, receiver, path, began: Instant::now(), next, expected, highest, echo: None })
}

impl Peer {
    /// An ACK with a window of 65,535 (unscaled), and a timestamp if there are timestamps.
    pub fn segment(&self) -> Segment {
        let clock = 1000 + self.began.elapsed().as_millis() as u32;
        let timestamps = self.echo.map(|echo| Timestamps { value: clock, echo });
        Segment {
            seq: self.next,
            ack: self.expected,
            flags: Flags::ACK,
            window: 0xffff,
            options: Options { timestamps, ..Options::NONE },
            ..Segment::default()
        }
    }

    /// Sends a segment with this payload.
    pub fn send(&self, segment: &Segment, payload: &[u8]) {
        self.send_changed(segment, payload, |_| ());
    }

    /// As [`send`](Self::send), with bytes of the packet changed before its checksum is completed.
    pub fn send_changed(&self, segment: &Segment, payload: &[u8], change: impl FnOnce(&mut [u8])) {
        let segment = Segment { payload_len: payload.len() as u32, ..*segment };
        let mut packet = Vec::new();
        encode(&segment, &self.path, 1, Payload::Bytes(payload), &mut packet).unwrap();
        change(&mut packet[20..]);
        packet[36..38].fill(0);
        let pseudo = pseudo_header(self.path.src.ip(), self.path.dst.ip(), packet.len() - 20, 6);
        let checksum = pseudo.plus(&packet[20..]).checksum();
        packet[36..38].copy_from_slice(&checksum.to_be_bytes());
        self.sender.try_send(packet).expect("room for a packet");
    }

    /// Sends the next bytes of the stream.
    pub fn write(&mut self, payload: &[u8]) {
        for piece in payload.chunks(1400) {
            self.send(&self.segment(), piece);
            self.next += piece.len() as u32;
        }
    }

    /// Offers this window (unscaled), and waits until the stack has taken it in.
    pub async fn offer(&self, window: u16) {
        self.send(&Segment { window, ..self.segment() }, &[]);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// The next segment of the stack.
    pub async fn receive(&mut self) -> Arrived {
        self.receive_within(PATIENCE).await.expect("a segment of the stack")
    }

    /// The next segment of the stack, if there is one within `wait`.
    pub async fn receive_within(&mut self, wait: Duration) -> Option<Arrived> {
        let packet = timeout(wait, self.receiver.receive()).await.ok()?.expect("a stack that runs");
        let decoded = decode(&packet).unwrap();
        let end = decoded.segment.seq + decoded.segment.sequence_len();
        if end.after(self.highest) {
            self.highest = end;
        }
        if let Some(timestamps) = decoded.segment.options.timestamps.filter(|_| self.echo.is_some()) {
            self.echo = Some(timestamps.value);
        }
        Some((decoded.segment, packet[decoded.payload].to_vec()))
    }

    /// Everything that the stack sends until it has been silent for `silence`.
    pub async fn receive_all(&mut self, silence: Duration) -> Vec<Arrived> {
        let mut all = Vec::new();
        while let Some(arrived) = self.receive_within(silence).await {
            all.push(arrived);
        }
        all
    }

    /// Connects to the listener with these options of a SYN and this window.
    pub async fn connect(&mut self, options: Options, window: u16) {
        let syn = Segment { flags: Flags::SYN, window, options, ..self.segment() };
        self.send(&syn, &[]);
        let (answer, _) = self.receive().await;
        assert!(answer.flags.contains(Flags::SYN | Flags::ACK), "{answer:?}");
        self.echo = answer.options.timestamps.map(|timestamps| timestamps.value);
        self.next += 1;
        self.expected = answer.seq + 1;
        self.highest = self.expected;
        let ack = Segment { window, ..self.segment() };
        self.send(&ack, &[]);
    }

    /// Takes in a data segment if it is the next one, and returns whether the stream has ended.
    pub fn take(&mut self, (segment, payload): &Arrived, into: &mut Vec<u8>) -> bool {
        if segment.seq != self.expected {
            return false;
        }
        into.extend_from_slice(payload);
        self.expected += segment.sequence_len();
        segment.flags.contains(Flags::FIN)
    }

    /// Receives a stream to its end. `answer` sends what the peer says to a segment, which it is given.
    pub async fn receive_stream(&mut self, mut answer: impl FnMut(&Self, &Arrived)) -> Vec<u8> {
        let mut stream = Vec::new();
        loop {
            let arrived = self.receive().await;
            if arrived.0.sequence_len() == 0 {
                continue;
            }
            let end = self.take(&arrived, &mut stream);
            if end {
                self.send(&self.segment(), &[]);
                return stream;
            }
            answer(self, &arrived);
        }
    }
}

/// A stream of the stack to a peer that connected.
pub async fn accepted(listener: &TcpListener) -> TcpStream {
    timeout(PATIENCE, listener.accept()).await.unwrap().unwrap().0
}

/// A stack, a stream of it, and its peer, with these options of the peer's SYN.
pub async fn open(options: Options) -> (Stack, TcpStream, Peer) {
    let (stack, mut peer) = stack_and_peer();
    let listener = TcpListener::bind(&stack, at(80)).unwrap();
    peer.connect(options, 0xffff).await;
    (stack, accepted(&listener).await, peer)
}

/// Writes `bytes` to a stream and closes it, in a task. The stream is returned at the end.
pub fn writes(mut stream: TcpStream, bytes: Vec<u8>) -> tokio::task::JoinHandle<TcpStream> {
    tokio::spawn(async move {
        stream.write_all(&bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        stream
    })
}

/// Echoes what arrives on the connection, both ways: it lives.
pub async fn lives(stream: &mut TcpStream, peer: &mut Peer) {
    peer.receive_all(Duration::from_millis(1)).await;
    peer.write(b"still there?");
    let mut read = [0; 12];
    timeout(PATIENCE, stream.read_exact(&mut read)).await.unwrap().unwrap();
    assert_eq!(&read, b"still there?");
    stream.write_all(b"yes").await.unwrap();
    loop {
        let (segment, payload) = peer.receive().await;
        if payload == b"yes" {
            assert_eq!((segment.seq, segment.ack), (peer.expected, peer.next));
            peer.expected += 3;
            return peer.send(&peer.segment(), &[]);
        }
    }
}
