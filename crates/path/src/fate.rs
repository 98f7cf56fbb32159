//! A packet's fate: every random choice of a path.
//!
//! A draw is SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) over
//! what identifies the choice, and nothing else, so one packet more or less shifts no other
//! packet's draws, and two mechanisms run with one seed meet the same network.
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

/// What a draw decides; several draws of one packet at one hop must differ.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Whether the hop does to the packet what it does.
    Strike = 0,
    /// How (where a corrupted packet is damaged).
    Manner = 1,
    /// The step of a Gilbert–Elliott channel.
    Step = 2,
}

/// What names a packet in its chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub flow: FlowId,
    pub ordinal: u64,
    pub copy: u64,
}

/// The draws of one hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    seed: u64,
    place: u64,
}

impl Fate {
    pub fn new(seed: u64, direction: Direction, hop: u32) -> Self {
        let way = match direction {
            Direction::Up => 0,
            Direction::Down => 1 << 8,
        };
        Self {
            seed,
            place: (u64::from(hop) << 16) | way,
        }
    }

    pub fn draw(&self, who: Identity, purpose: Purpose) -> u64 {
        let mut message = [0; 24];
        message[..8].copy_from_slice(&who.flow.0.to_le_bytes());
        message[8..16].copy_from_slice(&who.ordinal.to_le_bytes());
        message[16..].copy_from_slice(&who.copy.to_le_bytes());
        SipHasher13::new_with_keys(self.seed, self.place | purpose as u64).hash(&message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: Identity = Identity {
        flow: FlowId(7),
        ordinal: 3,
        copy: 0,
    };

    #[test]
    fn every_part_of_the_key_matters() {
        let mut draws = vec![];
        for seed in [1, 2] {
            for direction in [Direction::Up, Direction::Down] {
                for hop in [0, 1] {
                    let fate = Fate::new(seed, direction, hop);
                    for purpose in [Purpose::Strike, Purpose::Manner, Purpose::Step] {
                        for who in [
                            WHO,
                            Identity {
                                flow: FlowId(8),
                                ..WHO
                            },
                            Identity { ordinal: 4, ..WHO },
                            Identity { copy: 1, ..WHO },
                        ] {
                            draws.push(fate.draw(who, purpose));
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
