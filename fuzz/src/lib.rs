//! Shared by fuzz targets: segments from the fuzzer's bytes, and checks.

pub mod capture;
pub mod findings;
pub mod network;
#[path = "../../crates/stack/tests/random/network/mod.rs"]
pub mod stack;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use recoup_wire::{Flags, Options, Segment, SeqNumber, Timestamps};

/// A segment of any values. `payload_len` is drawn from all lengths, most of them short.
#[derive(Arbitrary, Clone, Debug)]
pub struct AnySegment {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Payload bytes.
    pub len: AnyLen,
    /// The window field.
    pub window: u16,
    /// Control bits.
    pub flags: u8,
    /// Options.
    pub options: AnyOptions,
}

/// The length of a payload.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum AnyLen {
    /// Nothing.
    Empty,
    /// Up to 255 bytes.
    Short(u8),
    /// Any length that a packet can carry.
    Packet(u16),
    /// Any length.
    Any(u32),
}

/// Options of any values.
#[derive(Arbitrary, Clone, Debug)]
pub struct AnyOptions {
    /// Value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// Left and right edges.
    pub sack: [Option<(u32, u32)>; 4],
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
}

impl AnyLen {
    /// The number of bytes.
    pub fn get(self) -> u32 {
        match self {
            Self::Empty => 0,
            Self::Short(n) => n.into(),
            Self::Packet(n) => n.into(),
            Self::Any(n) => n,
        }
    }
}

impl From<&AnyOptions> for Options {
    fn from(any: &AnyOptions) -> Self {
        let blocks = any.sack.iter().flatten();
        Self {
            timestamps: any.timestamps.map(|(value, echo)| Timestamps { value, echo }),
            sack: blocks.map(|&(left, right)| [SeqNumber(left), SeqNumber(right)]).collect(),
            mss: any.mss,
            window_scale: any.scale,
            sack_permitted: any.sack_permitted,
        }
    }
}

impl From<&AnySegment> for Segment {
    fn from(any: &AnySegment) -> Self {
        Self {
            seq: SeqNumber(any.seq),
            ack: SeqNumber(any.ack),
            payload_len: any.len.get(),
            window: any.window,
            flags: Flags::from_bits(any.flags),
            options: (&any.options).into(),
        }
    }
}
