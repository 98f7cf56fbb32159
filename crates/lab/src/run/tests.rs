use super::*;
use std::path::Path;

#[test]
fn the_number_of_threads_does_not_change_the_result() {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.flows = 300;
    for (key, value) in [("drop", "bernoulli:0.05"), ("timers", "linux-wheel:250")] {
        scenario.settings.set(key, value, Path::new(".")).unwrap();
    }
    let figures = |threads| -> Vec<_> {
        let results = run(&scenario, threads, |_| ()).unwrap();
        results
            .iter()
            .map(|r| {
                format!(
                    "{:?}",
                    (
                        r.cost.fct.summary(),
                        r.cost.fct_established.summary(),
                        r.cost.bytes_sent,
                        r.cost.counters.retransmissions,
                        r.cost.counters,
                        &r.cost.recoveries,
                        &r.cost.responses,
                    )
                )
            })
            .collect()
    };
    assert_eq!(figures(1), figures(3));
}

#[test]
fn progress_counts_every_flow() {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.flows = 130;
    let done = AtomicU64::new(0);
    run(&scenario, 2, |n| {
        done.fetch_add(n, Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!(done.into_inner(), 3 * 130);
}
