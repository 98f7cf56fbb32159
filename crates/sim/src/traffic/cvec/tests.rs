use super::*;
use proptest::prelude::*;

const SEQUENTIAL: [&str; 2] = [
    "SEQ 6851 2 21217 555346\nw 64800 6432\nr 1176194\nl 0.000000 0.010000\n> 245\nt 51257\n< 3410\nt 2000000\n> 300\nt 0\n> 40\nt 7\n< 9\nt 5000\n",
    "# the same\nS 6851 2 21217 555346\nw 64800 6432\nr 1176194\nl 0.000000 0.010000\nI 0 0 245\nA 0 51257 3410\nI 0 2000000 300\nI 0 0 40\nA 0 7 9\nA 5000 0 0\n",
];

const CONCURRENT: [&str; 2] = [
    "CONC 1429381 2 2 26876 531909\nm 1460 536\nw 65535 5840\nr 36556\nl 0.000000 0.000000\nc> 222\nt> 62436302\nc< 726\nt< 62400173\nc> 16\nt> 725\nc< 84\n",
    "C 1429381 2 2 26876 531909\nm 1460 536\nw 65535 5840\nr 36556\nl 0 0\nI 0 0 222\nA 0 0 726\nI 62436302 0 16\nA 62400173 0 84\nI 725 0 0\n",
];

fn one(text: &str) -> ConnectionVector {
    let mut all = parse(text).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn unit(from: Host, wait: Wait, bytes: u64) -> DataUnit {
    DataUnit { from, wait, bytes }
}

#[test]
fn both_formats_say_the_same() {
    use Host::{Client, Server};
    use Wait::{AfterReceiving, AfterSending};
    let micros = Duration::from_micros;
    for text in SEQUENTIAL {
        let vector = one(text);
        assert_eq!((vector.start, vector.id), (micros(6851), 555_346));
        assert_eq!(vector.pattern, Pattern::Sequential);
        assert_eq!(vector.windows, Some([64_800, 6_432]));
        assert_eq!(vector.min_rtt, Some(micros(1_176_194)));
        assert_eq!(vector.loss, [0.0, 0.01]);
        let expected = [
            unit(Client, AfterSending(micros(0)), 245),
            unit(Server, AfterReceiving(micros(51_257)), 3410),
            unit(Client, AfterReceiving(micros(2_000_000)), 300),
            unit(Client, AfterSending(micros(0)), 40),
            unit(Server, AfterReceiving(micros(7)), 9),
            unit(Server, AfterSending(micros(5000)), 0),
        ];
        assert_eq!(vector.units, expected);
    }
    let [original, alternate] = CONCURRENT.map(one);
    assert_eq!(original.segment_sizes, Some([1460, 536]));
    assert_eq!(original.workload(), alternate.workload());
    assert_eq!(original.bytes(Client), 238);
}

#[test]
fn scripts_wait_for_what_the_vector_says() {
    let workload = one(SEQUENTIAL[0]).workload();
    let millis = Duration::from_micros;
    let waits = |script: &Script| -> Vec<_> {
        let writes = script.writes.iter();
        writes.map(|write| (write.when.received, write.when.after, write.bytes)).collect()
    };
    let client = [(0, millis(0), 245), (3410, millis(2_000_000), 300), (0, millis(0), 40)];
    assert_eq!(waits(&workload.client), client);
    assert_eq!(waits(&workload.server), [(245, millis(51_257), 3410), (585, millis(7), 9)]);
    let close = |script: &Script| script.close.map(|close| (close.received, close.after));
    assert_eq!(close(&workload.client), Some((3419, millis(0))));
    assert_eq!(close(&workload.server), Some((585, millis(5000))));
}

#[test]
fn errors_name_the_line() {
    for (text, error) in [
        ("> 3", "line 1: `>`: expected SEQ, CONC, S or C, which begin a vector"),
        ("\n# x\nSEQ 1 2 3", "line 3: SEQ: expected 4 numbers (start, epochs and two identifiers), found 3"),
        ("CONC 1 2 3 4", "line 1: CONC: expected 5 numbers"),
        ("SEQ x 2 3 4", "line 1: SEQ: `x`: expected a whole number from 0"),
        ("SEQ 1 1 1 1\nw 1", "line 2: w: expected the windows of both hosts, found 1 fields"),
        ("SEQ 1 1 1 1\nl 0 2", "line 2: l: `2`: expected a rate from 0 to 1"),
        ("SEQ 1 1 1 1\nm 0 1", "line 2: m: expected the segment sizes of both hosts, from 1 to 65535 bytes"),
        ("SEQ 1 1 1 1\nt 3", "line 2: t: expected data, before which nothing waits"),
        ("SEQ 1 1 1 1\n> 3\nt 1\nt 2", "line 4: t: expected data, found a second time"),
        ("SEQ 1 1 1 1\nc> 3", "line 2: `c>`: expected >, < or t in a sequential vector"),
        ("CONC 1 1 1 1 1\n> 3", "line 2: `>`: expected c>, c<, t> or t< in a concurrent vector"),
        ("S 1 1 1 1\n> 3", "line 2: `>`: expected w, r, l, m, I or A"),
        ("S 1 1 1 1\nI 1 2 3", "line 2: I: expected one of the two waits to be 0"),
        ("S 1 1 1 1\nI 0 0 -3", "line 2: I: `-3`: expected a whole number from 0"),
        ("SEQ 1 1 1 1\nr 99999999999999999999", "line 2: r: "),
    ] {
        let found = parse(text).unwrap_err().to_string();
        assert!(found.starts_with(error), "{text}\n{found}");
    }
    assert_eq!(parse("\n# nothing\n"), Ok(vec![]));
}

fn vectors() -> impl Strategy<Value = ConnectionVector> {
    let wait = prop_oneof![Just(0_u64), 1..5_000_000_u64];
    let units = proptest::collection::vec((any::<bool>(), wait, 1..100_000_u64), 0..8);
    (units, any::<bool>(), any::<bool>(), 0..9_000_000_u64).prop_map(|(units, sequential, closes, start)| {
        let pattern = match sequential {
            true => Pattern::Sequential,
            false => Pattern::Concurrent,
        };
        let mut vector = ConnectionVector {
            start: Duration::from_micros(start),
            id: start,
            pattern,
            windows: Some([start, 7]),
            segment_sizes: None,
            min_rtt: Some(Duration::from_micros(start / 2)),
            loss: [0.25, 0.0],
            units: vec![],
        };
        for (client, wait, bytes) in units {
            let host = if client { Host::Client } else { Host::Server };
            // The first wait of a sequential vector has no place in the original format.
            let wait = if sequential && vector.units.is_empty() { 0 } else { wait };
            let wait = vector.usual_wait(host, Duration::from_micros(wait));
            vector.units.push(unit(host, wait, bytes));
        }
        if let Some(last) = vector.units.last().copied().filter(|_| closes) {
            let wait = Wait::AfterSending(Duration::from_micros(77));
            vector.units.push(unit(last.from, wait, 0));
        }
        vector
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(all in proptest::collection::vec(vectors(), 0..4)) {
        for format in [Format::Original, Format::Alternate] {
            let mut text = String::new();
            all.iter().for_each(|vector| write(vector, format, &mut text));
            prop_assert_eq!(&parse(&text).unwrap(), &all);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "((SEQ|CONC|S|C|>|<|c>|c<|t|t>|t<|w|r|l|m|I|A|#)?[ 0-9x.-]{0,20}\n){0,12}") {
        for vector in parse(&text).unwrap_or_default() {
            let _ = vector.workload();
        }
    }
}
