//! Encodes and decodes options, the bytes behind the fixed TCP header.
//!
//! The layout is Linux's: NOPs before each option align it to four bytes (RFC 7323 appendix A recommends
//! the same).
//!
//! ```text
//! MSS                                  if present
//! SACK-permitted, timestamps           if both are present; NOP NOP replaces a missing one
//! NOP, window scale                    if present
//! NOP, NOP, SACK                       if there are blocks, as many as fit
//! ```
//!
//! Decoding follows Linux. Unknown options, and known options with a wrong length, are skipped. The last
//! of several options of a kind wins, but SACK blocks add up to four. A length below 2, or one past the
//! header, ends decoding: the options before it count, and the caller is informed.

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
    /// RFC 9768 §3.2.3.
    pub(super) const ACCURATE_ECN: [u8; 2] = [172, 174];
}

const MSS_LEN: u8 = 4;
const WINDOW_SCALE_LEN: u8 = 3;
const SACK_PERMITTED_LEN: u8 = 2;
const SACK_BASE_LEN: u8 = 2;
const SACK_BLOCK_LEN: u8 = 8;
const TIMESTAMPS_LEN: u8 = 10;
/// How timestamps begin in the usual layout.
const TIMESTAMPS_START: [u8; 4] = [kind::NOP, kind::NOP, kind::TIMESTAMPS, TIMESTAMPS_LEN];

/// What reading option bytes found besides the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionsRead {
    /// No option has an impossible length, which ends decoding.
    pub(crate) sound: bool,
    /// There is an option of accurate ECN.
    pub(crate) accurate_ecn: bool,
}

impl Options {
    /// The length of the options in the header, with padding, in bytes: a multiple of 4, at most 40.
    #[inline]
    pub const fn encoded_len(&self) -> u32 {
        if !self.has_others_than_timestamps() {
            return if self.timestamps.is_some() { 12 } else { 0 };
        }
        let blocks = self.sack_blocks_that_fit() as u32;
        let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        self.len_without_sack() + sack
    }

    /// The number of SACK blocks that are encoded: as many as fit beside the other options.
    #[inline]
    pub const fn sack_blocks_that_fit(&self) -> usize {
        // The other options take 20 bytes at most, so this cannot underflow.
        let room = (MAX_LEN - 4 - self.len_without_sack() as usize) / 8;
        if self.sack.len() < room { self.sack.len() } else { room }
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
            // SACK-permitted has two bytes, exactly the padding that timestamps need.
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
    /// The timestamps at the start of the option bytes of a header, in the usual layout (RFC 7323 appendix
    /// A), and the bytes behind them. Nearly all segments have them, and no other options.
    #[inline]
    pub(crate) fn leading_timestamps(bytes: &[u8]) -> Option<(Timestamps, &[u8])> {
        let (words, rest) = bytes.split_first_chunk::<12>()?;
        let [start, value, echo] = *words.as_chunks().0 else {
            return None;
        };
        let [start, value, echo] = [start, value, echo].map(u32::from_be_bytes);
        let is_usual = start == u32::from_be_bytes(TIMESTAMPS_START);
        is_usual.then_some((Timestamps { value, echo }, rest))
    }

    /// Replaces the options by those in the option bytes of a header, all or as many as were captured.
    /// Of a SACK option that the capture cut, the blocks that it holds count: the first one is the latest report (RFC 2018 §4).
    pub(crate) fn read_all(&mut self, bytes: &[u8], cut: bool) -> OptionsRead {
        *self = Self::NONE;
        match Self::leading_timestamps(bytes) {
            Some((timestamps, rest)) => {
                self.timestamps = Some(timestamps);
                self.read_each(rest, cut)
            }
            None => self.read_each(bytes, cut),
        }
    }

    fn read_each(&mut self, mut bytes: &[u8], cut: bool) -> OptionsRead {
        let mut read = OptionsRead { sound: true, accurate_ecn: false };
        while let Some((&kind, after_kind)) = bytes.split_first() {
            match kind {
                kind::END => break,
                kind::NOP => bytes = after_kind,
                _ => {
                    let len = after_kind.first().map_or(0, |&len| usize::from(len));
                    let Some((option, rest)) = bytes.split_at_checked(len).filter(|_| len >= 2) else {
                        if let [kind::SACK, _, blocks @ ..] = bytes
                            && cut
                        {
                            self.read(kind::SACK, &blocks[..blocks.len() - blocks.len() % usize::from(SACK_BLOCK_LEN)]);
                        }
                        return OptionsRead { sound: false, ..read };
                    };
                    read.accurate_ecn |= kind::ACCURATE_ECN.contains(&kind);
                    self.read(kind, &option[2..]);
                    bytes = rest;
                }
            }
        }
        read
    }

    /// Decodes one option from `value`, the bytes behind kind and length.
    fn read(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (kind::MSS, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            // RFC 7323 §2.3: a larger shift must be read as 14.
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
        ([value, echo], []) => Some(Timestamps { value: u32::from_be_bytes(*value), echo: u32::from_be_bytes(*echo) }),
        _ => None,
    }
}

/// `bytes` as 4-byte words, and the remaining bytes.
#[inline]
fn words(bytes: &[u8]) -> (&[[u8; 4]], &[u8]) {
    bytes.as_chunks()
}

/// Copies option bytes from a header into `to`, zeros of the same length, but for the contents of options that loss
/// recovery does not read: these may name a host or a user (cookies of TCP Fast Open, keys of Multipath TCP, signatures).
/// Kind and length of every option are kept, so that the rest is read as before. `cut`: the capture ends within the
/// options.
pub fn copy_known_options(from: &[u8], cut: bool, to: &mut [u8]) {
    let mut at = 0;
    while let Some(&kind) = from.get(at) {
        let len = match kind {
            kind::END => return,
            kind::NOP => 1,
            _ => from.get(at + 1).map_or(0, |&len| usize::from(len)),
        };
        let rest = from.len() - at;
        let is_whole = len <= rest && (len >= 2 || kind == kind::NOP);
        let kept = match is_whole {
            true if is_known(kind, len) => len,
            // Its whole blocks are read, whatever its length.
            false if cut && kind == kind::SACK && rest >= 2 => rest - (rest - 2) % usize::from(SACK_BLOCK_LEN),
            _ => rest.min(2),
        };
        if let (Some(from), Some(to)) = (from.get(at..at + kept), to.get_mut(at..at + kept)) {
            to.copy_from_slice(from);
        }
        if !is_whole {
            return;
        }
        at += len;
    }
}

/// Whether an option of this kind and length is read. Accurate ECN has up to three counters (RFC 9768 §3.2.3).
fn is_known(kind: u8, len: usize) -> bool {
    match kind {
        kind::NOP => len == 1,
        kind::MSS => len == usize::from(MSS_LEN),
        kind::WINDOW_SCALE => len == usize::from(WINDOW_SCALE_LEN),
        kind::SACK_PERMITTED => len == usize::from(SACK_PERMITTED_LEN),
        kind::SACK => len >= 2 && (len - 2).is_multiple_of(usize::from(SACK_BLOCK_LEN)),
        kind::TIMESTAMPS => len == usize::from(TIMESTAMPS_LEN),
        kind if kind::ACCURATE_ECN.contains(&kind) => matches!(len, 2 | 5 | 8 | 11),
        _ => false,
    }
}
