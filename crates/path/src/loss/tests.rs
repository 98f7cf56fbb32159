//! The grammar, and what becomes of a tail.

use super::*;
use proptest::prelude::*;
use recoup_units::BitRate;
use std::time::Duration;

fn parse(text: &str) -> Result<DropRules, DropRulesError> {
    text.parse()
}

fn p(probability: f64) -> Probability {
    Probability::new(probability).unwrap()
}

const fn rule(kind: LossKind) -> LossSpec {
    LossSpec { kind, transmission: None }
}

const fn at(kind: LossKind, t: u32) -> LossSpec {
    LossSpec { kind, transmission: Some(t) }
}

#[test]
fn single_rules() {
    let channel = |bad, good, loss_bad, loss_good| {
        LossKind::GilbertElliott(GilbertElliott {
            to_bad: p(bad),
            to_good: p(good),
            loss_bad: p(loss_bad),
            loss_good: p(loss_good),
        })
    };
    let outages = |sigma, loss| {
        let outages = Outages::new(Duration::from_secs(20), Duration::from_millis(800));
        Outages { sigma, loss: p(loss), ..outages }
    };
    let megabit = BitRate::from_bits_per_second(1_000_000).unwrap();
    let cases = [
        ("none", rule(LossKind::None)),
        ("tail:3", rule(LossKind::Tail(3))),
        ("tail:1@2", at(LossKind::Tail(1), 2)),
        ("data:5", rule(LossKind::Data { first: 5, last: 5 })),
        ("data:5-7", rule(LossKind::Data { first: 5, last: 7 })),
        ("data:5-7@3", at(LossKind::Data { first: 5, last: 7 }, 3)),
        ("syn:1", rule(LossKind::Syn(1))),
        ("ack:12", rule(LossKind::Ack(12))),
        ("offset:1-1460", rule(LossKind::Offset { first: 0, last: 1459 })),
        ("offset:8-8@2", at(LossKind::Offset { first: 7, last: 7 }, 2)),
        ("bernoulli:0.01", rule(LossKind::Bernoulli(p(0.01)))),
        ("bernoulli:1@1", at(LossKind::Bernoulli(p(1.0)), 1)),
        ("gilbert-elliott:0.01,0.3", rule(channel(0.01, 0.3, 1.0, 0.0))),
        ("gilbert-elliott:0.01,0.3,loss_bad=0.9", rule(channel(0.01, 0.3, 0.9, 0.0))),
        ("gilbert-elliott:0.01,0.3,loss_good=0.1", rule(channel(0.01, 0.3, 1.0, 0.1))),
        ("gilbert-elliott:0.01,0.3,loss_bad=0.9,loss_good=0.1@2", at(channel(0.01, 0.3, 0.9, 0.1), 2)),
        ("outages:20s,800ms", rule(LossKind::Outages(outages(0.0, 1.0)))),
        ("outages:20s,800ms,sigma=1.5", rule(LossKind::Outages(outages(1.5, 1.0)))),
        ("outages:20s,800ms,sigma=1,loss=0.3", rule(LossKind::Outages(outages(1.0, 0.3)))),
        ("policer:1Mbit,30kB", rule(LossKind::Policer(Policer { rate: megabit, burst: 30_000 }))),
    ];
    for (text, spec) in cases {
        assert_eq!(parse(text), Ok(DropRules(vec![(Direction::Down, spec)])), "{text}");
        assert_eq!(spec.to_string(), text);
        assert_eq!(text.parse(), Ok(spec), "{text} alone");
        let up = format!("up:{text}");
        assert_eq!(parse(&up), Ok(DropRules(vec![(Direction::Up, spec)])), "{up}");
        assert_eq!(DropRules(vec![(Direction::Up, spec)]).to_string(), up);
    }
}

#[test]
fn lists_and_other_ways_to_write_them() {
    let cases = [
        ("down:data:3", "data:3"),
        ("data:3@1", "data:3"),
        ("data:4-4", "data:4"),
        ("syn:2@1", "syn:2"),
        ("data:3 ,\n tail:1,  up:ack:2", "data:3,tail:1,up:ack:2"),
        ("data:3@2,data:3@1", "data:3@2,data:3"),
        ("bernoulli:1e-2", "bernoulli:0.01"),
        ("gilbert-elliott:0.01,0.3,0.9", "gilbert-elliott:0.01,0.3,loss_bad=0.9"),
        (
            "gilbert-elliott:0.01, .3 , 0.9, 0.2@1, data:1",
            "gilbert-elliott:0.01,0.3,loss_bad=0.9,loss_good=0.2@1,data:1",
        ),
        ("gilbert-elliott:0.1,0.3,1,loss_good=0.5", "gilbert-elliott:0.1,0.3,loss_good=0.5"),
        ("gilbert-elliott:0.1,0.3,loss_good=0.5,loss_bad=1", "gilbert-elliott:0.1,0.3,loss_good=0.5"),
        (
            "gilbert-elliott:0.1,0.3,bernoulli:0.5,up:gilbert-elliott:0.2,0.4",
            "gilbert-elliott:0.1,0.3,bernoulli:0.5,up:gilbert-elliott:0.2,0.4",
        ),
        ("none,data:1", "none,data:1"),
        (
            "outages:1.5s, 2min ,1,0.5,up:policer:9600bit, 64KiB",
            "outages:1500ms,120s,sigma=1,loss=0.5,up:policer:9600bit,64KiB",
        ),
    ];
    for (text, printed) in cases {
        let rules = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rules.to_string(), printed, "{text}");
        assert_eq!(parse(printed), Ok(rules));
    }
    assert_eq!(DropRules::default().to_string(), "none");
}

#[test]
fn what_is_refused_says_what_was_expected() {
    let known = "none, tail, data, syn, ack, offset, bernoulli, gilbert-elliott, outages, policer";
    let unknown = |rule: &str, word: &str| {
        format!(
            "`{rule}`: unknown kind of loss `{word}`: expected {known}, after up: or down: if any (3 % at random: bernoulli:3%)"
        )
    };
    let not_a_probability = |rule: &str, text: &str| {
        format!("`{rule}`: `{text}` is not a probability: expected a number from 0 to 1, or 0% to 100%")
    };
    let data = "expected data:K or data:K-L, data segments counted from 1, K not above L";
    let offset = "expected offset:A-B, payload bytes counted from 1, both included, A not above B";
    let tail = "expected tail:N, the number N of data segments from 1";
    let gilbert = "expected gilbert-elliott:PGB,PBG[,loss_bad=1,loss_good=0], each once";
    let transmission = "expected @T to be a transmission counted from 1 (1 is the original)";
    let once = "expected no @T but @1: a retransmitted SYN or repeated ACK has a number of its own, name it by that";
    let missing = "a loss rule is missing: expected one such as data:3, or none";
    let cases = [
        ("", format!("``: {missing}")),
        ("data:1,,data:2", format!("`data:1,,data:2`: {missing}")),
        ("data:1,", format!("`data:1,`: {missing}")),
        ("tial:2", unknown("tial:2", "tial")),
        ("data:1, left:data:3", unknown("left:data:3", "left")),
        ("up:down:data:3", unknown("up:down:data:3", "down")),
        ("up:", unknown("up:", "")),
        ("up", unknown("up", "up")),
        ("None", unknown("None", "None")),
        ("5", unknown("5", "5")),
        ("data :3", unknown("data :3", "data ")),
        ("tail", format!("`tail`: {tail}")),
        ("tail:0", format!("`tail:0`: {tail}")),
        ("tail:-1", format!("`tail:-1`: {tail}")),
        ("data:", format!("`data:`: {data}")),
        ("data:0", format!("`data:0`: {data}")),
        ("data:+3", format!("`data:+3`: {data}")),
        ("data:0-3", format!("`data:0-3`: {data}")),
        ("data:5-3", format!("`data:5-3`: {data}")),
        ("data:3-", format!("`data:3-`: {data}")),
        ("data:1,3", format!("`data:1,3`: {data}")),
        ("data:99999999999999999999", format!("`data:99999999999999999999`: {data}")),
        ("offset:5", format!("`offset:5`: {offset}")),
        ("offset:0-5", format!("`offset:0-5`: {offset}")),
        ("up:offset:10-6", format!("`up:offset:10-6`: {offset}")),
        ("syn:0", "`syn:0`: expected syn:K, packets with SYN counted from 1".into()),
        ("ack:x", "`ack:x`: expected ack:K, pure ACKs counted from 1".into()),
        ("syn:1@2", format!("`syn:1@2`: {once}")),
        ("ack:3@4", format!("`ack:3@4`: {once}")),
        ("data:1@0", format!("`data:1@0`: {transmission}")),
        ("data:1@", format!("`data:1@`: {transmission}")),
        ("data:1@*", format!("`data:1@*`: {transmission}")),
        ("data:1@2@3", format!("`data:1@2@3`: {transmission}")),
        ("bernoulli:0.1@4294967296", format!("`bernoulli:0.1@4294967296`: {transmission}")),
        ("none:1", "`none:1`: expected none, and nothing after it".into()),
        ("none@1", "`none@1`: expected none, and nothing after it".into()),
        ("bernoulli", "`bernoulli`: expected bernoulli:P, one probability".into()),
        ("bernoulli:0.1,0.2", "`bernoulli:0.1,0.2`: expected bernoulli:P, one probability".into()),
        ("bernoulli:1.5", not_a_probability("bernoulli:1.5", "1.5")),
        ("bernoulli:-0.5", not_a_probability("bernoulli:-0.5", "-0.5")),
        ("bernoulli:nan", not_a_probability("bernoulli:nan", "nan")),
        ("bernoulli:101%", not_a_probability("bernoulli:101%", "101%")),
        ("gilbert-elliott", format!("`gilbert-elliott`: {gilbert}")),
        ("gilbert-elliott:0.1", format!("`gilbert-elliott:0.1`: {gilbert}")),
        ("gilbert-elliott:0.1,2", not_a_probability("gilbert-elliott:0.1,2", "2")),
        ("gilbert-elliott:0.1,loss_bad=1", format!("`gilbert-elliott:0.1,loss_bad=1`: {gilbert}")),
        ("gilbert-elliott:.1,.2,1,0,0", format!("`gilbert-elliott:.1,.2,1,0,0`: {gilbert}")),
        ("gilbert-elliott:.1,.2,1,loss_bad=1", format!("`gilbert-elliott:.1,.2,1,loss_bad=1`: {gilbert}")),
        ("gilbert-elliott:.1,.2,loss_bad=1,0", format!("`gilbert-elliott:.1,.2,loss_bad=1,0`: {gilbert}")),
        (
            "gilbert-elliott:.1,.2,loss_bda=1",
            "`gilbert-elliott:.1,.2,loss_bda=1`: unknown parameter `loss_bda`: expected loss_bad \
             or loss_good"
                .into(),
        ),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text).expect_err(text).to_string(), message, "{text}");
    }
}

#[test]
fn unknown_words_come_with_the_known_ones() {
    let error = parse("data:1,gilbert-eliot:0.1,0.2").unwrap_err();
    let (word, known) = error.unknown().unwrap();
    assert_eq!(word, "gilbert-eliot");
    assert!(known.contains(&"gilbert-elliott"));
    let error = parse("gilbert-elliott:0.1,0.2,lossbad=1").unwrap_err();
    assert_eq!(error.unknown(), Some(("lossbad", &["loss_bad", "loss_good"][..])));
    assert_eq!(parse("data:0").unwrap_err().unknown(), None);
}

#[test]
fn the_help_names_every_kind() {
    for kind in grammar::KINDS {
        assert!(DropRules::GRAMMAR.contains(&format!("\n  {kind}")), "{kind}");
    }
}

#[test]
fn a_flow_of_ten_segments() {
    let ten = DataSegments { up: Some(1), down: Some(10) };
    let unknown = DataSegments::default();
    let only = |rule: &str, n: u64, way: &str| format!("`{rule}`: the flow has only {n} data segments {way}");
    let down = "from server to client";
    let cases: [(&str, DataSegments, Result<&str, String>); 12] = [
        ("tail:1", ten, Ok("data:10")),
        ("tail:3@2", ten, Ok("data:8-10@2")),
        ("tail:10", ten, Ok("data:1-10")),
        ("tail:11", ten, Err(only("tail:11", 10, down))),
        ("up:tail:1", ten, Ok("up:data:1")),
        ("up:tail:2", ten, Err(only("up:tail:2", 1, "from client to server"))),
        ("data:10,data:1", ten, Ok("data:10,data:1")),
        ("data:1,data:9-11@2", ten, Err(only("data:9-11@2", 10, down))),
        (
            "tail:1",
            unknown,
            Err("`tail:1`: the number of data segments of the flow is not known, so neither is \
                 its tail: expected data:K"
                .into()),
        ),
        ("data:11,syn:1", unknown, Ok("data:11,syn:1")),
        ("syn:20,ack:20,offset:1-100000000,none", ten, Ok("syn:20,ack:20,offset:1-100000000,none")),
        ("gilbert-elliott:0,1", ten, Ok("gilbert-elliott:0,1")),
    ];
    for (text, segments, expected) in cases {
        let found = parse(text).unwrap().resolve(segments);
        let found = found.map(|rules| rules.to_string()).map_err(|error| error.to_string());
        assert_eq!(found, expected.map(str::to_owned), "{text}");
    }
    let none_of_zero = DropRules(vec![(Direction::Down, rule(LossKind::Tail(0)))]).resolve(ten);
    assert!(none_of_zero.is_err());
}

#[test]
fn rules_become_hops_of_their_direction() {
    let rules = parse("none,data:3,up:ack:1,bernoulli:0.5").unwrap();
    let hops = |direction| crate::one_line(&rules.hops(direction).collect::<Vec<_>>());
    assert_eq!(hops(Direction::Down), "loss data:3 > loss bernoulli:0.5");
    assert_eq!(hops(Direction::Up), "loss ack:1");
}

fn probabilities() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(Probability::ZERO), Just(Probability::ONE), (0.0..=1.0).prop_map(p)]
}

/// Everything the grammar can say, a positional `@1` apart, which is not kept.
fn specs() -> impl Strategy<Value = LossSpec> {
    let ends = (1..u64::MAX, 1..u64::MAX).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let channel = (probabilities(), probabilities(), probabilities(), probabilities());
    let repeated = prop::option::of(2..u32::MAX);
    prop_oneof![
        Just(rule(LossKind::None)),
        (1..u64::MAX).prop_map(|k| rule(LossKind::Syn(k))),
        (1..u64::MAX).prop_map(|k| rule(LossKind::Ack(k))),
        (1..u64::MAX, repeated.clone())
            .prop_map(|(n, transmission)| LossSpec { kind: LossKind::Tail(n), transmission }),
        (ends.clone(), repeated.clone())
            .prop_map(|((first, last), transmission)| LossSpec { kind: LossKind::Data { first, last }, transmission }),
        (ends, repeated).prop_map(|((first, last), transmission)| LossSpec {
            kind: LossKind::Offset { first: first - 1, last },
            transmission
        }),
        (probabilities(), prop::option::of(1..u32::MAX))
            .prop_map(|(p, transmission)| LossSpec { kind: LossKind::Bernoulli(p), transmission }),
        (channel, prop::option::of(1..u32::MAX)).prop_map(|((to_bad, to_good, loss_bad, loss_good), transmission)| {
            LossSpec {
                kind: LossKind::GilbertElliott(GilbertElliott { to_bad, to_good, loss_bad, loss_good }),
                transmission,
            }
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(
        rules in prop::collection::vec(
            (prop_oneof![Just(Direction::Up), Just(Direction::Down)], specs()),
            1..6,
        )
    ) {
        let rules = DropRules(rules);
        prop_assert_eq!(parse(&rules.to_string()), Ok(rules));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z:@,=.0-9 -]{0,30}") {
        if let Ok(rules) = parse(&text) {
            prop_assert_eq!(parse(&rules.to_string()), Ok(rules));
        }
    }
}

#[test]
fn data_segments_become_the_bytes_they_carry() {
    // (rule, MSS, the rule by bytes)
    for (segments, mss, bytes) in [
        ("data:1", 1448, "offset:1-1448"),
        ("data:10", 1448, "offset:13033-14480"),
        ("data:3-5", 1000, "offset:2001-5000"),
        ("data:2@3", 1000, "offset:1001-2000@3"),
        // These rules name no data segments by number.
        ("none", 1448, "none"),
        ("syn:1", 1448, "syn:1"),
        ("ack:2", 1448, "ack:2"),
        ("offset:1-9", 1448, "offset:1-9"),
        ("bernoulli:0.5@2", 1448, "bernoulli:0.5@2"),
        // Segments without payload carry no bytes to name.
        ("data:3", 0, "data:3"),
    ] {
        let rule: LossSpec = segments.parse().unwrap();
        let expected: LossSpec = bytes.parse().unwrap();
        assert_eq!(rule.with_byte_offsets(mss), expected, "{segments} of {mss}");
    }
    // Positions no packet has choose nothing, and no number of bytes overflows.
    let data = |first, last| rule(LossKind::Data { first, last });
    assert_eq!(data(0, 0).with_byte_offsets(1448), data(0, 0));
    let (first, last) = (0, u64::MAX - 1);
    let everything = rule(LossKind::Offset { first, last });
    assert_eq!(data(0, u64::MAX).with_byte_offsets(1448), everything);
}
