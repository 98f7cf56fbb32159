//! The claims of §1, §2 and §4 about the detection of losses.

use super::{AFTER, DetectionCell, SENDERS, Setup, Trace, all_by, run};
use crate::claims::{Claim, ClaimVerdict, claim};
use crate::tail_loss::single_flow::{Seen, run_many};
use recoup_lab::settings::SettingsError;
use recoup_recovery::Trigger;
use recoup_sim::Point;
use recoup_support::stats::Share;
use recoup_units::Direction;

/// Without early retransmit.
const FAST_ALONE: &str = SENDERS[0].1;
/// With early retransmit.
const EARLY: &str = SENDERS[1].1;

pub fn all(setup: &Setup, cells: &[DetectionCell]) -> Result<Vec<Claim>, SettingsError> {
    Ok(vec![
        ack_per_segment_out_of_order(setup)?,
        three_duplicate_acks(cells),
        mild_reordering_is_no_loss(setup)?,
        nothing_follows(setup)?,
        early_retransmit_adapts(setup)?,
        limited_transmit(setup)?,
        limited_transmit_without_data(setup)?,
        everything_lost(setup)?,
    ])
}

/// One ACK that acknowledges nothing new for each segment that arrives above the hole, when it arrives.
fn ack_per_segment_out_of_order(setup: &Setup) -> Result<Claim, SettingsError> {
    let (mut as_claimed, mut all) = (0, 0);
    for acks in ["quick", "delayed:200ms"] {
        for lost in 1..=9_u64 {
            let drop = format!("data:{lost}");
            let trace = run(setup, FAST_ALONE, &[("drop", drop.as_str()), ("ack", acks)])?;
            all += 1;
            as_claimed += usize::from(answers_at_once(&trace, 10 - lost));
        }
    }
    Ok(claim(
        "duplicate-ack-per-segment",
        "2",
        "The receiver sends a duplicate ACK when a segment arrives out of order",
        "segment 1 to 9 of ten lost, both receivers: each segment that arrives after it is answered at once by an ACK of the data before the hole",
        (format!("{as_claimed} of {all} flows"), as_claimed == all),
    ))
}

/// Whether this many segments arrived above the hole before it was filled, each answered at once by the same ACK number.
fn answers_at_once(trace: &Trace, expected: u64) -> bool {
    let data = |point| {
        trace.packets.iter().filter(move |seen| {
            let is_data = seen.segment.payload_len > 0;
            (seen.point, seen.direction) == (point, Direction::Down) && is_data
        })
    };
    let Some(mut hole) = data(Point::Sent).next().map(|first| first.segment.seq) else {
        return false;
    };
    let mut above = 0;
    for arrival in data(Point::Arrived) {
        if arrival.segment.seq == hole {
            if above > 0 {
                break;
            }
            hole += arrival.segment.payload_len;
            continue;
        }
        let is_answer = |ack: &&Seen| ack.at == arrival.at && ack.segment.ack == hole;
        if !trace.acks().any(|ack| is_answer(&ack)) {
            return false;
        }
        above += 1;
    }
    above == expected
}

fn three_duplicate_acks(cells: &[DetectionCell]) -> Claim {
    let alone: Vec<&DetectionCell> = cells.iter().filter(|c| c.sender == SENDERS[0].0).collect();
    let as_claimed = alone.iter().filter(|cell| match cell.after {
        0..=2 => cell.trigger == Some(Trigger::Rto),
        _ => cell.trigger == Some(Trigger::Fast) && cell.duplicate_acks == 3,
    });
    let (count, all) = (as_claimed.count(), alone.len());
    claim(
        "fast-retransmit-after-three",
        "2",
        "Fast retransmit needs three duplicate ACKs",
        "without early retransmit, zero to five segments sent after the lost one: a timeout below three, and fast retransmit at the third duplicate ACK from three on",
        (format!("{count} of {all} flows"), count == all && all == AFTER.len()),
    )
}

/// Segments at 10 Mbit/s, 1.2 ms each, held back for one or two of them, or for ten.
fn mild_reordering_is_no_loss(setup: &Setup) -> Result<Claim, SettingsError> {
    let flows = setup.effort.of(1000, 200);
    let repaired = |reorder| -> Result<(Share, u64), SettingsError> {
        let own = [("drop", "none"), ("ack", "quick"), ("segments", "20"), ("rate", "10Mbit"), ("reorder", reorder)];
        let traces = run_many(setup, FAST_ALONE, &own, flows)?;
        let has_any = |trace: &&Trace| !trace.repairs().is_empty();
        let reordered = |trace: &&Trace| trace.acks().any(|ack| !ack.segment.options.sack.is_empty());
        let repaired = traces.iter().filter(has_any).count() as u64;
        let reordered = traces.iter().filter(reordered).count() as u64;
        Ok((Share::of(repaired, reordered), reordered))
    };
    let (mild, mildly) = repaired("down:5%:2ms")?;
    let (severe, _) = repaired("down:5%:12ms")?;
    let verdict =
        ClaimVerdict::all([ClaimVerdict::on(mild.hits == 0 && mildly > 0), ClaimVerdict::on(severe.low > 0.5)]);
    Ok(claim(
        "mild-reordering-is-no-loss",
        "2",
        "Because fast retransmit waits for three duplicate ACKs, mild reordering is not mistaken for loss",
        "20 segments without loss at 10 Mbit/s, 5 % of them late: no retransmission in flows where two segments at most overtake one, and one in most flows where ten do",
        (
            format!("mild: {} of {mildly} reordered flows; severe: {severe}", mild.hits),
            true,
        ),
    )
    .verdict(verdict))
}

/// The last one to three segments of a flow and of a burst, and the same losses followed by new data.
fn nothing_follows(setup: &Setup) -> Result<Claim, SettingsError> {
    let (mut shown, mut holds) = (Vec::new(), true);
    let burst = 10 * 1448;
    let two_bursts = format!("{burst}B@0,{burst}B@5s");
    for (name, writes, expected) in [
        ("end of the flow", format!("{burst}B@0"), Trigger::Rto),
        ("end of a burst", two_bursts, Trigger::Rto),
        ("new data follows", format!("{}B@0", 3 * burst), Trigger::Fast),
    ] {
        let (mut as_claimed, mut all) = (0, 0);
        for lost in [8, 9, 10] {
            let drop = format!("data:{lost}");
            let own = [("writes", writes.as_str()), ("drop", &drop), ("ack", "quick")];
            all += 1;
            as_claimed += usize::from(all_by(&run(setup, FAST_ALONE, &own)?, expected));
        }
        holds &= as_claimed == all;
        shown.push(format!("{name}: {as_claimed} of {all}"));
    }
    Ok(claim(
        "nothing-follows-the-tail",
        "1, 2",
        "If no new data follows a loss, at the end of a flow or of a burst, there are too few duplicate ACKs, and a timeout recovers it",
        "segment 8, 9 or 10 lost, without early retransmit: a timeout if ten segments end the flow or a burst, fast retransmit if twenty more follow",
        (shown.join("; "), holds),
    ))
}

/// Flows of two and three segments that lose the first one.
fn early_retransmit_adapts(setup: &Setup) -> Result<Claim, SettingsError> {
    let (mut shown, mut holds) = (Vec::new(), true);
    for segments in [2_u64, 3, 4, 5] {
        let count = segments.to_string();
        let own = [("segments", count.as_str()), ("drop", "data:1"), ("ack", "quick")];
        let first = run(setup, EARLY, &own)?.first_repair();
        let (trigger, acks) = first.map_or((None, 0), |one| (one.trigger, one.duplicate_acks as u64));
        holds &= match segments < 4 {
            true => trigger == Some(Trigger::Early) && acks < segments && acks > 0,
            false => trigger == Some(Trigger::Fast) && acks == 3,
        };
        let name = trigger.map_or("none", Trigger::name);
        shown.push(format!("{segments} segments: {name} after {acks}"));
    }
    Ok(claim(
        "early-retransmit-adapts",
        "2",
        "Early retransmit adapts the number of duplicate ACKs to the amount of outstanding data",
        "flows of two to five segments that lose the first: with two and three, early retransmit after fewer than three duplicate ACKs; with more, fast retransmit after three",
        (shown.join("; "), holds),
    ))
}

/// A window of three segments, of which the first is lost: two duplicate ACKs.
fn small_window(setup: &Setup, profile: &str, segments: &str, buffer: &str) -> Result<Trace, SettingsError> {
    let own = [
        ("initial_window", "3"),
        ("segments", segments),
        ("receive_buffer", buffer),
        ("drop", "data:1"),
        ("ack", "quick"),
    ];
    run(setup, profile, &own)
}

const ROOM: &str = "64MiB";

fn limited_transmit(setup: &Setup) -> Result<Claim, SettingsError> {
    let with = small_window(setup, "linux-3.17+noer+lt", "20", ROOM)?;
    let without = small_window(setup, "linux-3.17+noer+nolt", "20", ROOM)?;
    let trigger = |trace: &Trace| trace.first_repair().and_then(|first| first.trigger);
    let both = [trigger(&with), trigger(&without)];
    Ok(claim(
        "limited-transmit",
        "4",
        "Limited transmit sends new data on the first two duplicate ACKs, which causes fast retransmit although the window is too small",
        "a window of three of twenty segments, the first lost, without early retransmit: fast retransmit with limited transmit, a timeout without",
        (
            format!("with: {}; without: {}", name(both[0]), name(both[1])),
            both == [Some(Trigger::Fast), Some(Trigger::Rto)],
        ),
    ))
}

fn name(trigger: Option<Trigger>) -> &'static str {
    trigger.map_or("none", Trigger::name)
}

fn limited_transmit_without_data(setup: &Setup) -> Result<Claim, SettingsError> {
    let full = (3 * 1448).to_string();
    let lt = "linux-3.17+noer+lt";
    let no_data = small_window(setup, lt, "3", ROOM)?;
    let no_room = small_window(setup, lt, "20", &full)?;
    let triggers = [&no_data, &no_room].map(|trace| trace.first_repair().and_then(|one| one.trigger));
    Ok(claim(
        "limited-transmit-without-data",
        "4",
        "Limited transmit does not help without unsent data, or if the receiver's buffer is full",
        "a window of three segments, the first lost, no more data or room for three at the receiver: a timeout",
        (
            format!("no data: {}; no room: {}", name(triggers[0]), name(triggers[1])),
            triggers == [Some(Trigger::Rto); 2],
        ),
    ))
}

/// One to five segments, all of which are lost.
fn everything_lost(setup: &Setup) -> Result<Claim, SettingsError> {
    let mut by_timeout = 0;
    let counts = 1..=5_u64;
    for segments in counts.clone() {
        let (count, drop) = (segments.to_string(), format!("tail:{segments}"));
        let own = [("segments", count.as_str()), ("drop", &drop), ("ack", "quick")];
        let first = run(setup, EARLY, &own)?.first_repair();
        by_timeout += usize::from(first.is_some_and(|one| one.trigger == Some(Trigger::Rto)));
    }
    let all = counts.count();
    Ok(claim(
        "everything-lost-needs-a-timeout",
        "4",
        "If all outstanding segments are lost, or the only one, neither early retransmit nor limited transmit helps, and a timeout detects it",
        "flows of one to five segments, all lost, with early retransmit and limited transmit: the first retransmission is a timeout's",
        (format!("{by_timeout} of {all} flows"), by_timeout == all),
    ))
}
