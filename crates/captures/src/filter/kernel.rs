//! Compiles filters to programs that the kernel runs on frames ([`recoup_wire::bpf`]), for captures of live traffic.
//!
//! A program lets every frame pass that the reader may need for a selected connection, and drops most others. The
//! reader finds TCP within tunnels and reads messages of routers about segments, so these frames pass whatever the
//! filter says:
//!
//! | frame | passes |
//! | --- | --- |
//! | TCP over IPv4 or IPv6, also behind two VLAN tags | if the filter selects its connection |
//! | a later fragment of TCP over IPv4, which has no ports | always |
//! | IPv6 with extension headers, IPv4 with an authentication header | always |
//! | ICMP type 3 code 4 and ICMPv6 type 2: a packet is too large for the path | always |
//! | what carries IP: IPv4 and IPv6 in IP, GRE, the UDP ports of tunnels, MPLS, PPPoE, Ethernet in Ethernet | always |
//! | more than two VLAN tags, LLC with SNAP (IEEE 802.3) | always |
//! | other UDP, ICMP and IP protocols, encrypted tunnels, ARP and all else | never |
//!
//! [`recoup_trace::read`] lists the tunnels with their sources. A filter whose program is longer than the kernel takes
//! lets all TCP pass: the reader filters again.

use super::{Chain, Filter, Joint, Net, Operand, Side, Term, Test};
use recoup_wire::bpf::{Assembler, Framing, Instruction, Label, code, keep_all};

/// EtherTypes, as in `recoup_trace`'s `read::link`.
mod ether_type {
    pub const IP: [u32; 2] = [0x0800, 0x86dd];
    pub const TAGS: [u32; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
    /// MPLS, PPPoE and bridged Ethernet.
    pub const CARRIERS: [u32; 4] = [0x8847, 0x8848, 0x8864, 0x6558];
    /// Up to this value it is a length, and LLC follows.
    pub const LARGEST_LENGTH: u32 = 1500;
}

/// IP protocols (IANA).
mod protocol {
    pub const ICMP: u32 = 1;
    pub const TCP: u32 = 6;
    pub const UDP: u32 = 17;
    pub const ICMP_V6: u32 = 58;
    /// IPv4, IPv6 and GRE.
    pub const CARRIERS: [u32; 3] = [4, 41, 47];
    pub const AUTHENTICATION: u32 = 51;
    /// Extension headers of IPv6 that may stand before TCP (RFC 8200 §4).
    pub const EXTENSIONS: [u32; 5] = [0, 43, 44, AUTHENTICATION, 60];
}

/// UDP ports of tunnels, as in `recoup_trace`'s `read::tunnel`.
mod port {
    pub const GTP_U: u32 = 2152;
    pub const TUNNELS: [u32; 6] = [4789, 8472, 6081, GTP_U, 4754, 6635];
}

/// Words of scratch memory: where the network header and the header behind it begin.
const NETWORK: u32 = 0;
const TRANSPORT: u32 = 1;

/// The most VLAN tags behind which IP is found.
const MOST_TAGS: u32 = 2;

/// The program for frames of this framing, which keeps `snap` bytes of each frame that passes. Without a filter, all
/// connections are selected.
pub fn kernel_program(filter: Option<&Filter>, framing: Framing, snap: u32) -> Vec<Instruction> {
    let compile = |filter| Compiler::new(snap).compile(filter, framing);
    // Without a filter, the program is short.
    compile(filter).or_else(|| compile(None)).unwrap_or_else(|| keep_all(snap))
}

struct Compiler {
    program: Assembler,
    accept: Label,
    drop: Label,
    snap: u32,
}

/// The packet whose ends are tested.
#[derive(Clone, Copy)]
struct Packet {
    is_v4: bool,
    /// The filter tests the packet that the other end would send.
    is_reversed: bool,
}

impl Compiler {
    fn new(snap: u32) -> Self {
        let mut program = Assembler::default();
        let (accept, drop) = (program.label(), program.label());
        Self { program, accept, drop, snap }
    }

    fn compile(mut self, filter: Option<&Filter>, framing: Framing) -> Option<Vec<Instruction>> {
        let ip = self.program.label();
        match framing {
            Framing::Ethernet => self.ethernet(ip),
            Framing::Network => {
                self.program.push(code::SET_X, 0);
                self.program.push(code::STORE_X, NETWORK);
                self.program.push(code::LOAD_WORD, code::ETHER_TYPE);
                // A tag's EtherType is beside the frame, and whether the tag is in the frame depends on the kernel.
                self.behind(0, ip, self.accept);
            }
        }
        self.program.place(ip);
        self.ip(filter);
        self.program.place(self.accept);
        self.program.push(code::RETURN, self.snap);
        self.program.place(self.drop);
        self.program.push(code::RETURN, 0);
        self.program.finish()
    }

    fn ethernet(&mut self, ip: Label) {
        for tags in 0..=MOST_TAGS {
            let network = 14 + 4 * tags;
            self.program.push(code::SET_X, network);
            self.program.push(code::STORE_X, NETWORK);
            self.program.push(code::LOAD_HALF, network - 2);
            if tags == MOST_TAGS {
                self.behind(network, ip, self.accept);
            } else {
                let next = self.program.label();
                self.behind(network, ip, next);
                self.program.place(next);
            }
        }
    }

    /// Goes on by the EtherType in A. What it names begins at `at`.
    fn behind(&mut self, at: u32, ip: Label, tagged: Label) {
        let ends = ether_type::IP.map(|ip_type| (ip_type, ip));
        let tags = ether_type::TAGS.map(|tag| (tag, tagged));
        let carriers = ether_type::CARRIERS.map(|carrier| (carrier, self.accept));
        for (ether_type, target) in [&ends[..], &tags, &carriers].concat() {
            self.jump_if_equal(ether_type, target);
        }
        let [length, snap] = [(); 2].map(|()| self.program.label());
        self.program.branch(code::IF_GREATER, ether_type::LARGEST_LENGTH, self.drop, length);
        // LLC and SNAP without an organisation: an EtherType follows (RFC 1042).
        self.program.place(length);
        self.program.push(code::LOAD_WORD, at);
        self.program.branch(code::IF_EQUAL, 0xaaaa_0300, snap, self.drop);
        self.program.place(snap);
        self.program.push(code::LOAD_HALF, at + 4);
        self.program.branch(code::IF_EQUAL, 0, self.accept, self.drop);
    }

    fn jump_if_equal(&mut self, value: u32, target: Label) {
        let next = self.program.label();
        self.program.branch(code::IF_EQUAL, value, target, next);
        self.program.place(next);
    }

    fn accept_if_any_of(&mut self, values: &[u32]) {
        for value in values {
            self.jump_if_equal(*value, self.accept);
        }
    }

    /// The packet at X. The reader goes by its version, not by the EtherType.
    fn ip(&mut self, filter: Option<&Filter>) {
        let [v4, v6, udp] = [(); 3].map(|()| self.program.label());
        self.program.push(code::LOAD_BYTE_AT_X, 0);
        self.program.push(code::SHIFT_RIGHT, 4);
        self.jump_if_equal(4, v4);
        self.program.branch(code::IF_EQUAL, 6, v6, self.drop);
        self.program.place(v4);
        self.v4(filter, udp);
        self.program.place(v6);
        self.v6(filter, udp);
        self.program.place(udp);
        self.program.push(code::LOAD_X, TRANSPORT);
        self.program.push(code::LOAD_HALF_AT_X, 2);
        self.accept_if_any_of(&port::TUNNELS);
        self.program.push(code::LOAD_HALF_AT_X, 0);
        self.program.branch(code::IF_EQUAL, port::GTP_U, self.accept, self.drop);
    }

    fn v4(&mut self, filter: Option<&Filter>, udp: Label) {
        let [tcp, test, icmp, message] = [(); 4].map(|()| self.program.label());
        self.program.push(code::LOAD_BYTE_AT_X, 0);
        self.program.push(code::AND, 15);
        self.program.push(code::SHIFT_LEFT, 2);
        self.program.push(code::ADD_X, 0);
        self.program.push(code::STORE, TRANSPORT);
        self.program.push(code::LOAD_BYTE_AT_X, 9);
        self.jump_if_equal(protocol::TCP, tcp);
        self.accept_if_any_of(&protocol::CARRIERS);
        self.accept_if_any_of(&[protocol::AUTHENTICATION]);
        let unfragmented = self.program.label();
        self.jump_if_equal(protocol::UDP, unfragmented);
        self.program.branch(code::IF_EQUAL, protocol::ICMP, icmp, self.drop);
        self.program.place(unfragmented);
        self.branch_if_later_fragment(self.drop, udp);
        self.program.place(icmp);
        self.branch_if_later_fragment(self.drop, message);
        self.program.place(message);
        self.program.push(code::LOAD_X, TRANSPORT);
        self.program.push(code::LOAD_HALF_AT_X, 0);
        self.program.branch(code::IF_EQUAL, 0x0304, self.accept, self.drop);
        self.program.place(tcp);
        self.branch_if_later_fragment(self.accept, test);
        self.program.place(test);
        self.tcp(filter, true);
    }

    /// Tests the fragment offset of the IPv4 packet at X.
    fn branch_if_later_fragment(&mut self, later: Label, first: Label) {
        self.program.push(code::LOAD_HALF_AT_X, 6);
        self.program.branch(code::IF_ANY_BIT, 0x1fff, later, first);
    }

    fn v6(&mut self, filter: Option<&Filter>, udp: Label) {
        let [tcp, icmp] = [(); 2].map(|()| self.program.label());
        self.program.push(code::X_TO_A, 0);
        self.program.push(code::ADD, 40);
        self.program.push(code::STORE, TRANSPORT);
        self.program.push(code::LOAD_BYTE_AT_X, 6);
        self.jump_if_equal(protocol::TCP, tcp);
        self.jump_if_equal(protocol::UDP, udp);
        self.accept_if_any_of(&protocol::CARRIERS);
        self.accept_if_any_of(&protocol::EXTENSIONS);
        self.program.branch(code::IF_EQUAL, protocol::ICMP_V6, icmp, self.drop);
        self.program.place(icmp);
        self.program.push(code::LOAD_X, TRANSPORT);
        self.program.push(code::LOAD_BYTE_AT_X, 0);
        self.program.branch(code::IF_EQUAL, 2, self.accept, self.drop);
        self.program.place(tcp);
        self.tcp(filter, false);
    }

    /// A connection is selected if the filter matches a packet of either direction.
    fn tcp(&mut self, filter: Option<&Filter>, is_v4: bool) {
        let Some(Filter(chain)) = filter else {
            return self.program.jump(self.accept);
        };
        if chain.is_symmetric() {
            return self.chain(chain, Packet { is_v4, is_reversed: false }, self.accept, self.drop);
        }
        let other_way = self.program.label();
        self.chain(chain, Packet { is_v4, is_reversed: false }, self.accept, other_way);
        self.program.place(other_way);
        self.chain(chain, Packet { is_v4, is_reversed: true }, self.accept, self.drop);
    }

    /// After a term that holds, the next one behind an `and` decides; after one that does not, the next one behind an
    /// `or`. [`Chain::matches`] does the same.
    fn chain(&mut self, chain: &Chain, packet: Packet, yes: Label, no: Label) {
        let starts: Vec<_> = chain.rest.iter().map(|_| self.program.label()).collect();
        let (mut next_and, mut next_or) = (yes, no);
        // For each term the labels to go on at, from the last to the first.
        let mut targets = vec![(yes, no)];
        for ((joint, _), start) in chain.rest.iter().zip(&starts).rev() {
            match joint {
                Joint::And => next_and = *start,
                Joint::Or => next_or = *start,
            }
            targets.push((next_and, next_or));
        }
        let mut targets = targets.into_iter().rev();
        let mut term = |compiler: &mut Self, term| {
            if let Some((yes, no)) = targets.next() {
                compiler.term(term, packet, yes, no);
            }
        };
        term(self, &chain.first);
        for ((_, next), start) in chain.rest.iter().zip(starts) {
            self.program.place(start);
            term(self, next);
        }
    }

    fn term(&mut self, term: &Term, packet: Packet, yes: Label, no: Label) {
        let (yes, no) = if term.is_negated { (no, yes) } else { (yes, no) };
        match &term.operand {
            Operand::Test(test) => self.test(test, packet, yes, no),
            Operand::Group(chain) => self.chain(chain, packet, yes, no),
        }
    }

    fn test(&mut self, test: &Test, packet: Packet, yes: Label, no: Label) {
        match *test {
            Test::Tcp => self.program.jump(yes),
            Test::IpV4 => self.program.jump(if packet.is_v4 { yes } else { no }),
            Test::IpV6 => self.program.jump(if packet.is_v4 { no } else { yes }),
            Test::Net(side, net) => {
                let (starts, address, mask) = match net {
                    Net::V4 { address, mask } if packet.is_v4 => ([12, 16], vec![address], vec![mask]),
                    Net::V6 { address, mask } if !packet.is_v4 => {
                        ([8, 24], words(address).to_vec(), words(mask).to_vec())
                    }
                    _ => return self.program.jump(no),
                };
                self.program.push(code::LOAD_X, NETWORK);
                self.ends(side, packet, yes, no, |compiler, is_source, yes, no| {
                    compiler.address(starts[usize::from(!is_source)], &address, &mask, yes, no);
                });
            }
            Test::Ports(side, ports) => {
                self.program.push(code::LOAD_X, TRANSPORT);
                self.ends(side, packet, yes, no, |compiler, is_source, yes, no| {
                    compiler.port(if is_source { 0 } else { 2 }, ports.map(u32::from), yes, no);
                });
            }
        }
    }

    /// Tests the ends of a packet that `side` names, each by `test`.
    fn ends(
        &mut self,
        side: Side,
        packet: Packet,
        yes: Label,
        no: Label,
        test: impl Fn(&mut Self, bool, Label, Label),
    ) {
        let second = self.program.label();
        match side {
            Side::Source => return test(self, !packet.is_reversed, yes, no),
            Side::Destination => return test(self, packet.is_reversed, yes, no),
            Side::Either => test(self, true, yes, second),
            Side::Both => test(self, true, second, no),
        }
        self.program.place(second);
        test(self, false, yes, no);
    }

    /// Compares the words of an address that begins at `start` in the IP header at X.
    fn address(&mut self, start: u32, address: &[u32], mask: &[u32], yes: Label, no: Label) {
        for (at, (word, mask)) in (start..).step_by(4).zip(address.iter().zip(mask)) {
            if *mask == 0 {
                continue;
            }
            let next = self.program.label();
            self.program.push(code::LOAD_WORD_AT_X, at);
            if *mask != u32::MAX {
                self.program.push(code::AND, *mask);
            }
            self.program.branch(code::IF_EQUAL, *word, next, no);
            self.program.place(next);
        }
        self.program.jump(yes);
    }

    /// Compares the port at `at` in the TCP header at X.
    fn port(&mut self, at: u32, [first, last]: [u32; 2], yes: Label, no: Label) {
        self.program.push(code::LOAD_HALF_AT_X, at);
        if first == last {
            return self.program.branch(code::IF_EQUAL, first, yes, no);
        }
        let from_first = self.program.label();
        self.program.branch(code::IF_AT_LEAST, first, from_first, no);
        self.program.place(from_first);
        self.program.branch(code::IF_GREATER, last, no, yes);
    }
}

impl Chain {
    /// Whether it matches a packet whenever it matches one in the other direction.
    fn is_symmetric(&self) -> bool {
        let terms = std::iter::once(&self.first).chain(self.rest.iter().map(|(_, term)| term));
        terms.into_iter().all(|term| match &term.operand {
            Operand::Test(Test::Net(side, _) | Test::Ports(side, _)) => matches!(side, Side::Either | Side::Both),
            Operand::Test(_) => true,
            Operand::Group(chain) => chain.is_symmetric(),
        })
    }
}

/// A number of 128 bits as four words, the highest first.
const fn words(bits: u128) -> [u32; 4] {
    [(bits >> 96) as u32, (bits >> 64) as u32, (bits >> 32) as u32, bits as u32]
}

#[cfg(test)]
mod tests;
