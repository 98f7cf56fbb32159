//! Failing commands, signals, missing permissions, and cleanup.

use crate::emulate::{World, finish, until};
use recoup_testing::skip;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

#[test]
fn the_exit_status_is_that_of_the_command() {
    let Some(world) = World::new() else { return };
    let cases: [(&[&str], i32, &str); 5] = [
        (&["true"], 0, "up (delay 0ns): 0 packets"),
        (&["sh", "-c", "exit 7"], 7, "up (delay 0ns): 0 packets"),
        (&["sh", "-c", "kill -TERM $$"], 143, "up (delay 0ns): 0 packets"),
        (&["no-such-command"], 127, "cannot run `no-such-command`: No such file"),
        (&["/etc/passwd"], 126, "cannot run `/etc/passwd`: Permission denied"),
    ];
    for (command, status, printed) in cases {
        let outcome = world.emulate(&[], command);
        assert_eq!(outcome.status, Some(status), "{outcome:?}");
        assert!(outcome.stderr.starts_with(&format!("recoup: {printed}")), "{outcome:?}");
    }
    assert_eq!(world.interfaces(), ["lo"]);
}

#[test]
fn signals_reach_the_command() {
    let Some(world) = World::new() else { return };
    for (signal, status) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let child = world.start(&["--log", "log"], &["sh", "-c", "echo > up; exec sleep 60"]);
        until("the command runs", || world.path("up").exists());
        send(signal, child.id());
        let outcome = finish(child);
        assert_eq!(outcome.status, Some(status), "{outcome:?}");
        // The emulator completed its cleanup.
        assert!(world.path("log").exists());
        let _ = std::fs::remove_file(world.path("up"));
    }
    // A command may handle a signal itself.
    let trap = "trap 'exit 5' TERM; echo > up; while :; do sleep 0.05; done";
    let child = world.start(&[], &["sh", "-c", trap]);
    until("the command runs", || world.path("up").exists());
    send("TERM", child.id());
    assert_eq!(finish(child).status, Some(5));
}

#[test]
fn nothing_is_left_after_kill_9() {
    let Some(world) = World::new() else { return };
    let recoup = env!("CARGO_BIN_EXE_recoup");
    // Process IDs inside the namespace differ from those in this /proc.
    let script = "(setsid sleep 60.125 &) ; sleep 60.25 & touch up; exec sleep 60.5";
    let ours = ["60.125", "60.25", "60.5"];
    let nested = ["emulate", "--", "sh", "-c", script];
    let command: Vec<&str> = [recoup].into_iter().chain(nested).collect();
    let mut child = world.start(&["--rtt", "20ms"], &command);
    until("the command runs", || world.path("up").exists());
    until("its processes run", || sleeping(&ours) == ours.len());
    let outer = format!("recoup{}o", child.id());
    assert_eq!(world.interfaces(), ["lo", &outer]);
    child.kill().expect("a program");
    child.wait().expect("its end");
    until("its device is gone", || world.interfaces() == ["lo"]);
    until("its processes are gone", || sleeping(&ours) == 0);
    // The next emulator uses the same address for this machine.
    let outcome = world.emulate(&[], &["sh", "-c", "echo $RECOUP_OUTSIDE"]);
    assert_eq!(outcome.stdout, "100.64.0.1\n", "{outcome:?}");
}

/// Counts the processes that sleep for one of the given times.
fn sleeping(times: &[&str]) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes");
    let commands = processes.flatten().filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let words = |time: &&str| format!("sleep\0{time}\0").into_bytes();
    let ours: Vec<_> = times.iter().map(words).collect();
    commands.filter(|command| ours.contains(command)).count()
}

#[test]
fn background_processes_end_with_the_emulator() {
    let Some(world) = World::new() else { return };
    let outcome = world.emulate(&[], &["sh", "-c", "sleep 60.75 >&- 2>&- & exit 3"]);
    assert_eq!(outcome.status, Some(3), "{outcome:?}");
    assert_eq!(sleeping(&["60.75"]), 0);
}

#[test]
fn the_command_sees_and_mounts_nothing_outside() {
    let Some(world) = World::new() else { return };
    let script = "echo $$ /proc/[0-9]*; cat /proc/$$/comm; mount -t tmpfs none . && cd . && touch inside";
    let outcome = world.emulate(&[], &["sh", "-c", script]);
    if outcome.stderr.contains("the command sees all processes") {
        return skip("the system permits no /proc of its own");
    }
    // $$ is the second process, after that which keeps the namespace.
    assert_eq!(outcome.stdout, "2 /proc/1 /proc/2\nsh\n", "{outcome:?}");
    assert_eq!(std::fs::read_dir(world.path(".")).expect("the folder").count(), 0);
}

#[test]
fn files_are_complete_where_standard_error_takes_nothing() {
    let Some(world) = World::new() else { return };
    for closed in ["/dev/full", "&-"] {
        let script = format!("exec \"$0\" emulate --log=log --pcap=. -- sh -c 'exit 5' 2>{closed}");
        let mut shell = recoup_testing::command("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_recoup")]).current_dir(world.path("."));
        let status = world.namespace.run(move || shell.status()).expect("a namespace").expect("sh runs");
        assert_eq!(status.code(), Some(5), "{closed}");
        for file in ["log", "outside.pcap", "inside.pcap"] {
            std::fs::remove_file(world.path(file)).expect("a file");
        }
    }
}

#[test]
fn an_emulator_gets_no_packets_of_an_earlier_one() {
    let Some(world) = World::new() else { return };
    // The server still retransmits data when the first emulator has ended.
    let port = world.listen(|mut stream| {
        thread::spawn(move || stream.write_all(&[7; 1 << 20]));
    });
    let connect = format!("exec 3<>/dev/tcp/$RECOUP_OUTSIDE/{port}; sleep 0.2; echo $RECOUP_INSIDE");
    let first = world.emulate(&["--rtt", "200ms"], &["bash", "-c", &connect]);
    assert_eq!(first.status, Some(0), "{first:?}");
    let second = world.emulate(&["--log", "log"], &["sh", "-c", "sleep 1.5; echo $RECOUP_INSIDE"]);
    assert_ne!(first.stdout, second.stdout);
    let log = std::fs::read_to_string(world.path("log")).expect("a log");
    assert_eq!(log, "{\"schema\":\"recoup.emulate.log\",\"version\":1}\n");
}

#[test]
fn a_loopback_address_in_the_command_is_noted() {
    let Some(world) = World::new() else { return };
    let outcome = world.emulate(&[], &["echo", "http://127.0.0.1:8080/"]);
    let note = outcome.stderr.lines().next().unwrap_or_default();
    assert!(note.starts_with("recoup: note: 127.0.0.1 is "), "{outcome:?}");
    assert!(note.contains("100.64.0.1 ($RECOUP_OUTSIDE)"), "{outcome:?}");
    let outcome = world.emulate(&[], &["echo", "http://100.64.0.1:8080/"]);
    assert!(!outcome.stderr.contains("note"), "{outcome:?}");
}

#[test]
fn concurrent_emulators_have_different_addresses() {
    let Some(world) = World::new() else { return };
    let script = "echo $RECOUP_OUTSIDE; touch up; while [ ! -e down ]; do sleep 0.02; done";
    let first = world.start(&[], &["sh", "-c", script]);
    until("the first runs", || world.path("up").exists());
    let second = world.emulate(&[], &["sh", "-c", "echo $RECOUP_OUTSIDE; touch down"]);
    assert_eq!(second.stdout, "100.65.0.1\n");
    assert_eq!(finish(first).stdout, "100.64.0.1\n");
}

#[test]
fn missing_permissions_are_reported() {
    let Some(world) = World::new() else { return };
    // Copies the program to a folder that every user can access.
    let program = world.path("recoup");
    std::fs::copy(env!("CARGO_BIN_EXE_recoup"), &program).expect("a copy");
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.folder.path(), everybody).expect("a folder");
    let mut recoup = Command::new(&program);
    recoup.args(["emulate", "--", "true"]).current_dir("/");
    recoup.stdout(Stdio::piped()).stderr(Stdio::piped());
    recoup.uid(65_534).gid(65_534);
    let outcome = finish(recoup.spawn().expect("recoup runs"));
    // It works if user namespaces are permitted and every user may open the device.
    let may = outcome.status == Some(0) && Path::new("/proc/self/ns/user").exists();
    let refused = outcome.stderr.starts_with("recoup: cannot ") && outcome.stderr.lines().count() == 1;
    assert!(may || (outcome.status == Some(2) && refused), "{outcome:?}");
}

fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    let status = kill.args(["-s", signal, &process.to_string()]).status();
    assert!(status.expect("kill runs").success());
}
