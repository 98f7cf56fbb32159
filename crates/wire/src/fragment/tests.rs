use proptest::prelude::*;

use super::*;
use crate::{Endpoints, IpFields, decode_udp, encode_udp};

fn datagram(v6: bool, len: usize) -> (Vec<u8>, Vec<u8>) {
    let payload: Vec<u8> = (0..len as u32).map(|i| (i * i % 251) as u8).collect();
    let [src, dst] = if v6 { ["[2001:db8::1]:53", "[2001:db8::2]:99"] } else { ["192.0.2.1:53", "192.0.2.2:99"] };
    let ends = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
    let mut packet = Vec::new();
    encode_udp(&ends, IpFields::from(0xabcd).fragmentable(), &payload, &mut packet).unwrap();
    (packet, payload)
}

fn cut(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let mut fragments = Vec::new();
    let count = cut_into_fragments(packet, mtu, 0x0102_0304, &mut Vec::new(), &mut |p| fragments.push(p.to_vec()));
    assert_eq!(count, Ok(fragments.len() as u64));
    fragments
}

/// Puts fragments together that are all there and in order.
fn join(fragments: &[Vec<u8>]) -> Vec<u8> {
    let read: Vec<IpFragment> = fragments.iter().map(|bytes| IpFragment::read(bytes).unwrap()).collect();
    let (mut payload, mut whole) = (Vec::new(), Vec::new());
    for (bytes, fragment) in fragments.iter().zip(&read) {
        assert_eq!(fragment.offset as usize, payload.len());
        payload.extend_from_slice(&bytes[fragment.payload.clone()]);
    }
    assert!(read[0].whole_headers(&fragments[0], payload.len(), Ecn::NONE, &mut whole));
    whole.extend(payload);
    whole
}

#[test]
fn fragments_by_hand_are_read() {
    // RFC 791 §3.1: identification 111, more fragments, an offset of 1 unit, which is 8 bytes.
    let mut v4 = [0x45, 1, 0, 28, 0, 111, 0x20, 1, 123, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(IpFragment::read(&v4), None, "a wrong checksum");
    seal_v4(&mut v4[..20]);
    let fragment = IpFragment::read(&v4).unwrap();
    assert_eq!((fragment.id, fragment.protocol, fragment.offset, fragment.more), (111, 6, 8, true));
    assert_eq!((fragment.payload, fragment.ecn), (20..28, Ecn::from_ip(1)));
    // RFC 8200 §4.5 behind hop-by-hop options.
    let mut v6 = vec![0x60, 0x30, 0, 0, 0, 18, 0, 64];
    v6.extend([1; 32]);
    v6.extend([44, 0, 1, 4, 0, 0, 0, 0]);
    v6.extend([17, 0, 0, 16, 0, 0, 1, 0, 9, 9]);
    let fragment = IpFragment::read(&v6).unwrap();
    assert_eq!((fragment.id, fragment.protocol, fragment.offset, fragment.more), (256, 17, 16, false));
    assert_eq!((fragment.payload.clone(), fragment.ecn.is_marked()), (56..58, true));
    // Headers of the whole packet keep the options, and name what follows.
    let mut whole = Vec::new();
    assert!(fragment.whole_headers(&v6, 26, Ecn::NONE, &mut whole));
    assert_eq!((whole.len(), whole[1], &whole[4..8]), (48, 0, &[0, 34, 0, 64][..]));
    assert_eq!(whole[40], 17);
    // A packet in one fragment is whole.
    v6[51] = 0;
    assert_eq!(IpFragment::read(&v6), None);
}

#[test]
fn what_cannot_be_cut_is_not() {
    let mut count = 0;
    let mut cut = |packet: &[u8], mtu| cut_into_fragments(packet, mtu, 1, &mut Vec::new(), &mut |_| count += 1);
    for v6 in [false, true] {
        let (packet, _) = datagram(v6, 100);
        assert_eq!(cut(&packet, 27), Err(FragmentError::Mtu(27)));
        assert_eq!(cut(&packet[..packet.len() - 1], 60), Err(FragmentError::Packet));
        for (at, byte) in [(0, 0x46), (0, 0x10), (6, 44)] {
            let mut changed = packet.clone();
            changed[at] = byte;
            if at == 0 || v6 {
                assert_eq!(cut(&changed, 60), Err(FragmentError::Packet), "{at} {byte}");
            }
        }
    }
    assert_eq!(cut(&[], 0).map(drop), Ok(()));
    assert_eq!(cut(&[0x45], 0), Err(FragmentError::Packet));
    assert_eq!(count, 1);
}

#[test]
fn too_long_a_whole_is_refused() {
    for (v6, most) in [(false, 65_515), (true, 65_535)] {
        let first = cut(&datagram(v6, 100).0, 80).swap_remove(0);
        let fragment = IpFragment::read(&first).unwrap();
        let mut out = vec![7];
        assert!(!fragment.whole_headers(&first, most + 1, Ecn::NONE, &mut out));
        assert_eq!(out, [7]);
        assert!(fragment.whole_headers(&first, most, Ecn::NONE, &mut out));
    }
}

proptest! {
    #[test]
    fn fragments_fit_and_make_the_packet(v6: bool, len in 0..5000_usize, mtu in 68..1600_usize) {
        let (packet, payload) = datagram(v6, len);
        let fragments = cut(&packet, mtu);
        prop_assert!(fragments.iter().all(|fragment| fragment.len() <= mtu));
        if packet.len() <= mtu {
            prop_assert_eq!(&fragments, &[packet]);
        } else {
            let size = (mtu - if v6 { 48 } else { 20 }) / 8 * 8;
            prop_assert_eq!(fragments.len(), (payload.len() + 8).div_ceil(size));
            let ids: Vec<u32> = fragments.iter().map(|bytes| IpFragment::read(bytes).unwrap().id).collect();
            let expected = if v6 { 0x0102_0304 } else { 0xabcd };
            prop_assert_eq!(ids, vec![expected; fragments.len()]);
            let whole = join(&fragments);
            let decoded = decode_udp(&whole).unwrap();
            prop_assert!(decoded.is_sound());
            prop_assert_eq!(&whole[decoded.payload], &payload[..]);
            prop_assert_eq!(whole, packet);
        }
    }

    #[test]
    fn no_bytes_panic(
        first in prop_oneof![0x45..=0x4f_u8, Just(0x60), any::<u8>()],
        next in prop_oneof![Just(0_u8), Just(43), Just(44), Just(60), any::<u8>()],
        mut bytes in proptest::collection::vec(any::<u8>(), 7..120),
        mtu in 0..100_usize,
    ) {
        bytes[0] = first;
        bytes[4] = 0;
        bytes[6] = next;
        if let Some(fragment) = IpFragment::read(&bytes) {
            prop_assert!(fragment.payload.end <= bytes.len() && fragment.payload.start <= fragment.payload.end);
            fragment.whole_headers(&bytes, 9, Ecn::NONE, &mut Vec::new());
        }
        let _ = cut_into_fragments(&bytes, mtu, 0, &mut Vec::new(), &mut |_| {});
    }
}
