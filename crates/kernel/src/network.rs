//! Networks: addresses with common leading bits.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// The leading bits of an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2).
const MAPPED: u8 = 96;

/// A network: an address and the number of its leading bits that count. All other bits are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// It has another form.
    #[error(
        "no network: {0:?}: expected an address and the number of its leading bits, as 192.0.2.0/24 or 2001:db8::/32"
    )]
    Form(String),
    /// More bits than the address has.
    #[error("no network: {text}: expected at most {most} leading bits")]
    Bits {
        /// The text.
        text: String,
        /// The bits of the address.
        most: u8,
    },
    /// Bits that do not count are not 0.
    #[error("no network: {text}: it has bits beyond the first {bits}: expected {expected}")]
    HostBits {
        /// The text.
        text: String,
        /// The bits that count.
        bits: u8,
        /// The network of the address.
        expected: Network,
    },
}

impl Network {
    /// The network of an address. An IPv4-mapped IPv6 address is the IPv4 address.
    ///
    /// # Errors
    /// If the address has fewer bits, or has bits beyond these.
    pub fn new(address: IpAddr, bits: u8) -> Result<Self, NetworkError> {
        let text = format!("{address}/{bits}");
        match address.to_canonical() {
            v4 if v4.is_ipv4() && address.is_ipv6() && bits >= MAPPED => Self::checked(v4, bits - MAPPED, text),
            // Fewer bits than the mapping has are a network of IPv6.
            v4 if v4.is_ipv4() && address.is_ipv6() => Self::checked(address, bits, text),
            address => Self::checked(address, bits, text),
        }
    }

    fn checked(address: IpAddr, bits: u8, text: String) -> Result<Self, NetworkError> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        if bits > most {
            return Err(NetworkError::Bits { text, most });
        }
        let network = Self { address: masked(address, bits), bits };
        match network.address == address {
            true => Ok(network),
            false => Err(NetworkError::HostBits { text, bits, expected: network }),
        }
    }

    /// The network of so many leading bits that an address is in; of the address alone, if it has no more bits.
    pub fn around(address: IpAddr, bits: u8) -> Self {
        let alone = Self::from(address);
        let bits = bits.min(alone.bits);
        Self { address: masked(alone.address, bits), bits }
    }

    /// Its first address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The number of leading bits that count.
    pub const fn bits(&self) -> u8 {
        self.bits
    }

    /// Whether an address is in it. An IPv4-mapped IPv6 address is the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.bits) == self.address
    }
}

/// The address with 0 for all bits but the first.
fn masked(address: IpAddr, bits: u8) -> IpAddr {
    // Shifting by all bits is no shift.
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits.into())).unwrap_or(0);
            Ipv4Addr::from(u32::from(v4) & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits.into())).unwrap_or(0);
            Ipv6Addr::from(u128::from(v6) & mask).into()
        }
    }
}

impl From<IpAddr> for Network {
    /// The network of one address.
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || NetworkError::Form(text.to_owned());
        match text.split_once('/') {
            Some((address, bits)) => {
                let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
                let bits = if is_number { bits.parse().unwrap_or(u8::MAX) } else { return Err(form()) };
                Self::new(address.parse().map_err(|_| form())?, bits)
            }
            None => text.parse::<IpAddr>().map(Self::from).map_err(|_| form()),
        }
    }
}

impl fmt::Display for Network {
    /// As it is read; one address without its number of bits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::from(self.address).bits == self.bits {
            true => self.address.fmt(f),
            false => write!(f, "{}/{}", self.address, self.bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Result<Network, String> {
        text.parse::<Network>().map_err(|why| why.to_string())
    }

    #[test]
    fn networks_are_printed_as_they_are_read() {
        for text in ["192.0.2.0/24", "192.0.2.1", "0.0.0.0/0", "::/0", "2001:db8::/32", "2001:db8::1", "::/80"] {
            assert_eq!(network(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_address_is_its_own_network() {
        assert_eq!(network("192.0.2.1/32"), network("192.0.2.1"));
        assert_eq!(network("2001:db8::1/128"), network("2001:db8::1"));
    }

    #[test]
    fn mapped_addresses_are_ipv4() {
        assert_eq!(network("::ffff:192.0.2.0/120"), network("192.0.2.0/24"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert!(network("192.0.2.0/24").unwrap().contains("::ffff:192.0.2.7".parse().unwrap()));
    }

    #[test]
    fn a_network_contains_addresses_with_its_bits_alone() {
        let all4 = network("0.0.0.0/0").unwrap();
        let all6 = network("::/0").unwrap();
        let [v4, v6] = ["255.1.2.3", "ff00::1"].map(|text| text.parse().unwrap());
        assert!(all4.contains(v4) && !all4.contains(v6));
        assert!(all6.contains(v6) && !all6.contains(v4));
        assert!(!network("192.0.2.0/25").unwrap().contains("192.0.2.128".parse().unwrap()));
    }

    #[test]
    fn an_address_is_in_the_networks_around_it() {
        for (address, bits, expected) in [
            ("192.0.2.77", 24, "192.0.2.0/24"),
            ("192.0.2.77", 0, "0.0.0.0/0"),
            ("192.0.2.77", 64, "192.0.2.77"),
            ("::ffff:192.0.2.77", 16, "192.0.0.0/16"),
            ("2001:db8:1:2:3::4", 64, "2001:db8:1:2::/64"),
        ] {
            let around = Network::around(address.parse().unwrap(), bits);
            assert_eq!(Ok(around), network(expected));
            assert!(around.contains(address.parse().unwrap()));
        }
    }

    #[test]
    fn other_texts_are_refused_in_one_line() {
        let host = network("192.0.2.1/24").unwrap_err();
        assert_eq!(host, "no network: 192.0.2.1/24: it has bits beyond the first 24: expected 192.0.2.0/24");
        assert_eq!(network("192.0.2.0/33").unwrap_err(), "no network: 192.0.2.0/33: expected at most 32 leading bits");
        for text in ["", "/", "192.0.2.0/", "192.0.2.0/+4", "192.0.2/24", "a\n/3", "::1/129", "::/999", "1.2.3.4/-1"] {
            assert!(!network(text).unwrap_err().contains('\n'), "{text}");
        }
    }
}
