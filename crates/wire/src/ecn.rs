//! What a packet says about congestion besides losses: the ECN field of its IP header (RFC 3168 §5), and what accurate
//! ECN adds to TCP (RFC 9768 §3.1).

/// Congestion notification of a packet; the default has none.
///
/// ```
/// use recoup_wire::Ecn;
/// assert!(Ecn::from_ip(0b11).is_marked());
/// assert!(Ecn::from_ip(0b10).is_capable() && !Ecn::from_ip(0b10).is_marked());
/// assert_eq!(Ecn::from_ip(0), Ecn::NONE);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ecn(u8);

impl Ecn {
    /// Not ECN-capable.
    pub const NONE: Self = Self(0);
    /// ECN-capable, as senders of RFC 3168 mark their packets.
    pub const ECT0: Self = Self(0b10);
    /// Congestion experienced, in the IP header.
    const CE: u8 = 0b11;
    const ACCURATE_FLAG: u8 = 1 << 2;
    const ACCURATE_OPTION: u8 = 1 << 3;
    /// The bits that are used.
    pub(crate) const BITS: u8 = 0b1111;

    /// With this byte of the IP header, the type of service or traffic class: its two low bits count.
    #[inline]
    pub const fn from_ip(byte: u8) -> Self {
        Self(byte & Self::CE)
    }

    /// From [`bits`](Self::bits).
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::BITS)
    }

    /// All of it in one number: the field of the IP header in bits 0 and 1, the flag AE in bit 2, and in bit 3 whether
    /// there is an option of accurate ECN.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The field of the IP header alone.
    #[inline]
    pub const fn ip_bits(self) -> u8 {
        self.0 & Self::CE
    }

    /// With byte 12 of the TCP header, whose lowest bit is the flag AE (RFC 9768 §3.1).
    #[inline]
    pub(crate) const fn with_tcp(self, byte: u8) -> Self {
        Self(self.0 | (byte & 1) << 2)
    }

    /// With the flag AE.
    #[must_use]
    pub const fn with_accurate_flag(self) -> Self {
        Self(self.0 | Self::ACCURATE_FLAG)
    }

    /// With an option of accurate ECN.
    #[must_use]
    pub const fn with_accurate_option(self) -> Self {
        Self(self.0 | Self::ACCURATE_OPTION)
    }

    /// The packet is ECN-capable: ECT(0), ECT(1) or CE.
    #[inline]
    pub const fn is_capable(self) -> bool {
        self.0 & Self::CE != 0
    }

    /// A router marked it: congestion experienced (CE).
    #[inline]
    pub const fn is_marked(self) -> bool {
        self.0 & Self::CE == Self::CE
    }

    /// The flag AE of the TCP header is set.
    #[inline]
    pub const fn accurate_flag(self) -> bool {
        self.0 & Self::ACCURATE_FLAG != 0
    }

    /// The segment has an option of accurate ECN (RFC 9768 §3.2.3).
    #[inline]
    pub const fn accurate_option(self) -> bool {
        self.0 & Self::ACCURATE_OPTION != 0
    }
}
