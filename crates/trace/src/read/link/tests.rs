use super::*;

const ADDRESSES: [u8; 12] = [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2];

fn ethernet(rest: &[u8]) -> Vec<u8> {
    [&ADDRESSES, rest].concat()
}

#[test]
fn the_packet_is_found_after_each_kind_of_header() {
    let cooked = |kind: u8, rest: &[u8]| [&[0, kind, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0], rest].concat();
    let cooked2 = |protocol: [u8; 2], kind: u8| {
        let rest = [0, 0, 0, 0, 0, 1, 0, 1, kind, 6, 0, 0, 0, 0, 0, 0, 0, 0];
        [&protocol[..], &rest].concat()
    };
    let ip = [0x45, 0, 0, 20];
    for (link, header, outgoing) in [
        (101, vec![], None),
        (12, vec![], None),
        (14, vec![], None),
        (228, vec![], None),
        (229, vec![], None),
        (1, ethernet(&[8, 0]), None),
        (1, ethernet(&[0x86, 0xdd]), None),
        (1, ethernet(&[0x81, 0, 0, 7, 8, 0]), None),
        (1, ethernet(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0]), None),
        (1, ethernet(&[0x91, 0, 0, 7, 0x81, 0, 0, 8, 0x81, 0, 0, 9, 8, 0]), None),
        (1, ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]), None),
        (1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0, 0x21]), None),
        // Ethernet after labels and a control word.
        (1, ethernet(&[&[0x88, 0x47, 0, 1, 1, 64, 0, 0, 0, 0], &ADDRESSES[..], &[8, 0]].concat()), None),
        (1, ethernet(&[0, 28, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]), None),
        (113, cooked(0, &[8, 0]), Some(false)),
        (113, cooked(4, &[8, 0]), Some(true)),
        (113, cooked(3, &[0x81, 0, 0, 7, 8, 0]), None),
        (276, cooked2([8, 0], 0), Some(false)),
        (276, cooked2([0x86, 0xdd], 4), Some(true)),
        (276, [cooked2([0x81, 0], 2), vec![0, 7, 8, 0]].concat(), None),
        (0, vec![2, 0, 0, 0], None),
        (0, vec![0, 0, 0, 2], None),
        (108, vec![0, 0, 0, 30], None),
        (9, vec![0, 0x21], None),
        (9, vec![0xff, 3, 0, 0x57], None),
        (50, vec![0xff, 3, 0, 0x21], None),
        (9, vec![0x21], None),
        (104, vec![0x0f, 0, 8, 0], None),
        (10, [&[0x50], &ADDRESSES[..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat(), None),
        // The packet's mark, of five bytes with padding, and the packet, in either byte order.
        (239, vec![2, 0, 0, 0, 9, 0, 3, 0, 1, 2, 3, 4, 5, 0, 0, 0, 24, 0, 9, 0], None),
        (239, vec![2, 0, 0, 0, 0, 8, 0, 3, 1, 2, 3, 4, 0, 24, 0, 9], None),
    ] {
        let frame = [&header[..], &ip].concat();
        let link = Link::of(link).expect("a known link type");
        let found = IpStart { start: header.len(), outgoing };
        assert_eq!(link.ip_packet(&frame, &mut ()), Ok(found), "{link:?} {header:?}");
        // Cut anywhere, the result is the same or "too short".
        for end in 0..frame.len() {
            let cut = link.ip_packet(&frame[..end], &mut ());
            assert!([Ok(found), Err(Reason::Cut)].contains(&cut), "{link:?} {header:?} cut at {end}: {cut:?}");
        }
    }
}

#[test]
fn ethernet_after_labels_may_lack_the_control_word() {
    let frame = ethernet(&[&[0x88, 0x47, 0, 1, 1, 64, 0x21], &ADDRESSES[1..], &[8, 0, 0x45]].concat());
    assert_eq!(Link::Ethernet.ip_packet(&frame, &mut ()), Ok(at(frame.len() - 1)));
}

#[test]
fn frames_without_ip_are_refused() {
    use Reason::{Arp, CompressedPpp, MacSec, NotIp};
    for (link, frame, reason) in [
        (1, ethernet(&[8, 6, 0x45, 0]), Arp),
        (1, ethernet(&[0x81, 0, 0, 7, 8, 6, 0x45, 0]), Arp),
        (1, ethernet(&[0x88, 0xcc, 0x45, 0]), NotIp),
        (1, ethernet(&[0x88, 0xe5, 0x45, 0]), MacSec),
        (1, ethernet(&[0, 38, 0x42, 0x42, 3, 0, 0, 0x45, 0]), NotIp),
        (1, ethernet(&[0x88, 0x47, 0, 1, 1, 64, 0x55, 0]), NotIp),
        (1, ethernet(&[&[0x88, 0x47, 0, 1, 1, 64], &[0x55; 20][..]].concat()), NotIp),
        (1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0xc0, 0x21]), NotIp),
        (1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0, 0xfd]), CompressedPpp),
        (113, [&[0; 14][..], &[8, 6, 0x45, 0]].concat(), Arp),
        (276, [&[8, 6][..], &[0; 18], &[0x45, 0]].concat(), Arp),
        (0, vec![2, 0, 0, 0, 0x55], NotIp),
        (9, vec![0xff, 3, 0xc0, 0x21, 0x45, 0], NotIp),
        (104, vec![0x0f, 0, 0x80, 0x35, 0x45, 0], NotIp),
    ] {
        let link = Link::of(link).expect("a known link type");
        assert_eq!(link.ip_packet(&frame, &mut ()), Err(reason), "{link:?} {frame:?}");
    }
    for number in [-1, 2, 105, 127, 65_536 + 1] {
        assert_eq!(Link::of(number), None);
    }
}

#[test]
fn addresses_are_the_same_in_both_directions_and_differ_between_links() {
    let frame = |to: u8, from: u8| [[to, 2, 3, 4, 5, 6], [from, 7, 8, 9, 10, 11]].concat();
    let back = |from: u8, to: u8| [[from, 7, 8, 9, 10, 11], [to, 2, 3, 4, 5, 6]].concat();
    // The hash does not depend on the frames before.
    let mut hasher = LinkHash::default();
    let mut hash = |frame: Vec<u8>| {
        let alone = LinkHash::default().of(Link::Ethernet, &frame);
        assert_eq!(hasher.of(Link::Ethernet, &frame), alone);
        assert_eq!(hasher.of(Link::Ethernet, &frame), alone);
        alone
    };
    assert_eq!(hash(frame(0x6e, 0x5e)), hash(back(0x5e, 0x6e)));
    // A linear hash would not distinguish those.
    assert_ne!(hash(frame(0x6e, 0x5e)), hash(frame(0x7e, 0x4e)));
    for i in 0..20 {
        hash(frame(i % 3, i % 5));
    }
    assert_eq!(hash(vec![0; 12]), 0);
    assert_eq!(hash(vec![1; 11]), 0);
    assert_eq!(hasher.of(Link::Raw, &frame(1, 2)), 0);
}
