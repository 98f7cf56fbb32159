use super::*;
use recoup_support::profile::parse_profile;
use std::path::Path;

fn scenario(profile: &str, settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.profiles = vec![parse_profile(profile).unwrap(); 2];
    for (key, value) in settings {
        scenario.settings.set(key, value, Path::new(".")).unwrap();
    }
    scenario
}

#[test]
fn each_ineffective_setting_or_mechanism_has_one_note() {
    let written = [("writes", "20kB@0")];
    for (profile, settings, note) in [
        ("linux-6", &[][..], ""),
        ("linux-3.17+rtor+tlp+reno", &[], ""),
        ("linux-3.17+tlprfc+tlpr", &[], ""),
        ("linux-3.17+tlp+notlp", &[], "profile linux-3.17+tlp+notlp: +tlp has no effect: +notlp replaces it"),
        ("linux-3.17+rack+rtor+fack", &[], "profile linux-3.17+rack+rtor+fack: +rack has no effect: +fack replaces it"),
        ("reno+tlp", &[], "profile reno+tlp: +tlp has no effect: it needs SACK, which the profile does not use"),
        ("reno+rack", &[], "profile reno+rack: +rack has no effect: it needs SACK, which the profile does not use"),
        ("reno+rack+sack", &[], ""),
        ("linux-6+minrto", &[("rto.min", "100ms")], ""),
        ("linux-2.4", &[("rto.min", "100ms")], ""),
        (
            "rfc6675+minrttvar",
            &[],
            "profile rfc6675+minrttvar: +minrttvar has no effect: the profile does not have Linux's RTT estimator",
        ),
        ("linux-6+cubic", &[("cc", "reno")], "profile linux-6+cubic: +cubic has no effect: cc=reno is set"),
        ("linux-6+cubic", &[("cc", "cubic")], ""),
        ("linux-6", &[("cc", "reno")], ""),
        ("linux-6", &written, ""),
        ("linux-6", &[written[0], ("segments", "20")], "segments=20 has no effect: writes sets what is sent"),
        (
            "linux-6",
            &[("exchanges", "1B>2B"), ("segments", "20"), written[0]],
            "segments=20 has no effect: exchanges sets what is sent\nwrites=20kB@0ms has no effect: exchanges sets what is sent",
        ),
        ("linux-6", &[("queue", "9")], "queue=9p has no effect: there is neither rate nor link"),
        ("linux-6", &[("queue", "9"), ("rate", "up:1Mbit")], ""),
        ("linux-6", &[("slp.q", "tail:1")], "slp.q=tail:1 has no effect: no profile has +slp"),
        ("linux-6+slp", &[("slp.q", "tail:1")], ""),
        ("linux-6", &[("rto.min", "201ms"), ("rto.k", "2")], ""),
        ("linux-6", &[("rto.min", "100ms"), ("rto.min_of", "rttvar")], ""),
        ("linux-6", &[("rto.min", "150ms"), ("rto.k", "2")], ""),
        (
            "linux-6",
            &[("rto.min", "100ms"), ("rto.k", "2")],
            "profile linux-6: rto.min=100ms has no effect: its RTO is m·SRTT and at least 100ms; rto.min_of=rttvar replaces this minimum",
        ),
        ("rfc6675", &[("rto.min", "1ms")], ""),
        (
            "rfc6675",
            &[("rto.min", "1ms"), ("rto.min_of", "rttvar")],
            "rto.min_of=rttvar has no effect: no profile has Linux's RTT estimator",
        ),
        ("linux-6", &[("rto.min_of", "rttvar")], "rto.min_of=rttvar has no effect: rto.min is not set"),
    ] {
        let found = notes_on_no_effect(&scenario(profile, settings)).join("\n");
        assert_eq!(found, note, "{profile} {settings:?}");
    }
}

#[test]
fn a_link_replaces_the_rate_in_its_directions() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    std::fs::write(&trace, "100\n").unwrap();
    let trace = trace.display();
    for (link, rate, shown, noted) in [
        (format!("{trace}"), "1Mbit", Some("up:1Mbit,down:none"), false),
        (format!("{trace}"), "down:1Mbit", None, true),
        (format!("{trace}"), "none", None, false),
        ("none".into(), "none", Some("none"), false),
        (format!("up:{trace},down:{trace}"), "1Mbit", None, true),
    ] {
        let scenario = scenario("linux-6", &[("link", &link), ("rate", rate)]);
        let found = effective_settings(&scenario.settings);
        let found = found.iter().find(|(name, _)| *name == "rate");
        assert_eq!(found.map(|(_, value)| &**value), shown, "{link} {rate}");
        let expected = format!("rate={} has no effect: a link replaces it", scenario.settings.get("rate").unwrap());
        assert_eq!(notes_on_no_effect(&scenario).contains(&expected), noted, "{link} {rate}");
    }
}

#[test]
fn writes_replace_segments() {
    for (writes, shown) in [("none", true), ("20kB@0", false)] {
        let scenario = scenario("linux-6", &[("writes", writes)]);
        let names = effective_settings(&scenario.settings);
        let found = names.iter().any(|(name, _)| *name == "segments");
        assert_eq!(found, shown, "{writes}");
    }
}
