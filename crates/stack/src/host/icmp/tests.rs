use super::*;

/// `ping -c1 -s 4`, IPv4 and IPv6; checksums by hand (RFC 1071).
fn pings() -> [Vec<u8>; 2] {
    let mut v4 = vec![
        0x45, 0, 0, 32, 0, 1, 0x40, 0, 64, 1, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 8, 0, 0, 0, 0, 7, 0, 1, b'p', b'i',
        b'n', b'g',
    ];
    let header = !sum(&v4[..20], 0);
    v4[10..12].copy_from_slice(&header.to_be_bytes());
    let message = !sum(&v4[20..], 0);
    v4[22..24].copy_from_slice(&message.to_be_bytes());
    let mut v6 = vec![0x60, 0, 0, 0, 0, 12, 58, 64];
    v6.extend("2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
    v6.extend("2001:db8::2".parse::<Ipv6Addr>().unwrap().octets());
    v6.extend([128, 0, 0, 0, 0, 7, 0, 1, b'p', b'i', b'n', b'g']);
    let message = !message_sum(Ipv6Addr::UNSPECIFIED.into(), &v6[8..40], &v6[40..]);
    v6[42..44].copy_from_slice(&message.to_be_bytes());
    [v4, v6]
}

#[test]
fn an_echo_goes_back() {
    for ping in pings() {
        let Some(Message::Echo { from, to }) = read(&ping) else {
            panic!("{ping:?}");
        };
        let mut pong = Vec::new();
        reply(&ping, &mut pong);
        let back = parts(&pong).expect("right checksums");
        assert_eq!((back.from, back.to), (to, from));
        assert_eq!(&pong[pong.len() - 4..], b"ping");
        assert_eq!(read(&pong), None, "an answer is not answered");
    }
}

#[test]
fn damage_is_found_and_nothing_panics() {
    for ping in pings() {
        for cut in 0..ping.len() {
            assert_eq!(read(&ping[..cut]), None, "cut at {cut}");
        }
        let start = if ping[0] >> 4 == 4 { 20 } else { 40 };
        for at in start..ping.len() {
            let mut damaged = ping.clone();
            damaged[at] ^= 0x10;
            assert_eq!(read(&damaged), None, "damaged at {at}");
        }
    }
}

#[test]
fn too_big_names_the_connection() {
    let mut packet = vec![
        0x45, 0, 0, 56, 0, 1, 0x40, 0, 64, 1, 0, 0, 192, 0, 2, 9, 192, 0, 2, 1, //
        3, 4, 0, 0, 0, 0, 0x02, 0x58, // 600 bytes
        0x45, 0, 5, 220, 0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, //
        0x9c, 0x40, 0, 80, 0, 0, 1, 0,
    ];
    let header = !sum(&packet[..20], 0);
    packet[10..12].copy_from_slice(&header.to_be_bytes());
    let message = !sum(&packet[20..], 0);
    packet[22..24].copy_from_slice(&message.to_be_bytes());
    let expected = Message::TooBig {
        path: Endpoints { src: "192.0.2.1:40000".parse().unwrap(), dst: "192.0.2.2:80".parse().unwrap() },
        seq: SeqNumber(256),
        mtu: 600,
    };
    assert_eq!(read(&packet), Some(expected));
}
