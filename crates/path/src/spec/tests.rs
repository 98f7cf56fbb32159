use super::*;

#[test]
fn queue_limits_read_and_print() {
    for (text, queue, printed) in [
        ("none", Queue::Unlimited, "none"),
        ("100", Queue::Packets(100), "100p"),
        (" 100p ", Queue::Packets(100), "100p"),
        ("65536B", Queue::Bytes(65_536), "64KiB"),
        ("64kB", Queue::Bytes(64_000), "64kB"),
        ("64KiB", Queue::Bytes(65_536), "64KiB"),
        ("2MB", Queue::Bytes(2_000_000), "2MB"),
        ("1GB", Queue::Bytes(1_000_000_000), "1GB"),
        ("64 kB", Queue::Bytes(64_000), "64kB"),
        ("1500B", Queue::Bytes(1500), "1500B"),
        ("codel", Queue::CoDel(CoDel::default()), "codel"),
        ("codel/ecn", Queue::CoDel(CoDel { ecn: true, ..CoDel::default() }), "codel/ecn"),
        ("red:5-15/ecn", Queue::Red(Red { min: 5, max: 15, ecn: true }), "red:5-15/ecn"),
    ] {
        assert_eq!(text.parse(), Ok(queue), "{text}");
        assert_eq!(queue.to_string(), printed);
        assert_eq!(printed.parse(), Ok(queue), "{printed}");
    }
}

#[test]
fn other_queue_limits_are_refused() {
    for text in [
        "",
        "p",
        "kB",
        "0",
        "0p",
        "0B",
        "-1",
        "1.5kB",
        "64kb",
        "4294967296p",
        "18446744073709551615kB",
        "18446744073709551616B",
        "None",
        "100p/ecn",
        "codel:5",
        "red",
        "red:5",
        "red:5-5",
        "red:0-5",
        "red:5-p",
    ] {
        let error = text.parse::<Queue>().expect_err(text);
        assert!(error.to_string().starts_with(&format!("`{text}` is not a queue limit")));
    }
}

#[test]
fn byte_offsets_replace_data_segments_in_one_direction_only() {
    let loss = |rule: &str| HopSpec::Loss(rule.parse().unwrap());
    let delay = HopSpec::Delay(Duration::from_millis(20));
    let hops = vec![loss("data:3"), loss("syn:1"), delay.clone()];
    let mut path = PathSpec { up: hops.clone(), down: hops.clone() };
    path.use_byte_offsets(Direction::Down, 1000);
    assert_eq!(path.up, hops);
    assert_eq!(path.down, [loss("offset:2001-3000"), loss("syn:1"), delay]);
}

#[test]
fn a_path_prints_in_one_line() {
    let half = Probability::new(0.5).unwrap();
    let rate = BitRate::from_bits_per_second(10_000_000).unwrap();
    let hops = [
        HopSpec::Loss("data:3".parse().unwrap()),
        HopSpec::Rate { rate, queue: Queue::Packets(100) },
        HopSpec::Link { trace: LinkTrace::parse("1\n2\n2\n4\n").unwrap(), queue: Queue::Unlimited },
        HopSpec::Reorder { probability: half, extra: Duration::from_micros(1500) },
        HopSpec::Duplicate { probability: half },
        HopSpec::Corrupt { probability: half },
        HopSpec::Delay(Duration::from_millis(20)),
        HopSpec::ThinAcks { hold: Duration::from_millis(200) },
    ];
    assert_eq!(
        one_line(&hops),
        "loss data:3 > rate 10Mbit queue 100p > link 12Mbit (4 opportunities in 4ms) queue none \
         > reorder 0.5 by 1.5ms > duplicate 0.5 > corrupt 0.5 > delay 20ms \
         > thin acks 200ms"
    );
    assert_eq!(one_line(&[]), "nothing");
}
