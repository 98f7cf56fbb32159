use super::run::run_batch;
use super::*;
use recoup_lab::scenario::Experiment;
use recoup_sim::world::LinkRecord;
use recoup_units::Direction;

fn flow(fct_ms: f64, lost: Segments, again: Segments) -> Flow {
    Flow { world: 0, fct_ms: Some(fct_ms), lost, again, segments_sent: 4, spurious: 0, by_acks: 0, retransmissions: 0 }
}

fn cell(foreground: Foreground, mechanism: Mechanism, flows: Vec<Flow>) -> DumbbellCell {
    DumbbellCell {
        foreground,
        mechanism,
        pairs: 1,
        worlds: 1,
        flows,
        bottleneck: LinkResult {
            name: "bottleneck".into(),
            direction: Direction::Up,
            rate: None,
            record: LinkRecord::default(),
            flows_with_drops: 0,
            most_drops_of_a_flow: 0,
        },
        background: vec![],
    }
}

const FOUR: Foreground = PANELS[0].1;
const HUNDRED: Foreground = PANELS[2].1;

#[test]
fn flows_are_selected_by_what_was_lost_first() {
    let flows = vec![
        flow(1.0, 0, 0b1000),
        flow(3.0, 0b1000, 0b1000),
        flow(2.0, 0b1100, 0),
        flow(4.0, 0b1110, 0),
        flow(5.0, 0b1111, 0),
        flow(6.0, 0b0100, 0),
    ];
    let cell = cell(FOUR, Mechanism::Tlp, flows);
    assert_eq!(cell.fcts(), [2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(cell.fcts_of(&[Tail::One]), [3.0]);
    assert_eq!(cell.fcts_of(&[Tail::Two, Tail::Three]), [2.0, 4.0]);
    assert_eq!(cell.fcts_of(&[Tail::Other]), [5.0, 6.0]);
    assert_eq!(cell.selected_by_retransmission().count(), 2);
    let several = cell.with_several_at_tail();
    assert_eq!((several.hits, several.trials), (3, 5));
}

#[test]
fn episodes_are_runs_of_lost_segments() {
    let of = |foreground: Foreground, lost: &[Segments]| {
        let flows = lost.iter().map(|lost| flow(1.0, *lost, 0)).collect();
        cell(foreground, Mechanism::Baseline, flows).episodes()
    };
    let expected = |episodes, lost, at_tail| Episodes { episodes, lost, at_tail };
    assert_eq!(of(FOUR, &[0, 0b1000]), expected(1, 1, 1));
    assert_eq!(of(FOUR, &[0b1011, 0b0110]), expected(3, 5, 1));
    let last = 1 << 99;
    assert_eq!(of(HUNDRED, &[last | 1, last >> 1]), expected(3, 3, 1));
    // A loss outside the last four segments selects no flow of a hundred.
    let outside = cell(HUNDRED, Mechanism::Baseline, vec![flow(1.0, last >> 4, 0)]);
    assert_eq!(outside.selected().count(), 0);
}

/// Two hundred flows of each kind of tail, with these completion times.
fn flows(one: f64, two: f64, three: f64) -> Vec<Flow> {
    let kinds = [(one, 0b1000), (two, 0b1100), (three, 0b1110)];
    let of_kind = |(fct, lost)| (0..200).map(move |i| flow(fct + f64::from(i) / 100.0, lost, 0));
    kinds.into_iter().flat_map(of_kind).collect()
}

/// The verdict about a claim if the cells of the panels have these flows, by mechanism.
fn verdict(id: &str, of: impl Fn(char, Mechanism) -> Vec<Flow>) -> crate::claims::ClaimVerdict {
    let panels = PANELS.into_iter().flat_map(|panel| MECHANISMS.map(|m| (panel, m)));
    let cells = panels.map(|((letter, foreground), mechanism)| {
        let flows = of(letter, mechanism);
        cell(foreground, mechanism, flows)
    });
    let claims = claims::all(&cells.collect::<Vec<_>>());
    let found = claims.into_iter().find(|claim| claim.id == id);
    found.expect("a claim with this id").verdict
}

#[test]
fn verdicts_follow_the_times() {
    use crate::claims::ClaimVerdict::{Fails, Holds};
    // RTO restart saves exactly 30 ms at 5 ms one way, and 350 ms at 160 ms.
    let times = |saved: [f64; 2]| {
        move |panel: char, mechanism| {
            let (base, saved) = match panel {
                'a' | 'b' | 'c' => (300.0, saved[0]),
                _ => (1800.0, saved[1]),
            };
            let fct = match mechanism {
                Mechanism::Rtor => base - saved,
                _ => base,
            };
            flows(fct, fct, fct)
        }
    };
    let id = "rtor-saves-an-rtt";
    assert_eq!(verdict(id, times([30.0, 350.0])), Holds);
    assert_eq!(verdict(id, times([30.0, 300.0])), Fails);
    assert_eq!(verdict(id, times([5.0, 350.0])), Fails);

    // TLP: flows that lost two or three segments are fast, the others not.
    let probes = |fast: f64, slow: f64| move |_, _| flows(slow, fast, fast);
    let id = "probes-are-fast-up-to-70-percent";
    assert_eq!(verdict(id, probes(150.0, 300.0)), Holds);
    assert_eq!(verdict(id, probes(150.0, 160.0)), Fails);
    assert_eq!(verdict(id, probes(250.0, 300.0)), Fails);

    // TLPR must be better than all others everywhere.
    let best = |worse_in: Option<char>| {
        move |panel, mechanism| {
            let fct = match mechanism {
                Mechanism::Tlpr if Some(panel) != worse_in => 100.0,
                Mechanism::Tlpr => 400.0,
                _ => 200.0,
            };
            flows(fct, fct, fct)
        }
    };
    assert_eq!(verdict("tlpr-is-best", best(None)), Holds);
    assert_eq!(verdict("tlpr-is-best", best(Some('d'))), Fails);
}

#[test]
fn shares_of_spurious_retransmissions_count_each_cell_as_one_pair() {
    let of = |pairs, sent, spurious| {
        let flow = Flow { segments_sent: sent, spurious, ..flow(1.0, 0, 0) };
        DumbbellCell { pairs, ..cell(FOUR, Mechanism::Baseline, vec![flow]) }
    };
    let share = spurious([of(1, 1000, 1), of(10, 10_000, 30)].iter(), 1);
    assert!((share.share - 4.0 / 2000.0).abs() < 1e-6, "{}", share.share);
    assert_eq!(share.hits, 31);
    assert_eq!(spurious([of(10, 500, 0)].iter(), 1).trials, 500);
}

#[test]
fn a_short_world_shows_what_probes_save() {
    let setup = crate::tail_loss::tests::setup_of(ID);
    let Ok(Experiment::World(mut world)) = Experiment::load(WORLD) else { panic!("a world") };
    world.seed = setup.seed();
    // A heavy load and a short pause, so that many flows lose segments in a short time.
    for (key, value) in [
        ("duration", "120s"),
        ("workloads.background.scale", "1"),
        ("workloads.reverse.scale", "2"),
        ("workloads.foreground.think", "20ms"),
    ] {
        world.set(key, value).unwrap();
    }
    let cells = run_batch(&setup, &world, FOUR, 0, 1).unwrap();
    let [baseline, _, tlp, _] = &cells[..] else { panic!("a cell a mechanism") };
    assert!(baseline.selected().count() > 20, "{}", baseline.selected().count());
    let fast = |cell: &DumbbellCell| {
        let fcts = cell.fcts();
        fcts.iter().filter(|fct| **fct < 200.0).count() as f64 / fcts.len() as f64
    };
    // Without probes only a timeout, after 200 ms at least, repairs the loss of the last segment.
    assert!(fast(baseline) < 0.3 && fast(tlp) > 0.45, "{} {}", fast(baseline), fast(tlp));
    let all = baseline.flows.len() as f64;
    assert!(baseline.selected().count() as f64 > 0.02 * all);
    // No flow is slower than its losses explain: without any, it takes the round trip and the queue.
    let unharmed = baseline.flows.iter().filter(|flow| flow.lost == 0 && flow.again == 0);
    assert!(unharmed.filter_map(|flow| flow.fct_ms).all(|fct| fct < 300.0));
}
