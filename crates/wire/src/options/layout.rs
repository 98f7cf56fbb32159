//! Options to and from the bytes behind the fixed TCP header.
//!
//! Written as Linux lays them out, each option aligned to four bytes by NOPs in front (RFC 7323
//! appendix A recommends the same):
//!
//! ```text
//! MSS                                  when given
//! SACK-permitted, timestamps           both given; NOP NOP in the other's place when only one is
//! NOP, window scale                    when given
//! NOP, NOP, SACK                       when there are blocks, as many as still fit
//! ```
//!
//! Read as Linux reads them: unknown options are skipped, a known kind with a length that is not
//! its own is skipped as well, the last of several wins (SACK blocks add up to four), and a length
//! that is below 2 or runs past the header ends the reading, which is said. What stood before it
//! counts.

use super::{MAX_LEN, Options, Timestamps};
use crate::SeqNumber;

/// Option kinds (IANA "TCP Option Kind Numbers").
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
}

const MSS_LEN: u8 = 4;
const WINDOW_SCALE_LEN: u8 = 3;
const SACK_PERMITTED_LEN: u8 = 2;
const SACK_BASE_LEN: u8 = 2;
const SACK_BLOCK_LEN: u8 = 8;
const TIMESTAMPS_LEN: u8 = 10;

impl Options {
    /// Bytes the options take in the header, padding included: a multiple of 4, at most 40.
    #[inline]
    pub const fn encoded_len(&self) -> u32 {
        let blocks = self.sack_blocks_that_fit() as u32;
        let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        self.len_without_sack() + sack
    }

    /// How many of the SACK blocks are encoded: as many as the other options leave room for.
    #[inline]
    pub const fn sack_blocks_that_fit(&self) -> usize {
        // The others take 20 bytes at most, so that this cannot go below zero.
        let room = (MAX_LEN - 4 - self.len_without_sack() as usize) / 8;
        if self.sack.len() < room {
            self.sack.len()
        } else {
            room
        }
    }

    const fn len_without_sack(&self) -> u32 {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let timestamps = match (self.timestamps.is_some(), self.sack_permitted) {
            (true, _) => 12,
            (false, true) => 4,
            (false, false) => 0,
        };
        let window_scale = if self.window_scale.is_some() { 4 } else { 0 };
        mss + timestamps + window_scale
    }

    /// Appends the [`encoded_len`](Self::encoded_len) bytes of the options to `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            out.extend([kind::MSS, MSS_LEN]);
            out.extend(mss.to_be_bytes());
        }
        if self.timestamps.is_some() || self.sack_permitted {
            // Two bytes of SACK-permitted are exactly the padding timestamps need.
            let nops = [kind::NOP, kind::NOP];
            let permitted = [kind::SACK_PERMITTED, SACK_PERMITTED_LEN];
            match (self.timestamps, self.sack_permitted) {
                (Some(_), true) => out.extend(permitted),
                (Some(_), false) => out.extend(nops),
                (None, _) => out.extend([nops, permitted].as_flattened()),
            }
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            out.extend([kind::TIMESTAMPS, TIMESTAMPS_LEN]);
            out.extend(value.to_be_bytes());
            out.extend(echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            out.extend([kind::NOP, kind::WINDOW_SCALE, WINDOW_SCALE_LEN, shift]);
        }
        self.encode_sack(out);
    }

    fn encode_sack(&self, out: &mut Vec<u8>) {
        let blocks = &self.sack.as_slice()[..self.sack_blocks_that_fit()];
        if blocks.is_empty() {
            return;
        }
        out.extend([kind::NOP, kind::NOP, kind::SACK]);
        out.push(SACK_BASE_LEN + SACK_BLOCK_LEN * blocks.len() as u8);
        for edge in blocks.as_flattened() {
            out.extend(edge.0.to_be_bytes());
        }
    }
}

impl Options {
    /// Becomes what the option bytes of a header say, all of them or as many as were captured;
    /// false when an option's length was impossible, which ends the reading.
    ///
    /// In place, since captures are read by the million and options are large.
    #[inline]
    pub(crate) fn read_all(&mut self, bytes: &[u8]) -> bool {
        *self = Self::NONE;
        // What nearly every segment has and nothing else (RFC 7323 appendix A).
        if let &[
            kind::NOP,
            kind::NOP,
            kind::TIMESTAMPS,
            TIMESTAMPS_LEN,
            ref value @ ..,
        ] = bytes
            && let Some(timestamps) = timestamps(value)
        {
            self.timestamps = Some(timestamps);
            return true;
        }
        self.read_each(bytes)
    }

    fn read_each(&mut self, mut bytes: &[u8]) -> bool {
        while let Some((&kind, after_kind)) = bytes.split_first() {
            match kind {
                kind::END => break,
                kind::NOP => bytes = after_kind,
                _ => {
                    let len = after_kind.first().map_or(0, |&len| usize::from(len));
                    let Some((option, rest)) = bytes.split_at_checked(len).filter(|_| len >= 2)
                    else {
                        return false;
                    };
                    self.read(kind, &option[2..]);
                    bytes = rest;
                }
            }
        }
        true
    }

    /// Takes in one option's `value`, the bytes behind kind and length.
    fn read(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (kind::MSS, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            // RFC 7323 §2.3: a larger shift must be taken as 14.
            (kind::WINDOW_SCALE, &[shift]) => {
                self.window_scale = Some(shift.min(Self::MAX_WINDOW_SCALE));
            }
            (kind::SACK_PERMITTED, []) => self.sack_permitted = true,
            (kind::TIMESTAMPS, value) => {
                if let Some(timestamps) = timestamps(value) {
                    self.timestamps = Some(timestamps);
                }
            }
            (kind::SACK, value) if value.len() % usize::from(SACK_BLOCK_LEN) == 0 => {
                for [left, right] in words(value).0.as_chunks().0 {
                    let edge = |bytes: &[u8; 4]| SeqNumber(u32::from_be_bytes(*bytes));
                    self.sack.push([edge(left), edge(right)]);
                }
            }
            _ => {}
        }
    }
}

/// A timestamps option's value, if it has the right length.
fn timestamps(bytes: &[u8]) -> Option<Timestamps> {
    match words(bytes) {
        ([value, echo], []) => Some(Timestamps {
            value: u32::from_be_bytes(*value),
            echo: u32::from_be_bytes(*echo),
        }),
        _ => None,
    }
}

/// `bytes` as 4-byte words, and the rest.
fn words(bytes: &[u8]) -> (&[[u8; 4]], &[u8]) {
    bytes.as_chunks()
}
