//! `recoup run --pcap` and `--events`.

use crate::cli::{folder, recoup};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Counts the packets of a pcap file of raw IP packets, and checks that each is whole.
fn packets(file: &Path) -> usize {
    let bytes = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(word(0), 0xa1b2_3c4d, "nanosecond timestamps, little-endian");
    assert_eq!(word(20), 101, "LINKTYPE_RAW");
    let (mut at, mut count, mut last) = (24, 0, (0, 0));
    while at < bytes.len() {
        let time = (word(at), word(at + 4));
        assert!(last <= time && time.1 < 1_000_000_000, "{last:?}, {time:?}");
        let (captured, on_wire) = (word(at + 8), word(at + 12));
        let packet = &bytes[at + 16..at + 16 + captured as usize];
        assert_eq!(captured, on_wire, "cut");
        assert_eq!(packet[0], 0x45, "IPv4");
        let total = u16::from_be_bytes([packet[2], packet[3]]);
        assert_eq!(u32::from(total), captured);
        (at, count, last) = (at + 16 + captured as usize, count + 1, time);
    }
    assert_eq!(at, bytes.len());
    count
}

#[test]
fn each_profile_has_a_capture_of_the_sender_and_one_of_the_receiver() {
    let dir = folder();
    let args = ["run", "tail-loss", "--set", "drop=tail:2", "--flows", "3"];
    let report = dir.run(&[&args[..], &["--format", "json", "--pcap", "cap/tures"]].concat()).json();
    let results = report["results"].as_array().expect("results");
    let mut names = vec!["cap".to_owned(), "cap/tures".to_owned()];
    for result in results {
        let profile = result["profile"].as_str().expect("a name");
        let [sender, receiver] = ["sender", "receiver"].map(|end| format!("cap/tures/{profile}-{end}.pcap"));
        let [sent, came] = [&sender, &receiver].map(|name| packets(&dir.path(name)));
        // Both ends see delivered packets. Only the sender's end sees lost ones.
        assert_eq!(result["packets_dropped"], 6);
        assert_eq!(sent - came, 6, "{profile}");
        names.extend([sender, receiver]);
    }
    names.sort();
    assert_eq!(dir.files(), names, "and nothing else");

    // Writing files does not change the results, and replaces existing files.
    let plain = recoup(&[&args[..], &["--format", "json"]].concat()).json();
    assert_eq!(plain, report);
    let before = fs::read(dir.path(&names[2])).expect("a capture");
    dir.run(&[&args[..], &["--pcap", "cap/tures"]].concat()).printed();
    assert_eq!(fs::read(dir.path(&names[2])).expect("a capture"), before);
    assert_eq!(dir.files(), names);
}

/// Checks the events, one JSON object per line, and counts the retransmissions of each profile.
fn check_events(text: &str, flows: u64) -> BTreeMap<String, u64> {
    let mut again = BTreeMap::new();
    let mut last: BTreeMap<(String, u64), f64> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let time = event["time_ms"].as_f64().expect("a time");
        let profile = event["profile"].as_str().expect("a profile").to_owned();
        let flow = event["flow"].as_u64().expect("a flow");
        assert!(flow < flows && event["event"].is_string(), "{line}");
        assert!(event.get("host").is_some(), "{line}");
        if event["event"] == "sent" && event["what"] == "again" {
            *again.entry(profile.clone()).or_default() += 1;
        }
        let before = last.insert((profile, flow), time).unwrap_or(0.0);
        assert!(before <= time, "time runs backwards: {line}");
    }
    assert_eq!(last.len() as u64, 3 * flows, "every flow of every profile");
    again
}

#[test]
fn events_are_json_lines_that_agree_with_the_results() {
    let dir = folder();
    let args = ["run", "tail-loss", "--set", "drop=tail:3", "--flows", "2"];
    let to_file = ["--format", "json", "--events", "events.jsonl", "--pcap", "caps"];
    let report = dir.run(&[&args[..], &to_file].concat()).json();
    let events = dir.read("events.jsonl");
    let again = check_events(&events, 2);
    for result in report["results"].as_array().expect("results") {
        let profile = result["profile"].as_str().expect("a name");
        assert_eq!(result["retransmissions"]["total"], again[profile], "{profile}");
    }
    assert_eq!(dir.files().len(), 2 + 6, "{:?}", dir.files());
    let plain = recoup(&[&args[..], &["--format", "json"]].concat()).json();
    assert_eq!(plain, report);

    // Standard output gets the same events and nothing else.
    let printed = dir.run(&[&args[..], &["--events", "-"]].concat()).printed();
    assert!(printed == events, "the event streams differ");
}

/// A refused run writes nothing and keeps existing files.
#[test]
fn unwritable_outputs_leave_no_files() {
    let dir = folder();
    fs::create_dir_all(dir.path("folder/linux-3.17-sender.pcap")).expect("a folder");
    dir.write("file", "kept");
    let before = dir.files();
    for (option, value, named) in [
        ("--pcap", "file", "`file`: not a folder"),
        ("--pcap", "file/below", "`file/below`"),
        ("--pcap", "folder", "`folder/linux-3.17-sender.pcap`"),
        ("--events", "folder", "`folder`"),
        ("--events", "no/such/events", "`no/such/events`"),
        ("--events", "file/events", "`file/events`"),
    ] {
        for more in [&[][..], &["--events", "events"], &["--pcap", "caps"]] {
            // Each option may appear once.
            if more.first() == Some(&option) {
                continue;
            }
            let args = [&["run", "tail-loss", "--profile", "linux-3.17", option, value][..], more].concat();
            let outcome = dir.run(&args);
            let (status, stderr) = (outcome.status, &outcome.stderr);
            assert_eq!((status, outcome.stdout.as_str()), (Some(2), ""), "{args:?}");
            let line = match named.contains(": ") {
                true => format!("recoup: cannot write {named}\n"),
                false => format!("recoup: cannot write {named}: "),
            };
            assert!(stderr.starts_with(&line), "{args:?}: {stderr}");
            assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
            assert_eq!(dir.files(), before, "{args:?}");
        }
    }
    assert_eq!(dir.read("file"), "kept");
}

/// A file that is read is not overwritten, whatever name is given for it.
#[test]
fn an_input_is_never_overwritten() {
    let dir = folder();
    let scenario = "flows = 3\n[settings]\nlink = \"slow.trace\"\n";
    dir.write("mine.toml", scenario);
    dir.write("slow.trace", "100\n");
    fs::create_dir(dir.path("caps")).expect("a folder");
    dir.write("caps/linux-3.17-receiver.pcap", "flows = 3\n");
    let before = dir.files();
    let absolute = dir.path("mine.toml").display().to_string();
    for (input, args, named) in [
        ("mine.toml", ["--events", "mine.toml"], "mine.toml"),
        ("mine.toml", ["--events", "caps/../mine.toml"], "mine.toml"),
        ("./mine.toml", ["--events", &absolute], "./mine.toml"),
        ("mine.toml", ["--events", "slow.trace"], "slow.trace"),
        ("caps/linux-3.17-receiver.pcap", ["--pcap", "caps"], "caps/linux-3.17-receiver.pcap"),
    ] {
        let trace = ["--set", "link=slow.trace"];
        let outcome = dir.run(&[&["run", input][..], &args, &trace].concat());
        assert_eq!((outcome.status, &*outcome.stdout), (Some(2), ""), "{args:?}");
        let end = format!(": it is {named}, which is read\n");
        let stderr = &outcome.stderr;
        assert!(stderr.starts_with("recoup: cannot write `"), "{stderr}");
        assert!(stderr.ends_with(&end), "{stderr}");
        assert_eq!(dir.files(), before, "{args:?}");
        assert_eq!(dir.read("mine.toml"), scenario);
        assert_eq!(dir.read("slow.trace"), "100\n");
    }
    let other = ["run", "mine.toml", "--events", "other.toml"];
    dir.run(&other).printed();
    assert!(dir.read("other.toml").starts_with("{\"schema\":\"recoup.events\","));
}

/// A run ended by a signal leaves no partial files, and its status names the signal.
#[cfg(unix)]
#[test]
fn a_signal_leaves_no_partial_files() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let dir = folder();
        fs::create_dir(dir.path("caps")).expect("a folder");
        dir.write("events", "kept");
        let files = "--events events --pcap caps --flows 100000000";
        let args: Vec<&str> = "run tail-loss".split(' ').chain(files.split(' ')).collect();
        let mut child =
            dir.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
        // One file of events, and two captures for each of three profiles.
        let begun = Instant::now();
        while dir.files().iter().filter(|f| f.ends_with(".tmp")).count() < 7 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", dir.files());
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        let status = child.wait().expect("the program ends");
        assert_eq!(status.signal(), Some(number), "{name}: {status}");
        assert_eq!(dir.files(), ["caps", "events"], "{name}");
        assert_eq!(dir.read("events"), "kept");
    }
}

#[test]
fn a_run_draws_its_flow_completion_times() {
    let dir = folder();
    for (scenario, args, texts) in [
        (
            "tail-loss",
            "--flows 50 --set drop=bernoulli:5%",
            ["tail-loss: flow completion times of 50 flows per profile", "linux-6+tlpr"],
        ),
        ("dumbbell", "--set duration=1s", ["dumbbell: flow completion times in 1s", "fetches"]),
    ] {
        for (kind, text) in [
            ("cdf", "share of the flows"),
            ("ccdf", "share of flows that take longer"),
            ("box", "whiskers: 5th and 95th percentile"),
        ] {
            let mut all = vec!["-q", "run", scenario, "--plot", "p.svg", "--plot-kind", kind];
            all.extend(args.split(' '));
            let with = dir.run(&all).printed();
            all.drain(3..7);
            assert_eq!(with, dir.run(&all).printed(), "the results are the same");
            let svg = dir.read("p.svg");
            for text in texts.iter().chain([&text]) {
                assert!(svg.contains(text), "{kind}: {text}");
            }
        }
    }
    for (file, start) in [("p.png", &b"\x89PNG"[..]), ("p.pdf", b"%PDF")] {
        dir.run(&["run", "tail-loss", "--plot", file]).printed();
        let bytes = fs::read(dir.path(file)).expect("a file");
        assert!(bytes.starts_with(start), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn a_plot_that_cannot_be_written_is_refused_before_the_run() {
    let dir = folder();
    dir.write("mine.toml", "about = \"a scenario\"\n");
    std::os::unix::fs::symlink("mine.toml", dir.path("link.svg")).expect("a link");
    for (args, error) in [
        ("tail-loss --plot p.gif", "--plot p.gif: expected a name that ends in .svg, .png or .pdf"),
        ("tail-loss --plot -", "--plot -: expected a name that ends in "),
        ("tail-loss --plot-kind box", "--plot-kind: expected beside --plot"),
        ("tail-loss --plot none/p.svg", "cannot write `none/p.svg`: "),
        ("tail-loss --plot p.svg --events p.svg", "--plot p.svg: expected another file than --events"),
        ("mine.toml --plot link.svg", "cannot write `link.svg`: it is mine.toml, which is read"),
        ("tail-loss --flows-out f.json", "--flows-out f.json: expected a name that ends in .jsonl, .csv or .parquet"),
        ("tail-loss --flows-out f.csv --events f.csv", "--flows-out f.csv: expected another file than --events"),
        ("tail-loss --flows-out f.csv --on net", "--flows-out: expected beside --on sim: "),
    ] {
        let args: Vec<&str> = ["run"].into_iter().chain(args.split(' ')).collect();
        let outcome = dir.run(&args);
        assert_eq!((outcome.status, &*outcome.stdout), (Some(2), ""), "{args:?}");
        let expected = format!("recoup: {error}");
        assert!(outcome.stderr.starts_with(&expected), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
    assert_eq!(dir.files(), ["link.svg", "mine.toml"]);
}

/// After Ctrl-C the current flows finish, and the results so far are printed.
#[cfg(unix)]
#[test]
fn an_interrupted_run_prints_its_results() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    const SIGINT: i32 = 2;
    let dir = folder();
    let child = dir
        .command(&["run", "tail-loss", "--flows=100000000", "--events=events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The file is created before the first flow. A flow takes less than a millisecond.
    let begun = std::time::Instant::now();
    let events = || fs::read_dir(dir.dir()).into_iter().flatten().flatten();
    while !events().any(|file| file.metadata().is_ok_and(|m| m.len() > 100_000)) {
        assert!(begun.elapsed().as_secs() < 60, "{:?}", dir.files());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.signal(), Some(SIGINT), "{output:?}");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    let note = "recoup: note: interrupted: linux-3.17 on sim ";
    assert!(stderr.starts_with(note), "{stderr}");
    let rest = " of 100000000 flows; captures and events are not written\n";
    assert!(stderr.ends_with(rest), "{stderr}");
    assert!(stdout.contains("tail-loss flows=100000000 seed=1 "), "{stdout}");
    assert!(stdout.contains("linux-3.17"), "{stdout}");
    assert!(stdout.contains("\nInterrupted: these are the results of a part of the run.\n"), "{stdout}");
    assert_eq!(dir.files(), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_next_run_removes_the_files_of_a_killed_one() {
    let dir = folder();
    let mut child = dir
        .command(&["run", "tail-loss", "--flows", "100000000", "--events", "events"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    let begun = std::time::Instant::now();
    while !dir.files().iter().any(|name| name.ends_with(".tmp")) {
        assert!(begun.elapsed().as_secs() < 60, "{:?}", dir.files());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().expect("a program");
    child.wait().expect("its end");
    assert_eq!(dir.files().len(), 1, "{:?}", dir.files());
    dir.run(&["run", "tail-loss", "--events", "events"]).printed();
    assert_eq!(dir.files(), ["events"]);
}

/// As under `nohup`, or in the background of a shell.
#[cfg(target_os = "linux")]
#[test]
pub(super) fn ignored_signals_stay_ignored() {
    let dir = folder();
    let script = "trap '' HUP; \"$0\" run tail-loss --flows 3000 --events events & \
                  pid=$!; until ls .recoup-*.tmp; do sleep 0.01; done; kill -HUP $pid; wait $pid";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_recoup")])
        .current_dir(dir.dir())
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(dir.files(), ["events"]);
}
