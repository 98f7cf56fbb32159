use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

fn map(key: u8) -> AddressMap {
    AddressMap::new(&Key::of_secret(&[key; 16]).expect("long enough"))
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Leading bits that two addresses share.
fn shared(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => panic!("two versions"),
    }
}

fn any_ip() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    // Pairs that share any number of bits.
    let v4 = (any::<u32>(), any::<u32>(), 0..32_u32);
    let v4 = v4
        .prop_map(|(a, b, by)| (a, a ^ b >> by))
        .prop_map(|(a, b)| (IpAddr::from(Ipv4Addr::from_bits(a)), IpAddr::from(Ipv4Addr::from_bits(b))));
    let v6 = (any::<u128>(), any::<u128>(), 0..128_u32);
    let v6 = v6
        .prop_map(|(a, b, by)| (a, a ^ b >> by))
        .prop_map(|(a, b)| (IpAddr::from(Ipv6Addr::from_bits(a)), IpAddr::from(Ipv6Addr::from_bits(b))));
    prop_oneof![v4, v6]
}

proptest! {
    #[test]
    fn addresses_share_as_many_bits_as_before((a, b) in any_ip(), key: u8) {
        let mut map = map(key);
        prop_assert_eq!(shared(map.ip(a), map.ip(b)), shared(a, b));
    }

    #[test]
    fn hardware_addresses_keep_their_class_and_stay_apart(a: [u8; 6], b: [u8; 6], key: u8) {
        let mut map = map(key);
        let (c, d) = (map.hardware(a), map.hardware(b));
        prop_assert_eq!(a == b, c == d);
        prop_assert_eq!(a[0] & 3, c[0] & 3);
    }
}

/// In small ranges, every address is hit once.
#[test]
fn no_two_addresses_become_one() {
    let mut map = map(1);
    for base in ["10.1.0.0", "255.255.0.0", "0.0.0.0", "169.254.0.0"] {
        let IpAddr::V4(base) = ip(base) else { unreachable!() };
        let mapped: HashSet<IpAddr> =
            (0..1 << 16).map(|low| map.ip(Ipv4Addr::from_bits(base.to_bits() | low).into())).collect();
        assert_eq!(mapped.len(), 1 << 16, "{base}");
    }
}

#[test]
fn special_addresses_keep_their_class() {
    for key in 0..20 {
        let mut map = map(key);
        for same in ["0.0.0.0", "127.0.0.1", "127.3.2.1", "255.255.255.255", "::", "::1"] {
            assert_eq!(map.ip(ip(same)), ip(same));
        }
        for (range, len) in
            [("224.0.0.5", 4), ("169.254.9.9", 16), ("2a00::1", 3), ("fd00::7", 7), ("fe80::1:2", 64), ("ff02::fb", 16)]
        {
            let mapped = map.ip(ip(range));
            assert!(shared(mapped, ip(range)) >= len, "{range} {mapped}");
        }
        for other in ["8.8.8.8", "10.0.0.1", "192.168.1.1", "169.253.0.1", "203.0.113.9", "240.0.0.1"] {
            let IpAddr::V4(mapped) = map.ip(ip(other)) else { unreachable!() };
            let is_special = mapped.is_loopback() || mapped.is_multicast() || mapped.is_link_local();
            assert!(!is_special && !mapped.is_broadcast() && mapped.octets()[0] != 0, "{other} {mapped}");
        }
        assert_eq!(map.hardware([0xff; 6]), [0xff; 6]);
        assert_eq!(map.hardware([0; 6]), [0; 6]);
    }
}

#[test]
fn the_key_decides() {
    let [mut a, mut b, mut c] = [1, 1, 2].map(map);
    let host = ip("203.0.113.9");
    assert_eq!(a.ip(host), b.ip(host));
    assert_ne!(a.ip(host), c.ip(host));
    assert_ne!(a.ip(host), host);
    let random = |_| AddressMap::new(&Key::random().expect("random numbers")).ip(ip("2001:db8::9"));
    assert_ne!(random(0), random(1));
    // A line feed that an editor added does not count.
    let of = |secret: &[u8]| AddressMap::new(&Key::of_secret(secret).expect("long")).ip(host);
    assert_eq!(of(b"correct horse battery"), of(b"correct horse battery\r\n"));
    let error = Key::of_secret(b"short\n").expect_err("short").to_string();
    assert!(error.starts_with("a key of 6 bytes: expected at least 16"), "{error}");
}

#[test]
fn each_address_is_counted_once() {
    let mut map = map(3);
    for text in ["10.0.0.1", "10.0.0.2", "10.0.0.1", "2001:db8::1"] {
        map.ip(ip(text));
    }
    map.hardware([1; 6]);
    assert_eq!(map.mapped(), Mapped { v4: 2, v6: 1, hardware: 1, are_more: false });
}
