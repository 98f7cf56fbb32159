use super::*;
use std::net::Ipv4Addr;

#[test]
fn one_dsack_outweighs_any_number_of_missing_ones() {
    let cases = [
        ((0, 0), None),
        ((0, 2), None),
        ((0, 3), Some(ReportsDuplicates::No)),
        ((1, 0), Some(ReportsDuplicates::Yes)),
        ((1, 1000), Some(ReportsDuplicates::Yes)),
    ];
    for ((seen, missing), proof) in cases {
        let reports = DuplicateReports { seen, missing };
        assert_eq!(reports.proof(), proof, "{reports:?}");
        let belief = proof.unwrap_or(ReportsDuplicates::Yes);
        assert_eq!(reports.belief(), belief, "{reports:?}");
    }
}

#[test]
fn bbr_is_a_window_that_does_not_fall_at_a_sender_that_paces() {
    let cases = [
        // (recoveries, unreduced, at once, paced, whether they show BBR)
        ([8, 3, 600, 400], true),
        ([8, 1, 600, 400], false),
        ([100, 2, 600, 400], false),
        // Another control that does not reduce: ACKs make it send.
        ([8, 3, 980, 20], false),
        ([8, 0, 0, 1000], false),
        ([0, 0, 0, 0], false),
    ];
    for ([recoveries, unreduced, at_once, paced], expected) in cases {
        let evidence = WindowEvidence { recoveries, unreduced, at_once, paced };
        assert_eq!(evidence.shows_bbr(), expected, "{evidence:?}");
    }
}

fn host(number: u32) -> IpAddr {
    Ipv4Addr::from(number).into()
}

fn facts(explained: u32, seen: u32) -> HostFacts {
    HostFacts {
        window: WindowEvidence { recoveries: seen, unreduced: 1, ..WindowEvidence::default() },
        profiles: [("linux-6".into(), Score { explained, of: 20 })].into(),
        probes: ProbeEvidence { sent: seen, left_out: 1 },
        duplicates: DuplicateReports { seen, missing: 1 },
        timeouts: TimeoutEvidence { early: Timeouts { count: 1, least: 50_000 + seen }, ..TimeoutEvidence::default() },
    }
}

#[test]
fn merged_parts_know_what_the_whole_knows() {
    let (mut whole, mut parts) = (Hosts::default(), [Hosts::default(), Hosts::default()]);
    for number in 0..10 {
        let facts = facts(number, number / 2);
        whole.add(host(number % 3), &facts);
        parts[number as usize % 2].add(host(number % 3), &facts);
    }
    let [mut first, second] = parts;
    first.merge(&second);
    assert_eq!(first, whole);
    let of_one = whole.get(host(0)).expect("known");
    assert_eq!(of_one.profiles["linux-6"].explained, 3 + 6 + 9);
    assert_eq!((of_one.probes.sent, of_one.probes.left_out), (8, 4));
    assert_eq!(of_one.duplicates, DuplicateReports { seen: 8, missing: 4 });
    assert_eq!(of_one.timeouts.early, Timeouts { count: 4, least: 50_000 });
}

#[test]
fn known_and_learned_facts_count_together() {
    let mut known = KnownHosts::default();
    known.learned.add(host(1), &facts(4, 1));
    assert_eq!(*known.of(host(1)), facts(4, 1));
    let before = known.learned.clone();
    known.before = Arc::new(before);
    assert_eq!(known.of(host(1)).duplicates.seen, 2);
    assert!(known.of(host(2)).is_empty());
}

#[test]
fn only_hosts_whose_profiles_change_are_looked_at_again() {
    let candidates = Candidates::known();
    let of = |explained| HostFacts {
        profiles: [("linux-6".into(), Score { explained, of: 20 })].into(),
        ..HostFacts::default()
    };
    let duplicates = HostFacts { duplicates: DuplicateReports { seen: 1, missing: 0 }, ..HostFacts::default() };
    let mut known = KnownHosts::default();
    // (facts, whether they change which profiles the host may run)
    let steps = [(duplicates, false), (of(0), true), (of(0), false), (of(20), true), (of(20), false)];
    for (i, (facts, changes)) in steps.iter().enumerate() {
        known.forget_changes();
        known.learn(host(1), facts, &candidates);
        let changed: Vec<IpAddr> = known.changed_profiles().collect();
        assert_eq!(changed == [host(1)], *changes, "step {i}");
        let anew = candidates.profiles_on(&known.of(host(1)));
        assert_eq!(known.profiles_of(host(1), &candidates), anew, "step {i}");
    }
}

#[test]
fn memory_is_bounded() {
    let mut hosts = Hosts::default();
    for number in 0..MOST_HOSTS as u32 + 10 {
        hosts.add(host(number), &facts(1, 0));
    }
    hosts.add(host(0), &facts(1, 0));
    assert_eq!(hosts.iter().count(), MOST_HOSTS);
    assert_eq!(hosts.get(host(0)).map(|h| h.duplicates.missing), Some(2));
    let mut one = HostFacts::default();
    for number in 0..100 {
        let profile = format!("profile {number}").into();
        one.merge(&HostFacts { profiles: [(profile, Score::default())].into(), ..HostFacts::default() });
    }
    assert_eq!(one.profiles.len(), MOST_PROFILES);
}
