use super::*;
use recoup_wire::{Endpoints, IpFields, cut_into_fragments, encode_udp};

const T0: Instant = Instant::ZERO;

fn after(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn packet(src: &str, id: u16, len: usize, ecn: u8) -> Vec<u8> {
    let payload: Vec<u8> = (0..len as u32).map(|i| (i * i % 251) as u8).collect();
    let src: std::net::SocketAddr = src.parse().unwrap();
    let dst = if src.is_ipv4() { "192.0.2.2:99" } else { "[2001:db8::2]:99" };
    let ends = Endpoints { src, dst: dst.parse().unwrap() };
    let mut packet = Vec::new();
    let ip = IpFields::from(id).fragmentable().with_ecn(Ecn::from_ip(ecn));
    encode_udp(&ends, ip, &payload, &mut packet).unwrap();
    packet
}

fn cut(packet: &[u8], mtu: usize, id: u32) -> Vec<Vec<u8>> {
    let mut fragments = Vec::new();
    cut_into_fragments(packet, mtu, id, &mut Vec::new(), &mut |p| fragments.push(p.to_vec())).unwrap();
    fragments
}

fn add(reassembly: &mut Reassembly, now: Instant, bytes: &[u8]) -> Option<Vec<u8>> {
    let whole = reassembly.add(now, IpFragment::read(bytes)?, bytes);
    check(reassembly);
    whole
}

/// What is counted is what is there, and within the bounds.
fn check(r: &Reassembly) {
    let memory: usize = r.datagrams.values().map(|datagram| datagram.memory).sum();
    assert_eq!(memory, r.memory());
    assert!(memory <= r.most, "{memory}");
    for (source, usage) in &r.by_source {
        let of_source = r.datagrams.iter().filter(|(key, _)| key.src == *source);
        let found: (u32, usize) = of_source.fold((0, 0), |(n, sum), (_, d)| (n + 1, sum + d.memory));
        assert_eq!(found, (usage.datagrams, usage.memory));
        assert!(usage.datagrams <= MOST_OF_SOURCE && usage.memory <= r.most / 4);
    }
    assert_eq!(r.numbers.len(), r.datagrams.len());
    assert_eq!(r.in_order.iter().map(BTreeMap::len).sum::<usize>(), r.datagrams.len());
}

fn shuffle<T>(items: &mut [T], mut state: u64) {
    for i in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(i, (state >> 33) as usize % (i + 1));
    }
}

#[test]
fn fragments_in_any_order_make_the_packet() {
    let mut r = Reassembly::new(1 << 20);
    for (src, id) in [("192.0.2.1:53", 7), ("[2001:db8::1]:53", 0)] {
        for (round, len) in [3000, 1480 * 3 - 8, 20_000, 60_000].into_iter().enumerate() {
            let sent = packet(src, id, len, 0);
            let mut fragments = cut(&sent, 1500, 9);
            shuffle(&mut fragments, round as u64);
            // Duplicates change nothing.
            fragments.insert(1, fragments[0].clone());
            let (last, others) = fragments.split_last().unwrap();
            for fragment in others {
                assert_eq!(add(&mut r, T0, fragment), None);
            }
            assert!(add(&mut r, T0, last) == Some(sent));
            assert_eq!((r.memory(), r.next_expiry()), (0, None));
        }
    }
    assert_eq!(r.counts, Counts { completed: 8, discarded: 0 });
}

#[test]
fn incomplete_datagrams_expire_and_the_first_fragment_comes_back() {
    let mut r = Reassembly::new(1 << 20);
    let v4 = cut(&packet("192.0.2.1:53", 7, 3000, 0), 1500, 0);
    let v6 = cut(&packet("[2001:db8::1]:53", 0, 3000, 0), 1500, 9);
    let other = cut(&packet("192.0.2.1:53", 8, 3000, 0), 1500, 0);
    add(&mut r, after(0), &v6[0]);
    add(&mut r, after(10), &v4[0]);
    add(&mut r, after(20), &other[1]);
    assert_eq!(r.next_expiry(), Some(after(30_010)));
    assert_eq!(r.expire(after(30_009)), None);
    assert_eq!(r.expire(after(30_010)), Some(Some(v4[0].clone())));
    // The first fragment of this one did not come.
    assert_eq!(r.expire(after(31_000)), Some(None));
    assert_eq!(r.expire(after(59_999)), None);
    assert_eq!(r.expire(after(60_000)), Some(Some(v6[0].clone())));
    assert_eq!((r.memory(), r.next_expiry(), r.counts.discarded), (0, None, 3));
}

#[test]
fn an_overlap_discards_the_datagram_and_what_still_comes_of_it() {
    for src in ["192.0.2.1:53", "[2001:db8::1]:53"] {
        let mut r = Reassembly::new(1 << 20);
        let sent = packet(src, 7, 4000, 0);
        let fragments = cut(&sent, 1500, 9);
        // The same bytes cut otherwise, and other bytes at the same place.
        let otherwise = cut(&sent, 1400, 9);
        let mut changed = fragments[1].clone();
        *changed.last_mut().unwrap() ^= 1;
        for spoiler in [&otherwise[1], &changed] {
            add(&mut r, T0, &fragments[0]);
            add(&mut r, T0, &fragments[1]);
            assert_eq!(add(&mut r, T0, spoiler), None);
            assert_eq!(r.memory(), DATAGRAM_OVERHEAD);
            for fragment in &fragments {
                assert_eq!(add(&mut r, T0, fragment), None);
            }
            // Nobody is notified.
            assert_eq!(r.expire(after(60_000)), Some(None));
            assert_eq!(r.memory(), 0);
        }
        // Two last fragments, and one beyond the end.
        let short = cut(&packet(src, 7, 2000, 0), 1500, 9);
        for (one, other) in [(&fragments[2], &short[1]), (&short[1], &fragments[2]), (&short[1], &fragments[1])] {
            add(&mut r, T0, one);
            assert_eq!(add(&mut r, T0, other), None);
            assert_eq!((r.memory(), r.expire(after(60_000))), (DATAGRAM_OVERHEAD, Some(None)));
        }
    }
}

#[test]
fn what_no_packet_can_be_is_not_taken() {
    let mut r = Reassembly::new(1 << 20);
    let fragments = cut(&packet("[2001:db8::1]:53", 7, 3000, 0), 1500, 9);
    // The offset of an IPv6 fragment is in bytes 42 and 43.
    let mut beyond = fragments[0].clone();
    beyond[42..44].copy_from_slice(&(!7_u16).to_be_bytes());
    assert_eq!(add(&mut r, T0, &beyond), None);
    // Not the last one, and not of a length that others can follow.
    let mut odd = fragments[0].clone();
    odd.pop();
    odd[4..6].copy_from_slice(&(1496_u16 - 41).to_be_bytes());
    odd.truncate(40 + 1455);
    assert!(IpFragment::read(&odd).is_some_and(|fragment| fragment.more && fragment.payload.len() % 8 != 0));
    assert_eq!(add(&mut r, T0, &odd), None);
    assert_eq!((r.memory(), r.counts), (0, Counts::default()));
    // With options as long as they may be, the whole would be longer than its length field can say.
    let mut first = cut(&packet("192.0.2.1:53", 7, 65_500, 0), 1500, 0);
    for fragment in &mut first {
        let mut longer = fragment[..20].to_vec();
        longer[0] = 0x4f;
        let total = (fragment.len() + 40) as u16;
        longer[2..4].copy_from_slice(&total.to_be_bytes());
        longer.extend([1; 40]);
        longer[10..12].fill(0);
        let sum = recoup_wire::Sum::default().plus(&longer).checksum();
        longer[10..12].copy_from_slice(&sum.to_be_bytes());
        longer.extend_from_slice(&fragment[20..]);
        assert_eq!(add(&mut r, T0, &longer), None);
    }
    assert_eq!((r.memory(), r.counts.discarded), (0, 1));
}

#[test]
fn a_mark_on_a_fragment_is_one_on_the_packet() {
    let ecn_of = |fields: [u8; 2]| {
        let mut r = Reassembly::new(1 << 20);
        let whole = fields.into_iter().enumerate().filter_map(|(at, ecn)| {
            let fragments = cut(&packet("192.0.2.1:53", 7, 2000, ecn), 1500, 0);
            add(&mut r, T0, &fragments[at])
        });
        whole.last().map(|packet| packet[1])
    };
    // RFC 3168 §5.3; a mark beside a fragment that cannot be marked is no router's doing.
    for (fields, expected) in
        [([0, 0], Some(0)), ([2, 2], Some(2)), ([2, 3], Some(3)), ([3, 1], Some(3)), ([0, 3], None), ([3, 0], None)]
    {
        assert_eq!(ecn_of(fields), expected, "{fields:?}");
    }
}

#[test]
fn a_flood_of_one_source_costs_no_other_its_datagrams() {
    let mut r = Reassembly::new(1 << 20);
    let wanted = packet("192.0.2.1:53", 7, 3000, 0);
    let fragments = cut(&wanted, 1500, 0);
    add(&mut r, T0, &fragments[0]);
    for id in 0..20_000_u16 {
        let flood = cut(&packet("192.0.2.66:53", id, 3000, 0), 1500, 0);
        assert_eq!(add(&mut r, after(id.into()), &flood[usize::from(id % 2)]), None);
    }
    assert_eq!(r.by_source.len(), 2);
    add(&mut r, after(20_000), &fragments[1]);
    assert!(add(&mut r, after(20_000), &fragments[2]) == Some(wanted));
}

#[test]
fn a_flood_of_many_sources_shortens_the_wait_but_locks_nobody_out() {
    for (theirs, ours) in [("[2001:db8::", "192.0.2.1:53"), ("10.0.", "[2001:db8::1]:53"), ("10.0.", "192.0.2.1:53")] {
        let mut r = Reassembly::new(1 << 20);
        let flood = |r: &mut Reassembly, n: u32| {
            let src = match theirs.starts_with('[') {
                true => format!("{theirs}{:x}]:53", n + 1000),
                false => format!("{theirs}{}.{}:53", n / 250, n % 250),
            };
            let fragments = cut(&packet(&src, n as u16, 3000, 0), 1500, n);
            r.add(after((n / 100).into()), IpFragment::read(&fragments[0]).unwrap(), &fragments[0]);
        };
        (0..20_000).for_each(|n| flood(&mut r, n));
        check(&r);
        // The bound is full of datagrams of some ms ago, and 500 others come between two fragments of ours.
        let wanted = packet(ours, 7, 3000, 0);
        let mut whole = None;
        for (at, fragment) in cut(&wanted, 1500, 9).iter().enumerate() {
            (0..250).for_each(|n| flood(&mut r, 20_000 + 250 * at as u32 + n));
            whole = add(&mut r, after(201), fragment);
        }
        assert!(whole == Some(wanted), "{ours} under a flood of {theirs}");
    }
}

#[test]
fn tiny_fragments_are_bounded_too() {
    let mut r = Reassembly::new(1 << 20);
    let sent = packet("192.0.2.1:53", 7, 60_000, 0);
    // Backwards, and without the first one.
    for fragment in cut(&sent, 28, 0).iter().skip(1).rev() {
        let fragment = (IpFragment::read(fragment).unwrap(), fragment);
        r.add(T0, fragment.0, fragment.1);
        assert!(r.memory() <= r.most / 4);
    }
    assert!(r.counts.discarded > 0);
    // Packets as short as links may demand (RFC 791 §3.2) make the longest datagram.
    let mut r = Reassembly::new(1 << 20);
    let whole = cut(&sent, 68, 0).iter().filter_map(|fragment| add(&mut r, T0, fragment)).last();
    assert!(whole == Some(sent));
}

#[test]
fn fragments_cut_at_random_make_the_packet_or_none() {
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut completed, mut spoilt) = (0, 0);
    for round in 0..3000 {
        let mut r = Reassembly::new(1 << 20);
        let src = ["192.0.2.1:53", "[2001:db8::1]:53"][round % 2];
        let sent = packet(src, 7, 500 + draw(800), 0);
        // All fragments of one cut, and in every other round some of another one, or with other bytes.
        let mut fragments = cut(&sent, 100 + draw(300), 9);
        if round % 4 > 1 {
            let others = cut(&sent, 100 + draw(300), 9);
            for _ in 0..draw(3) {
                let mut other = others[draw(others.len())].clone();
                let last = other.len() - 1;
                other[last] ^= (draw(3) / 2) as u8;
                fragments.push(other);
            }
        }
        let mut kept = fragments.clone();
        shuffle(&mut kept, round as u64);
        let mut whole = None;
        for fragment in &kept {
            if let Some(packet) = add(&mut r, T0, fragment) {
                assert!((whole.is_none() && packet == sent) || round % 4 > 1);
                assert_eq!(packet.len(), sent.len());
                whole = Some(packet);
            }
        }
        completed += usize::from(whole.is_some());
        spoilt += usize::from(whole.is_none());
        assert!(whole.is_some() || round % 4 > 1, "round {round}");
    }
    assert!(completed > 1500 && spoilt > 300, "{completed} and {spoilt}");
}
