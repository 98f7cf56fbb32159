//! The claims of §1, §2 and §4 about the detection of losses.

use super::{AFTER, DetectionCell, SENDERS, all_by};
use crate::flow::{run, run_many};
use crate::prelude::*;
use Trigger::{Early, Fast, Rto};

/// Without early retransmit.
const FAST_ALONE: &str = SENDERS[0].1;
/// With early retransmit.
const EARLY: &str = SENDERS[1].1;

pub fn all(setup: &Setup, cells: &[DetectionCell]) -> Result<Vec<Claim>> {
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
fn ack_per_segment_out_of_order(setup: &Setup) -> Result<Claim> {
    let (mut as_claimed, mut all) = (0, 0);
    for acks in ["quick", "delayed:200ms"] {
        for lost in 1..=9_u64 {
            let trace = run(setup, FAST_ALONE, &format!("drop=data:{lost} ack={acks}"))?;
            all += 1;
            as_claimed += usize::from(answers_at_once(&trace, 10 - lost));
        }
    }
    Ok(claim("duplicate-ack-per-segment").every(as_claimed, all, "flows"))
}

/// Whether this many segments arrived above the hole before it was filled, each answered at once by the same ACK number.
fn answers_at_once(trace: &Log, expected: u64) -> bool {
    let data = |point| trace.packets_at(Direction::Down, point).filter(|seen| seen.segment.payload_len > 0);
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
        0..=2 => cell.trigger == Some(Rto),
        _ => cell.trigger == Some(Fast) && cell.duplicate_acks == 3,
    });
    let (count, all) = (as_claimed.count(), alone.len());
    claim!("fast-retransmit-after-three", "{count} of {all} flows").holds(count == all && all == AFTER.len())
}

/// Segments at 10 Mbit/s, 1.2 ms each, held back for one or two of them, or for ten.
fn mild_reordering_is_no_loss(setup: &Setup) -> Result<Claim> {
    let flows = setup.effort.of(1000, 200);
    let repaired = |reorder| -> Result<(Share, u64)> {
        let traces = run_many(
            setup,
            FAST_ALONE,
            &format!("drop=none ack=quick segments=20 rate=10Mbit reorder={reorder}"),
            flows,
        )?;
        let has_any = |trace: &&Log| !trace.repairs().is_empty();
        let reordered = |trace: &&Log| trace.acks().any(|ack| !ack.segment.options.sack.is_empty());
        let repaired = traces.iter().filter(has_any).count() as u64;
        let reordered = traces.iter().filter(reordered).count() as u64;
        Ok((Share::of(repaired, reordered), reordered))
    };
    let (mild, mildly) = repaired("down:5%:2ms")?;
    let (severe, _) = repaired("down:5%:12ms")?;
    Ok(claim!("mild-reordering-is-no-loss", "mild: {} of {mildly} reordered flows; severe: {severe}", mild.hits)
        .holds(mild.hits == 0 && mildly > 0 && severe.low > 0.5))
}

/// The last one to three segments of a flow and of a burst, and the same losses followed by new data.
fn nothing_follows(setup: &Setup) -> Result<Claim> {
    let (mut shown, mut holds) = (Vec::new(), true);
    let burst = 10 * 1448;
    let two_bursts = format!("{burst}B@0,{burst}B@5s");
    for (name, writes, expected) in [
        ("end of the flow", format!("{burst}B@0"), Rto),
        ("end of a burst", two_bursts, Rto),
        ("new data follows", format!("{}B@0", 3 * burst), Fast),
    ] {
        let (mut as_claimed, mut all) = (0, 0);
        for lost in [8, 9, 10] {
            all += 1;
            as_claimed += usize::from(all_by(
                &run(setup, FAST_ALONE, &format!("writes={writes} drop=data:{lost} ack=quick"))?,
                expected,
            ));
        }
        holds &= as_claimed == all;
        shown.push(format!("{name}: {as_claimed} of {all}"));
    }
    Ok(claim("nothing-follows-the-tail").shows(shown.join("; ")).holds(holds))
}

/// Flows of two and three segments that lose the first one.
fn early_retransmit_adapts(setup: &Setup) -> Result<Claim> {
    let (mut shown, mut holds) = (Vec::new(), true);
    for segments in [2_u64, 3, 4, 5] {
        let (trigger, acks) = run(setup, EARLY, &format!("segments={segments} drop=data:1 ack=quick"))?
            .first_repair()
            .map_or((None, 0), |one| (one.trigger, one.duplicate_acks as u64));
        holds &= if segments < 4 {
            trigger == Some(Early) && acks < segments && acks > 0
        } else {
            trigger == Some(Fast) && acks == 3
        };
        let name = trigger.map_or("none", Trigger::name);
        shown.push(format!("{segments} segments: {name} after {acks}"));
    }
    Ok(claim("early-retransmit-adapts").shows(shown.join("; ")).holds(holds))
}

/// A window of three segments, of which the first is lost: two duplicate ACKs.
fn small_window(setup: &Setup, profile: &str, segments: &str, buffer: &str) -> Result<Log> {
    run(setup, profile, &format!("initial_window=3 segments={segments} receive_buffer={buffer} drop=data:1 ack=quick"))
}

const ROOM: &str = "64MiB";

fn limited_transmit(setup: &Setup) -> Result<Claim> {
    let with = small_window(setup, "linux-3.17+noer+lt", "20", ROOM)?;
    let without = small_window(setup, "linux-3.17+noer+nolt", "20", ROOM)?;
    let trigger = |trace: &Log| trace.first_repair().and_then(|first| first.trigger);
    let both = [trigger(&with), trigger(&without)];
    Ok(claim!("limited-transmit", "with: {}; without: {}", name(both[0]), name(both[1]))
        .holds(both == [Some(Fast), Some(Rto)]))
}

fn name(trigger: Option<Trigger>) -> &'static str {
    trigger.map_or("none", Trigger::name)
}

fn limited_transmit_without_data(setup: &Setup) -> Result<Claim> {
    let full = (3 * 1448).to_string();
    let lt = "linux-3.17+noer+lt";
    let no_data = small_window(setup, lt, "3", ROOM)?;
    let no_room = small_window(setup, lt, "20", &full)?;
    let triggers = [&no_data, &no_room].map(|trace| trace.first_repair().and_then(|one| one.trigger));
    Ok(claim!("limited-transmit-without-data", "no data: {}; no room: {}", name(triggers[0]), name(triggers[1]))
        .holds(triggers == [Some(Rto); 2]))
}

/// One to five segments, all of which are lost.
fn everything_lost(setup: &Setup) -> Result<Claim> {
    let mut by_timeout = 0;
    let counts = 1..=5_u64;
    for segments in counts.clone() {
        let first = run(setup, EARLY, &format!("segments={segments} drop=tail:{segments} ack=quick"))?.first_repair();
        by_timeout += usize::from(first.is_some_and(|one| one.trigger == Some(Rto)));
    }
    let all = counts.count();
    Ok(claim("everything-lost-needs-a-timeout").every(by_timeout, all, "flows"))
}
