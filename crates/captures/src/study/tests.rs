//! Findings made by hand, and the results computed by hand.

use super::*;
use recoup_recovery::Trigger;
use recoup_trace::finding::{
    CapturePoint, Closing, Evidence, Explanation, Identification, Opening, RttQuantiles, Triggers, Vantage,
};
use recoup_wire::{Endpoints, SeqNumber};
use std::time::Duration;

const NEEDED: Verdict = Verdict::Needed;
const SPURIOUS: Verdict = Verdict::Spurious;
const UNKNOWABLE: Verdict = Verdict::Unknowable;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn ends() -> Endpoints {
    Endpoints { src: "192.0.2.1:40000".parse().unwrap(), dst: "192.0.2.2:80".parse().unwrap() }
}

/// A retransmission that `src` sent at this time (ms), 300 ms after its original and 100 ms before
/// its ACK, at an RTT of 100 ms and with 8 segments outstanding.
pub fn retransmission(at: u64, trigger: Trigger, verdict: Verdict) -> Retransmission {
    Retransmission {
        frame: at,
        at: Instant::from_millis(at),
        connection: 0,
        endpoints: ends(),
        seq: SeqNumber(at as u32),
        len: 1000,
        syn: false,
        fin: false,
        triggers: trigger.into(),
        verdict,
        evidence: Evidence::Dsack,
        copy: 1,
        detection: Some(ms(300)),
        recovery: Some(ms(100)),
        rtt: Some(ms(100)),
        flight: 8,
        vantage: Vantage::Sender,
        provisional: false,
        capture_point: 0,
        cost: None,
    }
}

fn identified(profile: &str) -> Identification {
    Identification::Profile(Explanation { profile: profile.into(), explained: 3, of: 4 })
}

/// A direction that sent `bytes`, including these retransmissions, with a mean RTT of 90 ms and a
/// largest RTT of 120 ms.
fn direction(profile: Identification, bytes: u64, rows: &[Retransmission]) -> Direction {
    let mut retransmissions = Tally::default();
    for row in rows {
        retransmissions.add(row.triggers, row.verdict);
    }
    Direction {
        bytes,
        retransmissions,
        profile,
        rtt: Some(RttQuantiles { samples: 10, max: ms(120), mean: ms(90), ..RttQuantiles::default() }),
        ..Direction::default()
    }
}

/// A connection of 10 s and 100 packets that begins at second `id`.
fn connection(id: u64, directions: [Direction; 2]) -> Connection {
    Connection {
        id,
        endpoints: ends(),
        frames: 1..=1,
        opening: Opening::Handshake,
        closing: Closing::Closed,
        begun: Instant::from_millis(1000 * id),
        ended: Instant::from_millis(1000 * id + 10_000),
        packets: 100,
        handshake_rtt: None,
        sack: Some(true),
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions,
    }
}

/// A connection whose first end retransmitted these.
fn one_sided(id: u64, profile: Identification, rows: &[Retransmission]) -> Connection {
    let quiet = Direction { bytes: 500, ..Direction::default() };
    connection(id, [direction(profile, 9500, rows), quiet])
}

/// The saving on a connection of 10 s.
fn saving(rows: &[Retransmission]) -> Saving {
    let connection = one_sided(0, Identification::Nothing, rows);
    Saving::of(&connection, &connection.directions[0], rows)
}

#[test]
fn equations_1_and_2_give_the_saving() {
    // (flight, F(x) of equation (1), R(x) of equation (2))
    for (flight, fast, timeout) in [
        (0, 0.0, 0.0),
        (1, 1.5 - 0.75 / 3.5, 0.0),
        (2, 2.0 - 3.0 / 6.0, 0.0),
        (4, 3.0 - 12.0 / 11.0, 2.0 - 12.0 / 10.0),
        (8, 5.0 - 48.0 / 21.0, 5.0 - 52.0 / 21.0),
        (16, 9.0 - 192.0 / 41.0, 10.0 - 204.0 / 42.0),
        (20, 11.0 - 300.0 / 51.0, 12.321_928 - 316.0 / 52.321_928),
    ] {
        let found = (Model::Forms.fast_retransmit(flight), Model::Forms.timeout(flight));
        assert!((found.0 - fast).abs() < 1e-5, "{flight}: {found:?}");
        assert!((found.1 - timeout).abs() < 1e-5, "{flight}: {found:?}");
    }
    // From five segments on, a timeout costs more than a fast retransmit, and each costs more the
    // more segments are outstanding.
    for flight in 5..5000 {
        assert!(Model::Forms.timeout(flight) < Model::Forms.timeout(flight + 1));
        assert!(Model::Forms.fast_retransmit(flight) < Model::Forms.fast_retransmit(flight + 1));
    }
    assert!(Model::Forms.timeout(u32::MAX).is_finite());
}

#[test]
fn a_needed_timeout_saves_its_wait_beyond_the_largest_rtt() {
    use Trigger::*;
    let cases: [(&str, &[Retransmission], u64); 6] = [
        ("300 ms, not 120", &[retransmission(1000, Rto, NEEDED)], 180),
        ("FR/R does not wait for a timer", &[retransmission(1000, Fast, NEEDED)], 0),
        (
            "one recovery is one detection",
            &[
                retransmission(1000, Rto, NEEDED),
                retransmission(1050, SlowStart, NEEDED),
                retransmission(1060, SlowStart, NEEDED),
                retransmission(1070, Fast, NEEDED),
            ],
            180,
        ),
        ("the next recovery is another", &[retransmission(1000, Rto, NEEDED), retransmission(1100, Rto, NEEDED)], 360),
        (
            "a timeout within a fast recovery is its own",
            &[retransmission(1000, Fast, NEEDED), retransmission(1090, Rto, NEEDED)],
            180,
        ),
        (
            "shorter than the largest RTT",
            &[Retransmission { detection: Some(ms(110)), ..retransmission(1000, Rto, NEEDED) }],
            0,
        ),
    ];
    for (what, rows, saved) in cases {
        let found = saving(rows);
        assert_eq!((found.time, found.unmeasured), (ms(saved), 0), "{what}");
    }
}

/// A segment is sent at 0 ms, by the timer at 300 ms, and by the backed-off timer 600 ms later.
#[test]
fn a_timer_that_expires_again_counts_its_own_wait() {
    let first = Retransmission { recovery: None, ..retransmission(300, Trigger::Rto, NEEDED) };
    let second = Retransmission { at: Instant::from_millis(900), copy: 2, detection: Some(ms(900)), ..first };
    let found = saving(&[first, second]);
    assert_eq!(found.time, ms(300 - 120 + 600 - 120));
    assert_eq!(found.timeouts.needed, 2);
    // The flight is lost once.
    let spurious = [first, second].map(|one| Retransmission { verdict: SPURIOUS, ..one });
    assert_eq!(saving(&spurious).time, saving(&spurious[..1]).time);
    assert!(saving(&spurious).time > Duration::ZERO);
}

#[test]
fn a_spurious_detection_saves_what_its_equation_says() {
    // Flights of 8 segments and RTTs of 100 ms: F = 19/7 RTTs, R = 53/21 RTTs.
    let fast = saving(&[retransmission(1000, Trigger::Early, SPURIOUS)]);
    assert_eq!(fast.time, Duration::from_nanos(271_428_571));
    assert_eq!(fast.fast_retransmits.spurious, 1);
    let timeout = saving(&[retransmission(1000, Trigger::Rto, SPURIOUS)]);
    assert_eq!(timeout.time, Duration::from_nanos(252_380_952));
    // Without an RTT at the time, the mean of 90 ms counts.
    let row = Retransmission { rtt: None, ..retransmission(1000, Trigger::Rto, SPURIOUS) };
    assert_eq!(saving(&[row]).time, Duration::from_nanos(227_142_857));
    // No more than what is left of the connection.
    let late = retransmission(9900, Trigger::Fast, SPURIOUS);
    assert_eq!(saving(&[late]).time, ms(100));
}

#[test]
fn unmeasured_detections_are_counted() {
    use Trigger::*;
    let rows = [
        Retransmission { detection: None, ..retransmission(1000, Rto, NEEDED) },
        Retransmission { rtt: None, ..retransmission(2000, Fast, SPURIOUS) },
        retransmission(3000, Rto, UNKNOWABLE),
        retransmission(4000, Tlp, NEEDED),
        retransmission(5000, Syn, NEEDED),
    ];
    let connection = connection(0, Default::default());
    let found = Saving::of(&connection, &Direction::default(), &rows);
    assert_eq!((found.time, found.unmeasured), (Duration::ZERO, 2));
    assert_eq!((found.timeouts.needed, found.timeouts.unknowable), (1, 1));
    assert_eq!(found.fast_retransmits.total(), 1);
}

/// Two connections of linux-6, one with several profiles, one with false positives only, one unidentified, and
/// one without retransmissions.
fn capture() -> Vec<(Connection, Vec<Retransmission>)> {
    use Trigger::*;
    let linux = || identified("linux-6");
    let several = Identification::Several(vec![Explanation { profile: "linux-6".into(), explained: 1, of: 1 }; 2]);
    let rows = [
        vec![
            retransmission(1000, Fast, NEEDED),
            retransmission(1010, Fast, NEEDED),
            retransmission(2000, Rto, SPURIOUS),
            retransmission(3000, Tlp, NEEDED),
            retransmission(4000, Rto, UNKNOWABLE),
        ],
        vec![retransmission(1500, Syn, NEEDED), retransmission(2500, SlowStart, NEEDED)],
        vec![retransmission(3000, Rto, NEEDED)],
        vec![retransmission(4000, Early, SPURIOUS), retransmission(5000, Fast, SPURIOUS)],
        vec![Retransmission { triggers: Triggers::UNKNOWN, ..retransmission(5000, Rto, UNKNOWABLE) }],
        vec![],
    ];
    let profiles = [linux(), linux(), several, linux(), Identification::Nothing, Identification::Nothing];
    let numbered = rows.into_iter().zip(profiles).zip(0..);
    numbered.map(|((rows, profile), id)| (one_sided(id, profile, &rows), rows)).collect()
}

fn studied() -> Study {
    let mut study = Study::default();
    for (connection, rows) in capture() {
        study.add(&connection, &rows);
    }
    study
}

#[test]
fn table_2_describes_the_capture() {
    // Six connections of 10,000 bytes and 10 s, each begun one second after the other.
    let expected = Capture { duration_s: 15.0, load_mbit_s: Some(0.032), connections: 6, bytes: 60_000, packets: 600 };
    assert_eq!(studied().report().capture, expected);
    assert_eq!(Study::default().report().capture, Capture::default());
}

#[test]
fn table_3_counts_lossy_and_explained_connections() {
    let found = studied().report();
    let counts = |portion: Portion| (portion.connections, portion.bytes, portion.packets);
    let table = found.connections;
    assert_eq!(counts(table.lossy), (3, 30_000, 300));
    assert_eq!(table.lossy.connections_percent, Some(50.0));
    assert_eq!(counts(table.explained), (2, 20_000, 200));
    assert_eq!(counts(table.undecided), (1, 10_000, 100));
    let linux = Senders { profile: "linux-6".into(), senders: 2, percent: 100.0 };
    assert_eq!(table.profiles, [linux]);
    let expected = FalsePositives { loss_free: 2, connections: 1, percent: Some(50.0), retransmissions: 2 };
    assert_eq!(found.false_positives, expected);
}

/// Senders with several profiles are one kind in the tables, and are also listed by them.
#[test]
fn senders_with_several_profiles_are_listed_by_profile_and_counted_as_one_kind() {
    let rows = [retransmission(1000, Trigger::Fast, NEEDED)];
    let may_be = |profiles: [&str; 2]| {
        let of = |profile: &str| Explanation { profile: profile.into(), explained: 3, of: 4 };
        let profile = Identification::Several(profiles.map(of).into());
        let mut study = Study::default();
        study.add(&one_sided(0, profile, &rows), &rows);
        study
    };
    let mut study = may_be(["linux-6", "reno"]);
    study.merge(&may_be(["reno", "rfc6675"]));
    study.merge(&may_be(["reno", "rfc6675"]));
    let senders = study.senders().map(|(sender, e)| (sender.profile(), e.senders, e.of));
    let expected = [(Some("linux-6|reno"), 1, 4), (Some("reno|rfc6675"), 2, 8)];
    assert_eq!(senders.collect::<Vec<_>>(), expected);
    let report = study.report();
    let [kind] = &report.senders[..] else {
        panic!("{} kinds", report.senders.len());
    };
    let counts = (kind.senders, kind.explained, kind.explained_of);
    assert_eq!((&*kind.sender, counts), ("several", (3, 9, 12)));
}

#[test]
fn both_ends_of_a_connection_may_have_lost() {
    let rows = [retransmission(1000, Trigger::Fast, NEEDED)];
    let back = [Retransmission { endpoints: ends().reverse(), ..retransmission(2000, Trigger::Rto, NEEDED) }];
    let both = |other: Identification| {
        let mut study = Study::default();
        let directions = [direction(identified("linux-6"), 1, &rows), direction(other, 1, &back)];
        study.add(&connection(0, directions), &[rows[0], back[0]]);
        study.report()
    };
    let found = both(identified("windows-xp"));
    assert_eq!(found.connections.explained.connections, 1);
    let senders: Vec<_> = found.connections.profiles.iter().collect();
    assert_eq!(senders.len(), 2);
    assert!(senders.iter().all(|s| (s.senders, s.percent) == (1, 50.0)));
    let counts = |report: &SenderReport| {
        let table = report.retransmissions;
        (report.sender.clone(), table.fast_retransmit.needed, table.rto.needed)
    };
    let rows: Vec<_> = found.senders.iter().map(counts).collect();
    let expected = [("linux-6".to_string(), 1, 0), ("windows-xp".to_string(), 0, 1)];
    assert_eq!(rows, expected);
    // Figure 2 separates them as well.
    assert_eq!(found.senders[0].detection.rto.count, 0);
    assert_eq!(found.senders[1].detection.rto.count, 1);
    let found = both(Identification::Nothing);
    assert_eq!(found.connections.explained.connections, 0);
    assert_eq!(found.connections.profiles, []);
}

#[test]
fn table_4_classifies_the_retransmissions_of_each_kind_of_sender() {
    let found = studied().report();
    let names: Vec<_> = found.senders.iter().map(|s| s.sender.as_str()).collect();
    assert_eq!(names, ["linux-6", "several", "unidentified"]);
    let split = |needed, spurious, unknowable| Split { needed, spurious, unknowable };
    let linux = &found.senders[0];
    let expected = Classification {
        total: 9,
        rto: split(1, 1, 1),
        fast_retransmit: split(2, 2, 0),
        tlp: split(1, 0, 0),
        syn: split(1, 0, 0),
        ..Classification::default()
    };
    assert_eq!(linux.retransmissions, expected);
    // In %: the unknowable timeout, the probe and the SYN are left out.
    let shares = Shares {
        retransmissions: 6,
        rto_needed: Some(100.0 / 6.0),
        fast_retransmit_needed: Some(200.0 / 6.0),
        rto_spurious: Some(100.0 / 6.0),
        fast_retransmit_spurious: Some(200.0 / 6.0),
    };
    assert_eq!(linux.retransmissions_percent, shares);
    assert_eq!(found.senders[2].retransmissions_percent, Shares::default());
    assert_eq!((linux.senders, linux.explained, linux.explained_of), (3, 9, 12));
    assert_eq!(found.senders[2].retransmissions.unknown, split(0, 0, 1));
    let all = found.all.retransmissions;
    assert_eq!((all.total, all.rto.needed, found.all.senders), (11, 2, 5));
}

#[test]
fn the_figures_are_distributions() {
    let found = studied().report();
    assert_eq!(found.bytes.points, [(10_000.0, 1.0)]);
    assert_eq!((found.bytes.count, found.bytes.p50), (6, Some(10_000.0)));
    let linux = &found.senders[0];
    // Detections take 300 ms at an RTT of 100 ms. The probe and the SYN do not count.
    assert_eq!(linux.detection.fast_retransmit.points, [(3.0, 1.0)]);
    assert_eq!(linux.detection.fast_retransmit.count, 4);
    assert_eq!(linux.detection.rto.count, 3);
    // Savings on 10 s: 252.381 ms for a spurious timeout, 180 ms for a needed one, and 542.857 ms
    // for two spurious fast retransmits, within a thousandth.
    let points: Vec<f64> = linux.reduction.percent.points.iter().map(|p| p.0).collect();
    assert_eq!(points, [1.8, 2.524, 5.428]);
    assert!((linux.reduction.seconds - 0.975_238_094).abs() < 1e-9);
}

#[test]
fn a_saving_is_at_most_the_whole_duration() {
    let mut study = Study::default();
    let rows =
        [Retransmission { detection: Some(Duration::from_secs(60)), ..retransmission(1000, Trigger::Rto, NEEDED) }];
    study.add(&one_sided(0, Identification::Nothing, &rows), &rows);
    // A connection without duration has no percentage.
    let mut brief = one_sided(1, Identification::Nothing, &rows);
    brief.ended = brief.begun;
    study.add(&brief, &rows);
    let found = study.report().all.reduction.percent;
    assert_eq!((found.count, found.max), (1, Some(100.0)));
}

#[test]
fn the_claims_are_computed_for_each_kind_of_sender() {
    let found = studied().report();
    let value = |report: &SenderReport, what: &str| {
        let claim = report.claims.iter().find(|claim| claim.what == what);
        claim.unwrap_or_else(|| panic!("no claim: {what}")).here
    };
    let linux = &found.senders[0];
    // 2 + 4 have a verdict; 3 + 4 were triggered by FR/R or RTO.
    for (what, expected) in [
        ("spurious retransmissions", Some(50.0)),
        ("spurious retransmissions by RTO", Some(100.0 / 6.0)),
        ("spurious retransmissions by FR/R", Some(200.0 / 6.0)),
        ("retransmissions by RTO", Some(300.0 / 7.0)),
        ("median detection time by FR/R", Some(3.0)),
        ("detections by FR/R that take more than 5 RTTs", Some(0.0)),
        ("median detection time by RTO", Some(3.0)),
        ("senders with a best-case reduction of less than 1 %", Some(0.0)),
        ("senders with a best-case reduction of more than 10 %", Some(0.0)),
    ] {
        assert_eq!(value(linux, what), expected, "{what}");
    }
    // The study has no figure for this system, so the range of its four stands there.
    assert_eq!(linux.claims[1].study, Some("3.5 to 31.7"));
    assert_eq!(linux.claims[1].study_system, None);
    let unidentified = &found.senders[2];
    assert_eq!(value(unidentified, "median detection time by RTO"), None);
    assert_eq!(value(unidentified, "spurious retransmissions by RTO"), None);
}

#[test]
fn senders_of_a_system_of_the_study_stand_beside_its_figures() {
    let mut study = Study::default();
    for profile in ["solaris-10", "windows-xp"] {
        let rows = [retransmission(1000, Trigger::Rto, NEEDED)];
        study.add(&one_sided(0, identified(profile), &rows), &rows);
    }
    let found = study.report();
    let figures = |report: &SenderReport, what: &str| {
        let claim = report.claims.iter().find(|claim| claim.what == what);
        let claim = claim.unwrap_or_else(|| panic!("no claim: {what}"));
        (claim.study_system, claim.study)
    };
    for (what, solaris, windows) in [
        ("median detection time by RTO", Some("almost 10"), Some("4")),
        ("detections by FR/R that take more than 5 RTTs", Some("7"), None),
        ("senders with a best-case reduction of more than 10 %", Some("less than 15"), Some("less than 15")),
    ] {
        assert_eq!(figures(&found.senders[0], what), (Some("Solaris"), solaris));
        assert_eq!(figures(&found.senders[1], what), (Some("Windows"), windows));
        assert_eq!(figures(&found.all, what).0, None);
    }
}

#[test]
fn table_1_lists_the_profiles_found() {
    let mut study = studied();
    for profile in ["solaris-10", "of-their-own"] {
        let rows = [retransmission(1000, Trigger::Fast, NEEDED)];
        study.add(&one_sided(9, identified(profile), &rows), &rows);
    }
    let table = study.report().parameters;
    let rows: Vec<_> = table
        .iter()
        .map(|row| {
            let times = [row.granularity_ms, row.initial_rto_ms, row.min_rto_ms];
            (row.profile.as_str(), times, row.m, row.dupthresh)
        })
        .collect();
    let expected = [("linux-6", [0.0, 1000.0, 200.0], 1.0, 3), ("solaris-10", [10.0, 3375.0, 400.0], 1.25, 3)];
    assert_eq!(rows, expected);
    assert!(table.iter().all(|row| !row.rto.is_empty() && !row.loss_detection.is_empty()));
}

#[test]
fn the_order_of_merging_does_not_change_the_report() {
    let whole = studied().report();
    for order in [[0, 1, 2, 3, 4, 5], [5, 3, 1, 4, 2, 0]] {
        let all = capture();
        let mut merged = Study::default();
        for i in order {
            let mut part = Study::default();
            part.add(&all[i].0, &all[i].1);
            merged.merge(&part);
        }
        assert_eq!(merged.report(), whole);
    }
}
