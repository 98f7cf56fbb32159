use super::*;
use std::net::Ipv4Addr;

/// Scores of linux-6, linux-3.17, linux-2.4, windows-xp, freebsd-5 and solaris-10;
/// linux-6+notlp and linux-3.17+tlp explain nothing.
fn replayed([linux, rest @ ..]: [u32; 6], of: u32) -> Replayed {
    let explained = [linux, 0, 0].into_iter().chain(rest);
    Replayed { scores: explained.map(|explained| Score { explained, of }).collect(), ..Replayed::default() }
}

#[test]
fn all_profiles_that_explain_equally_many_are_named() {
    let candidates = Candidates::known();
    // (explained of 10 by each profile, explained of 100 on the host's other connections, the
    // result)
    let cases = [
        ([10, 7, 3, 3, 3, 3], [0; 6], "linux-6"),
        ([10, 8, 3, 3, 3, 3], [0; 6], "linux-6 linux-3.17"),
        ([10, 10, 3, 3, 3, 3], [0; 6], "linux-6 linux-3.17"),
        // The host's other connections decide.
        ([9, 10, 3, 3, 3, 3], [98, 96, 9, 9, 9, 9], "linux-6 linux-3.17"),
        ([9, 10, 3, 3, 3, 3], [98, 88, 9, 9, 9, 9], "linux-6"),
        // Another host behind the same address.
        ([4, 10, 3, 3, 3, 3], [98, 60, 9, 9, 9, 9], "linux-3.17"),
        ([3, 3, 3, 4, 0, 0], [0; 6], "none, windows-xp"),
    ];
    for (explained, host, expected) in cases {
        let scores_of = replayed(explained, 10);
        let on_host = replayed(host, 100);
        let facts = candidates.facts(&on_host.scores, on_host.probes);
        let mut known = KnownHosts::default();
        let host = Ipv4Addr::LOCALHOST.into();
        known.learn(host, &facts, &candidates);
        let best = candidates.best(&scores_of, &known, host, true);
        let named = match candidates.identification(&scores_of, &best) {
            Identification::Nothing => "nothing".into(),
            Identification::Profile(one) => one.profile,
            Identification::None(one) => format!("none, {}", one.profile),
            Identification::Several(several) => {
                let names: Vec<String> = several.into_iter().map(|e| e.profile).collect();
                names.join(" ")
            }
        };
        assert_eq!(named, expected, "{explained:?}");
    }
}

#[test]
fn on_a_known_host_profiles_far_behind_are_implausible() {
    // (explained by each profile, retransmissions, indices of plausible profiles)
    let cases = [
        ([19, 10, 0, 0, 0, 0], 19, &[] as &[_]),
        ([20, 10, 0, 0, 0, 0], 20, &[0]),
        ([20, 19, 0, 0, 15, 0], 20, &[0, 3]),
        ([40, 20, 20, 90, 20, 82], 100, &[5]),
        ([40, 20, 20, 90, 20, 85], 100, &[5, 7]),
        ([4000, 20, 20, 9000, 20, 8700], 10_000, &[5]),
        ([4000, 20, 20, 9000, 20, 8900], 10_000, &[5, 7]),
    ];
    for (explained, of, plausible) in cases {
        let candidates = Candidates::known();
        let plausible_on = |host: &HostFacts| candidates.profiles_on(host).plausible().collect::<Vec<_>>();
        assert!(plausible_on(&HostFacts::default()).is_empty());
        let replayed = replayed(explained, of);
        let host = candidates.facts(&replayed.scores, replayed.probes);
        assert_eq!(plausible_on(&host), plausible, "{explained:?}");
    }
}

#[test]
fn bbr_is_added_to_profiles_of_systems_that_have_it() {
    let shown = WindowEvidence { recoveries: 8, unreduced: 3, at_once: 600, paced: 400 };
    let clocked = WindowEvidence { at_once: 1000, ..WindowEvidence::default() };
    let nothing = WindowEvidence::default();
    // (what explains most, what the connection shows, whether its host shows BBR, what is named)
    let cases = [
        ("linux-6", shown, false, "linux-6+bbr1"),
        ("linux-6", nothing, true, "linux-6+bbr1"),
        ("linux-6", nothing, false, "linux-6"),
        ("linux-6", clocked, true, "linux-6"),
        ("linux-6+notlp", shown, false, "linux-6+notlp+bbr1"),
        ("linux-6 linux-3.17+tlp linux-3.17", shown, false, "linux-6+bbr1 linux-3.17+tlp+bbr1"),
        ("linux-6 windows-xp", shown, false, "linux-6+bbr1"),
        ("windows-xp linux-6", shown, false, "windows-xp linux-6"),
        ("freebsd-5", shown, true, "freebsd-5"),
    ];
    for (names, window, bbr, expected) in cases {
        let explanation = |profile: &str| Explanation { profile: profile.into(), explained: 1, of: 1 };
        let several = names.split(' ').map(explanation).collect();
        let mut found = Identification::Several(several);
        found.unwrap_single();
        let on_host = HostProfiles { bbr, ..HostProfiles::default() };
        Candidates::known().name_bbr(&mut found, window, on_host);
        let named = match found {
            Identification::Profile(one) => one.profile,
            Identification::Several(several) => {
                let names: Vec<String> = several.into_iter().map(|e| e.profile).collect();
                names.join(" ")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(named, expected, "{names}");
    }
}

/// The names are profiles, and differ from their base in the congestion control alone.
#[test]
fn profiles_with_bbr_are_profiles() {
    for (base, name, systems) in WITH_BBR {
        let [base, with_bbr] = [base, name].map(|name| name.parse::<Profile>().unwrap());
        let bbr = recoup_recovery::congestion::Algorithm::Bbr1;
        let changed = base.mechanisms().with(|m| m.congestion = bbr);
        assert_eq!(*with_bbr.mechanisms(), changed, "{name}");
        assert_eq!(with_bbr.name(), name);
        assert_eq!(crate::systems::systems_like(name), Some(systems));
    }
}

#[test]
fn every_candidate_is_a_profile() {
    assert_eq!(Candidates::known().len(), PROFILES.len());
}
