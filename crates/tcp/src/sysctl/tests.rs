use super::*;

/// Linux's MSS over IPv4 and Ethernet.
const MSS: u16 = 1460;

fn set(name: &str, value: &str) -> Result<Effect, String> {
    Sysctls::default().set(name, value).map_err(|e| e.to_string())
}

/// All of `settings` in force.
fn sysctls(settings: &[(&str, &str)]) -> Sysctls {
    let mut sysctls = Sysctls::default();
    for (name, value) in settings {
        assert_eq!(sysctls.set(name, value), Ok(Effect::InForce), "{name}");
    }
    sysctls
}

fn profile(name: &str) -> Profile {
    name.parse().unwrap()
}

#[test]
fn every_form_of_a_name_is_accepted() {
    for name in ["tcp_sack", "net.ipv4.tcp_sack", "net/ipv4/tcp_sack", "/proc/sys/net/ipv4/tcp_sack"] {
        assert_eq!(sysctls(&[(name, "0\n")]).sack, Some(0), "{name}");
    }
}

#[test]
fn what_is_not_known_and_what_has_no_effect() {
    assert_eq!(set("net.ipv4.tcp_syncookies", "1"), Ok(Effect::None(NOT_HERE)));
    assert_eq!(set("net.core.rmem_max", "1"), Ok(Effect::None("it is not about TCP")));
    for (name, value, error) in [
        ("net.ipv4.tcp_sak", "1", "unknown setting `net.ipv4.tcp_sak`"),
        ("tcp_sack", "on", "tcp_sack=on: expected a whole number"),
        ("tcp_rmem", "1 2", "tcp_rmem=1 2: expected three whole numbers"),
        ("tcp_congestion_control", "vegas", "tcp_congestion_control=vegas: expected `reno`, `cubic` or `bbr`"),
    ] {
        assert_eq!(set(name, value), Err(error.into()));
    }
}

#[test]
fn a_value_that_cannot_be_read_leaves_the_one_before() {
    let mut sysctls = sysctls(&[("tcp_reordering", "0x10")]);
    assert!(sysctls.set("tcp_reordering", "many").is_err());
    assert_eq!(sysctls.reordering, Some(16));
}

#[test]
fn the_names_in_force_are_those_that_are_set_and_known_once() {
    for name in Sysctls::NAMES {
        let values = ["1", "reno", "4096 50000 100000"];
        let taken = values.iter().filter(|v| set(name, v) == Ok(Effect::InForce));
        assert_eq!(taken.count(), 1, "{name}");
    }
    let mut known: Vec<_> = Sysctls::known().collect();
    known.sort_unstable();
    let all = known.len();
    known.dedup();
    assert_eq!(known.len(), all);
    assert!(known.iter().all(|name| set(name, "oops") != Ok(Effect::InForce)));
}

#[test]
fn a_kernel_with_rack_has_other_settings() {
    let profile = profile("linux-6");
    let mechanisms = |name, value| sysctls(&[(name, value)]).mechanisms(&profile);
    assert_eq!(mechanisms("tcp_recovery", "0").detection.rule, LossRule::Sacked);
    assert_eq!(mechanisms("tcp_recovery", "1"), *profile.mechanisms());
    assert_eq!(mechanisms("tcp_fack", "1"), *profile.mechanisms());
}

#[test]
fn tcp_early_retrans_means_what_the_kernel_means_by_it() {
    // (value, early retransmit of linux-3.17, probes)
    let cases = [
        ("0", EarlyRetransmit::Off, false),
        ("1", EarlyRetransmit::ReorderAware(EarlyThreshold::One), false),
        ("2", EarlyRetransmit::LINUX, false),
        ("3", EarlyRetransmit::LINUX, true),
        ("4", EarlyRetransmit::Off, true),
    ];
    for (value, early, probes) in cases {
        let sysctls = sysctls(&[("tcp_early_retrans", value)]);
        let old = sysctls.mechanisms(&profile("linux-3.17"));
        assert_eq!((old.early_retransmit, old.probe.is_some()), (early, probes), "{value}");
        let linux_6 = profile("linux-6");
        let new = sysctls.mechanisms(&linux_6);
        assert_eq!(new.early_retransmit, EarlyRetransmit::Off, "{value}");
        let expected = linux_6.mechanisms().probe.filter(|_| probes);
        assert_eq!(new.probe, expected, "{value}");
    }
}

#[test]
fn settings_change_the_mechanisms() {
    let mechanisms = |settings: &[(&str, &str)]| sysctls(settings).mechanisms(&Profile::default());
    assert_eq!(mechanisms(&[]), *Profile::default().mechanisms());
    assert_eq!(mechanisms(&[("tcp_congestion_control", "reno")]).congestion, Algorithm::Reno);
    let retries = |n| mechanisms(&[("tcp_retries2", n)]).user_timeout;
    assert_eq!(retries("15"), Duration::from_millis(924_600));
    assert_eq!(retries("3"), Duration::from_millis(3000));
    let detection = |settings: &[(&str, &str)]| mechanisms(settings).detection;
    assert_eq!(detection(&[("tcp_fack", "0")]).rule, LossRule::Sacked);
    assert_eq!(detection(&[("tcp_recovery", "0")]).rule, LossRule::Fack, "before RACK");
    let raised = detection(&[("tcp_reordering", "5"), ("tcp_max_reordering", "4")]);
    assert_eq!((raised.dupthresh, raised.max_dupthresh), (Segments(5), Segments(5)));
    for (switch, of) in [
        ("tcp_frto", |m: &Mechanisms| m.frto),
        ("tcp_sack", |m: &Mechanisms| m.sack),
        ("tcp_slow_start_after_idle", |m: &Mechanisms| m.restart_after_idle),
    ] as [(&str, fn(&Mechanisms) -> bool); 3]
    {
        assert!(!of(&mechanisms(&[(switch, "0")])), "{switch}");
        assert!(of(&mechanisms(&[(switch, "1")])), "{switch}");
    }
    // A switch does not add a mechanism that the profile lacks.
    let without = sysctls(&[("tcp_frto", "1")]).mechanisms(&profile("linux-3.17+nofrto"));
    assert!(!without.frto);
}

#[test]
fn settings_change_the_configuration() {
    let config = |settings: &[(&str, &str)]| sysctls(settings).config(&Profile::default(), MSS);
    let usual = config(&[]);
    assert_eq!((usual.mss, usual.announced_mss(), usual.receive_buffer), (1448, 1460, 65_536));
    assert_eq!(usual.window_scaling, WindowScaling::Shift(7));
    assert_eq!(usual.ecn, Ecn::Answer);
    assert!(usual.sack && usual.dsack && usual.timestamps && usual.nagle);
    let bare =
        config(&[("tcp_timestamps", "0"), ("tcp_rmem", "4096 540000 15728640"), ("tcp_sack", "0"), ("tcp_dsack", "0")]);
    assert_eq!((bare.mss, bare.announced_mss(), bare.receive_buffer), (1460, 1460, 270_000));
    assert_eq!(bare.window_scaling, WindowScaling::Shift(8));
    assert!(!bare.sack && !bare.dsack && !bare.timestamps);
    let scaling = |n| config(&[("tcp_window_scaling", n)]).window_scaling;
    assert_eq!(scaling("0"), WindowScaling::Off);
    for (ecn, policy) in [("0", Ecn::Off), ("1", Ecn::Ask), ("2", Ecn::Answer), ("3", Ecn::Ask), ("5", Ecn::Answer)] {
        assert_eq!(config(&[("tcp_ecn", ecn)]).ecn, policy, "{ecn}");
    }
}

#[test]
fn linux_6_marks_the_ends_of_bursts() {
    for (name, push) in [
        ("linux-6", Push::Burst { least: 2 }),
        ("linux-6+reno+notlp", Push::Burst { least: 2 }),
        ("linux-3.17+rack", Push::WriteEnd),
        ("rfc6675", Push::WriteEnd),
    ] {
        let config = Sysctls::default().config(&profile(name), MSS);
        assert_eq!(config.push, push, "{name}");
    }
    let ten = sysctls(&[("tcp_min_tso_segs", "10")]).config(&profile("linux-6"), MSS);
    assert_eq!(ten.push, Push::Burst { least: 10 });
}

#[test]
fn the_largest_buffer_sets_the_window_scale() {
    for (largest, scale) in
        [(0, 0), (65_535, 0), (65_536, 1), (3_909_568, 6), (6_291_456, 7), (15 << 20, 8), (u64::MAX, 14)]
    {
        assert_eq!(scale_for(largest), scale, "{largest}");
    }
}
