//! The statements of §V-A that simulated populations decide: orderings between systems, mechanisms and
//! numbers of losses. Each quantity has an interval ([`Populations::estimate`]), and a claim whose interval contains the
//! bound is undecided.

use super::Id;
use super::populations::Populations;
use crate::prelude::*;
use recoup_captures::study::{FlightRecovery, MOST_LOST, SenderReport};

/// Quantities of the systems, in the order of [`System::ALL`].
pub type Values = [Estimate; 4];

/// The positions of the systems in [`System::ALL`].
pub const WINDOWS: usize = 0;
pub const LINUX: usize = 1;
pub const SOLARIS: usize = 2;
pub const FREEBSD: usize = 3;

/// The claims of a figure.
pub fn of(id: Id, populations: &Populations) -> Vec<Claim> {
    match id {
        Id::Tables => [shares(populations), accuracy(populations), recovery(populations)].concat(),
        Id::Fig1 => vec![],
        Id::Fig2 => [detection(populations), systems(populations)].concat(),
        Id::Fig3 => scope(populations),
    }
}

/// A text per system: `Windows 3.1 %, Linux …`.
pub fn by_system<T>(values: &[T; 4], text: impl Fn(&T) -> String) -> String {
    System::ALL.iter().zip(values).map(|(system, value)| format!("{} {}", system.name, text(value))).joined(", ")
}

/// The quantities with the names of the systems.
pub fn shown(values: &Values, unit: &str) -> String {
    by_system(values, |v| format!("{:.1}{unit}", v.mean))
}

/// A claim that shows a quantity of each system, with its interval.
fn of_systems(id: &'static str, values: &Values, unit: &str) -> Claim {
    claim(id).shows(shown(values, unit)).interval(intervals(values))
}

/// The intervals of the quantities.
pub fn intervals(values: &Values) -> String {
    values.map(|v| format!("±{:.1}", v.half)).join(", ")
}

/// The smallest and the largest.
pub fn extremes(values: &[Estimate]) -> [Estimate; 2] {
    let by_mean = |a: &&Estimate, b: &&Estimate| a.mean.total_cmp(&b.mean);
    let nothing = Estimate::exactly(NAN);
    let least = values.iter().min_by(by_mean).copied();
    let most = values.iter().max_by(by_mean).copied();
    [least.unwrap_or(nothing), most.unwrap_or(nothing)]
}

/// How far a fitted share may be from the study's, in points.
const FITTED_WITHIN: f64 = 5.0;

/// §V-A2a and Table IV: the share of the retransmissions that timeouts trigger.
fn shares(populations: &Populations) -> Vec<Claim> {
    let by_timeout = populations.stated("retransmissions by RTO");
    let ids = ["by-timeout-windows", "by-timeout-linux", "by-timeout-solaris", "by-timeout-freebsd"];
    let each = ids.into_iter().zip(by_timeout).zip(&System::ALL).map(|((id, here), system)| {
        let [rto_needed, _, rto_spurious, _] = system.retransmissions;
        let study = 100.0 * (rto_needed + rto_spurious) as f64 / system.retransmissions.iter().sum::<u64>() as f64;
        claim!(id, "{:.1} %", here.mean)
            .needs(here.within(study - FITTED_WITHIN..study + FITTED_WITHIN))
            .interval(format!("±{:.1}", here.half))
    });
    each.collect()
}

/// §V-A1, and Table III.
fn accuracy(populations: &Populations) -> Vec<Claim> {
    let by_rto = populations.stated("spurious retransmissions by RTO");
    let by_fast = populations.stated("spurious retransmissions by FR/R");
    let [least, most] = extremes(&by_fast);
    let [fewest, frequent] = extremes(&by_rto);
    let volume: Vec<(f64, f64)> = populations
        .captures
        .iter()
        .map(|report| {
            let lossy = &report.connections.lossy;
            lossy.bytes_percent.zip(lossy.connections_percent).unwrap_or((NAN, NAN))
        })
        .collect();
    let volume_shown =
        volume.iter().map(|(bytes, connections)| format!("{connections:.0} % with {bytes:.0} % of the bytes"));
    vec![
        claim("lossy-are-large")
            .shows(volume_shown.joined(", "))
            .holds(volume.iter().all(|(bytes, connections)| *bytes >= 1.5 * connections)),
        of_systems("spurious-timeouts", &by_rto, " %").needs(by_rto[WINDOWS].above(by_rto[LINUX] * 2.0)),
        of_systems("spurious-timeouts-vary", &by_rto, " %").needs(frequent.above(fewest * 2.0)),
        claim!("timeouts-most-spurious", "by timeout {}; by FR/R {}", shown(&by_rto, " %"), shown(&by_fast, " %"))
            .needs_all((0..4).map(|i| by_rto[i].above(by_fast[i])))
            .interval(format!("{}; {}", intervals(&by_rto), intervals(&by_fast))),
        of_systems("spurious-fast", &by_fast, " %").needs((most - least).below(5.0)),
        of_systems("three-suffices", &by_fast, " %")
            .needs_all([LINUX, SOLARIS, FREEBSD].map(|i| by_fast[i].below(10.0))),
    ]
}

/// §V-A2a: Solaris's detections by FR/R that take more than five RTTs, in %.
const SOLARIS_FAST_TAIL: f64 = 7.0;

/// §V-A2a, what detectors do.
fn detection(populations: &Populations) -> Vec<Claim> {
    let fast = populations.each(|sender| sender.detection.fast_retransmit.p50);
    let timeouts = populations.each(|sender| sender.detection.rto.p50);
    let usual = populations.counted(|counts| [counts.fast_one_or_two, counts.fast]);
    let few = populations.counted(|counts| [counts.few_outstanding, counts.timeouts]);
    let fast_long = populations.stated("detections by FR/R that take more than 5 RTTs");
    vec![
        of_systems("fast-1-2-rtts", &usual, " %").needs_all(usual.map(|share| share.above(50.0))),
        of_systems("solaris-fast-tail", &fast_long, " %")
            .needs_all([WINDOWS, LINUX, FREEBSD].map(|i| fast_long[SOLARIS].above(fast_long[i]))),
        claim!("solaris-fast-tail-size", "{:.1} %", fast_long[SOLARIS].mean)
            .needs(fast_long[SOLARIS].sized(SOLARIS_FAST_TAIL))
            .interval(format!("±{:.1}", fast_long[SOLARIS].half)),
        claim!("timeouts-slower", "timeout {}; FR/R {}", shown(&timeouts, ""), shown(&fast, " RTTs"))
            .needs_all((0..4).map(|i| timeouts[i].above(fast[i] * 2.0)))
            .interval(intervals(&timeouts)),
        of_systems("few-outstanding", &few, " %").needs_all(few.map(|share| share.above(50.0))),
    ]
}

/// §V-A2a: the median detection by timeout of Windows and Linux, and of Solaris and FreeBSD, in RTTs.
const QUICK_MEDIAN: f64 = 4.0;
const SLOW_MEDIAN: f64 = 10.0;

/// §V-A2a: the timeouts of Windows and of Linux that take more than ten RTTs, in %.
const WINDOWS_TAIL: f64 = 25.0;
const LINUX_TAIL: f64 = 10.0;

/// §V-A2a, how systems differ.
fn systems(populations: &Populations) -> Vec<Claim> {
    let fast = populations.each(|sender| sender.detection.fast_retransmit.p50);
    let timeouts = populations.each(|sender| sender.detection.rto.p50);
    let long = populations.stated("detections by RTO that take more than 10 RTTs");
    let long_early = populations.counted(|counts| [counts.long_early, counts.long]);
    let short_early = populations.counted(|counts| [counts.short_early, counts.short]);
    let [quickest, slowest] = extremes(&timeouts);
    let [least, most] = extremes(&fast);
    let pairs = [SOLARIS, FREEBSD]
        .map(|slow| ClaimVerdict::all([WINDOWS, LINUX].map(|quick| timeouts[slow].above(timeouts[quick]))));
    vec![
        claim!("timeouts-differ", "timeout {}; FR/R {}", shown(&timeouts, ""), shown(&fast, " RTTs"))
            .needs(slowest.above(quickest * 2.0))
            .needs((least * 1.5).above(most))
            .interval(intervals(&timeouts)),
        of_systems("solaris-freebsd-slower", &timeouts, " RTTs").needs_all(pairs),
        of_systems("windows-like-linux", &timeouts, " RTTs")
            .needs((timeouts[LINUX] * (4.0 / 3.0)).above(timeouts[WINDOWS]))
            .needs((timeouts[WINDOWS] * (4.0 / 3.0)).above(timeouts[LINUX])),
        of_systems("windows-tail", &long, " %").needs(long[WINDOWS].above(long[LINUX])),
        of_systems("quick-medians", &timeouts, " RTTs")
            .needs_all([WINDOWS, LINUX].map(|i| timeouts[i].sized(QUICK_MEDIAN))),
        of_systems("slow-medians", &timeouts, " RTTs")
            .needs_all([SOLARIS, FREEBSD].map(|i| timeouts[i].sized(SLOW_MEDIAN))),
        claim!("windows-tail-size", "{:.1} %", long[WINDOWS].mean)
            .needs(long[WINDOWS].sized(WINDOWS_TAIL))
            .interval(format!("±{:.1}", long[WINDOWS].half)),
        claim!("linux-tail-size", "{:.1} %", long[LINUX].mean)
            .needs(long[LINUX].sized(LINUX_TAIL))
            .interval(format!("±{:.1}", long[LINUX].half)),
        claim!(
            "windows-tail-early",
            "above 10 RTTs {}; others {}",
            shown(&long_early, " %"),
            shown(&short_early, " %")
        )
        .needs(long_early[WINDOWS].above(short_early[WINDOWS]))
        .interval(intervals(&long_early)),
    ]
}

/// §V-A2b. The median recovery of flights of all systems together, unless the check says otherwise. The
/// claims about SACK leave out FreeBSD, which has none: otherwise they would compare systems.
fn recovery(populations: &Populations) -> Vec<Claim> {
    let median = |sender: &SenderReport, lost: usize, by: &str, sack: Option<bool>| {
        let mut lines = sender.recoveries.iter();
        let is_it = |line: &&FlightRecovery| (line.lost, line.detected_by, line.sack) == (lost, by, sack);
        lines.find(is_it)?.p50
    };
    let by_lost: [Estimate; MOST_LOST] =
        std::array::from_fn(|i| populations.estimate(|results| median(&results.report.all, i + 1, "any", None)));
    let by_system = populations.each(|sender| median(sender, 1, "any", None));
    let ratio = populations.estimate(|results| {
        let of = |by| median(&results.report.all, 1, by, None);
        Some(of("fast_retransmit")? / of("rto")?)
    });
    let stated = |what: &str| {
        populations.estimate(|results| {
            let mut claims = results.with_sack.claims.iter();
            claims.find(|claim| claim.what == what)?.here
        })
    };
    let few = stated("recovery with SACK, in % of that without; 1 or 2 segments lost in a flight");
    let many = stated("recovery with SACK, in % of that without; 3 or more segments lost in a flight");
    let [least, most] = extremes(&by_system);
    let [one, two, three, four] = by_lost;
    vec![
        claim!("recovery-mechanism", "{:.2}", ratio.mean)
            .needs(ratio.within(0.8..1.25))
            .interval(format!("±{:.2}", ratio.half)),
        claim!(
            "recovery-losses",
            "{:.2}, {:.2}, {:.2}, {:.2} RTTs for 1, 2, 3, 4 or more",
            one.mean,
            two.mean,
            three.mean,
            four.mean
        )
        .needs(four.above(one * 2.0))
        .needs(two.above(one))
        .needs(four.above(two))
        .needs(three.above(one))
        .needs(four.above(three))
        .interval(by_lost.map(|of| format!("±{:.2}", of.half)).join(", ")),
        claim("recovery-system")
            .shows(shown(&by_system, " RTTs"))
            .needs((least * (4.0 / 3.0)).above(most))
            .interval(by_system.map(|of| format!("±{:.2}", of.half)).join(", ")),
        claim!("sack-few-losses", "{:.0} %", few.mean).needs(few.above(95.0)).interval(format!("±{:.0}", few.half)),
        claim!("sack-three-losses", "{:.0} %", many.mean)
            .needs(many.below(90.0))
            .interval(format!("±{:.0}", many.half)),
    ]
}

/// §V-A3.
fn scope(populations: &Populations) -> Vec<Claim> {
    let much = populations.stated("senders with a best-case reduction of more than 10 %");
    let little = populations.stated("senders with a best-case reduction of less than 1 %");
    let others = [WINDOWS, SOLARIS, FREEBSD];
    vec![
        of_systems("little-potential", &little, " %").needs_all(little.map(|share| share.within(45.0..75.0))),
        of_systems("linux-gains-most", &much, " %").needs_all(others.map(|i| much[LINUX].above(much[i]))),
        of_systems("linux-above-40", &much, " %").needs(much[LINUX].above(40.0)),
        of_systems("others-below-15", &much, " %").needs_all(others.map(|i| much[i].below(15.0))),
    ]
}
