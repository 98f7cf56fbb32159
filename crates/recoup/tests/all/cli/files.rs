//! Nothing is lost and nothing overwritten: inputs, other outputs, modes, standard error that takes nothing.

use super::analyze::endings::interrupted;
use super::analyze::{SENDER, captured};
use crate::cli::folder;
use recoup_testing::Folder;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A folder with a capture under several names.
fn with_names() -> (Folder, Vec<u8>) {
    let (dir, _) = captured("2");
    let capture = dir.bytes(SENDER);
    dir.write("a.pcap", &capture);
    symlink("a.pcap", dir.path("link.json")).expect("a link");
    fs::hard_link(dir.path("a.pcap"), dir.path("hard.svg")).expect("a link");
    (dir, capture)
}

#[test]
fn no_command_overwrites_its_capture() {
    let (dir, capture) = with_names();
    for command in [
        "explain a.pcap --format table -o",
        "explain a.pcap --connection 0 --format table -o",
        "explain a.pcap --format html -o",
        "whatif a.pcap --format table -o",
        "whatif a.pcap --study --format table -o",
        "analyze a.pcap --format table -o",
        "analyze --study=slp a.pcap --format table -o",
        "analyze --study=slp a.pcap --likelihoods",
        "analyze --join a.pcap --format table -o",
        "plot a.pcap --connection 0 --format svg -o",
        "scenario from a.pcap -o",
        "tmix extract a.pcap -o",
        "anonymize a.pcap -o",
    ] {
        for name in ["a.pcap", "./a.pcap", "link.json", "hard.svg"] {
            let args: Vec<&str> = command.split(' ').chain([name]).collect();
            dir.refuses(&args, &[&format!("cannot write `{name}`: it is a.pcap, which is read")]);
        }
    }
    assert!(dir.bytes("a.pcap") == capture);
}

#[test]
fn outputs_of_one_command_are_apart() {
    let (dir, _) = with_names();
    fs::create_dir(dir.path("out")).expect("a folder");
    symlink("x.csv", dir.path("y.csv")).expect("a link");
    for (command, error) in [
        ("whatif a.pcap --study -o x.csv --events x.csv", "-o"),
        ("whatif a.pcap --study -o x.csv --events out/../x.csv", "-o"),
        ("whatif a.pcap --study -o x.csv --events y.csv", "-o"),
        ("analyze --study=slp a.pcap -o x.csv --likelihoods y.csv", "-o"),
        ("analyze --state s -o s --format csv a.pcap", "-o"),
        ("run tail-loss --plot x.svg --events ./x.svg", "--events"),
    ] {
        let args: Vec<&str> = command.split(' ').collect();
        let other = if error == "-o" { "--output" } else { error };
        dir.refuses(&args, &[&format!(": expected another file than {other}")]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_emulator_overwrites_neither_its_link_nor_its_captures() {
    let dir = folder();
    dir.write("link.trace", "100\n");
    symlink("link.trace", dir.path("log")).expect("a link");
    for (args, part) in [
        ("--link link.trace --log log", "cannot write `log`: it is link.trace, which is read"),
        ("--pcap . --log ./inside.pcap", "expected another file than --log"),
    ] {
        let args: Vec<&str> = ["emulate"].into_iter().chain(args.split(' ')).chain(["--", "true"]).collect();
        dir.refuses(&args, &[part]);
    }
}

/// A state that two runs go on with would keep what one of them found.
#[test]
fn a_state_is_used_by_one_run_at_a_time() {
    let (dir, capture) = with_names();
    let mut first = dir
        .command(&["analyze", "--state", "s", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let begun = Instant::now();
    while !dir.path(".s.lock").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", dir.files());
        std::thread::sleep(Duration::from_millis(5));
    }
    // The lock is taken just after its file is made.
    std::thread::sleep(Duration::from_millis(100));
    symlink("s", dir.path("t")).expect("a link");
    for state in ["s", "./s", "t"] {
        dir.refuses(&["analyze", "--state", state, "a.pcap"], &["another run is using it"]);
    }
    first.stdin.take().expect("a pipe").write_all(&capture).expect("it reads");
    assert!(first.wait().expect("it ends").success());
    dir.run(&["analyze", "--state", "t"]).printed();
    assert!(!dir.path(".s.lock").exists() && dir.path("t").is_symlink() && dir.path("s").is_file());
}

#[test]
fn a_file_keeps_its_mode_and_a_link_its_target() {
    let (dir, _) = with_names();
    symlink("secret.txt", dir.path("report.txt")).expect("a link");
    for args in [&["analyze", "a.pcap", "-o", "report.txt"][..], &["analyze", "--state", "report.txt", "a.pcap"]] {
        let _ = fs::remove_file(dir.path("secret.txt"));
        if args.contains(&"-o") {
            dir.write("secret.txt", "old");
        } else {
            dir.run(&["analyze", "--state", "secret.txt", SENDER]).printed();
        }
        fs::set_permissions(dir.path("secret.txt"), fs::Permissions::from_mode(0o600)).expect("a mode");
        dir.run(args).printed();
        assert!(dir.path("report.txt").is_symlink() && dir.bytes("secret.txt").len() > 3, "{args:?}");
        let mode = fs::metadata(dir.path("secret.txt")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{args:?}");
    }
}

/// Messages that cannot be printed are no reason to lose results.
#[test]
fn standard_error_may_take_nothing() {
    let (dir, _) = with_names();
    dir.write("pass.pkt", "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n");
    for (command, status) in [
        ("analyze a.pcap -o x.json", 0),
        ("analyze none.pcap", 2),
        ("analyze a.pcap none.pcap -o x.json", 2),
        ("explain a.pcap -o x.json", 0),
        ("whatif a.pcap -o x.json", 0),
        ("tmix extract a.pcap -o x.cvec", 0),
        ("run tail-loss --flows 2 --events x.jsonl", 0),
        ("run tail-loss --set drop=none --set tsd=1", 2),
        ("drill none.pkt", 2),
        ("plot a.pcap -o x.svg", 2),
        ("no-command", 2),
        ("", 2),
    ] {
        let args: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        let expected = dir.run(&args);
        assert_eq!(expected.status, Some(status), "{command}: {}", expected.stderr);
        for closed in [false, true] {
            let mut shell = std::process::Command::new("sh");
            let line = if closed { "exec \"$@\" 2>&-" } else { "exec \"$@\" 2>/dev/full" };
            shell.args(["-c", line, "sh", env!("CARGO_BIN_EXE_recoup")]).args(&args).current_dir(dir.dir());
            let output = shell.output().expect("it runs");
            assert_eq!(output.status.code(), Some(status), "{command}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected.stdout, "{command}");
        }
    }
    assert!(dir.files().iter().all(|file| !file.contains(".tmp")));
}

#[test]
fn help_that_cannot_be_printed_is_a_failure() {
    for args in ["--help", "--version", "run --help", "help", "profiles", "scenario list"] {
        let args: Vec<&str> = args.split(' ').collect();
        let full = File::options().write(true).open("/dev/full").expect("a full device");
        let output = folder().command(&args).stdout(full).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr, "recoup: cannot write to standard output: No space left on device (os error 28)\n");
    }
}

#[test]
fn pages_and_completions_are_written_all_or_not_at_all() {
    let dir = folder();
    fs::create_dir_all(dir.path("usr/share/fish/vendor_completions.d/recoup.fish")).expect("a folder");
    let outcome = dir.run(&["generate", "usr"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    let files: Vec<String> = dir.files().into_iter().filter(|name| dir.path(name).is_file()).collect();
    assert_eq!(files, [""; 0]);
}

/// The vectors of a part of a capture say so, and so does the exit status.
#[test]
fn interrupted_vectors_say_so() {
    let (dir, _) = captured("20");
    let output = interrupted(&dir, &["tmix", "extract", "-", "-o", "part.cvec"]);
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    let lines = dir.read("part.cvec");
    let about = lines.lines().nth(1).expect("a second line");
    assert_eq!(about, "# interrupted: the vectors are those of the packets read so far");
}

/// A name is shown and does nothing, wherever it appears.
#[test]
fn names_do_not_act() {
    const NAME: &str = "a\u{1b}[31m\n# b\u{202e}\u{9b}2J.pcap";
    const SHOWN: &str = "a\\u{1b}[31m\\u{a}# b\\u{202e}\\u{9b}2J.pcap";
    let (dir, capture) = with_names();
    dir.write(NAME, &capture);
    dir.write("cut.pcap", &capture[..100]);
    let acts = |text: &str| text.contains(['\u{1b}', '\u{202e}', '\u{9b}']);
    for command in [
        "analyze",
        "analyze --connections --format csv a.pcap",
        "analyze --format json",
        "analyze --join cut.pcap",
        "analyze --retransmissions --format csv --join cut.pcap",
        "explain",
        "explain --format json",
        "explain --format html",
        "whatif",
        "whatif --format json",
        "scenario from",
        "tmix extract",
        "plot --connection 0 --format svg",
        "drill",
        "run",
    ] {
        let args: Vec<&str> = command.split(' ').chain([NAME]).collect();
        let outcome = dir.run(&args);
        assert!(!acts(&outcome.stdout) && !acts(&outcome.stderr), "{command}: {}{}", outcome.stdout, outcome.stderr);
        let json = SHOWN.replace('\\', "\\\\");
        let both = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(
            both.contains(SHOWN)
                || both.contains(&json)
                || ["plot --connection 0 --format svg", "run"].contains(&command),
            "{command}: {both}"
        );
    }
    let vectors = dir.run(&["tmix", "extract", NAME]).stdout;
    assert!(vectors.lines().all(|line| !line.starts_with("# b")), "{vectors}");
    dir.write("world.toml", "[workloads.\"a\\u001B[31m\"]\nrequests = \"1\"\n");
    dir.refuses(&["run", "world.toml"], &["expected a name without control characters"]);
}
