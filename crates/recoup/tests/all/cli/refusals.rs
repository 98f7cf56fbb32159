//! Wrong use and bad input: exit status 2, one line on standard error that names the mistake and the
//! expectation, nothing on standard output, and no files.

use crate::cli::folder;

#[test]
fn unknown_names() {
    let dir = folder();
    for (args, parts) in [
        (
            &["run", "tail-los"][..],
            &["no scenario `tail-los`", "expected one of tail-loss", "did you mean `tail-loss`?"][..],
        ),
        (&["scenario", "show", "tailloss"], &["no scenario `tailloss`", "did you mean `tail-loss`?"]),
        (
            &["run", "tail-loss", "--profile", "linux-3.71"],
            &["unknown profile 'linux-3.71'", "did you mean `linux-3.17`?"],
        ),
        (
            &["run", "tail-loss", "--profile", "linux-3.17+tpl"],
            &["--profile linux-3.17+tpl", "unknown mechanism 'tpl'", "did you mean `tlp`?"],
        ),
        (&["run", "tail-loss", "--profile", "rack-tlp"], &["unknown profile 'rack-tlp'", "did you mean `linux-6`?"]),
        (&["profiles", "linux-6+rto-restart"], &["unknown mechanism 'rto-restart'", "did you mean `rtor`?"]),
        (&["run", "tail-loss", "--profile", ""], &["unknown profile ''"]),
        (&["run", "tail-loss", "--set", "rtts=80ms"], &["unknown setting `rtts`", "did you mean `rtt`?"]),
        (&["run", "tail-loss", "--set", "drop=tial:1"], &["drop", "`tial:1`", "did you mean `tail`?"]),
        (&["run", "tail-loss", "--set", "ack=quik"], &["ack: `quik`", "did you mean `quick`?"]),
        (&["run", "tail-loss", "--set", "timers=linux-whel:250"], &["timers: ", "did you mean `linux-wheel`?"]),
        (&["run", "tail-loss", "--set", "cc=cubik"], &["cc: `cubik`", "did you mean `cubic`?"]),
    ] {
        dir.refuses(args, parts);
    }
}

#[test]
fn several_profiles_in_one() {
    let dir = folder();
    let args = ["run", "tail-loss", "--profile", "linux-6,reno"];
    dir.refuses(&args, &["linux-6,reno", "; for several, repeat --profile"]);
}

#[test]
fn impossible_values() {
    let dir = folder();
    dir.write("words.trace", "one\n");
    for (setting, part) in [
        ("rtt", "expected KEY=VALUE, such as rtt=80ms"),
        ("", "expected KEY=VALUE"),
        ("=80ms", "unknown setting ``"),
        ("rtt=", "rtt: `` is not a duration"),
        ("rtt=80", "expected a number with a unit"),
        ("rtt=-5ms", "not negative"),
        ("rtt=soon\nor late", "`soon or late` is not a duration"),
        ("rtt=48h", "expected at most a day"),
        ("rate=0", "above zero"),
        ("rate=0Mbit", "above zero"),
        ("rate=-1Mbit", "`-1Mbit` is not a rate"),
        ("rate=10MB", "`10MB` is not a rate"),
        ("rate=up:1Mbit,down:fast", "`fast` is not a rate"),
        ("queue=0", "`0` is not a queue limit"),
        ("link=no.trace", "cannot read the link trace no.trace: No such file"),
        ("link=words.trace", "words.trace: line 1"),
        ("segments=0", "from 1 to 1000000000"),
        ("segments=10.5", "expected a whole number"),
        ("mss=0", "from 1 to 65463"),
        ("mss=65464", "from 1 to 65463"),
        ("drop=tail:0", "`tail:0`"),
        ("drop=tail", "`tail`"),
        ("drop=data:3-2", "K not above L"),
        ("drop=bernoulli:1.5", "a number from 0 to 1"),
        ("drop=tail:11", "the flow has only 10 data segments"),
        ("drop=data:10-11", "the flow has only 10 data segments"),
        ("drop=up:tail:1", "from client to server"),
        ("reorder=0.1", "PROBABILITY:EXTRA"),
        ("reorder=0.1:soon", "`soon` is not a duration"),
        ("duplicate=2", "`2` is not a probability"),
        ("corrupt=-0.5", "`-0.5` is not a probability"),
        ("corrupt=nan", "`nan` is not a probability"),
        ("ack=delayed:x", "`x` is not a duration"),
        ("ack=linux:-1", "expected a whole number"),
        ("timers=granularity:0", "above zero"),
        ("timers=linux-wheel:0", "from 1 to 1000000"),
        ("close=yes", "expected false or true"),
        ("user_timeout=0", "expected more than zero"),
        ("receive_buffer=0", "from 1 to"),
    ] {
        dir.refuses(&["run", "tail-loss", "--set", setting], &[part]);
    }
}

#[test]
fn unreadable_scenario_files() {
    let dir = folder();
    std::fs::create_dir(dir.path("folder.toml")).expect("a folder");
    dir.write("binary.toml", b"about = \"\xff\"\n");
    for (name, part) in [
        ("missing.toml", "missing.toml: No such file"),
        ("no/where", "no/where: No such file"),
        ("folder.toml", "folder.toml: Is a directory"),
        ("./folder.toml", "Is a directory"),
        ("binary.toml", "binary.toml: "),
        ("", "no scenario ``"),
    ] {
        dir.refuses(&["run", name], &[part]);
    }
}

/// Inputs have a size limit. The test's files are sparse, so they take no disk space.
#[test]
fn inputs_that_are_too_long() {
    let dir = folder();
    for name in ["long.toml", "long.pkt", "long.trace", "long.csv"] {
        let file = std::fs::File::create(dir.path(name)).expect("a file");
        file.set_len(5 << 30).expect("a sparse file");
    }
    let long_line = format!("{{\"flow\":\"{}\n", "x".repeat(1 << 20));
    dir.write("line.jsonl", &long_line);
    let run = ["run", "tail-loss", "--set"];
    for (args, parts) in [
        (&["run", "long.toml"][..], ["long.toml: ", "longer than 1 MiB"]),
        (&[&run[..], &["link=long.trace"]].concat(), ["long.trace: ", "longer than 64 MiB"]),
        (&[&run[..], &["slp.q=long.csv"]].concat(), ["long.csv: ", "longer than 1 MiB"]),
        (&["plot", "line.jsonl"], ["line.jsonl:1: ", "longer than 1 MiB"]),
    ] {
        dir.refuses(args, &parts);
    }
    let piped = dir.run_reading(&["plot", "-"], &long_line);
    let error = "recoup: <standard input>:1: longer than 1 MiB, the most that is read\n";
    assert_eq!((piped.status, piped.stderr.as_str()), (Some(2), error));
    let drill = dir.run(&["drill", "long.pkt"]);
    assert_eq!(drill.status, Some(2));
    let error = "recoup: cannot read `long.pkt`: longer than 16 MiB, the most that is read\n";
    assert_eq!(drill.stderr, error);
}

/// The message begins with `FILE:LINE:`.
#[test]
fn scenario_files_with_a_mistake() {
    let dir = folder();
    for (text, line, part) in [
        ("flows = \n", 1, ""),
        ("about = \"open\n", 1, ""),
        ("\n\nseed = 1\nseed = 2\n", 4, "duplicate key"),
        ("[settings\n", 1, ""),
        ("flows = 0\n", 1, "expected a whole number from 1"),
        ("\nseed = -1\n", 2, "expected a whole number from 0"),
        ("seed = 1\nflow = 1\n", 2, "did you mean `flows`?"),
        ("[settings]\nrtt = \"\"\"soon\nor late\"\"\"\n", 2, "`soon or late`"),
        ("profiles = \"linux-3.17\"\n", 1, "expected a list"),
        ("profiles = [\n  \"linux-3.17\",\n  \"linux-3.17+rotr\",\n]\n", 3, "did you mean `rtor`?"),
        ("settings = 3\n", 1, "expected a table"),
        ("[settings]\nrtt = \"-5ms\"\n", 2, "not negative"),
        ("[settings]\nrtt = [1]\n", 2, "expected text or a number, found array"),
        ("[settings]\r\n\r\nqueues = 5\r\n", 3, "did you mean `queue`?"),
        ("[settings]\nlink = \"no.trace\"\n", 2, "cannot read the link trace"),
        ("[settings]\ndrop = \"tail:4\"\nsegments = 3\n", 2, "has only 3 data segments"),
    ] {
        dir.write("mine.toml", text);
        let place = format!("recoup: mine.toml:{line}: ");
        dir.refuses(&["run", "mine.toml"], &[&place, part]);
        let piped = dir.run_reading(&["run", "-"], text);
        let place = format!("recoup: <standard input>:{line}: ");
        assert_eq!((piped.status, piped.stdout.as_str()), (Some(2), ""), "{text}");
        assert!(piped.stderr.starts_with(&place), "{text}: {}", piped.stderr);
    }
}

/// The argument parser reports its errors in the same way.
#[test]
fn unknown_arguments() {
    let dir = folder();
    for (args, part) in [
        (&["rum", "tail-loss"][..], "'run'"),
        (&["run"], "<SCENARIO>"),
        (&["run", "tail-loss", "again"], "'again'"),
        (&["run", "tail-loss", "--flow", "3"], "'--flows'"),
        (&["run", "tail-loss", "--flows", "0"], "'0'"),
        (&["run", "tail-loss", "--flows", "x"], "'x'"),
        (&["run", "tail-loss", "--seed=-1"], "'-1'"),
        (&["run", "tail-loss", "--format", "jsn"], "'json'"),
        (&["run", "tail-loss", "--pcap", ""], "--pcap"),
        (&["run", "tail-loss", "--report", "costs"], "'cost'"),
        (&["run", "tail-loss", "--report", "cost", "--format", "csv"], "--report: chooses the table"),
        (&["scenario", "show"], "<NAME>"),
        (&["analyze", "x.pcap", "--filter", "port http"], "column 6: `http`: expected a port"),
        (&["analyze", "x.pcap", "--from", "5"], "`5` is not a time"),
        (&["analyze", "x.pcap", "--from", "5s", "--to", "5s"], "expected --from before --to"),
    ] {
        dir.refuses(args, &[part]);
    }
}
