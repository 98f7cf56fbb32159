//! The claims of figures 1 and 5, and of single recoveries.

use super::super::super::compare::{percent, points, relative, shown};
use super::super::super::connection::Connection;
use super::super::super::tables::{count, fast};
use super::super::figures::{buckets, in_rtts, recovery_time_difference};
use super::Arms;
use crate::prelude::*;
use recoup_recovery::{Ended, Recovery};

pub fn seven_to_ten(c: Arms<'_>) -> Claim {
    let ratios: Vec<f64> = buckets(c.linux).iter().map(|b| b.with / b.ideal).collect();
    let inside = ratios.iter().filter(|ratio| (7.0..=10.0).contains(*ratio)).count();
    claim!(
        "fig1-seven-to-ten",
        "{inside} of {} buckets: {}",
        ratios.len(),
        ratios.iter().map(|ratio| format!("{ratio:.1}")).joined(" ")
    )
    .holds(!ratios.is_empty() && 2 * inside >= ratios.len())
}

pub fn near_ideal(c: Arms<'_>) -> Claim {
    let ratios: Vec<f64> = buckets(c.linux).iter().map(|b| b.without / b.ideal).collect();
    claim("fig1-near-ideal")
        .shows(ratios.iter().map(|ratio| format!("{ratio:.2}")).joined(" "))
        .holds(!ratios.is_empty() && ratios.iter().all(|ratio| *ratio <= 1.5))
}

pub fn spread(c: Arms<'_>) -> Claim {
    let [with, without] = [true, false].map(|with| quantile(&in_rtts(c.linux, with), 0.99).unwrap_or(NAN));
    claim!("fig1-spread", "{with:.0} and {without:.0} RTTs: {:.1} times", with / without)
        .holds((5.0..=20.0).contains(&(with / without)) && (100.0..=400.0).contains(&with))
}

/// Timeouts in Recovery per recovery, in percent of another arm's.
pub fn fewer_timeouts(c: Arms<'_>) -> Claim {
    let per_recovery = |base| relative(base, c.prr, count(|c| c.timeouts_in(State::Recovery)), count(|c| c.recoveries));
    let (linux, rfc) = (per_recovery(c.linux), per_recovery(c.rfc));
    claim!("fig5-fewer-timeouts", "against Linux {}; against RFC 3517 {}", shown(linux, " %"), shown(rfc, " %"))
        .needs(linux.below(0.0))
        .needs(rfc.below(0.0))
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
    claim!("table7-cwnd-is-ssthresh", "RFC 3517 {:.2} %, PRR {:.2} % (Linux {:.1} %)", rfc.mean, prr.mean, linux.mean)
        .holds(rfc.mean >= 99.9 && prr.mean >= 99.9)
}

/// The mean window after the recoveries that `counts`, in percent more with PRR than with RFC 3517.
fn larger_window(c: Arms<'_>, counts: fn(&Recovery) -> bool) -> Estimate {
    let windows = move |connection: &Connection| {
        connection.recoveries().iter().filter(|one| counts(one)).map(|one| f64::from(one.cwnd.0)).sum()
    };
    let number = move |connection: &Connection| connection.recoveries().iter().filter(|one| counts(one)).count() as f64;
    relative(c.rfc, c.prr, windows, number)
}

pub fn larger_by_timeouts(c: Arms<'_>) -> Claim {
    let all = larger_window(c, |_| true);
    let complete = larger_window(c, |one| one.ended == Ended::Complete);
    claim!("table7-larger-by-timeouts", "all {}, without a timeout {}", shown(all, " %"), shown(complete, " %"))
        .needs(all.above(0.0))
        .holds(all.mean > complete.mean)
}

pub fn same_per_recovery(c: Arms<'_>) -> Claim {
    let change = |arm| relative(c.linux, arm, count(fast), count(|c| c.recoveries));
    let changes = [c.rfc, c.prr].map(change);
    claim!("table3-insensitive", "RFC 3517 {}, PRR {}", shown(changes[0], " %"), shown(changes[1], " %"))
        .needs_all(changes.map(|change| change.within(-10.0..10.0)))
}

pub fn too_heavy(c: Arms<'_>) -> Claim {
    let short = |recovery: &Recovery| recovery.last_cwnd < recovery.ssthresh;
    // The window before recovery was ssthresh / 0.7.
    let is_heavy =
        |recovery: &Recovery| f64::from(recovery.retransmissions) >= f64::from(recovery.ssthresh.0) * 0.3 / 0.7;
    let of = |connection: &Connection, counts: &dyn Fn(&Recovery) -> bool| {
        connection.recoveries().iter().filter(|one| counts(one)).count() as f64
    };
    let share = percent(
        c.prr,
        move |connection| of(connection, &|one| short(one) && is_heavy(one)),
        move |connection| of(connection, &short),
    );
    claim("table6-too-heavy").shows(shown(share, " %")).needs(share.above(90.0))
}

pub fn recovery_time(c: Arms<'_>) -> Claim {
    let linux = recovery_time_difference(c.linux, c.prr);
    let rfc = recovery_time_difference(c.rfc, c.prr);
    let timeouts = points(c.linux, c.prr, count(|c| c.timeouts_in(State::Recovery)), count(|c| c.recoveries));
    claim!(
        "fig5-prr-shortest",
        "against Linux {}; against RFC 3517 {}; recoveries ending in a timeout {} points",
        shown(linux, " %"),
        shown(rfc, " %"),
        shown(timeouts, "")
    )
    .needs(linux.below(0.0))
    .needs(rfc.below(0.0))
}
