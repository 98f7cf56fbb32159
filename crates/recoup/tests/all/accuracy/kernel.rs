//! Captures of the kernel's TCP behind `recoup emulate`. The emulator's log reports which packets
//! arrived, and thereby which retransmissions were needed. The kernel's counters give the number of
//! retransmissions by trigger.
//!
//! If the system does not permit namespaces or TUN devices, the tests print that and pass. If
//! RECOUP_REQUIRE_TOOLS is set, they fail instead.

mod packets;
pub mod traffic;

use crate::accuracy::score::{Claim, Score, share};
use crate::accuracy::simulated::{analyze_file, did};
use crate::accuracy::truth::{Carries, Sent, retransmissions};
use crate::real_packets::turn;
use recoup_net::{Namespace, Tun};
use recoup_tcp::flow::Host;
use recoup_testing::skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use traffic::Counters;

/// A path, and the number of connections over it.
struct Network {
    name: &'static str,
    args: &'static [&'static str],
    connections: u32,
}

/// 16 Mbit/s with pauses of half a second, which delay packets and cause spurious timeouts.
const STALLS: &str = "stalls.link";

fn stalls() -> String {
    let carrying = (1..=1900).chain(2400..=3600);
    let twice = carrying.flat_map(|ms| [ms; 2]).chain([4100]);
    twice.map(|ms| format!("{ms}\n")).collect()
}

const NETWORKS: [Network; 4] = [
    Network {
        name: "losses and reordering",
        args: &["--rtt", "60ms", "--drop", "down:bernoulli:0.02,up:bernoulli:0.015", "--reorder", "0.005:15ms"],
        connections: 90,
    },
    Network {
        name: "stalls",
        args: &["--rtt", "40ms", "--link", STALLS, "--drop", "down:bernoulli:0.004"],
        connections: 60,
    },
    Network {
        name: "bursts",
        args: &["--rtt", "20ms", "--drop", "down:gilbert-elliott:0.02,0.5,up:bernoulli:0.05"],
        connections: 80,
    },
    Network {
        name: "far",
        args: &["--rtt", "240ms", "--drop", "down:bernoulli:0.01,up:bernoulli:0.01"],
        connections: 60,
    },
];

/// The time limit of a run.
const LIMIT: Duration = Duration::from_secs(60);

/// Captures of one run, with their truth.
pub struct Run {
    folder: TempDir,
    pub sent: Vec<Sent>,
    /// The kernel's retransmission counters at client and server.
    counters: [Counters; 2],
}

impl Run {
    /// The capture at the client or the server.
    pub fn capture(&self, at: Host) -> PathBuf {
        capture(self.folder.path(), at)
    }

    fn retransmitted(&self, by: Host) -> u64 {
        let all = retransmissions(&self.sent);
        all.iter().filter(|one| one.sent.by == by).count() as u64
    }
}

fn capture(folder: &Path, at: Host) -> PathBuf {
    folder.join(match at {
        Host::Client => "captures/inside.pcap",
        Host::Server => "captures/outside.pcap",
    })
}

/// Runs the connections over the path. `None` if the system does not permit it.
fn run(network: &Network, seed: u64) -> Option<Run> {
    let made = Namespace::new().and_then(|namespace| {
        namespace.run(|| Tun::create("recoup-probe").map(drop))??;
        Ok(namespace)
    });
    let namespace = match made {
        Ok(namespace) => namespace,
        Err(e) => {
            skip(e);
            return None;
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(STALLS), stalls()).expect("a file");
    let port = namespace.run(traffic::serve).expect("a namespace");
    let inside = emulate(&namespace, network, folder.path(), port, seed);
    let outside = namespace.run(Counters::here).expect("a namespace");
    let sent = packets::read(folder.path(), port);
    Some(Run { folder, sent, counters: [inside, outside] })
}

/// Runs the clients behind the path. Returns the kernel's counters there.
fn emulate(namespace: &Namespace, network: &Network, folder: &Path, port: u16, seed: u64) -> Counters {
    let me = std::env::current_exe().expect("this program");
    let mut recoup = Command::new(env!("CARGO_BIN_EXE_recoup"));
    recoup.arg("emulate").args(network.args);
    recoup.args(["--pcap", "captures", "--log", "log", "--seed", &seed.to_string(), "--"]);
    recoup.arg(me).args(traffic::COMMAND);
    recoup.env(traffic::VARIABLE, format!("{port} {} {seed}", network.connections));
    recoup.current_dir(folder).stdin(Stdio::null());
    let output = folder.join("output");
    let file = std::fs::File::create(&output).expect("a file");
    recoup.stdout(file.try_clone().expect("a file")).stderr(file);
    let spawn = move || recoup.spawn().expect("recoup runs");
    let mut child = namespace.run(spawn).expect("a namespace");
    let began = Instant::now();
    let printed = || std::fs::read_to_string(&output).expect("text");
    let status = loop {
        match child.try_wait().expect("a status") {
            Some(status) => break status,
            None if began.elapsed() > LIMIT => {
                child.kill().expect("a program");
                panic!("{}: over {LIMIT:?}: {}", network.name, printed());
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(status.success(), "{}: {}", network.name, printed());
    Counters::from_output(&printed())
}

/// Scores the findings of both captures at senders and at receivers, and counts the triggers found at
/// senders.
fn score(name: &str, run: &Run) -> ([Score; 2], [Counters; 2]) {
    let mut scores = <[Score; 2]>::default();
    let mut found = <[Counters; 2]>::default();
    for at in [Host::Client, Host::Server] {
        let analyzed = analyze_file(&run.capture(at), None);
        let claims: Vec<Claim> = analyzed.iter().map(Claim::from).collect();
        for (score, own) in scores.iter_mut().zip([true, false]) {
            let name = format!("{name}, {} capture, packets it {}", at.name(), did(own));
            score.add(&name, &run.sent, &claims, at, own);
        }
        let own = run.sent.iter().filter(|sent| sent.by == at);
        let own: std::collections::BTreeSet<u64> = own.map(|sent| sent.frame).collect();
        for one in analyzed.iter().filter(|one| own.contains(&one.frame)) {
            found[at as usize].add(one.triggers);
        }
    }
    (scores, found)
}

/// One run per network. Two run at once; more would delay the kernel's timers.
fn runs() -> Vec<Option<Run>> {
    let _turn = turn();
    let mut runs = Vec::new();
    for (networks, first) in NETWORKS.chunks(2).zip((1..).step_by(2)) {
        thread::scope(|scope| {
            let start = |(network, seed)| scope.spawn(move || run(network, seed));
            let running: Vec<_> = networks.iter().zip(first..).map(start).collect();
            runs.extend(running.into_iter().map(|run| run.join().expect("a run")));
        });
    }
    runs
}

/// Checks the bounds that docs/accuracy.md states.
#[test]
fn the_kernels_retransmissions_are_explained() {
    let mut scores = <[Score; 2]>::default();
    let (mut off, mut all) = (0, 0);
    for (network, run) in NETWORKS.iter().zip(runs()) {
        let Some(run) = run else {
            return;
        };
        let (own, found) = score(network.name, &run);
        for host in [Host::Client, Host::Server] {
            let (counted, found) = (&run.counters[host as usize], &found[host as usize]);
            println!("{}, {}: counted {counted}; found {found}", network.name, host.name());
            assert_eq!(run.retransmitted(host), counted.total(), "the kernel's own count");
            off += counted.differences(found);
            all += counted.total();
        }
        scores.iter_mut().zip(own).for_each(|(sum, own)| sum.merge(own));
    }
    let [sender, receiver] = &scores;
    println!("at the sender\n{sender}\nat the receiver\n{receiver}");
    assert!(all > 300, "{all} retransmissions are too few");
    assert_eq!(sender.sum(|row| row.found), sender.sum(|row| row.actual), "some retransmissions were missed");
    assert_eq!(sender.sum(|row| row.invented), 0, "some retransmissions were invented");
    assert!(share(off, all) <= 0.02, "{off} of {all} triggers differ");
    let data = sender.row(Carries::Data);
    assert!(share(data.verdicts_given, data.found) >= 0.9, "too few verdicts");
    assert!(share(data.verdicts_wrong, data.verdicts_given) <= 0.01, "too many wrong verdicts");
    assert_eq!(receiver.sum(|row| row.verdicts_wrong), 0, "wrong verdicts at the receiver");
}

/// A run over the first network, for comparison with other tools.
pub fn a_run() -> Option<Run> {
    let _turn = turn();
    run(&NETWORKS[0], 7)
}
