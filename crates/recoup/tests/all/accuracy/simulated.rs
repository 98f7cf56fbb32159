//! Captures of simulated flows. The simulator reports why each packet was sent and whether it arrived.

mod networks;
mod recorder;

use crate::accuracy::score::{Claim, Row, Score, share};
use crate::accuracy::truth::{Reason, Sent};
use networks::{NETWORKS, Network, STALLS, stalls};
use recorder::TruthRecorder;
use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_recovery::Profile;
use recoup_sim::Simulation;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::{self, Kept};
use recoup_trace::finding::{Retransmission, Verdict};
use recoup_trace::read::Reader;
use recoup_units::FlowId;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The environment variable that names a folder in which the captures are kept for inspection.
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

/// A folder for the captures called `name`.
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
    let mut observer = (capture, TruthRecorder::default());
    let mut simulation = Simulation::new(&path).expect("a path");
    for flow in 0..network.flows {
        simulation.run(&spec, seed, FlowId(flow), &mut observer);
    }
    let (capture, recorder) = observer;
    capture.finish().expect("captures");
    Run { folder, sent: recorder.sent }
}

/// Runs of Linux 6 with rounded timers, as on real hosts, for comparison with other tools.
pub fn some_runs() -> Vec<Run> {
    let profile: Profile = "linux-6".parse().expect("a profile");
    let wheel = |network: &&Network| network.settings.contains(&("timers", "linux-wheel:250"));
    let networks: Vec<&Network> = NETWORKS.iter().filter(wheel).collect();
    let seeded = |seed| networks.iter().map(move |network| (seed, *network));
    (100..104).flat_map(seeded).map(|(seed, network)| run(network, &profile, seed)).collect()
}

/// The retransmissions that an analysis finds in a capture.
pub fn analyze_file(path: &Path, profile: Option<Profile>) -> Vec<Retransmission> {
    let reader = Reader::open(path).expect("a capture");
    let settings = analyze::Settings { profile, ..analyze::Settings::default() };
    let analysis = analyze::analyze(reader, &settings, Kept::default, |_| true).expect("a capture");
    (analysis.findings.into_iter()).flat_map(|kept| kept.retransmissions).collect()
}

/// What the capturing host did with the scored packets.
pub const fn did(own: bool) -> &'static str {
    if own { "sent" } else { "received" }
}

/// Wrong triggers and verdicts at the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mistakes {
    triggers: u64,
    verdicts: u64,
}

/// The known mistakes by profile. Flows and networks are the same in every run, so any change in the
/// number of mistakes fails the test.
const KNOWN_MISTAKES: [(&str, Mistakes); 12] = [
    ("freebsd-5", mistakes(0, 1)),
    // No known system runs it, so captures are not searched for it. 110 follow one timeout in a pause.
    ("linux-2.4", mistakes(112, 1)),
    ("linux-2.4+minrttvar", mistakes(1, 1)),
    ("linux-3.17+slp", mistakes(1, 0)),
    ("linux-6+reno", mistakes(1, 3)),
    ("reno", mistakes(2, 0)),
    ("rfc6675", mistakes(0, 1)),
    // No TCP is known to run it, so captures are not searched for it. Most are probes called unknown.
    ("rfc9002", mistakes(83, 2)),
    ("rfc6675+frto", mistakes(0, 1)),
    ("rfc6675+rack", mistakes(0, 1)),
    ("rfc6675+tlprfc", mistakes(0, 1)),
    ("windows-xp", mistakes(30, 1)),
];

/// Wrong verdicts at the receiver by profile. It has refused an original, which came late, for its timestamp (RFC 7323 §5.3),
/// and its ACKs ask for those bytes until their retransmission comes.
const REFUSED_ORIGINALS: [(&str, u64); 1] = [("rfc6675+rack", 1)];

/// The minimum share of retransmissions found at the receiver, and of verdicts given. Lost ACKs, ends of
/// connections, and hosts without SACK and timestamps prevent the others.
const MOST: f64 = 0.8;

/// The minimum share of right triggers at the receiver. Without SACK, the capture shows less of what
/// the sender knew.
const LEAST_RIGHT: f64 = 0.9;

/// The profiles below that, with their minimum.
const LESS_RIGHT: [(&str, f64); 3] = [("freebsd-5", 0.79), ("reno", 0.73), ("rfc9002", 0.89)];

const fn mistakes(triggers: u64, verdicts: u64) -> Mistakes {
    Mistakes { triggers, verdicts }
}

/// The scores at senders and at receivers.
#[derive(Default)]
struct Scores([Score; 2]);

impl Scores {
    fn add(&mut self, name: &str, run: &Run, profile: &Profile) {
        for at in [Host::Client, Host::Server] {
            let found = analyze_file(&run.capture(at), Some(profile.clone()));
            let claims: Vec<Claim> = found.iter().map(Claim::from).collect();
            for (score, own) in self.0.iter_mut().zip([true, false]) {
                let name = format!("{name}, {} capture, packets it {}", at.name(), did(own));
                score.add(&name, &run.sent, &claims, at, own);
            }
        }
    }

    /// Checks the bounds that docs/accuracy.md states. At the receiver some retransmissions look like first
    /// transmissions, so only most of them must be found.
    fn check(&self, known_wrong: Mistakes, refused: u64, least_right: f64) {
        let [sender, receiver] = &self.0;
        println!("at the sender\n{sender}\nat the receiver\n{receiver}");
        let sum = |figure: fn(&Row) -> u64| sender.sum(figure);
        assert!(sum(|row| row.actual) > 0, "no retransmissions");
        assert_eq!(sum(|row| row.found), sum(|row| row.actual), "some retransmissions were missed");
        assert_eq!(sum(|row| row.invented), 0, "some retransmissions were invented");
        let (right, known) = (sum(|row| row.triggers_right), sum(|row| row.triggers_known));
        let wrong = Mistakes { triggers: known - right, verdicts: sum(|row| row.verdicts_wrong) };
        assert_eq!(wrong, known_wrong, "the known mistakes");
        assert_eq!(receiver.sum(|row| row.verdicts_wrong), refused, "at the receiver");
        assert_eq!(receiver.sum(|row| row.invented), 0, "at the receiver");
        let found = share(receiver.sum(|row| row.found), receiver.sum(|row| row.actual));
        assert!(found >= MOST, "{found} found at the receiver");
        let right = share(receiver.sum(|row| row.triggers_right), receiver.sum(|row| row.triggers_known));
        assert!(right >= least_right, "{right} of the triggers right at the receiver");
        for score in [sender, receiver] {
            let given = share(score.sum(|row| row.verdicts_given), score.sum(|row| row.found));
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
    let refused = REFUSED_ORIGINALS.iter().find(|(profile, _)| *profile == name);
    let less = LESS_RIGHT.iter().find(|(profile, _)| *profile == name);
    scores.check(
        known.map_or_else(Mistakes::default, |(_, mistakes)| *mistakes),
        refused.map_or(0, |(_, count)| *count),
        less.map_or(LEAST_RIGHT, |(_, least)| *least),
    );
}

/// One test per profile, so that profiles run in parallel and each prints its own matrix.
macro_rules! profiles {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { check_profile($name); })*

        #[test]
        fn every_base_profile_is_tested() {
            let tested = [$($name),*];
            for (base, ..) in recoup_recovery::profile::BASES {
                assert!(tested.contains(&base), "{base}");
            }
        }
    };
}

profiles! {
    linux_3_17: "linux-3.17",
    linux_2_6: "linux-2.6",
    linux_6: "linux-6",
    rfc_6675: "rfc6675",
    rfc_9002: "rfc9002",
    reno: "reno",
    linux_2_4: "linux-2.4",
    linux_2_4_kernel: "linux-2.4+minrttvar",
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

/// The truth agrees with the simulator's own count. With reordering the simulator counts fewer spurious
/// retransmissions: it ignores a copy that arrives too late for its timestamp to be accepted.
#[test]
fn the_truth_agrees_with_the_simulator() {
    let profile: Profile = "linux-6".parse().expect("a profile");
    for (seed, network) in (1..).zip(NETWORKS) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(STALLS), stalls()).expect("a file");
        let settings = network.settings(folder.path());
        let path = settings.path().expect("a path");
        let mut simulation = Simulation::new(&path).expect("a path");
        let mut recorder = TruthRecorder::default();
        let (mut spurious, mut all) = (0, 0);
        for flow in 0..network.flows {
            let spec = settings.flow(&profile);
            let record = simulation.run(&spec, seed, FlowId(flow), &mut recorder);
            spurious += record.spurious;
            all += record.counters.retransmissions.total();
        }
        // A second SYN-ACK in answer to a duplicated SYN has no trigger.
        let mut all_found = crate::accuracy::truth::retransmissions(&recorder.sent);
        all_found.retain(|one| one.reason != Reason::Unknown);
        let of_verdict = |v| all_found.iter().filter(|one| one.verdict == v).count() as u64;
        assert_eq!(all_found.len() as u64, all, "{}", network.name);
        let found = of_verdict(Verdict::Spurious);
        match network.settings.iter().any(|(key, _)| *key == "reorder") {
            true => assert!(found >= spurious, "{}", network.name),
            false => assert_eq!(found, spurious, "{}", network.name),
        }
    }
}
