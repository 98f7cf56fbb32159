use super::*;
use crate::claims::ClaimVerdict;

fn cell(profile: &str, cpu_us: u64, memory: usize) -> OverheadCell {
    OverheadCell {
        profile: profile.into(),
        flows: 1,
        median_ms: 100.0,
        bytes: 1e4,
        steps: 50.0,
        memory,
        cpu: Duration::from_micros(cpu_us),
    }
}

/// 100 µs of 100 ms are 0.1 percentage points. The text does not depend on the time below that.
#[test]
fn times_enter_the_ledger_as_bounds_alone() {
    let claims = |with_us, with_memory| {
        let cells = [cell("a", 10, 4000), cell("b", with_us, with_memory)];
        claims::all(&cells, 16e9)
    };
    let [fast, slow] = [claims(20, 5000), claims(90, 5000)];
    assert_eq!(fast[0].ours, slow[0].ours);
    assert_eq!(fast[0].verdict, ClaimVerdict::Holds);
    assert_eq!(claims(111, 5000)[0].verdict, ClaimVerdict::Fails);
    // 1,000 connections with 16 kB more each are 0.1 % of 16 GB.
    assert_eq!(claims(20, 19_999)[1].verdict, ClaimVerdict::Holds);
    assert_eq!(claims(20, 20_001)[1].verdict, ClaimVerdict::Fails);
}

#[test]
fn slp_takes_memory_and_steps() {
    let setup = crate::slp::setup(ID, crate::experiment::Effort::Quick);
    let [without, with] = PROFILES.map(|name| counted(&setup, name).unwrap());
    assert!(with.memory > without.memory && without.memory > 2 * size_of::<Sender>());
    assert!(with.steps > without.steps);
}
