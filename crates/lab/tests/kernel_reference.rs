//! Compares two profiles with a real kernel.
//!
//! Linux 6.18 (HZ = 250, CUBIC, IW10, MSS 1448, timestamps) ran at both ends of a user-space path
//! emulator. It sent flows of 10 segments whose last n segments were lost once. Values are medians of
//! nine runs. The profiles run 101 flows with `timers=linux-wheel:250`, each with a random wheel phase.
//!
//! `linux-6` must match all values, with and without probes, and the order of retransmissions. Linux
//! 6.18 has neither early retransmit nor FACK, and its probe timeout differs from 3.17's. `linux-3.17`
//! must match where both kernels follow the same rules: without probes always, and with probes where
//! both have the same probe timeout.

use recoup_lab::run::run;
use recoup_lab::scenario::Scenario;
use recoup_recovery::Event;
use recoup_sim::{Observer, Packet, Point, Simulation};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant};
use std::path::Path;

const TOLERANCE: f64 = 0.03;

/// The kernel's FCTs in ms on one path, and the segments it retransmitted, in order.
struct Cell {
    rtt_ms: u64,
    rate: &'static str,
    lost: u64,
    ack: &'static str,
    no_tlp: f64,
    no_tlp_again: &'static [u64],
    tlp: f64,
    tlp_again: &'static [u64],
    /// Why the value with probes does not apply to 3.17; `None`: it applies.
    differs: Option<&'static str>,
}

const PTO: &str = "6.18's PTO is 2·SRTT + 200 ms with one segment out, 3.17's max(2·SRTT, 1.5·SRTT + 200 ms)";
const FLOOR: &str = "6.18's PTO is 2·SRTT + 2 ms with several segments out, 3.17's max(2·SRTT, 10 ms)";
const RECOVERY: &str = "6.18 repairs the rest by RACK, one segment per ACK; 3.17 by early retransmit or FACK";

#[rustfmt::skip]
const CELLS: [Cell; 10] = [
    Cell { rtt_ms: 20, rate: "none", lost: 1, ack: "quick", no_tlp: 288.0, no_tlp_again: &[10], tlp: 288.0, tlp_again: &[10], differs: None },
    Cell { rtt_ms: 80, rate: "none", lost: 0, ack: "quick", no_tlp: 160.0, no_tlp_again: &[], tlp: 160.0, tlp_again: &[], differs: None },
    Cell { rtt_ms: 80, rate: "none", lost: 1, ack: "quick", no_tlp: 549.0, no_tlp_again: &[10], tlp: 551.0, tlp_again: &[10], differs: None },
    Cell { rtt_ms: 320, rate: "none", lost: 1, ack: "quick", no_tlp: 1935.0, no_tlp_again: &[10], tlp: 1810.0, tlp_again: &[10], differs: Some(PTO) },
    Cell { rtt_ms: 20, rate: "none", lost: 1, ack: "delayed", no_tlp: 536.0, no_tlp_again: &[10], tlp: 106.0, tlp_again: &[10], differs: Some(FLOOR) },
    Cell { rtt_ms: 80, rate: "none", lost: 1, ack: "delayed", no_tlp: 801.0, no_tlp_again: &[10], tlp: 406.0, tlp_again: &[10], differs: None },
    Cell { rtt_ms: 320, rate: "none", lost: 1, ack: "delayed", no_tlp: 2157.0, no_tlp_again: &[10], tlp: 2058.0, tlp_again: &[10], differs: Some(PTO) },
    Cell { rtt_ms: 80, rate: "100Mbit", lost: 1, ack: "quick", no_tlp: 546.0, no_tlp_again: &[10], tlp: 550.0, tlp_again: &[10], differs: None },
    Cell { rtt_ms: 80, rate: "100Mbit", lost: 3, ack: "quick", no_tlp: 615.0, no_tlp_again: &[8, 9, 10], tlp: 568.0, tlp_again: &[10, 8, 9], differs: Some(RECOVERY) },
    Cell { rtt_ms: 80, rate: "100Mbit", lost: 4, ack: "delayed", no_tlp: 903.0, no_tlp_again: &[7, 8, 9, 10], tlp: 567.0, tlp_again: &[10, 7, 8, 9], differs: Some(RECOVERY) },
];

impl Cell {
    fn name(&self) -> String {
        format!("rtt {:3} rate {:7} lost {} {:7}", self.rtt_ms, self.rate, self.lost, self.ack)
    }

    fn scenario(&self, profiles: [&str; 2]) -> Scenario {
        let mut scenario = Scenario::load("tail-loss").unwrap();
        let (rtt, drop) = (format!("{}ms", self.rtt_ms), format!("tail:{}", self.lost));
        let drop = if self.lost == 0 { "none" } else { &drop };
        for (key, value) in [
            ("rtt", rtt.as_str()),
            ("rate", self.rate),
            ("drop", drop),
            ("ack", self.ack),
            ("timers", "linux-wheel:250"),
        ] {
            scenario.settings.set(key, value, Path::new("")).unwrap();
        }
        scenario.flows = 101;
        scenario.profiles = profiles.map(|p| p.parse().unwrap()).to_vec();
        scenario
    }
}

/// The numbers of the data segments that the server retransmits, in order.
#[derive(Default)]
struct Again(Vec<u64>);

impl Observer for Again {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, _: Point, _: Direction, _: &Packet) {}

    fn on_event(&mut self, _: Instant, _: FlowId, host: Host, event: &Event) {
        if let Event::Sent { what: recoup_recovery::Transmission::Again(span, _), .. } = event
            && host == Host::Server
        {
            self.0.push((span.end.0 - 1).div_ceil(1448));
        }
    }
}

/// The segments that each profile retransmits in flow 0.
fn orders(scenario: &Scenario) -> Vec<Vec<u64>> {
    let path = scenario.settings.path().unwrap();
    let order = |profile| {
        let mut again = Again::default();
        let spec = scenario.settings.flow(profile);
        let mut simulation = Simulation::new(&path).unwrap();
        simulation.run(&spec, scenario.seed, FlowId(0), &mut again);
        again.0
    };
    scenario.profiles.iter().map(order).collect()
}

/// Prints how far `profiles`, without and with probes, are from the kernel. Returns the cells where they
/// are more than 3 % off, among those that `holds` says are comparable.
fn compare(profiles: [&str; 2], holds: impl Fn(&Cell) -> [bool; 2]) -> Vec<String> {
    println!("FCT in ms: kernel 6.18 | {profiles:?} with timers=linux-wheel:250 | difference");
    let mut off = Vec::new();
    for cell in &CELLS {
        let scenario = cell.scenario(profiles);
        let results = run(&scenario, 1, |_| ()).unwrap();
        let columns = [("no TLP", cell.no_tlp), ("TLP", cell.tlp)];
        for (i, (column, kernel)) in columns.into_iter().enumerate() {
            let ours = results[i].cost.fct.summary().unwrap().p50;
            let share = ours / kernel - 1.0;
            let comparable = holds(cell)[i];
            let why = cell.differs.filter(|_| !comparable).unwrap_or_default();
            println!("{} | {column:6} | {kernel:6.0} | {ours:7.1} | {:+5.1} % {why}", cell.name(), share * 100.0);
            if comparable && share.abs() > TOLERANCE {
                off.push(format!("{}, {column}", cell.name()));
            }
        }
    }
    off
}

#[test]
fn linux_3_17_predicts_the_kernel_within_three_percent_where_their_rules_agree() {
    let holds = |cell: &Cell| [true, cell.differs.is_none()];
    let off = compare(["linux-3.17", "linux-3.17+tlp"], holds);
    assert!(off.is_empty(), "more than 3 % off: {off:?}");
}

#[test]
fn linux_6_predicts_the_kernel_within_three_percent() {
    let off = compare(["linux-6+notlp", "linux-6"], |_| [true, true]);
    assert!(off.is_empty(), "more than 3 % off: {off:?}");
}

#[test]
fn linux_6_retransmits_the_kernels_segments_in_its_order() {
    for cell in &CELLS {
        let got = orders(&cell.scenario(["linux-6+notlp", "linux-6"]));
        let expected = [cell.no_tlp_again, cell.tlp_again];
        assert_eq!(got, expected, "{}", cell.name());
    }
}
