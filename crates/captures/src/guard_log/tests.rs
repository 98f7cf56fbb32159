use super::*;
use recoup_units::Instant;

const HEAD: &str = "{\"schema\":\"recoup.guard.log\",\"version\":1}\n";

fn copy(at: u64, act: Act) -> LoggedCopy {
    LoggedCopy {
        at,
        kind: Kind::Tail,
        act,
        src: "192.0.2.1:443".parse().unwrap(),
        dst: "[2001:db8::9]:40000".parse().unwrap(),
        seq: 4_000_000_000,
        len: 1449,
    }
}

fn line(entry: &Entry) -> String {
    serde_json::to_string(entry).unwrap() + "\n"
}

fn decided(at: u64, act: Act) -> String {
    line(&Entry::Decided(Decided { copy: copy(at, act), bytes: 1514 }))
}

fn settled(at: u64, outcome: Outcome) -> String {
    line(&Entry::Settled(Settled { copy: copy(at, Act::Sent), outcome, saved_ns: 80_000_000 }))
}

/// Reads logs of these contents.
fn read(logs: &[&str]) -> Result<Vec<SentCopy>, LogError> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..logs.len()).map(|number| folder.path().join(format!("{number}.log"))).collect();
    for (path, log) in paths.iter().zip(logs) {
        std::fs::write(path, log).unwrap();
    }
    read_logs(&paths)
}

#[test]
fn lines_are_those_that_the_guard_has_always_written() {
    let expected = "{\"event\":\"decided\",\"at\":1700000000000000001,\"kind\":\"tail\",\"act\":\"sent\",\"src\":\"192.0.2.1:443\",\"dst\":\"[2001:db8::9]:40000\",\"seq\":4000000000,\"len\":1449,\"bytes\":1514}\n";
    assert_eq!(decided(1_700_000_000_000_000_001, Act::Sent), expected);
    let named = |name: &str| format!("\"{name}\"");
    for kind in Kind::ALL {
        assert_eq!(serde_json::to_string(&kind).unwrap(), named(kind.name()));
    }
    for act in Act::ALL {
        assert_eq!(serde_json::to_string(&act).unwrap(), named(act.name()));
    }
    for outcome in Outcome::ALL {
        assert_eq!(serde_json::to_string(&outcome).unwrap(), named(outcome.name()));
    }
}

#[test]
fn copies_that_were_sent_are_read_with_what_became_of_them() {
    let outcomes = [
        (Some(Outcome::Repaired), true),
        (Some(Outcome::Needless), false),
        (Some(Outcome::Failed), false),
        (Some(Outcome::Unknown), true),
        (None, true),
    ];
    for (outcome, may_have_repaired) in outcomes {
        let log = HEAD.to_owned()
            + &decided(5, Act::Control)
            + &decided(6, Act::Dry)
            + &decided(7, Act::Sent)
            + "{\"event\":\"of a later version\",\"more\":[1]}\n"
            + &outcome.map_or_else(String::new, |outcome| settled(7, outcome));
        let copies = read(&[&log]).unwrap();
        assert_eq!(copies.len(), 1, "{outcome:?}");
        let found = &copies[0];
        assert_eq!((found.at, found.len, found.is_of_handshake), (Instant::from_nanos(7), 1449, false));
        assert_eq!(found.may_have_repaired, may_have_repaired, "{outcome:?}");
    }
}

/// The guard was killed, or goes on in another file.
#[test]
fn a_last_line_without_an_end_is_left_out() {
    let whole = HEAD.to_owned() + &decided(7, Act::Sent);
    let last = decided(8, Act::Sent);
    for cut in [0, 1, 40, last.len() - 1] {
        assert_eq!(read(&[&(whole.clone() + &last[..cut])]).unwrap().len(), 1, "{cut}");
    }
    let next = HEAD.to_owned() + &settled(7, Outcome::Needless) + &last;
    let copies = read(&[&whole, &next]).unwrap();
    assert_eq!(copies.iter().map(|copy| copy.may_have_repaired).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn errors_name_the_file_the_line_and_what_was_expected() {
    let good = decided(7, Act::Sent);
    let no_log =
        "0.log: line 1: not the log of `recoup guard copies`: expected {\"schema\":\"recoup.guard.log\",\"version\":1}";
    let cases = [
        (String::new(), no_log),
        (good.clone(), no_log),
        (HEAD.replace('1', "2"), no_log),
        (format!("{HEAD}{good}{{\"event\":\"decided\"}}\n"), "0.log: line 3: missing field"),
        (format!("{HEAD}{good}{}", good.replace("192.0.2.1", "host")), "0.log: line 3: invalid socket address"),
        (format!("{HEAD}\n"), "0.log: line 2: EOF while parsing a value"),
        (format!("{HEAD}{}", "x".repeat(1 << 17)), "0.log: line 2: more than 65536 bytes without an end"),
    ];
    for (log, expected) in cases {
        let why = read(&[&log]).unwrap_err().to_string();
        assert!(why.contains(expected) && why.contains("expected") && !why.contains('\n'), "{why}");
    }
    let why = read_logs(&["no such file"]).unwrap_err().to_string();
    assert!(why.starts_with("no such file: cannot read the log: "), "{why}");
}
