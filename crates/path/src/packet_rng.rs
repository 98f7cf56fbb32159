//! Every random choice of a path, drawn per packet.
//!
//! A draw is SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) over
//! what identifies the choice, and nothing else. An additional packet changes no other packet's
//! draws, so two mechanisms run with one seed meet the same network.
//!
//! | part        | bits    | content                                                      |
//! |-------------|---------|--------------------------------------------------------------|
//! | key, first  | 0..64   | the seed                                                     |
//! | key, second | 0..8    | [`Purpose`]                                                  |
//! |             | 8..16   | direction: 0 up, 1 down                                      |
//! |             | 16..64  | index of the hop in its chain, from 0                        |
//! | message     | 0..64   | flow id                                                      |
//! |             | 64..128 | ordinal of the packet in its flow and direction, from 0      |
//! |             | 128..192| copy: 0 for the packet that entered; a copy made by the k-th duplicating hop (from 0) has its original's bits and bit k |
//!
//! Message words are little-endian.

use recoup_units::{Direction, FlowId};
use siphasher::sip::SipHasher13;

/// The purpose of a draw. Draws of one packet at one hop differ by their purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Whether the hop drops, holds, copies or damages the packet.
    Occurrence = 0,
    /// Which bit of a corrupted packet is flipped.
    DamagedBit = 1,
    /// The step of a Gilbert–Elliott channel.
    ChannelStep = 2,
    /// Whether a managed queue drops or marks the packet.
    Management = 3,
    /// The entry of a loss trace at which a flow begins.
    TraceBegin = 4,
    /// Whether an outage lasts when the first packet comes.
    OutageAtBegin = 5,
    /// The time before an outage.
    OutageGap = 6,
    /// How long an outage lasts: two draws make a normal number.
    OutageLength = 7,
    /// The second of them.
    OutageAngle = 8,
}

/// Identifies a packet in its chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketId {
    pub flow: FlowId,
    pub ordinal: u64,
    pub copy: u64,
}

/// The random number generator of one hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketRng {
    seed: u64,
    place: u64,
}

impl PacketRng {
    pub fn new(seed: u64, direction: Direction, hop: u32) -> Self {
        let direction = match direction {
            Direction::Up => 0,
            Direction::Down => 1 << 8,
        };
        Self { seed, place: (u64::from(hop) << 16) | direction }
    }

    pub fn draw(&self, id: PacketId, purpose: Purpose) -> u64 {
        let mut message = [0; 24];
        message[..8].copy_from_slice(&id.flow.0.to_le_bytes());
        message[8..16].copy_from_slice(&id.ordinal.to_le_bytes());
        message[16..].copy_from_slice(&id.copy.to_le_bytes());
        SipHasher13::new_with_keys(self.seed, self.place | purpose as u64).hash(&message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: PacketId = PacketId { flow: FlowId(7), ordinal: 3, copy: 0 };

    #[test]
    fn every_part_of_the_key_matters() {
        let mut draws = vec![];
        for seed in [1, 2] {
            for direction in [Direction::Up, Direction::Down] {
                for hop in [0, 1] {
                    let rng = PacketRng::new(seed, direction, hop);
                    for purpose in [Purpose::Occurrence, Purpose::DamagedBit, Purpose::ChannelStep, Purpose::TraceBegin]
                    {
                        for id in [
                            ID,
                            PacketId { flow: FlowId(8), ..ID },
                            PacketId { ordinal: 4, ..ID },
                            PacketId { copy: 1, ..ID },
                        ] {
                            draws.push(rng.draw(id, purpose));
                        }
                    }
                }
            }
        }
        let all = draws.len();
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), all);
    }
}
