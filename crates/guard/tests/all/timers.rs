//! `recoup guard timers`: its arguments, and SYNs of a process in a cgroup of its own.

use crate::PROGRAM;
use crate::cgroup::Cgroup;
use recoup_net::{Namespace, PacketRing, PacketSocketOptions, RingFrame};
use recoup_testing::{Fields, Folder, check_fields, command, skip};
use recoup_units::Instant;
use recoup_wire::{Flags, decode_unverified};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Error};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn wrong_arguments_are_refused_in_one_line() {
    let folder = Folder::new(PROGRAM);
    let network = ["timers", "--network", "192.0.2.0/24"];
    let with = |more: &[&'static str]| [&network[..], more].concat();
    folder.refuses(&["timers"], &["--plan <FILE>|--network <NETWORK>"]);
    folder.refuses(&network, &["no timer: expected one of --syn, --syn-ack, --least-rto, --most-ack-delay"]);
    folder.refuses(&with(&["--syn", "1001ms"]), &["--syn: 1001ms is longer than the kernel's own 1s"]);
    folder.refuses(&with(&["--most-ack-delay", "201ms"]), &["--most-ack-delay", "200ms"]);
    folder.refuses(&with(&["--least-rto", "1us"]), &["--least-rto: 1us is too short: expected at least"]);
    folder.refuses(&with(&["--syn", "60"]), &["--syn", "60"]);
    folder.refuses(&with(&["--syn", "60ms", "--act"]), &["--cgroup"]);
    folder.refuses(&with(&["--syn", "60ms", "--for", "1s"]), &["--act"]);
    folder.refuses(&with(&["--syn", "60ms", "--plan", "p"]), &["--plan", "--network"]);
    folder.refuses(&["timers", "--network", "192.0.2.1/24", "--syn", "60ms"], &["expected 192.0.2.0/24"]);
    folder.refuses(&["timers", "--plan", "p.toml"], &["cannot read the plan p.toml"]);
    folder.write("p.toml", "[\"192.0.2.0/24\"]\nsin = \"60ms\"\n");
    folder.refuses(&["timers", "--plan", "p.toml"], &["p.toml:2: unknown timer `sin`, did you mean `syn`?"]);
    folder.refuses(&with(&["--syn", "60ms", "--act", "--cgroup", "p.toml"]), &["p.toml"]);
}

#[test]
fn a_dry_run_sets_nothing_and_says_what_it_would() {
    let folder = Folder::new(PROGRAM);
    let arguments = ["timers", "--network", "192.0.2.0/24", "--syn", "120ms", "--json"];
    let document: Value = serde_json::from_str(&folder.run(&arguments).printed()).unwrap();
    check_fields(&document, "", Fields::new());
    assert_eq!((&document["set"], &document["counts"]), (&Value::Bool(false), &Value::Null));
    assert_eq!(document["networks"][0]["syn"], "120ms");
    assert_eq!(document["networks"][0]["least_rto"], Value::Null);
}

/// A network namespace with an interface behind which nobody answers.
fn unanswered() -> io::Result<Namespace> {
    let namespace = Namespace::new().map_err(Error::other)?;
    for line in [
        "link add here type veth peer name there",
        "address add 192.0.2.1/24 dev here",
        "link set here up",
        "link set there up",
        "neighbour replace 192.0.2.2 lladdr 02:00:00:00:00:99 dev here nud permanent",
    ] {
        let run = move || Command::new("ip").args(line.split(' ')).output();
        let output = namespace.run(run).map_err(Error::other)??;
        if !output.status.success() {
            return Err(Error::other(format!("ip {line}: {}", String::from_utf8_lossy(&output.stderr).trim())));
        }
    }
    Ok(namespace)
}

fn start(namespace: &Namespace, mut command: Command) -> Child {
    namespace.run(move || command.spawn()).unwrap().unwrap()
}

/// When SYNs left.
fn syns(packets: &mut PacketRing) -> Vec<Instant> {
    // A frame waits in its block for a moment.
    thread::sleep(Duration::from_millis(50));
    let mut found = Vec::new();
    let mut take = |frame: RingFrame<'_>| {
        let segment = frame.data.get(14..).and_then(|packet| decode_unverified(packet).ok());
        if segment.is_some_and(|decoded| decoded.segment.flags.contains(Flags::SYN)) {
            found.push(frame.at);
        }
    };
    while packets.drain(&mut take) > 0 {}
    found
}

#[test]
fn syns_of_the_cgroup_are_repeated_after_the_timer_that_is_set() {
    let (cgroup, namespace) = match Cgroup::new("timers").and_then(|cgroup| Ok((cgroup, unanswered()?))) {
        Ok(made) => made,
        Err(why) => return skip(why),
    };
    let options = PacketSocketOptions { block_timeout: Duration::from_millis(1), ..Default::default() };
    let mut packets = namespace.run(move || PacketRing::open(Some("here"), &options)).unwrap().unwrap();
    let mut guard = command(PROGRAM);
    guard.args(["timers", "--network", "192.0.2.0/24", "--syn", "60ms", "--act", "--json", "--for", "30s", "--cgroup"]);
    guard.arg(&cgroup.0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut guard = start(&namespace, guard);
    let mut note = String::new();
    BufReader::new(guard.stderr.take().unwrap()).read_line(&mut note).unwrap();
    if note.contains("CAP_BPF") {
        guard.wait().unwrap();
        return skip(note.trim());
    }
    assert!(note.contains("timers of new connections with 1 network are set"), "{note}");
    let connect = |to: &str, folder: Option<&Path>| {
        let enter = folder.map_or(String::new(), |folder| format!("echo $$ > {}/cgroup.procs; ", folder.display()));
        let mut shell = Command::new("bash");
        shell
            .args(["-c", &format!("{enter}exec timeout 0.5 bash -c 'exec 3<>/dev/tcp/{to}/80'")])
            .stderr(Stdio::null());
        start(&namespace, shell).wait().unwrap();
    };
    connect("192.0.2.2", Some(&cgroup.0));
    let with = syns(&mut packets);
    connect("192.0.2.2", None);
    let without = syns(&mut packets);
    let id = i32::try_from(guard.id()).unwrap();
    assert!(Command::new("kill").args(["-TERM", &id.to_string()]).status().unwrap().success());
    let output = guard.wait_with_output().unwrap();
    assert!(output.status.success());
    // Outside the cgroup, the kernel's own timer of 1 s.
    assert_eq!(without.len(), 1, "{without:?}");
    // 60 ms are 15 ticks of 4 ms, which the kernel measures up to 8 ms late.
    assert!(with.len() >= 3, "{with:?}");
    let first = with[1].since(with[0]);
    assert!((60..=80).contains(&first.as_millis()), "{first:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    check_fields(&document, "", Fields::new());
    assert_eq!((&document["set"], &document["counts"]["opened"]), (&Value::Bool(true), &1.into()));
    assert_eq!((&document["counts"]["syn"], &document["counts"]["refused"]), (&1.into(), &0.into()));
    // It is over with the command.
    connect("192.0.2.2", Some(&cgroup.0));
    assert_eq!(syns(&mut packets).len(), 1);
}
