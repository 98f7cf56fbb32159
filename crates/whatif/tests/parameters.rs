//! Predictions for other parameters of loss detection, against the same flows simulated with them.

mod capture;

use capture::{Captured, capture, flow_spec, path};
use recoup_path::{HopSpec, LinkTrace, PathSpec};
use recoup_recovery::{
    Mechanisms, Profile,
    parameters::{MinimumOf, Parameters},
    rtt::Factor,
};
use recoup_tcp::flow::Host;
use recoup_trace::finding::Verdict;
use recoup_units::{BitRate, Segments};
use recoup_whatif::detection_cost::Model;
use recoup_whatif::parameters::{ChangeKind, Grid, Instances, LeftOut, StudiedSender, Subject, study};
use std::time::Duration;

fn profile(name: &str) -> Profile {
    name.parse().unwrap()
}

fn studied(captured: &Captured, profile: &Profile, instances: &Instances) -> Result<StudiedSender, LeftOut> {
    study(
        &Subject {
            packets: &captured.packets,
            sender: Host::Server,
            profile,
            retransmissions: &captured.rows,
            counts_undo: true,
            lists_events: true,
        },
        instances,
    )
}

fn k(factor: u32) -> Parameters {
    Parameters { rttvar_factor: Some(Factor::whole(factor)), ..Parameters::default() }
}

fn with(mechanisms: &Mechanisms, parameters: Parameters) -> Mechanisms {
    let mut mechanisms = *mechanisms;
    parameters.apply(&mut mechanisms);
    mechanisms
}

/// The flow completion time in ns.
fn fct(flow: &Captured) -> i64 {
    flow.record.fct.expect("a complete flow").as_nanos() as i64
}

#[test]
fn a_lost_tail_is_detected_by_the_rto_of_the_instance() {
    let grid = Grid { rttvar_factors: [2, 4, 6].map(Factor::whole).into(), ..Grid::default() };
    for name in ["linux-2.4", "windows-xp", "solaris-10", "linux-3.17"] {
        let profile = profile(name);
        let run = |parameters| {
            let mechanisms = with(profile.mechanisms(), parameters);
            capture(&path(200, "tail:1", 10), &profile, &flow_spec(&profile, &mechanisms, 10), 0)
        };
        let own = run(Parameters::default());
        let found = studied(&own, &profile, &grid.instances()).unwrap();
        assert_eq!((found.timeouts, found.unmeasured), (1, 0), "{name}");
        for (instance, factor) in [2, 4, 6].into_iter().enumerate() {
            let truth = fct(&own) - fct(&run(k(factor)));
            let change = &found.changes[instance];
            for model in Model::ALL {
                let error = (change.saved(model) - truth).abs();
                assert!(error <= 1_000_000, "{name}, k = {factor}: {change:?}, {truth}");
            }
            assert_eq!(change.is_none(), factor == 4, "{name}, k = {factor}");
            let moved = change.events(ChangeKind::TimeoutMoves);
            assert_eq!(moved, u32::from(factor != 4), "{name}, k = {factor}");
        }
    }
}

/// The studied senders of many flows with random losses both ways, and how many were left out.
fn population(name: &str, instances: &Instances) -> (Vec<(Captured, StudiedSender)>, Vec<LeftOut>) {
    let profile = profile(name);
    let (mut studied_all, mut left_out) = (Vec::new(), Vec::new());
    for flow in 0..300 {
        let segments = 20 + flow * 37 % 91;
        let drops = "down:bernoulli:0.03,up:bernoulli:0.02";
        let path = path(10 + flow * 13 % 140, drops, segments);
        let captured = capture(&path, &profile, &flow_spec(&profile, profile.mechanisms(), segments), flow);
        match studied(&captured, &profile, instances) {
            Ok(found) => studied_all.push((captured, found)),
            Err(why) => left_out.push(why),
        }
    }
    (studied_all, left_out)
}

#[test]
fn the_parameters_that_a_sender_has_change_nothing() {
    for name in ["linux-2.4", "linux-2.4+minrttvar", "windows-xp", "solaris-10", "freebsd-5", "linux-3.17", "linux-6"] {
        let rules = profile(name).mechanisms().rto;
        // The kernel's Linux has its minimum on RTTVAR.
        let (min, minimum_of) = match rules.min {
            Duration::ZERO => (rules.min_variance, MinimumOf::Rttvar),
            min => (min, MinimumOf::Rto),
        };
        let own = Grid {
            rttvar_factors: vec![rules.rttvar_factor],
            rttvar_weights: vec![rules.rttvar_weight],
            srtt_weights: vec![rules.srtt_weight],
            srtt_factors: vec![rules.srtt_factor],
            min_rtos: vec![min],
            minimum_of,
            dupthreshs: vec![profile(name).mechanisms().detection.dupthresh],
            ..Grid::default()
        };
        let (all, left_out) = population(name, &own.instances());
        assert!(left_out.is_empty(), "{name}: {left_out:?}");
        let sum = |of: fn(&StudiedSender) -> u32| all.iter().map(|(_, found)| of(found)).sum::<u32>();
        let detections = sum(|found| found.timeouts + found.fast_retransmits);
        assert!(sum(|found| found.unmeasured) * 20 < detections, "{name}");
        assert!(detections > 300 && sum(|found| found.timeouts) > 5, "{name}");
        for (_, found) in &all {
            assert_eq!(found.events, [], "{name}");
        }
    }
}

/// Changes by an instance in a flow: how often in each way, and the sum in ms.
fn changes(found: &StudiedSender, instance: usize) -> (Vec<(ChangeKind, u32)>, i64) {
    let change = &found.changes[instance];
    let kinds = ChangeKind::ALL.map(|kind| (kind, change.events(kind)));
    let kinds = kinds.into_iter().filter(|(_, events)| *events > 0);
    (kinds.collect(), change.saved(Model::Counted) / 1_000_000)
}

/// A path with a link that delivers a packet per ms, but nothing from 380 to 800 ms of each 2 s.
fn pausing_path() -> PathSpec {
    let opportunities = (1..380).chain(800..=2000);
    let text: String = opportunities.map(|ms| format!("{ms}\n")).collect();
    let link = HopSpec::Link { trace: LinkTrace::parse(&text).unwrap(), queue: "1000".parse().unwrap() };
    let mut path = path(20, "none", 400);
    path.down.insert(0, link);
    path
}

#[test]
fn a_pause_makes_short_timers_expire_and_long_ones_wait() {
    let min_rtos = [100, 200, 1000].map(Duration::from_millis);
    let grid = Grid { min_rtos: min_rtos.into(), ..Grid::default() };
    let run = |name: &str| {
        let profile = profile(name);
        let captured = capture(&pausing_path(), &profile, &flow_spec(&profile, profile.mechanisms(), 400), 0);
        let found = studied(&captured, &profile, &grid.instances()).unwrap();
        (captured, found)
    };
    // Linux's kernel: 200 ms in RTTVAR. Its timer expires once, or twice, in the pause.
    let (captured, found) = run("linux-2.4+minrttvar");
    assert!(captured.rows.iter().any(|row| row.verdict == Verdict::Spurious));
    assert_eq!(changes(&found, 0), (vec![], 0));
    let (kinds, saved) = changes(&found, 2);
    assert_eq!(kinds, [(ChangeKind::SpuriousTimeoutAvoided, 1)]);
    // Timestamps told it that the timeout was spurious, and it restored its window.
    assert_eq!(saved, 0);
    let own = profile("linux-2.4+minrttvar");
    let patient = with(own.mechanisms(), Parameters { min_rto: Some(min_rtos[2]), ..Parameters::default() });
    let truth = fct(&captured) - fct(&capture(&pausing_path(), &own, &flow_spec(&own, &patient, 400), 0));
    assert!(truth.abs() < 20_000_000, "{truth} ns");
    // FreeBSD waits for at least 1200 ms: longer than the pause.
    let (captured, found) = run("freebsd-5");
    assert_eq!(captured.rows, []);
    for instance in [0, 1] {
        let (kinds, saved) = changes(&found, instance);
        assert_eq!(kinds, [(ChangeKind::SpuriousTimeoutMade, 1)], "{instance}");
        assert!(saved < 0, "{saved} ms");
    }
    assert_eq!(changes(&found, 2), (vec![], 0));
}

#[test]
fn reordering_makes_fast_retransmits_for_small_d_and_none_for_large() {
    let grid = Grid { dupthreshs: [1, 2, 3, 50].map(Segments).into(), ..Grid::default() };
    let profile = profile("solaris-10");
    let mut path = path(30, "none", 200);
    path.down.push(HopSpec::Rate {
        rate: BitRate::from_bits_per_second(10_000_000).unwrap(),
        queue: "1000".parse().unwrap(),
    });
    let by_segments = |segments: u64, flow| {
        let mut path = path.clone();
        path.down.push(HopSpec::Reorder {
            probability: "0.02".parse().unwrap(),
            extra: Duration::from_micros(segments * 1200 + 600),
        });
        let captured = capture(&path, &profile, &flow_spec(&profile, profile.mechanisms(), 200), flow);
        let found = studied(&captured, &profile, &grid.instances()).unwrap();
        (captured, found)
    };
    // Two segments overtake it: two duplicate ACKs.
    let (captured, found) = by_segments(2, 1);
    assert_eq!(captured.rows, []);
    for instance in [0, 1] {
        let (kinds, saved) = changes(&found, instance);
        assert!(matches!(kinds[..], [(ChangeKind::SpuriousFastMade, 1..)]), "{kinds:?}");
        assert!(saved < 0);
    }
    assert_eq!(changes(&found, 2), (vec![], 0));
    assert_eq!(changes(&found, 3), (vec![], 0));
    // Ten overtake it.
    let (captured, found) = by_segments(10, 1);
    let spurious = captured.rows.iter().filter(|row| row.verdict == Verdict::Spurious);
    assert!(spurious.count() > 0);
    let (kinds, saved) = changes(&found, 3);
    assert!(matches!(kinds[..], [(ChangeKind::SpuriousFastAvoided, 1..)]), "{kinds:?}");
    assert!(saved > 0);
    assert_eq!(changes(&found, 2), (vec![], 0));
}

/// A path of 80 ms at 20 Mbit/s, with one hop more.
fn with_hop(drops: &str, hop: HopSpec) -> PathSpec {
    let mut path = path(40, drops, 100);
    let rate = BitRate::from_bits_per_second(20_000_000).unwrap();
    path.down.extend([HopSpec::Rate { rate, queue: "1000".parse().unwrap() }, hop]);
    path
}

/// Changes by D = 2 in a flow of 100 segments over a path, and how much longer it takes, in ns.
fn with_two_duplicates(sender: &str, path: &PathSpec, flow: u64) -> Option<(StudiedSender, i64)> {
    let two = Some(Segments(2));
    let grid = Grid { dupthreshs: two.into_iter().collect(), ..Grid::default() };
    let profile = profile(sender);
    let run = |mechanisms: &Mechanisms| capture(path, &profile, &flow_spec(&profile, mechanisms, 100), flow);
    let captured = run(profile.mechanisms());
    let other = run(&with(profile.mechanisms(), Parameters { dupthresh: two, ..Parameters::default() }));
    let found = studied(&captured, &profile, &grid.instances()).ok()?;
    Some((found, fct(&other) - fct(&captured)))
}

#[test]
fn a_smaller_d_delays_no_detection() {
    let path = with_hop("bernoulli:1%", HopSpec::Delay(Duration::ZERO));
    let mut detections = 0;
    for sender in ["linux-6", "linux-3.17", "rfc6675", "freebsd-5"] {
        for (found, _) in (0..60).filter_map(|flow| with_two_duplicates(sender, &path, flow)) {
            detections += found.fast_retransmits;
            for change in &found.changes {
                assert_eq!(change.events(ChangeKind::FastBecomesTimeout), 0, "{sender}");
                assert!(change.saved_by(ChangeKind::FastMoves, Model::Counted) >= 0, "{sender}");
            }
        }
    }
    assert!(detections > 100, "{detections}");
}

/// Linux restores its window when the ACK of the original tells it that a retransmission was spurious.
#[test]
fn spurious_fast_retransmits_cost_little_if_they_are_undone() {
    let late = HopSpec::Reorder { probability: "0.02".parse().unwrap(), extra: Duration::from_micros(1500) };
    let path = with_hop("none", late);
    for (sender, most_ms) in [("linux-6", 5.0), ("linux-3.17", 5.0), ("rfc6675", 150.0)] {
        let found = (0..100).filter_map(|flow| with_two_duplicates(sender, &path, flow));
        let (mut made, mut saved, mut longer) = (0, 0, 0);
        for (found, change) in found {
            made += found.changes[0].events(ChangeKind::SpuriousFastMade);
            saved += found.changes[0].saved(Model::Counted);
            longer += change;
        }
        let [predicted, truth] = [-saved, longer].map(|sum| sum as f64 / f64::from(made) / 1e6);
        assert!(made > 50, "{sender}: {made}");
        assert!((predicted - truth).abs() <= 0.2 * truth.abs() + 3.0, "{sender}: {predicted} ms, truly {truth} ms");
        assert!(truth.abs() < most_ms, "{sender}: {truth} ms");
    }
}
