//! Filters that choose connections, in the syntax of pcap-filter(7): `host 192.0.2.1 and port 80 or 443`.
//!
//! ```text
//! filter     = term { joint ( term | id ) }
//! term       = "not" term | "(" filter ")" | [ protocol ] [ direction ] [ kind ] id | protocol
//! id         = "not" id | "(" id { joint id } ")" | address | port
//! joint      = "and" | "&&" | "or" | "||"
//! protocol   = "ip" | "ip6" | "tcp"
//! direction  = "src" | "dst" | "src or dst" | "src and dst"
//! kind       = "host" | "net" | "port" | "portrange"
//! ```
//!
//! The meaning is libpcap's (its grammar.y and gencode.c, version 1.10):
//!
//! - `and` and `or` have the same precedence and associate to the left. `not` binds tighter.
//! - An address or a port without qualifiers takes those of the primitive before it. After a protocol or a
//!   closing parenthesis of a filter there are none to take.
//! - `src 192.0.2.1` means `src host 192.0.2.1`.
//! - `net 10.1` is `net 10.1.0.0/16`; `net 10.1.0.0` is one host, and so is `net 0`.
//!
//! Deviations: names of hosts and services are not looked up. Octal and hexadecimal numbers, and incomplete
//! addresses of hosts, are refused. `net 10/8` and `port ((80) or 443)` are accepted. A filter that no TCP segment
//! can match (`udp`, `arp`) is refused, and so is everything that a connection does not have (`vlan`, `greater`).
//!
//! libpcap filters packets. Here a filter chooses whole connections: it
//! [selects](ConnectionFilter::selects) a connection if it matches a packet of either direction.
//!
//! | module | contents |
//! | --- | --- |
//! | `tokens`, `parse` | the words of a filter, and what they mean |
//! | `kernel` | programs by which the kernel drops frames of other connections |

mod kernel;
mod parse;
mod tokens;

pub use kernel::kernel_program;
pub use parse::FilterError;

use recoup_trace::analyze::ConnectionFilter;
use recoup_wire::Endpoints;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A filter. Its [`Display`](fmt::Display) is a filter that is equal to it, with all qualifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Chain);

/// Terms that are combined from the left to the right.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chain {
    first: Term,
    rest: Vec<(Joint, Term)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    And,
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    is_negated: bool,
    operand: Operand,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand {
    Test(Test),
    Group(Box<Chain>),
}

/// A primitive of an expression: a condition on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Tcp,
    IpV4,
    IpV6,
    /// An address, if all bits of the network matter.
    Net(Side, Net),
    Ports(Side, [u16; 2]),
}

/// Which end of a packet is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Either,
    Source,
    Destination,
    Both,
}

/// The addresses that have the bits of `address` where `mask` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Net {
    V4 { address: u32, mask: u32 },
    V6 { address: u128, mask: u128 },
}

impl Filter {
    /// Whether libpcap's filter matches a packet between these ends.
    pub fn matches(&self, packet: &Endpoints) -> bool {
        self.0.matches(packet)
    }
}

impl ConnectionFilter for Filter {
    fn selects(&self, ends: &Endpoints) -> bool {
        self.matches(ends) || self.matches(&ends.reverse())
    }
}

impl Chain {
    fn matches(&self, packet: &Endpoints) -> bool {
        let first = self.first.matches(packet);
        self.rest.iter().fold(first, |so_far, (joint, term)| {
            let is_decided = so_far == (*joint == Joint::Or);
            if is_decided { so_far } else { term.matches(packet) }
        })
    }
}

impl Term {
    fn matches(&self, packet: &Endpoints) -> bool {
        let matches = match &self.operand {
            Operand::Test(test) => test.matches(packet),
            Operand::Group(chain) => chain.matches(packet),
        };
        matches != self.is_negated
    }
}

impl Test {
    fn matches(&self, packet: &Endpoints) -> bool {
        match self {
            Self::Tcp => true,
            Self::IpV4 => packet.src.is_ipv4(),
            Self::IpV6 => packet.src.is_ipv6(),
            Self::Net(side, net) => side.matches(packet, |end| net.contains(end.ip())),
            Self::Ports(side, [first, last]) => side.matches(packet, |end| (*first..=*last).contains(&end.port())),
        }
    }
}

impl Side {
    fn matches(self, packet: &Endpoints, is_there: impl Fn(SocketAddr) -> bool) -> bool {
        let Endpoints { src, dst } = *packet;
        match self {
            Self::Either => is_there(src) || is_there(dst),
            Self::Source => is_there(src),
            Self::Destination => is_there(dst),
            Self::Both => is_there(src) && is_there(dst),
        }
    }
}

impl Net {
    fn contains(self, ip: IpAddr) -> bool {
        match (self, ip) {
            (Self::V4 { address, mask }, IpAddr::V4(ip)) => ip.to_bits() & mask == address,
            (Self::V6 { address, mask }, IpAddr::V6(ip)) => ip.to_bits() & mask == address,
            _ => false,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        self.rest.iter().try_for_each(|(joint, term)| match joint {
            Joint::And => write!(f, " and {term}"),
            Joint::Or => write!(f, " or {term}"),
        })
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_negated {
            f.write_str("not ")?;
        }
        match &self.operand {
            Operand::Test(test) => test.fmt(f),
            Operand::Group(chain) => write!(f, "({chain})"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp => f.write_str("tcp"),
            Self::IpV4 => f.write_str("ip"),
            Self::IpV6 => f.write_str("ip6"),
            Self::Net(side, net) => write!(f, "{side}{net}"),
            Self::Ports(side, [first, last]) if first == last => write!(f, "{side}port {first}"),
            Self::Ports(side, [first, last]) => write!(f, "{side}portrange {first}-{last}"),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Either => "",
            Self::Source => "src ",
            Self::Destination => "dst ",
            Self::Both => "src and dst ",
        })
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V4 { address, mask } => {
                let (ip, length) = (Ipv4Addr::from_bits(address), mask.leading_ones());
                match mask.count_ones() {
                    32 => write!(f, "host {ip}"),
                    ones if ones == length => write!(f, "net {ip}/{length}"),
                    _ => write!(f, "net {ip} mask {}", Ipv4Addr::from_bits(mask)),
                }
            }
            Self::V6 { address, mask } => {
                let (ip, length) = (Ipv6Addr::from_bits(address), mask.count_ones());
                match length {
                    128 => write!(f, "host {ip}"),
                    _ => write!(f, "net {ip}/{length}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
