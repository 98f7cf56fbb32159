use super::*;

const FLOW: FlowId = FlowId(3);

#[test]
fn the_interval_is_agresti_and_coulls() {
    // 100 packets arrive, and half of 16 more: 108 of 116.
    let mut cycles = Cycles::default();
    (0..100).for_each(|_| cycles.add(1, 1));
    let goodput = cycles.goodput(0.83, [(1, 1), (0, 1)]);
    assert_eq!((goodput.simulated, goodput.high), (1.0, 1.0));
    let (p, m): (f64, f64) = (108.0 / 116.0, 116.0);
    assert!((goodput.low - (p - 4.0 * (p * (1.0 - p) / m).sqrt())).abs() < 1e-12);
    assert!(!goodput.agrees && goodput.low > 0.83);
    assert!(cycles.goodput(0.84, [(1, 1), (0, 1)]).agrees);
}

#[test]
fn seed_and_flow_alone_decide_random_choices() {
    let code = Code { n: 4, k: 1 };
    let simulated = |seed, flow| {
        let both = run(code, [0.1; 2], 500, seed, FlowId(flow)).unwrap();
        both.map(|goodput| goodput.simulated)
    };
    assert_eq!(simulated(1, 3), simulated(1, 3));
    assert_ne!(simulated(1, 3), simulated(2, 3));
    assert_ne!(simulated(1, 3), simulated(1, 4));
}

#[test]
fn without_loss_the_interval_still_has_a_width() {
    for (n, k) in [(1, 0), (1, 1), (20, 4), (3, 7)] {
        let ideal = f64::from(n) / f64::from(n + k);
        for goodput in run(Code { n, k }, [0.0; 2], 1000, 1, FLOW).unwrap() {
            assert_eq!((goodput.simulated, goodput.exact), (ideal, ideal));
            assert!(goodput.agrees && goodput.low < ideal, "{goodput}");
        }
    }
}

#[test]
fn intervals_contain_the_closed_form_with_few_groups_and_many_seeds() {
    let mut outside = 0;
    for (n, k) in [(1, 0), (1, 1), (4, 1), (16, 1), (10, 2)] {
        for p in [0.001, 0.02, 0.2, 0.6] {
            for seed in 0..25 {
                let both = run(Code { n, k }, [p; 2], 1000, seed, FLOW).unwrap();
                outside += both.iter().filter(|goodput| !goodput.agrees).count();
            }
        }
    }
    // 0.06 of 1000 are expected.
    assert_eq!(outside, 0);
}

#[test]
fn intervals_are_narrow_enough_to_exclude_wrong_values() {
    let code = Code { n: 16, k: 1 };
    for goodput in run(code, [0.02; 2], 10_000, 1, FLOW).unwrap() {
        assert!(goodput.agrees && goodput.high < code.paper(0.02), "{goodput}");
    }
    let [alone, with_arq] = run(code, [0.05; 2], 10_000, 1, FLOW).unwrap();
    assert!(alone.high < with_arq.low, "{alone}, {with_arq}");
}
