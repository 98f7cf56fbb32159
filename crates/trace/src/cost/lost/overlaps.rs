//! Time that both directions of a connection lost counts once.
//!
//! An outage costs what each end had in flight, at the same time. Of several losses at a time, the one that began first
//! takes it: an episode from when its last ACK was due until it came, or a late ACK. Zero windows and waits for
//! delayed ACKs take what is left.

use super::delays::LateAcks;
use crate::{
    attribute::provisional::ProvisionalRow,
    finding::{Cause, LostTime},
};
use recoup_units::Instant;
use std::time::Duration;

/// When a connection lasted by the capture's clock, and when by the clock of late ACKs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub begun: Instant,
    pub ended: Instant,
    /// The beginning by the clock of late ACKs.
    pub first: Instant,
}

impl Life {
    fn duration(&self) -> Duration {
        self.ended.since(self.begun)
    }

    /// A time of the clock of late ACKs by the capture's.
    pub fn captured(&self, at: Instant) -> Instant {
        self.begun.plus_nanos(at.nanos_since(self.first))
    }
}

/// A loss of one direction.
#[derive(Clone, Copy, Debug)]
struct Loss {
    from: Instant,
    until: Instant,
    side: usize,
    cause: Cause,
    /// The row that carries the cost.
    row: Option<usize>,
}

/// What both directions of a connection lost.
struct Both<'a> {
    rows: &'a mut [ProvisionalRow],
    lost: [&'a mut LostTime; 2],
    life: Duration,
}

impl Both<'_> {
    /// Takes `time` from what a direction lost, and from the row that carries it.
    fn take(&mut self, side: usize, cause: Cause, row: Option<usize>, time: Duration) {
        let mut ends = false;
        if let Some(cost) = row.and_then(|row| self.rows[row].retransmission.cost.as_mut()) {
            ends = !cost.lost.is_zero() && time >= cost.lost;
            cost.lost = cost.lost.saturating_sub(time);
        }
        self.lost[side].take_back(cause, ends.into(), time);
    }

    /// What the row of a loss says that this side lost to this cause.
    fn in_row(&self, loss: &Loss, side: usize, cause: Cause) -> Duration {
        let row = loss.row.filter(|_| (loss.side, loss.cause) == (side, cause));
        let cost = row.and_then(|row| self.rows[row].retransmission.cost);
        cost.map_or(Duration::ZERO, |cost| cost.lost)
    }

    /// By how much they lost more than there was.
    fn excess(&self) -> Duration {
        let all: Duration = self.lost.iter().map(|lost| lost.total()).sum();
        all.saturating_sub(self.life)
    }
}

/// Takes from both directions' `lost` time, and from the costs in `rows`, what the other direction lost before. `side`:
/// the direction of a row.
pub(crate) fn count_once(
    rows: &mut [ProvisionalRow],
    side: impl Fn(&ProvisionalRow) -> usize,
    late: [Option<&LateAcks>; 2],
    life: Life,
    lost: [&mut LostTime; 2],
) {
    if lost.iter().any(|lost| lost.total().is_zero()) {
        return;
    }
    let losses = in_order(rows, side, late, life);
    let mut both = Both { rows, lost, life: life.duration() };
    let mut claimed = [Instant::ZERO; 2];
    for loss in &losses {
        let by_other = claimed[1 - loss.side].clamp(loss.from, loss.until);
        claimed[loss.side] = claimed[loss.side].max(loss.until);
        both.take(loss.side, loss.cause, loss.row, by_other.since(loss.from));
    }
    // Nothing says when these lost it, or no longer.
    for cause in [Cause::ZeroWindow, Cause::NagleDelayedAck, Cause::DelaySpike, Cause::LostAcks] {
        for side in [0, 1] {
            let in_rows: Duration = losses.iter().map(|loss| both.in_row(loss, side, cause)).sum();
            let elsewhere = both.lost[side].of(cause).saturating_sub(in_rows);
            both.take(side, cause, None, both.excess().min(elsewhere));
        }
    }
    // Where timestamps of the capture are wrong, losses seem to be apart that were not.
    for loss in &losses {
        let cost = loss.row.and_then(|row| both.rows[row].retransmission.cost);
        let left = cost.map_or(Duration::ZERO, |cost| cost.lost);
        both.take(loss.side, loss.cause, loss.row, left.min(both.excess()));
    }
}

/// All losses, those that began first before the others.
fn in_order(
    rows: &[ProvisionalRow],
    side: impl Fn(&ProvisionalRow) -> usize,
    late: [Option<&LateAcks>; 2],
    life: Life,
) -> Vec<Loss> {
    let mut losses: Vec<Loss> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let found = &row.retransmission;
        if let Some(cost) = found.cost
            && !found.syn
        {
            // A packet's timestamp may be wrong.
            let until = found.recovery.map_or(life.ended, |recovery| found.at + recovery).min(life.ended);
            let from = until - cost.lost.min(until.since(Instant::ZERO));
            losses.push(Loss { from, until, side: side(row), cause: cost.cause, row: Some(i) });
        }
    }
    for (side, late) in late.iter().enumerate() {
        for span in late.iter().flat_map(|late| late.spans()) {
            let [from, until] = [span.from, span.until].map(|at| life.captured(at));
            losses.push(Loss { from, until, side, cause: span.cause(), row: None });
        }
    }
    losses.sort_by_key(|loss| (loss.from, loss.until));
    losses
}
