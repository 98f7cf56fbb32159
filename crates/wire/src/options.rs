//! The TCP options that loss recovery reads, as values.
//!
//! Maximum segment size (RFC 9293 §3.7.1), window scale and timestamps (RFC 7323 §2, §3), SACK
//! permitted and SACK (RFC 2018 §2, §3). How they are laid out in a header is described in
//! `options/layout.rs`.

use std::fmt;
use std::hash::{Hash, Hasher};

mod layout;

pub(crate) use layout::OptionsRead;
pub use layout::copy_known_options;

use crate::SeqNumber;

/// The most bytes of options a TCP header holds (RFC 9293 §3.1: 15 words less the fixed 5).
pub(crate) const MAX_LEN: usize = 40;

/// The options of one segment; the default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Options {
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 §3), most recent first; empty when the option is absent.
    pub sack: SackBlocks,
    /// Maximum segment size in bytes, on a SYN.
    pub mss: Option<u16>,
    /// Window scale shift, on a SYN: 0 to [`Options::MAX_WINDOW_SCALE`].
    pub window_scale: Option<u8>,
    /// SACK permitted, on a SYN.
    pub sack_permitted: bool,
}

impl Options {
    /// The largest window scale shift (RFC 7323 §2.3).
    pub const MAX_WINDOW_SCALE: u8 = 14;
    /// No options.
    pub const NONE: Self =
        Self { timestamps: None, sack: SackBlocks::NONE, mss: None, window_scale: None, sack_permitted: false };

    /// Whether there is any option but timestamps.
    #[inline]
    pub(crate) const fn has_others_than_timestamps(&self) -> bool {
        !self.sack.is_empty() || self.mss.is_some() || self.window_scale.is_some() || self.sack_permitted
    }
}

/// The timestamps option: clock readings in the sender's own units (RFC 7323 §3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timestamps {
    /// The sender's clock (`TSval`).
    pub value: u32,
    /// The peer's clock, echoed (`TSecr`).
    pub echo: u32,
}

/// Up to four SACK blocks, in the order of the option.
///
/// A block is `[left, right]`: the first sequence number received, and the first one past the block.
/// Blocks are kept unchanged, even if they are reversed or outside the window. The endpoint validates
/// them.
#[derive(Clone, Copy, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SackBlocks {
    blocks: [[SeqNumber; 2]; Self::MAX],
    count: u8,
}

impl SackBlocks {
    /// The most blocks one segment carries (RFC 2018 §3: 40 bytes of options).
    pub const MAX: usize = 4;
    /// The most blocks that fit beside timestamps (RFC 2018 §3, RFC 7323 appendix A).
    pub const MAX_WITH_TIMESTAMPS: usize = 3;
    /// No blocks.
    pub const NONE: Self = Self { blocks: [[SeqNumber(0); 2]; Self::MAX], count: 0 };

    /// Appends a block. With four blocks already, nothing changes and the result is `false`.
    #[inline]
    pub fn push(&mut self, block: [SeqNumber; 2]) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.count)) else {
            return false;
        };
        *slot = block;
        self.count += 1;
        true
    }

    /// Removes all blocks.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// The blocks in order.
    #[inline]
    pub fn as_slice(&self) -> &[[SeqNumber; 2]] {
        &self.blocks[..self.len()]
    }

    /// The blocks in order, by value.
    #[inline]
    pub fn iter(&self) -> std::iter::Copied<std::slice::Iter<'_, [SeqNumber; 2]>> {
        self.as_slice().iter().copied()
    }

    /// The number of blocks, 0 to 4.
    #[inline]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are no blocks.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

// Compares only the blocks present, which are few.
impl PartialEq for SackBlocks {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

impl Hash for SackBlocks {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl<'a> IntoIterator for &'a SackBlocks {
    type Item = [SeqNumber; 2];
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, [SeqNumber; 2]>>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<[SeqNumber; 2]> for SackBlocks {
    /// The first four blocks: no more fit in a segment.
    fn from_iter<I: IntoIterator<Item = [SeqNumber; 2]>>(blocks: I) -> Self {
        let mut sack = Self::NONE;
        for block in blocks.into_iter().take(Self::MAX) {
            sack.push(block);
        }
        sack
    }
}

impl fmt::Display for SackBlocks {
    /// As tcpdump prints them: `{5:6}{1:3}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for [left, right] in self {
            write!(f, "{{{left}:{right}}}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SackBlocks({self})")
    }
}

impl fmt::Display for Options {
    /// Similar to tcpdump, without padding: `mss 1460,sackOK,TS val 1 ecr 0,wscale 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut item = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>| {
            write!(f, "{separator}{text}")?;
            separator = ",";
            Ok(())
        };
        if let Some(mss) = self.mss {
            item(f, format_args!("mss {mss}"))?;
        }
        if self.sack_permitted {
            item(f, format_args!("sackOK"))?;
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            item(f, format_args!("TS val {value} ecr {echo}"))?;
        }
        if let Some(shift) = self.window_scale {
            item(f, format_args!("wscale {shift}"))?;
        }
        if !self.sack.is_empty() {
            item(f, format_args!("sack {} {}", self.sack.len(), self.sack))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
