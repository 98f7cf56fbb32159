//! The claims of §5.4 about video servers. Sizes as in the claims of web servers.

use super::super::compare::{percent, points, shown, total};
use super::super::tables::{self, count, retransmissions, segments};
use super::{Cell, below_ssthresh, lost_fast, recovery, sent_in_recovery, slow_start_after, transmit};
use crate::prelude::*;

/// All claims.
pub fn all(cells: &[Cell]) -> Vec<Claim> {
    let [linux, rfc, prr] = cells else {
        return vec![];
    };
    vec![
        transmit_rfc(linux, rfc),
        transmit_prr(linux, prr),
        rfc_fastest(rfc, prr),
        time_in_recovery(linux, rfc, prr),
        rate(linux, rfc, prr),
        bytes(linux, rfc),
        below(rfc),
        lost_rfc(rfc),
        lost_few(linux, prr),
        slow_start_linux(linux),
        slow_start_none(rfc, prr),
    ]
}

fn transmit_rfc(linux: &Cell, rfc: &Cell) -> Claim {
    let difference = total(linux, rfc, transmit);
    claim("table10-transmit-rfc").shows(shown(difference, " %")).needs(difference.sized(-4.7))
}

fn transmit_prr(linux: &Cell, prr: &Cell) -> Claim {
    let difference = total(linux, prr, transmit);
    claim("table10-transmit-prr").shows(shown(difference, " %")).needs(difference.sized(-3.0))
}

fn rfc_fastest(rfc: &Cell, prr: &Cell) -> Claim {
    let difference = total(prr, rfc, transmit);
    claim!("table10-rfc-fastest", "{} against PRR", shown(difference, " %")).needs(difference.below(0.0))
}

/// Whether a share is larger with each arm than with the next one.
fn descending(cells: [&Cell; 3], difference: impl Fn(&Cell, &Cell) -> Estimate) -> ClaimVerdict {
    let pairs = cells.windows(2);
    ClaimVerdict::all(pairs.map(|pair| difference(pair[1], pair[0]).above(0.0)))
}

fn time_in_recovery(linux: &Cell, rfc: &Cell, prr: &Cell) -> Claim {
    let [a, b, c] = [linux, rfc, prr].map(|cell| percent(cell, recovery, transmit));
    claim!("table10-time-in-recovery", "Linux {}, RFC 3517 {}, PRR {}", shown(a, " %"), shown(b, " %"), shown(c, " %"))
        .needs(descending([rfc, prr, linux], |base, arm| points(base, arm, recovery, transmit)))
}

fn rate(linux: &Cell, rfc: &Cell, prr: &Cell) -> Claim {
    let [a, b, c] = [linux, rfc, prr].map(tables::retransmission_rate);
    claim!("table10-rate", "Linux {:.2} %, RFC 3517 {:.2} %, PRR {:.2} %", a.mean, b.mean, c.mean)
        .needs(descending([rfc, prr, linux], |base, arm| points(base, arm, count(retransmissions), segments)))
}

fn bytes(linux: &Cell, rfc: &Cell) -> Claim {
    let difference = points(linux, rfc, sent_in_recovery(), segments);
    claim("table10-bytes").shows(shown(difference, " points")).needs(difference.sized(5.0))
}

fn below(rfc: &Cell) -> Claim {
    let share = below_ssthresh(rfc);
    claim("table10-below-ssthresh").shows(shown(share, " %")).needs(share.sized(40.0))
}

fn lost_rfc(rfc: &Cell) -> Claim {
    let lost = lost_fast(rfc);
    claim("table10-lost-rfc").shows(shown(lost, " %")).needs(lost.sized(16.4))
}

fn lost_few(linux: &Cell, prr: &Cell) -> Claim {
    let (a, b) = (lost_fast(linux), lost_fast(prr));
    claim!("table10-lost-few", "Linux {}, PRR {}", shown(a, " %"), shown(b, " %"))
        .needs(a.below(5.0))
        .needs(b.below(5.0))
}

fn slow_start_linux(linux: &Cell) -> Claim {
    let share = slow_start_after(linux);
    claim("table10-slow-start-linux").shows(shown(share, " %")).needs(share.sized(56.0))
}

fn slow_start_none(rfc: &Cell, prr: &Cell) -> Claim {
    let (a, b) = (slow_start_after(rfc), slow_start_after(prr));
    claim!("table10-slow-start-none", "RFC 3517 {}, PRR {}", shown(a, " %"), shown(b, " %"))
        .holds(a.mean <= 2.0 && b.mean <= 2.0 && a.half.is_finite() && b.half.is_finite())
}
