//! A guest's packet on the path.

use recoup_path::TcpFacts;
use recoup_units::FlowId;
use recoup_wire::{Flags, decode_unverified};

/// What the path needs of a packet. Its bytes are in the log.
#[derive(Clone, Debug)]
pub struct Packet {
    id: FlowId,
    /// The index of its flow.
    pub flow: usize,
    /// Its place in the log.
    pub number: usize,
    ordinal: u64,
    ip_len: u32,
    tcp: Option<TcpFacts>,
    /// Set when the path damaged it.
    pub damage: Option<u64>,
}

impl Packet {
    /// Packet `ordinal` of its flow and direction.
    pub fn new(id: FlowId, flow: usize, number: usize, ordinal: u64, bytes: &[u8]) -> Self {
        let tcp = decode_unverified(bytes).ok().map(|decoded| {
            let segment = decoded.segment;
            let has = |flag| segment.flags.contains(flag);
            TcpFacts {
                seq: segment.seq.0,
                payload_len: segment.payload_len,
                syn: has(Flags::SYN),
                fin: has(Flags::FIN),
                rst: has(Flags::RST),
                ack: has(Flags::ACK).then_some(segment.ack.0),
                sack: !segment.options.sack.is_empty(),
            }
        });
        Self { id, flow, number, ordinal, ip_len: bytes.len() as u32, tcp, damage: None }
    }
}

impl recoup_path::Packet for Packet {
    fn flow(&self) -> FlowId {
        self.id
    }

    fn ip_len(&self) -> u32 {
        self.ip_len
    }

    fn tcp(&self) -> Option<TcpFacts> {
        self.tcp
    }

    fn ordinal(&self) -> Option<u64> {
        Some(self.ordinal)
    }

    fn corrupt(&mut self, draw: u64) {
        self.damage = Some(draw);
    }
}
