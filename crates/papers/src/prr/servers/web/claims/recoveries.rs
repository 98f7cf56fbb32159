//! The claims of figures 1 and 5, and of single recoveries.

use super::super::super::compare::{above, below, percent, points, relative, shown};
use super::super::super::connection::Connection;
use super::super::super::tables::{count, fast};
use super::super::figures::{buckets, in_rtts, recovery_time_difference};
use super::Arms;
use crate::claims::{Claim, ClaimVerdict, claim};
use crate::distribution::quantile;
use crate::prr::servers::judged;
use recoup_recovery::{Ended, Recovery, State};
use recoup_support::stats::Estimate;

pub fn seven_to_ten(c: Arms<'_>) -> Claim {
    let ratios: Vec<f64> = buckets(c.linux).iter().map(|b| b.with / b.ideal).collect();
    let inside = ratios.iter().filter(|ratio| (7.0..=10.0).contains(*ratio)).count();
    let list: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.1}")).collect();
    claim(
        "fig1-seven-to-ten",
        "1",
        "Responses of 4 to 8 kB with losses last 7 to 10 times longer than the ideal",
        "baseline: in half of the RTT buckets or more, their mean latency is 7 to 10 times the mean of the minimum RTTs",
        (
            format!("{inside} of {} buckets: {}", ratios.len(), list.join(" ")),
            !ratios.is_empty() && 2 * inside >= ratios.len(),
        ),
    )
}

pub fn near_ideal(c: Arms<'_>) -> Claim {
    let ratios: Vec<f64> = buckets(c.linux).iter().map(|b| b.without / b.ideal).collect();
    let list: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    claim(
        "fig1-near-ideal",
        "1",
        "Responses of 4 to 8 kB without losses are very close to the ideal",
        "baseline: in every RTT bucket their mean latency is at most 1.5 times the mean of the minimum RTTs",
        (list.join(" "), !ratios.is_empty() && ratios.iter().all(|ratio| *ratio <= 1.5)),
    )
}

pub fn spread(c: Arms<'_>) -> Claim {
    let [with, without] = [true, false].map(|with| quantile(&in_rtts(c.linux, with), 0.99).unwrap_or(f64::NAN));
    claim(
        "fig1-spread",
        "1",
        "The spread of latencies with losses is about 200 RTTs, ten times that without",
        "baseline: the 99th percentile with retransmissions is 100 to 400 RTTs, and five to twenty times that without",
        (
            format!("{with:.0} and {without:.0} RTTs: {:.1} times", with / without),
            (5.0..=20.0).contains(&(with / without)) && (100.0..=400.0).contains(&with),
        ),
    )
    .paper("200 RTTs, 10 times")
}

/// Timeouts in Recovery per recovery, in percent of another arm's.
pub fn fewer_timeouts(c: Arms<'_>) -> Claim {
    let per_recovery = |base| relative(base, c.prr, count(|c| c.timeouts_in(State::Recovery)), count(|c| c.recoveries));
    let (linux, rfc) = (per_recovery(c.linux), per_recovery(c.rfc));
    judged(
        claim(
            "fig5-fewer-timeouts",
            "5.3",
            "PRR's recoveries are shorter primarily because fewer of them end in a timeout",
            "timeouts in Recovery per recovery are fewer with PRR than with Linux, and than with RFC 3517",
            (format!("against Linux {}; against RFC 3517 {}", shown(linux, " %"), shown(rfc, " %")), false),
        ),
        ClaimVerdict::all([below(linux, 0.0), below(rfc, 0.0)]),
    )
}

pub fn window_as_intended(c: Arms<'_>) -> Claim {
    let share = |cell| {
        let complete = |connection: &Connection, counts: fn(&Recovery) -> bool| {
            let ended = connection.recoveries().iter();
            ended.filter(|one| one.ended == Ended::Complete && counts(one)).count() as f64
        };
        percent(
            cell,
            move |connection| complete(connection, |one| one.cwnd == one.ssthresh),
            move |connection| complete(connection, |_| true),
        )
    };
    let [linux, rfc, prr] = [c.linux, c.rfc, c.prr].map(share);
    claim(
        "table7-cwnd-is-ssthresh",
        "5.3",
        "PRR sets cwnd to ssthresh on exiting recovery, as RFC 3517 does",
        "cwnd = ssthresh after at least 99.9 % of the recoveries of PRR and of RFC 3517 that complete",
        (
            format!("RFC 3517 {:.2} %, PRR {:.2} % (Linux {:.1} %)", rfc.mean, prr.mean, linux.mean),
            rfc.mean >= 99.9 && prr.mean >= 99.9,
        ),
    )
}

/// The mean window after the recoveries that `counts`, in percent more with PRR than with RFC 3517.
fn larger_window(c: Arms<'_>, counts: fn(&Recovery) -> bool) -> Estimate {
    let windows = move |connection: &Connection| {
        let all = connection.recoveries().iter().filter(|one| counts(one));
        all.map(|one| f64::from(one.cwnd.0)).sum()
    };
    let number = move |connection: &Connection| {
        let all = connection.recoveries().iter().filter(|one| counts(one));
        all.count() as f64
    };
    relative(c.rfc, c.prr, windows, number)
}

pub fn larger_by_timeouts(c: Arms<'_>) -> Claim {
    let all = larger_window(c, |_| true);
    let complete = larger_window(c, |one| one.ended == Ended::Complete);
    judged(
        claim(
            "table7-larger-by-timeouts",
            "5.3",
            "PRR's windows after recovery are slightly larger than RFC 3517's, because fewer recoveries end in a timeout",
            "PRR's mean window is larger, interval included, and exceeds RFC 3517's by more than it does after recoveries without a timeout",
            (format!("all {}, without a timeout {}", shown(all, " %"), shown(complete, " %")), false),
        ),
        ClaimVerdict::all([above(all, 0.0), ClaimVerdict::on(all.mean > complete.mean)]),
    )
}

pub fn same_per_recovery(c: Arms<'_>) -> Claim {
    let change = |arm| relative(c.linux, arm, count(fast), count(|c| c.recoveries));
    let changes = [c.rfc, c.prr].map(change);
    let within = |one: &Estimate| {
        let far = one.mean.abs();
        ClaimVerdict::on_positive(Estimate { mean: 10.0 - far, half: one.half })
    };
    judged(
        claim(
            "table3-insensitive",
            "2.1",
            "Fast retransmits per fast recovery are mostly insensitive to the recovery algorithm",
            "RFC 3517 and PRR differ from Linux by less than 10 %, intervals included",
            (format!("RFC 3517 {}, PRR {}", shown(changes[0], " %"), shown(changes[1], " %")), false),
        ),
        ClaimVerdict::all(changes.iter().map(within)),
    )
}

pub fn too_heavy(c: Arms<'_>) -> Claim {
    let short = |recovery: &Recovery| recovery.last_cwnd < recovery.ssthresh;
    // The window before recovery was ssthresh / 0.7.
    let is_heavy =
        |recovery: &Recovery| f64::from(recovery.retransmissions) >= f64::from(recovery.ssthresh.0) * 0.3 / 0.7;
    let of = |connection: &Connection, counts: &dyn Fn(&Recovery) -> bool| {
        let found = connection.recoveries().iter();
        found.filter(|one| counts(one)).count() as f64
    };
    let share = percent(
        c.prr,
        move |connection| of(connection, &|one| short(one) && is_heavy(one)),
        move |connection| of(connection, &short),
    );
    judged(
        claim(
            "table6-too-heavy",
            "5.2",
            "Where PRR's window does not converge to ssthresh, the losses were too heavy",
            "most recoveries with cwnd below ssthresh before the end lost at least 30 % of the window, as many as CUBIC's reduction",
            (shown(share, " %"), false),
        ),
        above(share, 50.0),
    )
}

pub fn recovery_time(c: Arms<'_>) -> Claim {
    let linux = recovery_time_difference(c.linux, c.prr);
    let rfc = recovery_time_difference(c.rfc, c.prr);
    let timeouts = points(c.linux, c.prr, count(|c| c.timeouts_in(State::Recovery)), count(|c| c.recoveries));
    judged(
        claim(
            "fig5-prr-shortest",
            "5.3",
            "PRR reduces the time spent in recovery against both RFC 3517 and Linux",
            "the mean time until Open with PRR is below that of Linux, and below that of RFC 3517",
            (
                format!(
                    "against Linux {}; against RFC 3517 {}; recoveries ending in a timeout {} points",
                    shown(linux, " %"),
                    shown(rfc, " %"),
                    shown(timeouts, "")
                ),
                false,
            ),
        ),
        ClaimVerdict::all([below(linux, 0.0), below(rfc, 0.0)]),
    )
}
