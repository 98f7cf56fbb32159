//! The program in the kernel that chooses the frames of a [`PacketDevice`](super::PacketDevice).

use super::messages::{ADVERTISEMENT, ARP, ICMPV6, IPV4, IPV6, Mac, SOLICITATION};
use recoup_wire::bpf::{Assembler, Instruction, Label, code};
use std::net::IpAddr;

/// Whether the kernel took a VLAN tag out of the frame (SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT in linux/filter.h).
const VLAN_TAG_PRESENT: u32 = 0xffff_f000 + 48;

/// All bytes of a frame.
const WHOLE: u32 = u32::MAX;

/// The filter for frames to `mac` or a group, without a VLAN tag: ARP, neighbour discovery, and packets to these
/// addresses. `None` if the addresses are too many for a program.
pub fn filter(mac: Mac, addresses: &[IpAddr]) -> Option<Vec<Instruction>> {
    let mut program = vec![
        Instruction { code: code::LOAD_WORD, jt: 0, jf: 0, k: VLAN_TAG_PRESENT },
        Instruction { code: code::IF_EQUAL, jt: 1, jf: 0, k: 0 },
        Instruction { code: code::RETURN, jt: 0, jf: 0, k: 0 },
    ];
    program.extend(untagged(mac, addresses)?);
    (program.len() <= recoup_wire::bpf::LONGEST).then_some(program)
}

fn untagged(mac: Mac, addresses: &[IpAddr]) -> Option<Vec<Instruction>> {
    let mut program = Assembler::default();
    let (keep, drop) = (program.label(), program.label());
    let [a, b, c, d, e, f] = mac;

    // To this host, or to a group.
    let (is_near, other, is_here) = (program.label(), program.label(), program.label());
    program.push(code::LOAD_WORD, 0);
    program.branch(code::IF_EQUAL, u32::from_be_bytes([a, b, c, d]), is_near, other);
    program.place(is_near);
    program.push(code::LOAD_HALF, 4);
    program.branch(code::IF_EQUAL, u32::from_be_bytes([0, 0, e, f]), is_here, other);
    program.place(other);
    program.push(code::LOAD_BYTE, 0);
    program.branch(code::IF_ANY_BIT, 1, is_here, drop);
    program.place(is_here);

    let (is_v4, is_not_v4, is_v6, is_not_v6) = (program.label(), program.label(), program.label(), program.label());
    program.push(code::LOAD_HALF, 12);
    program.branch(code::IF_EQUAL, IPV4.into(), is_v4, is_not_v4);
    program.place(is_not_v4);
    program.branch(code::IF_EQUAL, IPV6.into(), is_v6, is_not_v6);
    program.place(is_not_v6);
    program.branch(code::IF_EQUAL, ARP.into(), keep, drop);

    // The destination.
    program.place(is_v4);
    program.push(code::LOAD_WORD, 30);
    for address in addresses {
        if let IpAddr::V4(ip) = address {
            branch_unless(&mut program, ip.to_bits(), keep);
        }
    }
    program.jump(drop);

    program.place(is_v6);
    for address in addresses {
        if let IpAddr::V6(ip) = address {
            let differs = program.label();
            for (word, at) in ip.octets().as_chunks::<4>().0.iter().zip((38..).step_by(4)) {
                let same = program.label();
                program.push(code::LOAD_WORD, at);
                program.branch(code::IF_EQUAL, u32::from_be_bytes(*word), same, differs);
                program.place(same);
            }
            program.jump(keep);
            program.place(differs);
        }
    }
    // Neighbour discovery to groups.
    let (is_icmp, is_other) = (program.label(), program.label());
    program.push(code::LOAD_BYTE, 20);
    program.branch(code::IF_EQUAL, ICMPV6.into(), is_icmp, drop);
    program.place(is_icmp);
    program.push(code::LOAD_BYTE, 54);
    program.branch(code::IF_EQUAL, SOLICITATION.into(), keep, is_other);
    program.place(is_other);
    program.branch(code::IF_EQUAL, ADVERTISEMENT.into(), keep, drop);

    program.place(keep);
    program.push(code::RETURN, WHOLE);
    program.place(drop);
    program.push(code::RETURN, 0);
    program.finish()
}

/// Goes to `keep` if A is `value`, and on otherwise.
fn branch_unless(program: &mut Assembler, value: u32, keep: Label) {
    let next = program.label();
    program.branch(code::IF_EQUAL, value, keep, next);
    program.place(next);
}

#[cfg(test)]
mod tests {
    use super::super::messages::{Arp, BROADCAST, ETHERNET, advertisement, ethernet, solicitation};
    use super::*;
    use recoup_wire::bpf::run;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const MAC: Mac = [2, 0, 0, 0, 0, 7];
    const OTHER: Mac = [2, 0, 0, 0, 0, 9];

    fn frame(to: Mac, ether_type: u16, packet: &[u8]) -> Vec<u8> {
        [&ethernet(to, OTHER, ether_type)[..], packet].concat()
    }

    fn v4(to: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45; 20];
        packet[16..].copy_from_slice(&to);
        packet
    }

    fn v6(to: Ipv6Addr, next: u8) -> Vec<u8> {
        let mut packet = vec![0; 60];
        packet[0] = 0x60;
        packet[6] = next;
        packet[24..40].copy_from_slice(&to.octets());
        packet[40] = 128;
        packet
    }

    #[test]
    fn frames_for_the_stack_pass() {
        let mine: Ipv6Addr = "2001:db8::12:3456".parse().unwrap();
        let theirs: Ipv6Addr = "2001:db8::13:3456".parse().unwrap();
        // So many that jumps are far.
        let others = (0..200_u32).map(|i| IpAddr::from(Ipv4Addr::from_bits(0x0a01_0000 + i)));
        let others = others.chain((0..200_u128).map(|i| IpAddr::from(Ipv6Addr::from_bits(0xfd00 << 112 | i))));
        let own = [IpAddr::from([192, 0, 2, 7]), mine.into()];
        let many: Vec<IpAddr> = others.chain(own).collect();
        let arp = Arp {
            is_request: true,
            sender_mac: OTHER,
            sender: Ipv4Addr::new(192, 0, 2, 9),
            target_mac: [0; 6],
            target: Ipv4Addr::new(192, 0, 2, 7),
        };
        let answer = advertisement(OTHER, theirs, Ipv6Addr::UNSPECIFIED);
        let group = [0x33, 0x33, 0, 0, 0, 1];
        let cases = [
            (frame(MAC, IPV4, &v4([192, 0, 2, 7])), true),
            (frame(BROADCAST, IPV4, &v4([192, 0, 2, 7])), true),
            (frame(MAC, IPV4, &v4([192, 0, 2, 8])), false),
            (frame(OTHER, IPV4, &v4([192, 0, 2, 7])), false),
            ([&MAC[..4], &OTHER[4..], &frame(MAC, IPV4, &v4([192, 0, 2, 7]))[6..]].concat(), false),
            (frame(MAC, IPV6, &v6(mine, 6)), true),
            (frame(MAC, IPV6, &v6(theirs, 6)), false),
            (frame(MAC, IPV6, &v6(theirs, ICMPV6)), false),
            (frame(MAC, 0x8847, &v4([192, 0, 2, 7])), false),
            (arp.frame(BROADCAST), true),
            (arp.frame(OTHER), false),
            (solicitation(OTHER, theirs, mine, None), true),
            (frame(group, IPV6, &answer), true),
            (frame(MAC, IPV4, &[0x45; 15]), false),
        ];
        for addresses in [&own[..], &many[..]] {
            let program = untagged(MAC, addresses).unwrap();
            for (number, (frame, passes)) in cases.iter().enumerate() {
                assert!(frame.len() >= ETHERNET);
                let kept = run(&program, frame, 0).unwrap();
                assert_eq!(kept > 0, *passes, "case {number}, {} addresses", addresses.len());
            }
            assert_eq!(filter(MAC, addresses).unwrap().len(), program.len() + 3);
        }
        let too_many: Vec<_> = (0..5000_u32).map(|i| IpAddr::from(Ipv4Addr::from_bits(i))).collect();
        assert_eq!(filter(MAC, &too_many), None);
    }
}
