//! What the paper says of the windows and of the gap.

use super::WindowCell;
use super::cells::Cells;
use crate::prelude::*;

/// Checks the claims.
pub fn all(cells: &Cells) -> Vec<Claim> {
    let of = |is: fn(&WindowCell) -> bool| cells.rule.iter().filter(move |cell| is(cell));
    let congestion = of(|cell| cell.rwnd.is_none());
    let receiver = of(|cell| cell.rwnd.is_some());
    vec![
        win_formula(cells),
        as_permitted("congestion-window-rule", congestion),
        as_permitted("receiver-window-rule", receiver),
        window_shrinks(cells),
        window_grows_back(cells),
        one_copy(cells),
        discards(cells),
        arbitrator_first(cells),
        paced(cells),
        pacing(cells),
    ]
}

fn win_formula(cells: &Cells) -> Claim {
    let (instants, wrong) = cells.formula;
    claim!("win-formula", "differs at {wrong} of {instants} instants").holds(wrong == 0 && instants > 0)
}

fn as_permitted<'a>(id: &'static str, cells: impl Iterator<Item = &'a WindowCell>) -> Claim {
    let (mut agree, mut all, mut copied) = (0, 0, 0);
    for cell in cells {
        all += 1;
        copied += u64::from(cell.copies > 0);
        agree += u64::from((cell.copies == 1) == cell.permitted && (cell.withheld == 1) != cell.permitted);
    }
    claim!(id, "{agree} of {all} flows as the rule says; {copied} copied").holds(agree == all && copied > 0)
}

fn window_shrinks(cells: &Cells) -> Claim {
    let ([without, with], [offered, offered_with]) = (cells.first_flight, cells.first_flight_offered);
    claim!(
        "window-shrinks",
        "congestion window: {with} segments instead of {without}; receiver's window: {offered_with} instead of \
             {offered}"
    )
    .holds(with + 1 == without && offered_with == offered && offered > 0)
}

fn window_grows_back(cells: &Cells) -> Claim {
    let (acks, differ) = cells.grown_back;
    claim!("window-grows-back", "differs after {differ} of {acks} ACKs").holds(differ == 0 && acks > 0)
}

fn one_copy(cells: &Cells) -> Claim {
    let (copies, most) = cells.one_at_a_time;
    claim!("one-copy-per-window", "{copies} copies, at most {most} at a time").holds(most == 1 && copies > 1)
}

fn discards(cells: &Cells) -> Claim {
    let (copied, twice, same) = cells.discarded;
    let as_without = if same { "as without copies" } else { "not as without copies" };
    claim!("receiver-discards", "{twice} of {copied} copied bytes arrived twice; window and time {as_without}")
        .holds(same && copied > 0 && copied == twice)
}

fn arbitrator_first(cells: &Cells) -> Claim {
    let [not_worth, room, no_room] = cells.order;
    let text = |(copies, withheld)| format!("{copies} sent, {withheld} withheld");
    claim!("arbitrator-first", "q 0: {}; q 1: {}; no room: {}", text(not_worth), text(room), text(no_room))
        .holds([not_worth, room, no_room] == [(0, 0), (1, 0), (0, 1)])
}

fn paced(cells: &Cells) -> Claim {
    let [least, most] = cells.gaps_ms;
    claim!("copies-are-paced", "{least:.1} to {most:.1} ms").holds(least >= 1.0 && most < f64::INFINITY && most > 0.0)
}

fn pacing(cells: &Cells) -> Claim {
    let ((lost, both), (bare, bare_both)) = (cells.bursts, cells.bursts_without_gap);
    claim!("pacing-avoids-bursty-losses", "both lost in {both} of {lost} bursts, without gap in {bare_both} of {bare}")
        .holds(lost > 0 && both == 0 && bare_both == bare)
}
