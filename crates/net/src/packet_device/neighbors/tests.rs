use super::*;
use crate::packet_device::messages::{ETHERNET, is_discovery};

const MAC: Mac = [2, 0, 0, 0, 0, 1];
const THEIRS: Mac = [2, 0, 0, 0, 0, 2];
const OTHERS: Mac = [2, 0, 0, 0, 0, 3];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn v4(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

fn v6(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

fn neighbors() -> Neighbors {
    let addresses = [(ip("192.0.2.7"), 24), (ip("2001:db8::7"), 64), (ip("198.51.100.1"), 31)];
    Neighbors::new(MAC, &addresses, &[ip("192.0.2.1"), ip("fe80::1")])
}

fn packet(number: u8) -> Waiting {
    (VnetHeader::default(), vec![number; 1000])
}

fn answer(neighbors: &mut Neighbors, now: Instant, of: &str) {
    let arp = Arp { is_request: false, sender_mac: THEIRS, sender: v4(of), target_mac: MAC, target: v4("192.0.2.7") };
    neighbors.on_arp(now, &arp);
}

/// The numbers of packets that go out, and the count of frames.
fn sent(neighbors: &mut Neighbors) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut packets, mut frames) = (Vec::new(), Vec::new());
    while let Some(outgoing) = neighbors.next_outgoing() {
        match outgoing {
            Outgoing::Packet(mac, (_, packet)) => {
                assert_eq!(mac, THEIRS);
                packets.push(packet[0]);
            }
            Outgoing::Frame(frame) => frames.push(frame),
        }
    }
    (packets, frames)
}

#[test]
fn packets_wait_for_the_link_address_of_their_next_hop() {
    let mut neighbors = neighbors();
    let now = Instant::now();
    // On the link, behind the gateway, and to nobody.
    for (destination, hop) in [("192.0.2.9", "192.0.2.9"), ("203.0.113.5", "192.0.2.1")] {
        let source = ip("192.0.2.7");
        assert_eq!(neighbors.next_hop(now, ip(destination)), NextHop::Unknown(ip(hop)));
        for number in 0..3 {
            neighbors.hold(now, source, ip(hop), packet(number));
        }
        let (packets, frames) = sent(&mut neighbors);
        assert_eq!((packets.len(), frames.len()), (0, 1));
        assert_eq!(frames[0][..6], BROADCAST);
        let arp = Arp::parse(&frames[0][ETHERNET..]).unwrap();
        assert_eq!((arp.is_request, IpAddr::from(arp.target), IpAddr::from(arp.sender)), (true, ip(hop), source));
        answer(&mut neighbors, now, hop);
        assert_eq!(sent(&mut neighbors), (vec![0, 1, 2], vec![]));
        assert_eq!(neighbors.next_hop(now, ip(destination)), NextHop::Known(THEIRS));
    }
    for (destination, mac) in [
        ("192.0.2.255", BROADCAST),
        ("255.255.255.255", BROADCAST),
        ("224.0.0.251", [1, 0, 0x5e, 0, 0, 251]),
        ("ff02::fb", [0x33, 0x33, 0, 0, 0, 0xfb]),
    ] {
        assert_eq!(neighbors.next_hop(now, ip(destination)), NextHop::Known(mac), "{destination}");
    }
    // RFC 3021: two hosts, and no broadcast.
    assert_eq!(neighbors.next_hop(now, ip("198.51.100.0")), NextHop::Unknown(ip("198.51.100.0")));
    assert_eq!(neighbors.next_timer(), None);
    let mut alone = Neighbors::new(MAC, &[(ip("192.0.2.7"), 24)], &[]);
    assert_eq!(alone.next_hop(now, ip("203.0.113.5")), NextHop::None);
    assert_eq!(alone.next_hop(now, ip("2001:db8::1")), NextHop::None);
}

#[test]
fn a_silent_neighbour_is_asked_three_times_and_given_up() {
    let mut neighbors = neighbors();
    let start = Instant::now();
    let hop = ip("2001:db8::9");
    neighbors.hold(start, ip("2001:db8::7"), hop, (VnetHeader::default(), vec![0x60; 60]));
    let mut asked = Vec::new();
    let mut now = start;
    while let Some(at) = neighbors.next_timer() {
        asked.push(sent(&mut neighbors).1.len());
        now = at;
        neighbors.on_timer(now - Duration::from_millis(1));
        assert_eq!(sent(&mut neighbors).1.len(), 0);
        neighbors.on_timer(now);
    }
    assert_eq!((asked, now - start), (vec![1; 3], 3 * RETRY));
    assert_eq!(neighbors.take_lost(), 1);
    assert!(neighbors.next_error().is_some_and(|error| error.ends_with(&[0x60; 60])));
    assert_eq!(neighbors.next_error(), None);
    assert!(neighbors.entries.is_empty());
    // An answer that comes too late says nothing that was asked.
    let late =
        Discovery::Advertisement { target: v6("2001:db8::9"), mac: Some(THEIRS), solicited: true, overrides: true };
    neighbors.on_discovery(now, &late);
    assert!(neighbors.entries.is_empty());
}

#[test]
fn an_old_entry_is_confirmed_while_it_is_used() {
    let mut neighbors = neighbors();
    let start = Instant::now();
    let hop = ip("192.0.2.9");
    neighbors.hold(start, ip("192.0.2.7"), hop, packet(1));
    answer(&mut neighbors, start, "192.0.2.9");
    sent(&mut neighbors);
    let old = start + FRESH;
    assert_eq!(neighbors.next_hop(old - Duration::from_millis(1), hop), NextHop::Known(THEIRS));
    assert!(sent(&mut neighbors).1.is_empty());
    for _ in 0..5 {
        assert_eq!(neighbors.next_hop(old, hop), NextHop::Known(THEIRS));
    }
    let (_, frames) = sent(&mut neighbors);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0][..6], THEIRS);
    answer(&mut neighbors, old, "192.0.2.9");
    assert_eq!(neighbors.next_timer(), None);

    // Without an answer, packets wait again.
    let mut now = old + FRESH;
    assert_eq!(neighbors.next_hop(now, hop), NextHop::Known(THEIRS));
    for _ in 0..3 {
        now += RETRY;
        neighbors.on_timer(now);
    }
    assert_eq!(neighbors.next_hop(now, hop), NextHop::Unknown(hop));
}

#[test]
fn waiting_packets_asked_neighbours_and_entries_are_bounded() {
    let mut neighbors = neighbors();
    let now = Instant::now();
    let source = ip("192.0.2.7");
    for number in 0..100 {
        neighbors.hold(now, source, ip("192.0.2.9"), packet(number));
    }
    assert_eq!(neighbors.take_lost(), 100 - MOST_WAITING as u64);
    answer(&mut neighbors, now, "192.0.2.9");
    assert_eq!(sent(&mut neighbors).0, (100 - MOST_WAITING as u8..100).collect::<Vec<_>>());
    for number in 0..4 {
        neighbors.hold(now, source, ip("192.0.2.10"), (VnetHeader::default(), vec![number; 65_000]));
    }
    assert_eq!(neighbors.take_lost(), 2);

    // Neighbours that do not exist.
    for number in 0..1000_u128 {
        let hop = IpAddr::from(Ipv6Addr::from_bits(0x2001_0db8 << 96 | 0x1_0000 | number));
        neighbors.hold(now, ip("2001:db8::7"), hop, packet(0));
    }
    assert_eq!(neighbors.asked.len(), MOST_ASKED);
    assert_eq!(neighbors.take_lost(), 1000 - (MOST_ASKED as u64 - 1));
    let mut later = now;
    while let Some(at) = neighbors.next_timer() {
        later = at;
        neighbors.on_timer(at);
    }
    assert_eq!(neighbors.entries.len(), 1);
    sent(&mut neighbors);

    // Neighbours that ask.
    let gateway = ip("fe80::1");
    neighbors.hold(later, ip("2001:db8::7"), gateway, packet(0));
    let advertisement =
        Discovery::Advertisement { target: v6("fe80::1"), mac: Some(THEIRS), solicited: true, overrides: true };
    neighbors.on_discovery(later, &advertisement);
    for number in 0..3000_u128 {
        let source = Ipv6Addr::from_bits(0xfe80 << 112 | 0x1_0000 | number);
        let question = Discovery::Solicitation { source, target: v6("2001:db8::7"), mac: Some(THEIRS) };
        neighbors.on_discovery(later, &question);
    }
    assert_eq!(neighbors.entries.len(), MOST_ENTRIES);
    // Each was answered nevertheless.
    assert_eq!(sent(&mut neighbors).0.len(), 3001);
    // A question of our own finds room.
    let used = IpAddr::from(Ipv6Addr::from_bits(0xfe80 << 112 | 0x1_0000));
    for at in [later + RETRY, later + 2 * RETRY] {
        neighbors.next_hop(at, used);
        let hop = IpAddr::from(Ipv6Addr::from_bits(0xfe80 << 112 | 0x2_0000 | u128::from(at == later + RETRY)));
        neighbors.hold(at, ip("2001:db8::7"), hop, packet(0));
    }
    assert_eq!(neighbors.entries.len(), MOST_ENTRIES);
    assert!(neighbors.entries.contains_key(&gateway) && neighbors.entries.contains_key(&used));
}

#[test]
fn questions_for_our_addresses_alone_are_answered() {
    let mut neighbors = neighbors();
    let now = Instant::now();
    let question = |sender: &str, target: &str| Arp {
        is_request: true,
        sender_mac: THEIRS,
        sender: v4(sender),
        target_mac: [0; 6],
        target: v4(target),
    };
    for (sender, target, is_answered, is_known) in [
        ("192.0.2.9", "192.0.2.8", false, false),
        ("192.0.2.9", "192.0.2.7", true, true),
        ("0.0.0.0", "192.0.2.7", true, false),
        ("203.0.113.9", "192.0.2.7", true, false),
        ("192.0.2.7", "192.0.2.7", true, false),
    ] {
        neighbors.on_arp(now, &question(sender, target));
        let (_, frames) = sent(&mut neighbors);
        assert_eq!(frames.len(), usize::from(is_answered), "{sender} asks for {target}");
        if let Some(frame) = frames.first() {
            assert_eq!(frame[..6], THEIRS);
            let answer = Arp::parse(&frame[ETHERNET..]).unwrap();
            assert_eq!((answer.is_request, answer.sender_mac, answer.sender), (false, MAC, v4(target)));
        }
        assert_eq!(neighbors.entries.contains_key(&ip(sender)), is_known, "{sender}");
    }
    // RFC 826: what is known follows every message; what is not is not learned from others' conversations.
    neighbors.on_arp(now, &Arp { sender_mac: OTHERS, ..question("192.0.2.9", "192.0.2.8") });
    assert_eq!(neighbors.next_hop(now, ip("192.0.2.9")), NextHop::Known(OTHERS));
    let unasked = Arp { is_request: false, ..question("192.0.2.77", "192.0.2.7") };
    neighbors.on_arp(now, &unasked);
    assert!(!neighbors.entries.contains_key(&ip("192.0.2.77")));

    let discovery = |source: &str, target: &str| Discovery::Solicitation {
        source: v6(source),
        target: v6(target),
        mac: Some(THEIRS).filter(|_| source != "::"),
    };
    sent(&mut neighbors);
    neighbors.on_discovery(now, &discovery("fe80::9", "2001:db8::8"));
    assert!(neighbors.next_outgoing().is_none());
    for source in ["fe80::9", "::"] {
        neighbors.on_discovery(now, &discovery(source, "2001:db8::7"));
        let Some(Outgoing::Packet(mac, (_, packet))) = neighbors.next_outgoing() else {
            panic!("no answer to {source}");
        };
        let is_probe = source == "::";
        assert_eq!(mac, if is_probe { [0x33, 0x33, 0, 0, 0, 1] } else { THEIRS });
        assert!(is_discovery(&packet));
        let answer = Discovery::parse(&packet, false);
        let target = v6("2001:db8::7");
        let expected = Discovery::Advertisement { target, mac: Some(MAC), solicited: !is_probe, overrides: true };
        assert_eq!(answer, Some(expected));
    }
    // Who does not say where it is is asked, and then answered.
    let silent = Discovery::Solicitation { source: v6("fe80::5"), target: v6("2001:db8::7"), mac: None };
    neighbors.on_discovery(now, &silent);
    let (packets, frames) = sent(&mut neighbors);
    assert_eq!((packets.len(), frames.len()), (0, 1));
    let found = Discovery::Advertisement { target: v6("fe80::5"), mac: Some(THEIRS), solicited: true, overrides: true };
    neighbors.on_discovery(now, &found);
    assert_eq!(sent(&mut neighbors).0.len(), 1);
}

/// RFC 4861 §7.2.5.
#[test]
fn advertisements_replace_only_what_they_may() {
    let target = v6("2001:db8::9");
    let hop = IpAddr::from(target);
    // (Flags Solicited and Override, the link address; the one that is then known, and whether it is asked for again)
    for (solicited, overrides, mac, known, is_stale) in [
        (true, true, Some(OTHERS), OTHERS, false),
        (false, true, Some(OTHERS), OTHERS, true),
        (true, false, Some(OTHERS), THEIRS, true),
        (false, false, Some(THEIRS), THEIRS, false),
        (true, false, None, THEIRS, false),
    ] {
        let mut neighbors = neighbors();
        let now = Instant::now();
        neighbors.hold(now, ip("2001:db8::7"), hop, packet(0));
        neighbors.on_discovery(now, &Discovery::Advertisement { target, mac: None, solicited: true, overrides: true });
        assert_eq!(neighbors.next_hop(now, hop), NextHop::Unknown(hop));
        let first = Discovery::Advertisement { target, mac: Some(THEIRS), solicited: true, overrides: false };
        neighbors.on_discovery(now, &first);
        sent(&mut neighbors);
        neighbors.on_discovery(now, &Discovery::Advertisement { target, mac, solicited, overrides });
        assert_eq!(neighbors.next_hop(now, hop), NextHop::Known(known));
        assert_eq!(sent(&mut neighbors).1.len(), usize::from(is_stale), "{solicited} {overrides} {mac:?}");
    }
}
