//! `recoup run --on net|kernel|all`, and the cleanup after the program is killed. If the system does not
//! permit namespaces or TUN devices, the tests that need them print that and pass. If
//! RECOUP_REQUIRE_TOOLS is set, they fail instead.

mod killed;
mod refusals;
mod results;

use crate::real_packets::turn;
use recoup_net::{Namespace, Tun};
use recoup_testing::skip;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::MutexGuard;
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of each command.
const LIMIT: Duration = Duration::from_secs(120);

/// The result of a run of the program.
#[derive(Debug)]
struct Outcome {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A network namespace in which the program runs. One test at a time has one.
struct World {
    namespace: Namespace,
    _turn: MutexGuard<'static, ()>,
}

impl World {
    /// `None` if the system does not permit it.
    fn new() -> Option<Self> {
        let turn = turn();
        let made = Namespace::new().and_then(|namespace| {
            namespace.run(|| Tun::create("recoup-probe").map(drop))??;
            Ok(namespace)
        });
        match made {
            Ok(namespace) => Some(Self { namespace, _turn: turn }),
            Err(e) => {
                skip(e);
                None
            }
        }
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut recoup = recoup(args);
        let spawn = move || recoup.spawn().expect("recoup runs");
        self.namespace.run(spawn).expect("a namespace")
    }

    fn run(&self, args: &[&str]) -> Outcome {
        finish(self.start(args))
    }

    /// The interfaces of the namespace.
    fn interfaces(&self) -> Vec<String> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev").expect("interfaces");
        let text = self.namespace.run(read).expect("a namespace");
        let names = text.lines().skip(2);
        let names = names.filter_map(|line| line.split(':').next());
        names.map(|name| name.trim().to_owned()).collect()
    }
}

fn recoup(args: &[&str]) -> Command {
    let mut recoup = recoup_testing::command(env!("CARGO_BIN_EXE_recoup"));
    recoup.args(args).stdin(Stdio::null());
    recoup.stdout(Stdio::piped()).stderr(Stdio::piped());
    recoup
}

/// Waits for a program, up to the time limit.
fn finish(mut child: Child) -> Outcome {
    let read = |mut from: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut text = String::new();
            from.read_to_string(&mut text).expect("text");
            text
        })
    };
    let stdout = read(Box::new(child.stdout.take().expect("a pipe")));
    let stderr = read(Box::new(child.stderr.take().expect("a pipe")));
    let began = Instant::now();
    let status = loop {
        match child.try_wait().expect("a status") {
            Some(status) => break status,
            None if began.elapsed() > LIMIT => {
                child.kill().expect("a program");
                panic!("over {LIMIT:?}: {}", stderr.join().expect("text"));
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    Outcome { status: status.code(), stdout: stdout.join().expect("text"), stderr: stderr.join().expect("text") }
}

/// Waits until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(20), "not within 20 s: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
