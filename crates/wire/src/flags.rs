//! The control bits of the TCP header (RFC 9293 §3.1, RFC 3168 §6.1 for ECE and CWR).

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of control bits, laid out as in byte 13 of the TCP header.
///
/// ```
/// use recoup_wire::Flags;
/// let flags = Flags::SYN | Flags::ACK;
/// assert!(flags.contains(Flags::SYN));
/// assert_eq!(flags.to_string(), "[S.]");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Flags(u8);

impl Flags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// The set with this header byte. Every byte is valid.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The header byte.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether every bit of `other` is set here.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set here.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The sequence numbers that SYN and FIN take (RFC 9293 §3.4).
    #[inline]
    pub const fn sequence_len(self) -> u32 {
        self.contains(Self::SYN) as u32 + self.contains(Self::FIN) as u32
    }

    /// Whether no bit is set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The bits of both sets, like `|` but for constants.
    #[inline]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The bits set here but not in `other`.
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Display for Flags {
    /// As tcpdump prints them: `[S.]`, `[P.]`, `[none]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LETTERS: [(Flags, &str); 8] = [
            (Flags::FIN, "F"),
            (Flags::SYN, "S"),
            (Flags::RST, "R"),
            (Flags::PSH, "P"),
            (Flags::ACK, "."),
            (Flags::URG, "U"),
            (Flags::ECE, "E"),
            (Flags::CWR, "W"),
        ];
        if self.is_empty() {
            return f.write_str("[none]");
        }
        f.write_str("[")?;
        for (flag, letter) in LETTERS {
            if self.contains(flag) {
                f.write_str(letter)?;
            }
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_print_as_in_tcpdump() {
        let cases = [
            (Flags::NONE, "[none]"),
            (Flags::SYN, "[S]"),
            (Flags::SYN | Flags::ACK, "[S.]"),
            (Flags::ACK, "[.]"),
            (Flags::PSH | Flags::ACK, "[P.]"),
            (Flags::FIN | Flags::PSH | Flags::ACK, "[FP.]"),
            (Flags::RST, "[R]"),
            (Flags::SYN | Flags::ECE | Flags::CWR, "[SEW]"),
            (Flags::from_bits(0xff), "[FSRP.UEW]"),
        ];
        for (flags, text) in cases {
            assert_eq!(flags.to_string(), text);
        }
    }

    #[test]
    fn flags_form_sets() {
        let syn_ack = Flags::SYN | Flags::ACK;
        assert!(syn_ack.contains(Flags::SYN));
        assert!(!Flags::SYN.contains(syn_ack));
        assert!(Flags::SYN.intersects(syn_ack));
        assert!(!Flags::FIN.intersects(syn_ack));
        assert_eq!(syn_ack.without(Flags::ACK), Flags::SYN);
        assert_eq!(syn_ack.bits(), 0x12);
    }
}
