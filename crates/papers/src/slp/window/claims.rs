//! What the paper says of the windows and of the gap.

use super::WindowCell;
use super::cells::Cells;
use crate::claims::{Claim, claim};

/// Checks the claims.
pub fn all(cells: &Cells) -> Vec<Claim> {
    let of = |is: fn(&WindowCell) -> bool| cells.rule.iter().filter(move |cell| is(cell));
    let congestion = of(|cell| cell.rwnd.is_none());
    let receiver = of(|cell| cell.rwnd.is_some());
    vec![
        win_formula(cells),
        as_permitted(
            "congestion-window-rule",
            "A packet is duplicated only if next + 2·pkt_size < high_acked + cwnd",
            "windows of 3 to 12 segments, flows of 1 to as many, q 1 for the last segment, nothing acknowledged: the last segment is copied where the rule permits it and nowhere else",
            congestion,
        ),
        as_permitted(
            "receiver-window-rule",
            "A packet is duplicated only if next + pkt_size < high_acked + rwnd",
            "the same with a receiver's window of 3 to 12 segments and a congestion window of 40",
            receiver,
        ),
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
    claim(
        "win-formula",
        "II-C2",
        "The sliding window is min(cwnd − dup_bytes, rwnd)",
        "flows of 60 segments with copies of the first, of pushed or of all segments, limited by either window: whenever data waits, the flight is the formula's",
        (
            format!("differs at {wrong} of {instants} instants"),
            wrong == 0 && instants > 0,
        ),
    )
    .note("dup_bytes is counted in segments, as our windows are: a copy takes one segment from the moment of its decision to the ACK of its whole segment")
}

fn as_permitted<'a>(
    id: &'static str,
    statement: &'static str,
    check: &'static str,
    cells: impl Iterator<Item = &'a WindowCell>,
) -> Claim {
    let (mut agree, mut all, mut copied) = (0, 0, 0);
    for cell in cells {
        all += 1;
        copied += u64::from(cell.copies > 0);
        agree += u64::from((cell.copies == 1) == cell.permitted && (cell.withheld == 1) != cell.permitted);
    }
    claim(
        id,
        "II-C2",
        statement,
        check,
        (format!("{agree} of {all} flows as the rule says; {copied} copied"), agree == all && copied > 0),
    )
}

fn window_shrinks(cells: &Cells) -> Claim {
    let ([without, with], [offered, offered_with]) = (cells.first_flight, cells.first_flight_offered);
    claim(
        "window-shrinks",
        "I, II-C2",
        "A duplicate reduces the available congestion window, but not the receiver's window",
        "30 segments, the first one copied: one segment fewer before the first ACK if the congestion window is the limit, and as many as without the copy if the receiver's window is",
        (
            format!(
                "congestion window: {with} segments instead of {without}; receiver's window: {offered_with} instead of {offered}"
            ),
            with + 1 == without && offered_with == offered && offered > 0,
        ),
    )
}

fn window_grows_back(cells: &Cells) -> Claim {
    let (acks, differ) = cells.grown_back;
    claim(
        "window-grows-back",
        "II-C2",
        "When the duplicated segment is acknowledged, the window grows to min(cwnd, rwnd) again",
        "30 segments, the first one copied: from the ACK of the first segment on, as much has been sent after each ACK as without the copy",
        (format!("differs after {differ} of {acks} ACKs"), differ == 0 && acks > 0),
    )
}

fn one_copy(cells: &Cells) -> Claim {
    let (copies, most) = cells.one_at_a_time;
    claim(
        "one-copy-per-window",
        "II-C2",
        "At most one duplicate is in the sliding window",
        "200 segments, all worth a copy: several copies, never two whose segments are unacknowledged",
        (format!("{copies} copies, at most {most} at a time"), most == 1 && copies > 1),
    )
}

fn discards(cells: &Cells) -> Claim {
    let (copied, twice, same) = cells.discarded;
    let as_without = if same { "as without copies" } else { "not as without copies" };
    claim(
        "receiver-discards",
        "I, II-C2",
        "The receiver discards the duplicate: it takes nothing of the receiver's buffer",
        "200 segments, all worth a copy, nothing lost: as many bytes arrive twice as were copied, the smallest window offered and the completion time are those without copies",
        (
            format!("{twice} of {copied} copied bytes arrived twice; window and time {as_without}"),
            same && copied > 0 && copied == twice,
        ),
    )
}

fn arbitrator_first(cells: &Cells) -> Claim {
    let [not_worth, room, no_room] = cells.order;
    let text = |(copies, withheld)| format!("{copies} sent, {withheld} withheld");
    claim(
        "arbitrator-first",
        "II-C",
        "The arbitrator decides first whether to duplicate; only then the window is asked whether it allows the duplicate",
        "8 segments with q 0: nothing is withheld; 8 segments with q 1: a copy is sent; 9 segments with q 1 in a window of 10: it is withheld",
        (
            format!("q 0: {}; q 1: {}; no room: {}", text(not_worth), text(room), text(no_room)),
            [not_worth, room, no_room] == [(0, 0), (1, 0), (0, 1)],
        ),
    )
}

fn paced(cells: &Cells) -> Claim {
    let [least, most] = cells.gaps_ms;
    claim(
        "copies-are-paced",
        "II-C",
        "A gap is inserted between the original and the duplicate",
        "200 segments, all worth a copy, RTT 80 ms: every copy leaves at least a millisecond after its original",
        (format!("{least:.1} to {most:.1} ms"), least >= 1.0 && most < f64::INFINITY && most > 0.0),
    )
    .note("the paper does not give the length; ours is SRTT/8")
}

fn pacing(cells: &Cells) -> Claim {
    let ((lost, both), (bare, bare_both)) = (cells.bursts, cells.bursts_without_gap);
    claim(
        "pacing-avoids-bursty-losses",
        "II-C",
        "The gap avoids that a burst of losses takes both packets",
        "eight segments at once into a queue of 1 to 6 packets that drains at 12 Mbit/s: wherever it drops the last one, it also drops a copy without gap, and never one with a gap",
        (
            format!("both lost in {both} of {lost} bursts, without gap in {bare_both} of {bare}"),
            lost > 0 && both == 0 && bare_both == bare,
        ),
    )
    .note("the queue empties while the copy waits. Where bursts of losses count packets, not time, a gap helps only by the packets sent within it (`combined`)")
}
