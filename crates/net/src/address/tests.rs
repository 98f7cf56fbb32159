use super::*;

fn block(text: &str) -> Block {
    let (base, len) = text.split_once('/').unwrap();
    Block { base: base.parse().unwrap(), len: len.parse().unwrap(), inner: INNER }
}

#[test]
fn the_first_block_without_a_route_is_taken() {
    let cases: [(Option<&str>, &[&str], &str); 9] = [
        // (parent's block, what is routed, what is taken)
        (None, &[], "100.64.0.0/16"),
        (None, &["0.0.0.0/0", "10.0.0.0/8"], "100.64.0.0/16"),
        (None, &["100.64.0.0/16"], "100.65.0.0/16"),
        (None, &["100.64.7.7/32", "100.65.0.0/17"], "100.66.0.0/16"),
        // Carriers and overlay networks use these addresses, too.
        (None, &["100.64.0.0/11"], "100.96.0.0/16"),
        (Some("100.64.0.0/16"), &["100.64.0.0/16"], "100.64.32.0/19"),
        (Some("100.64.0.0/16"), &["0.0.0.0/0", "100.64.0.0/16", "100.64.32.0/19"], "100.64.64.0/19"),
        (Some("100.64.32.0/19"), &[], "100.64.36.0/22"),
        (Some("100.64.0.16/28"), &[], "100.64.0.20/30"),
    ];
    for (own, routed, expected) in cases {
        let routed: Vec<_> = routed.iter().map(|r| block(r)).collect();
        let free = free(own.map(block), &routed).unwrap();
        assert_eq!(free[0], block(expected), "{own:?} {routed:?}");
    }
}

#[test]
fn blocks_run_out() {
    let everything = [block("100.64.0.0/11"), block("100.96.0.0/11")];
    assert!(matches!(free(None, &everything), Err(NetError::NoBlock)));
    let smallest = Some(block("100.64.0.4/30"));
    assert!(matches!(free(smallest, &[]), Err(NetError::NestedTooDeep)));
    let parent = block("100.64.0.0/16");
    assert_eq!(free(Some(parent), &[]).unwrap().len(), SIBLINGS as usize);
    let all: Vec<_> = parent.parts(19).collect();
    assert!(matches!(free(Some(parent), &all), Err(NetError::NestedTooDeep)));
}

#[test]
fn addresses_of_the_ends() {
    let block = block("100.64.32.0/19");
    assert_eq!(block.ends_v4().outside, Ipv4Addr::new(100, 64, 32, 1));
    assert_eq!(block.ends_v4().inside, Ipv4Addr::new(100, 64, 32, 2));
    let (base, len) = block.v6();
    assert_eq!((base.to_string().as_str(), len), ("fd52:6563:6f75:6440:2000::", 67));
    assert_eq!(block.ends_v6().inside.to_string(), "fd52:6563:6f75:6440:2000::2");
}

#[test]
fn each_emulator_has_another_inner_address() {
    for (text, number, inside, inside6) in [
        ("100.64.0.0/16", 0, "100.64.0.2", "fd52:6563:6f75:6440::2"),
        ("100.64.0.0/16", 7, "100.64.0.9", "fd52:6563:6f75:6440::9"),
        ("100.64.0.0/16", 8188, "100.64.31.254", "fd52:6563:6f75:6440::1ffe"),
        ("100.64.0.0/16", 8189, "100.64.0.2", "fd52:6563:6f75:6440::2"),
        // The smallest block has no room for another.
        ("100.64.0.4/30", 7, "100.64.0.6", "fd52:6563:6f75:6440:4::2"),
    ] {
        let block = block(text).numbered(number);
        assert_eq!(block.ends_v4().inside.to_string(), inside, "{text} {number}");
        assert_eq!(block.ends_v6().inside.to_string(), inside6, "{text} {number}");
        assert_eq!(block.ends_v4().outside.to_bits(), block.base.to_bits() + 1);
    }
}

#[test]
fn earlier_inner_ends_are_known_by_their_addresses() {
    let block = block("100.64.0.0/16").numbered(7);
    for (address, earlier) in [
        ("100.64.0.2", true),
        ("100.64.31.254", true),
        // Its own ends, emulators within this one, and others.
        ("100.64.0.1", false),
        ("100.64.0.9", false),
        ("100.64.32.2", false),
        ("100.65.0.2", false),
        ("fd52:6563:6f75:6440::2", true),
        ("fd52:6563:6f75:6440::9", false),
        ("fd52:6563:6f75:6440::1", false),
        ("fd52:6563:6f75:6440:2000::2", false),
        ("fd00::2", false),
    ] {
        let found = block.was_inner_end(address.parse().unwrap());
        assert_eq!(found, earlier, "{address}");
    }
}

#[test]
fn a_namespace_knows_its_block_by_the_inner_interface() {
    let assigned = |interface: &str, address: &str, prefix_len| Assigned {
        interface: interface.into(),
        address: address.parse().unwrap(),
        prefix_len,
    };
    let inner = assigned("recoup77i", "100.64.32.2", 19);
    let others = [
        assigned("lo", "127.0.0.1", 8),
        assigned("recoup78o", "100.64.36.1", 32),
        assigned("eth0", "100.64.0.9", 16),
        assigned("recoup9i", "10.0.0.1", 8),
    ];
    assert_eq!(own_block(&others), None);
    let mut all = others.to_vec();
    all.push(inner);
    assert_eq!(own_block(&all), Some(block("100.64.32.0/19")));
}
