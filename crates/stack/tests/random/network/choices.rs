//! Where decisions come from: the bytes of a fuzzer, or a seed.

/// Random numbers from a seed (SplitMix64: Steele, Lea and Flood 2014).
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Those of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `below`, which is not zero.
    pub fn below(&mut self, below: u64) -> u64 {
        self.number() % below.max(1)
    }

    /// True in `of_256` of 256 cases.
    pub fn chance(&mut self, of_256: u16) -> bool {
        self.below(256) < u64::from(of_256)
    }
}

/// A row of decisions. A fuzzer's row ends; from then on each decision is the usual one.
#[derive(Debug)]
pub enum Choices<'a> {
    /// The bytes that are left.
    Bytes(&'a [u8]),
    /// Endless.
    Seed(Draws),
}

impl Choices<'_> {
    /// Those of a seed.
    pub const fn of_seed(seed: u64) -> Self {
        Self::Seed(Draws::new(seed))
    }

    /// Whether no decision is left.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Bytes([]))
    }

    /// Any byte; 0 at the end.
    pub fn byte(&mut self) -> u8 {
        match self {
            Self::Bytes(bytes) => {
                let Some((first, rest)) = bytes.split_first() else {
                    return 0;
                };
                *bytes = rest;
                *first
            }
            Self::Seed(draws) => (draws.number() >> 56) as u8,
        }
    }

    /// Any number of 32 bits; 0 at the end.
    pub fn number(&mut self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A number below `below`, 0 at the end. It takes as few bytes as possible.
    pub fn below(&mut self, below: u32) -> u32 {
        match below {
            0 | 1 => 0,
            2..=0x100 => u32::from(self.byte()) % below,
            _ => self.number() % below,
        }
    }

    /// One of these, the first at the end.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }

    /// True in `of_256` of 256 cases, and never at the end.
    pub fn chance(&mut self, of_256: u16) -> bool {
        u16::from(!self.byte()) < of_256
    }

    /// Some bytes, `most` at most.
    pub fn bytes(&mut self, most: u32) -> Vec<u8> {
        let count = self.below(most + 1);
        (0..count).map(|_| self.byte()).collect()
    }
}
