//! Captures of simulated flows: the simulator says of each packet why it was sent and what became
//! of it.

mod networks;
mod witness;

use crate::accuracy::score::{Claim, Row, Score, share};
use crate::accuracy::truth::{Reason, Sent};
use networks::{NETWORKS, Network, STALLS, stalls};
use recoup_lab::capture::{Capture, CapturePaths};
use recoup_recovery::Profile;
use recoup_sim::Simulation;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::{self, Kept};
use recoup_trace::finding::{Retransmission, Verdict};
use recoup_trace::read::Reader;
use recoup_units::FlowId;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use witness::Witness;

/// A folder for the captures, so that what an analysis says of them can be looked into.
const KEEP: &str = "RECOUP_KEEP_CAPTURES";

/// Captures of the flows of one network, with their truth.
pub struct Run {
    folder: TempDir,
    pub sent: Vec<Sent>,
}

impl Run {
    /// The capture at the client or the server.
    pub fn capture(&self, at: Host) -> PathBuf {
        let paths = CapturePaths::new(self.folder.path(), "flows");
        match at {
            Host::Client => paths.client,
            Host::Server => paths.server,
        }
    }
}

/// A folder for the captures of what is called `name`.
fn folder(name: &str) -> TempDir {
    let Some(kept) = std::env::var_os(KEEP) else {
        return tempfile::tempdir().expect("a folder");
    };
    let name = name.replace(", ", "_").replace(' ', "-") + ".";
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix(&name).disable_cleanup(true).tempdir_in(kept);
    folder.expect("a folder")
}

fn run(network: &Network, profile: &Profile, seed: u64) -> Run {
    let folder = folder(&format!("{profile}, {}, {seed}", network.name));
    std::fs::write(folder.path().join(STALLS), stalls()).expect("a file");
    let settings = network.settings(folder.path());
    let mut spec = settings.flow(profile);
    for host in [&mut spec.client, &mut spec.server] {
        host.timestamps &= network.timestamps;
        host.sack &= network.sack;
    }
    let path = settings.path().expect("a path");
    let paths = CapturePaths::new(folder.path(), "flows");
    let capture = Capture::create(&paths).expect("captures");
    let mut observer = (capture, Witness::default());
    let mut simulation = Simulation::new(&path).expect("a path");
    for flow in 0..network.flows {
        simulation.run(&spec, seed, FlowId(flow), &mut observer);
    }
    let (capture, witness) = observer;
    capture.finish().expect("captures");
    Run {
        folder,
        sent: witness.sent,
    }
}

/// Runs of Linux 6 as hosts run it, with their timers rounded, for whoever compares.
pub fn some_runs() -> Vec<Run> {
    let profile: Profile = "linux-6".parse().expect("a profile");
    let wheel = |network: &&Network| network.settings.contains(&("timers", "linux-wheel:250"));
    let networks: Vec<&Network> = NETWORKS.iter().filter(wheel).collect();
    let seeded = |seed| networks.iter().map(move |network| (seed, *network));
    (100..104)
        .flat_map(seeded)
        .map(|(seed, network)| run(network, &profile, seed))
        .collect()
}

/// The retransmissions an analysis of a capture finds.
pub fn analyze_file(path: &Path, profile: Option<Profile>) -> Vec<Retransmission> {
    let reader = Reader::open(path).expect("a capture");
    let settings = analyze::Settings {
        profile,
        ..analyze::Settings::default()
    };
    let (_, kept) =
        analyze::analyze(reader, &settings, Kept::default, |_| true).expect("a capture");
    kept.into_iter()
        .flat_map(|kept| kept.retransmissions)
        .collect()
}

/// What a host did with the packets of its capture that are judged.
pub const fn did(own: bool) -> &'static str {
    if own { "sent" } else { "received" }
}

/// What is told wrong of what a sender sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mistakes {
    triggers: u64,
    verdicts: u64,
}

/// The mistakes that are made still, by profile: flows and networks are the same in every run, so a
/// change that makes more shows here, and so does one that makes fewer.
const KNOWN_MISTAKES: [(&str, Mistakes); 10] = [
    ("freebsd-5", mistakes(0, 1)),
    ("linux-2.4", mistakes(1, 1)),
    ("linux-3.17+slp", mistakes(1, 0)),
    ("linux-6+reno", mistakes(1, 3)),
    ("reno", mistakes(2, 0)),
    ("rfc6675", mistakes(0, 1)),
    ("rfc6675+frto", mistakes(0, 1)),
    ("rfc6675+rack", mistakes(0, 1)),
    ("rfc6675+tlprfc", mistakes(0, 1)),
    ("windows-xp", mistakes(30, 1)),
];

/// The share that is found at the receiver, and has a verdict: lost ACKs, ends of connections and hosts
/// without SACK and timestamps leave the others open.
const MOST: f64 = 0.8;

const fn mistakes(triggers: u64, verdicts: u64) -> Mistakes {
    Mistakes { triggers, verdicts }
}

/// At senders and at receivers.
#[derive(Default)]
struct Scores([Score; 2]);

impl Scores {
    fn add(&mut self, name: &str, run: &Run, profile: &Profile) {
        for at in [Host::Client, Host::Server] {
            let found = analyze_file(&run.capture(at), Some(profile.clone()));
            let claims: Vec<Claim> = found.iter().map(Claim::from).collect();
            for (score, own) in self.0.iter_mut().zip([true, false]) {
                let name = format!("{name}, {} capture of what it {}", at.name(), did(own));
                score.add(&name, &run.sent, &claims, at, own);
            }
        }
    }

    /// Every retransmission found, none invented; wrong the triggers and the verdicts that are known to be
    /// and no others; verdicts on most. At the receiver, where what looks like a first transmission cannot
    /// be found, most found, none invented, no verdict wrong.
    fn check(&self, known_wrong: Mistakes) {
        let [sender, receiver] = &self.0;
        println!("at the sender\n{sender}\nat the receiver\n{receiver}");
        let sum = |figure: fn(&Row) -> u64| sender.sum(figure);
        assert!(sum(|row| row.there) > 0, "nothing was sent again");
        assert_eq!(
            sum(|row| row.found),
            sum(|row| row.there),
            "some are missed"
        );
        assert_eq!(sum(|row| row.invented), 0, "some are invented");
        let (right, known) = (sum(|row| row.triggers_right), sum(|row| row.triggers_known));
        let wrong = Mistakes {
            triggers: known - right,
            verdicts: sum(|row| row.verdicts_wrong),
        };
        assert_eq!(wrong, known_wrong, "wrong, and known to be");
        assert_eq!(receiver.sum(|row| row.verdicts_wrong), 0, "at the receiver");
        assert_eq!(receiver.sum(|row| row.invented), 0, "at the receiver");
        let found = share(receiver.sum(|row| row.found), receiver.sum(|row| row.there));
        assert!(found >= MOST, "{found} found at the receiver");
        for score in [sender, receiver] {
            let given = share(
                score.sum(|row| row.verdicts_given),
                score.sum(|row| row.found),
            );
            assert!(given >= MOST, "verdicts on {given}");
        }
    }
}

fn check_profile(name: &str) {
    let profile: Profile = name.parse().expect("a profile");
    let mut scores = Scores::default();
    for (seed, network) in (1..).zip(NETWORKS) {
        let title = format!("{name}, {}", network.name);
        scores.add(&title, &run(network, &profile, seed), &profile);
    }
    let known = KNOWN_MISTAKES.iter().find(|(profile, _)| *profile == name);
    scores.check(known.map_or_else(Mistakes::default, |(_, mistakes)| *mistakes));
}

/// A test for each profile, so that they run side by side and each has its matrix.
macro_rules! profiles {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { check_profile($name); })*

        #[test]
        fn every_base_is_here() {
            let here = [$($name),*];
            for (base, ..) in recoup_recovery::profile::BASES {
                assert!(here.contains(&base), "{base}");
            }
        }
    };
}

profiles! {
    linux_3_17: "linux-3.17",
    linux_2_6: "linux-2.6",
    linux_6: "linux-6",
    rfc_6675: "rfc6675",
    reno: "reno",
    linux_2_4: "linux-2.4",
    windows_xp: "windows-xp",
    solaris_10: "solaris-10",
    freebsd_5: "freebsd-5",
    tail_loss_probe: "linux-3.17+tlp",
    tail_loss_probe_with_restart: "linux-3.17+tlpr",
    tail_loss_probe_of_the_rfc: "rfc6675+tlprfc",
    rto_restart: "linux-3.17+rtor",
    rto_restart_and_probe: "linux-3.17+rtor+tlpr",
    naive_early_retransmit: "linux-2.6+ernaive",
    early_retransmit_until_reordering: "linux-2.6+erfirst",
    delayed_early_retransmit: "linux-2.6+er",
    rack_of_the_rfc: "rfc6675+rack",
    without_frto: "linux-3.17+nofrto",
    frto_on_the_standards: "rfc6675+frto",
    linux_6_without_probes: "linux-6+notlp",
    linux_6_reno: "linux-6+reno",
    copies: "linux-3.17+slp",
}

/// The truth is the simulator's own count. Where packets overtake each other the simulator says less
/// is spurious: a copy that came, but too late for its timestamp to be taken, delivered nothing there.
#[test]
fn the_truth_is_the_simulators() {
    let profile: Profile = "linux-6".parse().expect("a profile");
    for (seed, network) in (1..).zip(NETWORKS) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(STALLS), stalls()).expect("a file");
        let settings = network.settings(folder.path());
        let path = settings.path().expect("a path");
        let mut simulation = Simulation::new(&path).expect("a path");
        let mut witness = Witness::default();
        let (mut spurious, mut all) = (0, 0);
        for flow in 0..network.flows {
            let spec = settings.flow(&profile);
            let record = simulation.run(&spec, seed, FlowId(flow), &mut witness);
            spurious += record.spurious;
            all += record.counters.retransmissions.total();
        }
        // An answer to a SYN heard twice is no decision of its sender's.
        let mut again = crate::accuracy::truth::retransmissions(&witness.sent);
        again.retain(|again| again.reason != Reason::Untold);
        let of_verdict = |v| again.iter().filter(|a| a.verdict == v).count() as u64;
        assert_eq!(again.len() as u64, all, "{}", network.name);
        let found = of_verdict(Verdict::Spurious);
        match network.settings.iter().any(|(key, _)| *key == "reorder") {
            true => assert!(found >= spurious, "{}", network.name),
            false => assert_eq!(found, spurious, "{}", network.name),
        }
    }
}
