//! The program is killed while its devices exist. It leaves none, and can start again at once.

use crate::stages::{World, finish, until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    let status = kill.args(["-s", signal, &process.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// The network namespaces of a process's threads.
fn namespaces(process: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let links = tasks.filter_map(|task| std::fs::read_link(task.path().join("ns/net")).ok());
    let mut names: Vec<_> = links.map(|link| link.display().to_string()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn a_run_interrupted_ends_at_once_and_leaves_no_device() {
    let Some(world) = World::new() else { return };
    for (stage, signal, status) in
        [("--on=net", "INT", Some(130)), ("--on=kernel", "TERM", Some(143)), ("--on=net", "KILL", None)]
    {
        let args = ["run", "tail-loss", "--flows=100000", "--set=rtt=100ms", stage];
        let child = world.start(&args);
        let id = child.id();
        // At least its own, that of a client and that of a server.
        until("flows are under way", || namespaces(id).len() >= 3);
        send(signal, id);
        let sent = Instant::now();
        let outcome = finish(child);
        assert!(sent.elapsed() < Duration::from_secs(5), "{stage}: {:?}", sent.elapsed());
        // The status is that of the signal, which a shell shows as 130.
        let ended = outcome.status;
        assert!(ended.is_none() || ended == status, "{stage}: {outcome:?}");
        // After an interrupt the results so far are printed.
        let is_interrupt = signal == "INT";
        assert!(is_interrupt || outcome.stdout.is_empty(), "{stage}: {outcome:?}");
        let note = "recoup: note: interrupted: ";
        assert_eq!(outcome.stderr.contains(note), is_interrupt, "{stage}: {outcome:?}");
        assert_eq!(world.interfaces(), ["lo"]);
        let again = world.run(&["run", "tail-loss", "--flows=1", stage]);
        assert_eq!(again.status, Some(0), "{again:?}");
    }
}

/// Starts `recoup receive` of one stream at 10.9.0.1:77, and waits until it listens.
fn receiver(world: &World) -> Child {
    let mut child = world.start(&["receive", "--once", "--address=10.9.0.1", "--port=77"]);
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    stderr.read_line(&mut line).expect("a line");
    assert_eq!(line, "recoup: listening on 10.9.0.1:77\n");
    child
}

#[test]
fn a_receiver_killed_in_a_transfer_receives_again_at_once() {
    let Some(world) = World::new() else { return };
    let connect = || {
        let stream = world.namespace.run(|| TcpStream::connect("10.9.0.1:77"));
        stream.expect("a namespace").expect("a connection")
    };
    for _ in 0..2 {
        let mut child = receiver(&world);
        assert_eq!(world.interfaces().len(), 2);
        let mut stream = connect();
        // The kernel does not notice that its peer has ended.
        let patience = Some(Duration::from_millis(500));
        stream.set_write_timeout(patience).expect("a timeout");
        let sender = thread::spawn(move || while stream.write_all(&[7; 50_000]).is_ok() {});
        thread::sleep(Duration::from_millis(50));
        assert!(!sender.is_finished());
        child.kill().expect("a program");
        child.wait().expect("its end");
        until("its device is gone", || world.interfaces() == ["lo"]);
        sender.join().expect("a sender");
    }
    let mut child = receiver(&world);
    let mut stream = connect();
    stream.write_all(&[7; 1_000_000]).expect("a transfer");
    stream.shutdown(Shutdown::Write).expect("a transfer");
    let mut printed = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_string(&mut printed).expect("text");
    assert!(child.wait().expect("its end").success());
    assert!(printed.contains("1000000 bytes"), "{printed}");
    assert_eq!(world.interfaces(), ["lo"]);
}
