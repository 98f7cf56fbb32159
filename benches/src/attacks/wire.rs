//! Where attacks send their packets.

use recoup_trace::read::{CapturedPacket, Tunnel};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use std::{collections::VecDeque, net::Ipv4Addr};

/// Payload bytes of a full segment.
pub(super) const MSS: u32 = 1448;

/// Payload bytes of the longest packet that offload makes.
pub(super) const SUPER: u32 = 45 * MSS;

/// When the captures begin, in ns since 1970.
const BEGINNING: u64 = 1_767_225_600_000_000_000;

/// Collects packets between a sender and a receiver, and counts time.
#[derive(Debug)]
pub(super) struct Wire {
    /// Packets not taken yet.
    pub sent: VecDeque<CapturedPacket>,
    /// Steps before this one.
    pub steps: u32,
    /// Since the beginning, in ns.
    pub now: u64,
    /// The time between two packets, in ns.
    pub gap: u64,
    /// The connection.
    pub connection: u32,
    /// The sender's next sequence number.
    pub nxt: u32,
    /// The receiver's cumulative acknowledgment.
    pub una: u32,
    /// The first sequence number.
    pub first: u32,
    /// The TSval of all packets; `None`: milliseconds.
    pub timestamp: Option<u32>,
    /// Whether both ends use timestamps.
    pub timestamps: bool,
    frame: u64,
    random: u64,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            sent: VecDeque::new(),
            steps: 0,
            now: 0,
            gap: 10_000,
            connection: 0,
            nxt: 1,
            una: 1,
            first: 0,
            timestamp: None,
            timestamps: true,
            frame: 0,
            random: 0x2545_f491_4f6c_dd1d,
        }
    }
}

impl Wire {
    /// A random number below `bound` (Marsaglia's xorshift, 2003).
    pub fn below(&mut self, bound: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 32) % u64::from(bound.max(1))) as u32
    }

    /// SYN, SYN-ACK and ACK, which agree on SACK if `sack`.
    pub fn open(&mut self, sack: bool) {
        let options = Options { mss: Some(1460), window_scale: Some(14), sack_permitted: sack, ..Options::NONE };
        let isn = self.first;
        (self.nxt, self.una) = (isn.wrapping_add(1), isn.wrapping_add(1));
        self.push(true, isn, 0, 0, Flags::SYN, options);
        self.push(false, 0, self.una, 0, Flags::SYN.union(Flags::ACK), options);
        self.push(true, self.nxt, 1, 0, Flags::ACK, Options::NONE);
    }

    /// The sender sends `len` bytes from `seq` on.
    pub fn data(&mut self, seq: u32, len: u32) {
        self.push(true, seq, 1, len, Flags::ACK, Options::NONE);
    }

    /// The sender sends `len` new bytes.
    pub fn new_data(&mut self, len: u32) {
        self.data(self.nxt, len);
        self.nxt = self.nxt.wrapping_add(len);
    }

    /// The receiver acknowledges everything below `ack`, and these blocks.
    pub fn ack(&mut self, ack: u32, blocks: &[[u32; 2]]) {
        let blocks = blocks.iter().map(|block| block.map(SeqNumber));
        let options = Options { sack: SackBlocks::from_iter(blocks), ..Options::NONE };
        self.push(false, 1, ack, 0, Flags::ACK, options);
    }

    /// The receiver acknowledges `len` more bytes.
    pub fn advance(&mut self, len: u32) {
        self.una = self.una.wrapping_add(len);
        self.ack(self.una, &[]);
    }

    /// A random segment boundary of what is outstanding, where all packets are `len` bytes long.
    pub fn outstanding(&mut self, len: u32) -> u32 {
        let packets = self.nxt.wrapping_sub(self.una) / len;
        let packet = self.below(packets);
        self.una.wrapping_add(packet * len)
    }

    fn push(&mut self, by_sender: bool, seq: u32, ack: u32, payload_len: u32, flags: Flags, mut options: Options) {
        self.now += self.gap;
        self.frame += 1;
        let clock = (self.timestamp).unwrap_or((self.now / 1_000_000) as u32 + 1);
        options.timestamps = self.timestamps.then_some(Timestamps { value: clock, echo: clock });
        let client = Ipv4Addr::from_bits(0xc612_0000 + self.connection / 50_000);
        let port = 10_000 + (self.connection % 50_000) as u16;
        let endpoints = Endpoints { src: (client, port).into(), dst: (Ipv4Addr::new(192, 0, 2, 1), 443).into() };
        self.sent.push_back(CapturedPacket {
            frame: self.frame,
            at: Instant::from_nanos(BEGINNING + self.now),
            endpoints: if by_sender { endpoints } else { endpoints.reverse() },
            segment: Segment {
                seq: SeqNumber(seq),
                ack: SeqNumber(ack),
                payload_len,
                window: u16::MAX,
                flags,
                options,
            },
            ip_id: Some(self.frame as u16 | 1),
            hop_limit: 64,
            ecn: Default::default(),
            options_complete: true,
            overlong: false,
            outgoing: None,
            interface: 0,
            link: 0,
            message: None,
            tunnel: Tunnel::NONE,
        });
    }
}
