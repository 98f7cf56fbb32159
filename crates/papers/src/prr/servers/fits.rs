//! The fits of the users: what the baseline arm alone has of the numbers that the paper prints of it.

use super::compare::{Of, percent, ratio};
use super::tables::{self, count, fast, responses, retransmissions, segments, slow_start, timeouts};
use super::users::Users;
use super::web::{cwnd_after, of_recoveries};
use super::{Arm, Cell, run, video, web};
use crate::prelude::*;

/// The fits.
pub const FITS: &[Fitted] = &[
    Fitted { name: web::FIT, toml: include_str!("../../../fits/prr-web.toml"), measure: measure_web },
    Fitted { name: video::FIT, toml: include_str!("../../../fits/prr-video.toml"), measure: measure_video },
];

/// The baseline alone.
fn baseline(setup: &Setup, users: &Users, size: u32) -> Result<Cell> {
    let mut cells = run(setup, users, &[Arm::LINUX], size, cores())?;
    cells.pop().ok_or_else(|| "expected the baseline".to_owned().into())
}

/// The share of the retransmissions that are of a kind, in percent.
fn of_all(cell: &Cell, kind: impl Of) -> f64 {
    percent(cell, kind, count(retransmissions)).mean
}

fn measure_web(setup: &Setup, fit: &Parameters, size: u32) -> Result<Measured> {
    let cell = &baseline(setup, &web::users(fit), size)?;
    let windows = of_recoveries(cell, cwnd_after);
    let window = |share: f64| quantile(&windows, share).unwrap_or(NAN);
    let timeouts_in = |state: State| of_all(cell, count(move |c| c.timeouts_in(state)));
    let recoveries = || count(|c| c.recoveries);
    Ok(vec![
        ("rate", tables::retransmission_rate(cell).mean),
        ("responses", percent(cell, responses(|one| one.is_retransmitted), responses(|_| true)).mean),
        ("per_recovery", tables::per_recovery(cell).mean),
        ("fast", of_all(cell, count(fast))),
        ("timeout", of_all(cell, count(timeouts))),
        ("slow_start", of_all(cell, count(slow_start))),
        ("open", timeouts_in(State::Open)),
        ("disorder", timeouts_in(State::Disorder)),
        ("recovery", timeouts_in(State::Recovery)),
        ("backoff", timeouts_in(State::Loss)),
        ("cwnd_25", window(0.25)),
        ("cwnd_50", window(0.5)),
        ("cwnd_90", window(0.9)),
        ("cwnd_99", window(0.99)),
        ("lost", percent(cell, count(|c| c.detected_lost_retransmissions), recoveries()).mean),
    ])
}

fn measure_video(setup: &Setup, fit: &Parameters, size: u32) -> Result<Measured> {
    let cell = &baseline(setup, &video::users(fit), size)?;
    Ok(vec![
        ("rate", tables::retransmission_rate(cell).mean),
        ("per_recovery", tables::per_recovery(cell).mean),
        ("fast", of_all(cell, count(fast))),
        ("timeout", of_all(cell, count(timeouts))),
        ("slow_start", of_all(cell, count(slow_start))),
        ("bytes", percent(cell, video::sent_in_recovery(), segments).mean),
        ("after", video::slow_start_after(cell).mean),
        ("lost", video::lost_fast(cell).mean),
        ("transmit", ratio(cell, video::transmit, |_| 1.0).mean),
        ("in_recovery", percent(cell, video::recovery, video::transmit).mean),
        ("rtt", ratio(cell, |c| c.srtt_ms, |_| 1.0).mean),
    ])
}
