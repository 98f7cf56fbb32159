use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

//= test: RFC 8985 §7.2
#[test]
fn probe_timeouts() {
    // (SRTT; PTO with several outstanding, with one: draft-01, RFC 8985, Linux 6), ms
    let cases = [
        (1, [(10, 201), (2, 202), (4, 202)]),
        (5, [(10, 207), (10, 210), (12, 210)]),
        (10, [(20, 215), (20, 220), (22, 220)]),
        (80, [(160, 320), (160, 360), (162, 360)]),
        (160, [(320, 440), (320, 520), (322, 520)]),
        (400, [(800, 800), (800, 1000), (802, 1000)]),
        (640, [(1280, 1280), (1280, 1480), (1282, 1480)]),
    ];
    let versions = [ProbeRules::DRAFT_01, ProbeRules::RFC_8985, ProbeRules::LINUX_6];
    for (srtt, timeouts) in cases {
        for (rules, (several, one)) in versions.into_iter().zip(timeouts) {
            let timeout = |n| rules.timeout(Some(ms(srtt)), Segments(n));
            assert_eq!(timeout(5), Some(ms(several)), "{rules:?} at {srtt}");
            assert_eq!(timeout(1).map(|t| t.as_millis()), Some(one), "{rules:?} at {srtt}");
        }
    }
    let without = versions.map(|rules| rules.timeout(None, Segments(3)));
    assert_eq!(without, [None, Some(ms(1000)), Some(ms(1000))]);
}

//= test: RFC 8985 §7.4.2
#[test]
fn an_ack_reveals_whether_the_probe_repaired_a_loss() {
    use ProbeAnswer::{Open, RepairedLoss, Unneeded};
    let span = |start, end| Some(Span::new(Offset(start), Offset(end)));
    // (ACK, duplicate, DSACK, answer by draft-01, by RFC 8985) of a probe of 90..100
    let cases = [
        (50, true, None, Open, Open),
        (100, true, None, Unneeded, Unneeded),
        (100, false, span(90, 100), Unneeded, Unneeded),
        (100, false, None, Open, Open),
        (120, false, None, RepairedLoss, RepairedLoss),
        (120, false, span(90, 100), Unneeded, Unneeded),
        (120, false, span(40, 50), Unneeded, RepairedLoss),
    ];
    for (cumulative, duplicate, dsack, draft, rfc) in cases {
        for (rules, answer) in [(ProbeRules::DRAFT_01, draft), (ProbeRules::RFC_8985, rfc)] {
            let mut p = LossProbe::default();
            p.on_expiry();
            p.on_sent(&rules, true, Offset(100));
            let got = p.on_ack(&rules, Offset(cumulative), duplicate, dsack);
            assert_eq!(got, answer, "{rules:?} {cumulative} {dsack:?}");
            assert_eq!(p.may_arm(&rules), answer != Open);
            assert!(p.may_arm(&ProbeRules::LINUX_6));
        }
    }
}

#[test]
fn a_timer_armed_while_a_probe_is_unanswered_sends_nothing() {
    let rules = ProbeRules::LINUX_6;
    let mut p = LossProbe::default();
    p.on_sent(&rules, true, Offset(100));
    p.on_ack(&rules, Offset(50), false, None);
    p.arm(Instant::ZERO);
    p.on_expiry();
    assert!(!p.is_due());
    p.arm(Instant::ZERO);
    p.on_ack(&rules, Offset(120), false, None);
    p.on_expiry();
    assert!(p.is_due());
}

#[test]
fn a_probe_of_new_data_only_delays_the_next_probe() {
    let mut p = LossProbe::default();
    p.on_sent(&ProbeRules::RFC_8985, false, Offset(100));
    let mut answer = |ack| p.on_ack(&ProbeRules::RFC_8985, Offset(ack), false, None);
    assert_eq!(answer(50), ProbeAnswer::Open);
    assert_eq!(answer(100), ProbeAnswer::Unneeded);
    let mut p = LossProbe::default();
    p.on_sent(&ProbeRules::DRAFT_01, false, Offset(100));
    assert!(p.is_answered());
}
