//! What changed for sure, what may have changed, and what did not.
//!
//! - **Changed**: chance does not explain it, though many quantities are compared (Holm, "A simple sequentially rejective multiple
//!   test procedure", 1979: of captures of the same setting, at most one pair in 20 shows any such change), and the change is larger
//!   than what the halves of either capture differ by.
//! - **Unchanged**: the whole interval lies within ±10 % of the value before, or below what matters to anybody.
//! - **Undecided**: everything else.

use super::interval::{Divided, FEWEST, Pair, Parts};
use super::quantity::{Quantity, Unit};

/// A whole interval within this share of the value before is no change.
pub(super) const SMALL: f64 = 0.1;

/// How often pairs of captures of the same setting may show a change.
const WRONG: f64 = 0.05;

recoup_units::named! {
    /// Whether a quantity changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Verdict {
        /// For sure.
        Changed = "changed",
        /// The captures do not decide it.
        Undecided = "undecided",
        /// By less than what matters.
        Unchanged = "unchanged",
    }
}

/// A quantity before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The quantity.
    pub quantity: Quantity,
    /// Its value before, in its unit.
    pub before: f64,
    /// Its value after.
    pub after: f64,
    /// The 95 % interval of the change, and the parts of the captures that show it; `None`: too few.
    pub interval: Option<(f64, f64)>,
    /// The parts of the captures whose differences are the interval's.
    pub parts: Option<Parts>,
    /// How much the second half of BEFORE differs from the first, and the same of AFTER.
    pub own_changes: [Option<f64>; 2],
    /// Whether it changed.
    pub verdict: Verdict,
    /// How likely chance alone makes such a change, among others.
    by_chance: Option<f64>,
}

impl Change {
    /// The change in the quantity's unit.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// The change as a share of the value before.
    pub fn relative(&self) -> Option<f64> {
        (self.before > 0.0).then(|| self.change() / self.before)
    }

    /// The most by which the halves of one capture differ.
    pub fn own_spread(&self) -> Option<f64> {
        let known = self.own_changes.iter().flatten().map(|change| change.abs());
        known.reduce(f64::max)
    }

    /// Whether its interval, taken alone, lies on one side of 0.
    pub fn is_suspected(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// `None` if it does not occur in both captures.
    fn of(quantity: Quantity, before: &Divided, after: &Divided) -> Option<Self> {
        let [value, other] = quantity.values(&before.total, &after.total)?;
        let affected = [before, after].map(|side| quantity.affected(&side.total));
        let affected = affected[0].zip(affected[1]).map(|(before, after)| before + after);
        if affected == Some(0) && !matches!(quantity, Quantity::RetransmissionRate | Quantity::LostPerConnection(None))
        {
            return None;
        }
        let pair = Pair {
            before,
            after,
            values: |before: &_, after: &_| quantity.values(before, after),
            weight: &|sums: &_| quantity.weight(sums),
        };
        let is_rare = affected.is_some_and(|connections| (1..FEWEST).contains(&connections));
        let uncertainty = pair.uncertainty().filter(|_| !is_rare);
        let change = other - value;
        Some(Self {
            quantity,
            before: value,
            after: other,
            interval: uncertainty.map(|of| (change - of.half, change + of.half)),
            parts: uncertainty.map(|of| of.parts),
            own_changes: [before, after].map(|side| side.own_change(quantity)),
            verdict: Verdict::Undecided,
            by_chance: uncertainty.map(|of| of.by_chance),
        })
    }

    /// The verdict, if chance explains the change or not.
    fn judge(&mut self, is_beyond_chance: bool) {
        let exceeds_own = self.own_spread().is_none_or(|spread| self.change().abs() > spread);
        let small = (SMALL * self.before.abs()).max(self.quantity.negligible());
        self.verdict = match self.interval {
            Some(_) if is_beyond_chance && exceeds_own => Verdict::Changed,
            Some((low, high)) if low >= -small && high <= small => Verdict::Unchanged,
            _ => Verdict::Undecided,
        };
    }

    /// Times that everything waits for come first, those that changed most before others.
    fn rank(&self) -> (bool, f64) {
        match self.quantity.unit() {
            Unit::Ms => (false, -self.change().abs()),
            Unit::SecondsPerGb | Unit::Percent => (true, -self.relative().map_or(f64::INFINITY, f64::abs)),
        }
    }
}

/// All quantities that occur: what changed, the most important first, then what is undecided, then what did not change.
pub(super) fn changes(before: &Divided, after: &Divided) -> Vec<Change> {
    let changes = Quantity::all().filter_map(|quantity| Change::of(quantity, before, after));
    let mut changes: Vec<Change> = changes.collect();
    let mut known: Vec<(usize, f64)> =
        changes.iter().enumerate().filter_map(|(i, change)| Some((i, change.by_chance?))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let all = known.len();
    let beyond = known.iter().zip(0..).take_while(|((_, by_chance), rank)| *by_chance <= WRONG / (all - rank) as f64);
    let beyond: Vec<usize> = beyond.map(|((i, _), _)| *i).collect();
    for (i, change) in changes.iter_mut().enumerate() {
        change.judge(beyond.contains(&i));
    }
    let is_unsuspected = |change: &Change| change.verdict == Verdict::Undecided && !change.is_suspected();
    changes.sort_by(|a, b| {
        let key = |change: &Change| (change.verdict as u8, is_unsuspected(change), change.rank().0);
        key(a).cmp(&key(b)).then(match a.verdict {
            Verdict::Unchanged => std::cmp::Ordering::Equal,
            _ => a.rank().1.total_cmp(&b.rank().1),
        })
    });
    changes
}

#[cfg(test)]
mod tests;
