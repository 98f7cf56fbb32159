//! The statements of §V-A that simulated populations decide: orderings between systems, mechanisms and
//! numbers of losses. Each quantity has an interval ([`Populations::estimate`]), and a claim whose interval contains the
//! bound is undecided.

use super::Id;
use super::populations::Populations;
use crate::claims::{Claim, ClaimVerdict, claim, noted};
use recoup_captures::study::published::System;
use recoup_captures::study::{FlightRecovery, MOST_LOST, SenderReport};
use recoup_support::stats::Estimate;

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
        Id::Tables => [accuracy(populations), recovery(populations)].concat(),
        Id::Fig1 => vec![],
        Id::Fig2 => [detection(populations), systems(populations)].concat(),
        Id::Fig3 => scope(populations),
    }
}

/// The quantities with the names of the systems.
pub fn shown(values: &Values, unit: &str) -> String {
    let each = System::ALL.iter().zip(values);
    let each: Vec<String> = each.map(|(system, v)| format!("{} {:.1}{unit}", system.name, v.mean)).collect();
    each.join(", ")
}

/// The intervals of the quantities.
pub fn intervals(values: &Values) -> String {
    values.map(|v| format!("±{:.1}", v.half)).join(", ")
}

/// `of` times `factor`.
pub fn times(of: Estimate, factor: f64) -> Estimate {
    Estimate { mean: of.mean * factor, half: of.half * factor.abs() }
}

/// A bound without an interval.
pub const fn exactly(mean: f64) -> Estimate {
    Estimate { mean, half: 0.0 }
}

/// Whether `a` is above `b`.
pub fn above(a: Estimate, b: Estimate) -> ClaimVerdict {
    ClaimVerdict::on_positive(a.minus(b))
}

/// Whether a quantity is between these bounds.
pub fn within(of: Estimate, [low, high]: [f64; 2]) -> ClaimVerdict {
    ClaimVerdict::all([above(of, exactly(low)), above(exactly(high), of)])
}

/// The smallest and the largest.
pub fn extremes(values: &[Estimate]) -> [Estimate; 2] {
    let by_mean = |a: &&Estimate, b: &&Estimate| a.mean.total_cmp(&b.mean);
    let nothing = exactly(f64::NAN);
    let least = values.iter().min_by(by_mean).copied();
    let most = values.iter().max_by(by_mean).copied();
    [least.unwrap_or(nothing), most.unwrap_or(nothing)]
}

/// A claim with a verdict that may be undecided.
pub fn decided(
    id: &'static str,
    section: &'static str,
    statement: &'static str,
    check: &'static str,
    ours: String,
    verdict: ClaimVerdict,
) -> Claim {
    claim(id, section, statement, check, (ours, true)).verdict(verdict)
}

/// §V-A1, and Table III.
fn accuracy(populations: &Populations) -> Vec<Claim> {
    let by_rto = populations.stated("spurious retransmissions by RTO");
    let by_fast = populations.stated("spurious retransmissions by FR/R");
    let [least, most] = extremes(&by_fast);
    let [fewest, frequent] = extremes(&by_rto);
    let volume = populations.captures.iter().map(|report| {
        let lossy = &report.connections.lossy;
        let both = lossy.bytes_percent.zip(lossy.connections_percent);
        both.unwrap_or((f64::NAN, f64::NAN))
    });
    let volume: Vec<(f64, f64)> = volume.collect();
    let volume_shown: Vec<String> = volume
        .iter()
        .map(|(bytes, connections)| format!("{connections:.0} % with {bytes:.0} % of the bytes"))
        .collect();
    vec![
        claim(
            "lossy-are-large",
            "IV-A, table III",
            "Lossy connections carry far more of the bytes than their number would suggest",
            "in each of the four captures, their share of the bytes is at least 1.5 times their share of the connections",
            (
                volume_shown.join(", "),
                volume
                    .iter()
                    .all(|(bytes, connections)| *bytes >= 1.5 * connections),
            ),
        )
        .paper("4 to 51 % of the connections, 77 to 84 % of the bytes"),
        noted(
            "By §II Linux's minimum of 200 ms applies to the RTO, as on Windows. So on short paths both systems time out \
             needlessly when the path pauses. In the kernel the minimum applies to 4·RTTVAR (linux-2.4+minrttvar).",
            decided(
                "spurious-timeouts",
                "V-A1",
                "Spurious timeouts are a far larger share of Windows's retransmissions (26 %) than of Linux's (less than 4 %)",
                "Windows's share is at least twice Linux's",
                shown(&by_rto, " %"),
                above(by_rto[WINDOWS], times(by_rto[LINUX], 2.0)),
            )
            .paper("26 and 3.5 %")
            .interval(intervals(&by_rto)),
        ),
        decided(
            "spurious-timeouts-vary",
            "V-A1",
            "The frequency of spurious timeouts varies significantly between systems",
            "the largest share of the retransmissions is at least twice the smallest",
            shown(&by_rto, " %"),
            above(frequent, times(fewest, 2.0)),
        )
        .paper("3.5 to 31.7 %")
        .interval(intervals(&by_rto)),
        noted(
            "FreeBSD, whose minimum RTO is 1.2 s, rarely times out for nothing here. Its share of both depends on how \
             often paths pause and reorder, which is our choice. The study found 31.7 % and 4.5 %.",
            decided(
                "timeouts-most-spurious",
                "V-A1",
                "Most spurious retransmissions are triggered by a timeout, not by FR/R",
                "on each system, the share of spurious timeouts is the larger one",
                format!(
                    "by timeout {}; by FR/R {}",
                    shown(&by_rto, " %"),
                    shown(&by_fast, " %")
                ),
                ClaimVerdict::all((0..4).map(|i| above(by_rto[i], by_fast[i]))),
            )
            .interval(format!("{}; {}", intervals(&by_rto), intervals(&by_fast))),
        ),
        decided(
            "spurious-fast",
            "V-A1",
            "The share of spurious FR/R differs little between systems",
            "the largest share is less than 5 points above the least",
            shown(&by_fast, " %"),
            above(exactly(5.0), Estimate { mean: most.mean - least.mean, half: most.half.hypot(least.half) }),
        )
        .paper("2.7 to 4.5 %")
        .interval(intervals(&by_fast)),
        decided(
            "three-suffices",
            "V-A1",
            "D = 3 does not result in many erroneous inferences",
            "spurious FR/R are less than 10 % of the retransmissions of Linux, Solaris and FreeBSD",
            shown(&by_fast, " %"),
            ClaimVerdict::all([LINUX, SOLARIS, FREEBSD].map(|i| above(exactly(10.0), by_fast[i]))),
        )
        .paper("2.7 to 4.5 %")
        .interval(intervals(&by_fast)),
    ]
}

/// §V-A2a, what detectors do.
fn detection(populations: &Populations) -> Vec<Claim> {
    let fast = populations.each(|sender| sender.detection.fast_retransmit.p50);
    let timeouts = populations.each(|sender| sender.detection.rto.p50);
    let usual = populations.counted(|counts| [counts.fast_one_or_two, counts.fast]);
    let few = populations.counted(|counts| [counts.few_outstanding, counts.timeouts]);
    let fast_long = populations.stated("detections by FR/R that take more than 5 RTTs");
    vec![
        decided(
            "fast-1-2-rtts",
            "V-A2a",
            "Most FR/R detections take about 1-2 RTTs on all systems",
            "on each system, more than half take 0.5 to 2.5 RTTs",
            shown(&usual, " %"),
            ClaimVerdict::all(usual.map(|share| above(share, exactly(50.0)))),
        )
        .interval(intervals(&usual)),
        noted(
            "Over the same networks Solaris's FR/R detections are like the others'. In the study nearly all Solaris senders were \
             seen at one link (Table III: unc).",
            decided(
                "solaris-fast-tail",
                "V-A2a",
                "Of Solaris's FR/R detections some 7 % take more than 5 RTTs, unlike the others'",
                "Solaris's share is larger than each other",
                shown(&fast_long, " %"),
                ClaimVerdict::all(
                    [WINDOWS, LINUX, FREEBSD].map(|i| above(fast_long[SOLARIS], fast_long[i])),
                ),
            )
            .paper("7 %")
            .interval(intervals(&fast_long)),
        ),
        decided(
            "timeouts-slower",
            "V-A2a",
            "Timeouts take much longer than FR/R to detect losses",
            "on each system, the median is at least twice that of FR/R",
            format!("timeout {}; FR/R {}", shown(&timeouts, ""), shown(&fast, " RTTs")),
            ClaimVerdict::all((0..4).map(|i| above(timeouts[i], times(fast[i], 2.0)))),
        )
        .paper("4 to 10 RTTs, and 1 to 2")
        .interval(intervals(&timeouts)),
        decided(
            "few-outstanding",
            "V-A2a",
            "Timeouts are frequent because often too few segments are in flight to trigger duplicate ACKs",
            "on each system, most needed timeouts come with no more segments outstanding than D, the duplicate ACK threshold",
            shown(&few, " %"),
            ClaimVerdict::all(few.map(|share| above(share, exactly(50.0)))),
        )
        .interval(intervals(&few)),
    ]
}

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
        .map(|slow| ClaimVerdict::all([WINDOWS, LINUX].map(|quick| above(timeouts[slow], timeouts[quick]))));
    vec![
        decided(
            "timeouts-differ",
            "V-A2a",
            "Unlike those of FR/R, the detection times of timeouts differ significantly between systems",
            "the largest median of timeouts is at least twice the smallest; of FR/R it is less than 1.5 times the smallest",
            format!("timeout {}; FR/R {}", shown(&timeouts, ""), shown(&fast, " RTTs")),
            ClaimVerdict::all([
                above(slowest, times(quickest, 2.0)),
                above(times(least, 1.5), most),
            ]),
        )
        .interval(intervals(&timeouts)),
        decided(
            "solaris-freebsd-slower",
            "V-A2a",
            "Solaris and FreeBSD take longer to detect a loss by timeout (median almost 10 RTTs) than Windows and Linux (4 RTTs)",
            "both medians are larger than the other two",
            shown(&timeouts, " RTTs"),
            ClaimVerdict::all(pairs),
        )
        .paper("almost 10, and 4 RTTs")
        .interval(intervals(&timeouts)),
        decided(
            "windows-like-linux",
            "V-A2a",
            "The medians of Windows and Linux are about the same",
            "they differ by less than a third",
            shown(&timeouts, " RTTs"),
            ClaimVerdict::all([
                above(times(timeouts[LINUX], 4.0 / 3.0), timeouts[WINDOWS]),
                above(times(timeouts[WINDOWS], 4.0 / 3.0), timeouts[LINUX]),
            ]),
        )
        .paper("around 4 RTTs both")
        .interval(intervals(&timeouts)),
        noted(
            "The study names the initial RTO as the cause. In the simulation both systems measure the RTT in the \
             handshake, so the initial RTO applies to hardly any data.",
            decided(
                "windows-tail",
                "V-A2a",
                "More of Windows's timeouts (25 %) than of Linux's (10 %) take longer than 10 RTTs",
                "Windows's share is larger",
                shown(&long, " %"),
                above(long[WINDOWS], long[LINUX]),
            )
            .paper("nearly 25 and around 10 %")
            .interval(intervals(&long)),
        ),
        decided(
            "windows-tail-early",
            "V-A2a",
            "Several of Windows's long timeouts follow losses at the beginning of connections",
            "of Windows's timeouts, the share of segments first sent within 20 RTTs of the beginning: larger among those above 10 RTTs than among the others",
            format!(
                "above 10 RTTs {}; others {}",
                shown(&long_early, " %"),
                shown(&short_early, " %")
            ),
            above(long_early[WINDOWS], short_early[WINDOWS]),
        )
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
        decided(
            "recovery-mechanism",
            "V-A2b",
            "How long a recovery takes does not depend on the mechanism that detected the loss",
            "one segment lost: the median after FR/R is 0.8 to 1.25 of that after a timeout",
            format!("{:.2}", ratio.mean),
            within(ratio, [0.8, 1.25]),
        )
        .interval(format!("±{:.2}", ratio.half)),
        decided(
            "recovery-losses",
            "V-A2b",
            "It depends primarily on the number of segments lost in the flight",
            "the median with four or more segments lost is at least twice that with one, and those with two and three lie in between",
            format!(
                "{:.2}, {:.2}, {:.2}, {:.2} RTTs for 1, 2, 3, 4 or more",
                one.mean, two.mean, three.mean, four.mean
            ),
            ClaimVerdict::all([
                above(four, times(one, 2.0)),
                above(two, one),
                above(four, two),
                above(three, one),
                above(four, three),
            ]),
        )
        .interval(by_lost.map(|of| format!("±{:.2}", of.half)).join(", ")),
        decided(
            "recovery-system",
            "V-A2b",
            "It is relatively independent of the system",
            "one segment lost: the largest median is less than a third above the least",
            shown(&by_system, " RTTs"),
            above(times(least, 4.0 / 3.0), most),
        )
        .interval(by_system.map(|of| format!("±{:.2}", of.half)).join(", ")),
        decided(
            "sack-few-losses",
            "V-A2b",
            "SACK does not shorten recoveries if one or two segments are lost in a flight",
            "the median with SACK is at least 95 % of that without; Windows, Linux and Solaris together",
            format!("{:.0} %", few.mean),
            above(few, exactly(95.0)),
        )
        .interval(format!("±{:.0}", few.half)),
        decided(
            "sack-three-losses",
            "V-A2b",
            "SACK shortens recoveries if three or more segments are lost in a flight",
            "the median with SACK is at most 90 % of that without; Windows, Linux and Solaris together",
            format!("{:.0} %", many.mean),
            above(exactly(90.0), many),
        )
        .interval(format!("±{:.0}", many.half)),
    ]
}

/// §V-A3.
fn scope(populations: &Populations) -> Vec<Claim> {
    let much = populations.stated("senders with a best-case reduction of more than 10 %");
    vec![noted(
        "Over the same networks the systems with the larger least RTOs (FreeBSD 1200 ms, Solaris 400 ms) have more \
         to gain. In the study each system had its own networks: all senders of one trace ran Linux (Table III, ibi)",
        decided(
            "linux-gains-most",
            "V-A3",
            "More of Linux's connections than of the others' can become more than 10 % shorter (more than 40 % against less than 15 %)",
            "Linux's share is larger than each other",
            shown(&much, " %"),
            ClaimVerdict::all([WINDOWS, SOLARIS, FREEBSD].map(|i| above(much[LINUX], much[i]))),
        )
        .paper("more than 40 %, and less than 15 %")
        .interval(intervals(&much)),
    )]
}
