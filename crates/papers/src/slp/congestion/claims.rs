//! What copies do to the network, to those who send them, and to the others. Only the first claim is the paper's.

use super::{CongestionCell, Copying, PROFILES, Setup, THINK_TIMES, difference};
use crate::prelude::*;

/// All claims.
pub fn all(cells: &[CongestionCell]) -> Vec<Claim> {
    let cells = Cells::new(cells);
    vec![
        no_congestion(&cells),
        does_nothing_without_losses(&cells),
        claim("copies-pay-those-who-send-them").result(with_losses(
            |think| cells.longer(PROFILES[0], think, Copying::Half, 0),
            |longer| longer.below(0.0),
        )),
        claim("copies-harm-others").result(with_losses(
            |think| cells.longer(PROFILES[0], think, Copying::Half, 1),
            |longer| longer.above(0.0),
        )),
        pays_for_nobody(&cells),
        goodput_stays(&cells),
    ]
}

type Cells<'a> = Grid<'a, CongestionCell>;

impl Cells<'_> {
    fn get(&self, profile: &'static str, think: &'static str, copying: Copying) -> &CongestionCell {
        self.at(Setup { profile, think, copying })
    }

    /// A group's mean FCT less its mean FCT in the worlds in which nobody copies, in ms.
    fn longer(&self, profile: &'static str, think: &'static str, copying: Copying, group: usize) -> Estimate {
        let of = |copying| &self.get(profile, think, copying).groups[group].fct_ms;
        difference(of(copying), of(Copying::None))
    }
}

/// The loads whose queue drops packets: their pauses.
const LOSING: [&str; 2] = [THINK_TIMES[1], THINK_TIMES[2]];

/// The load that the link cannot carry.
const OVERLOAD: &str = THINK_TIMES[2];

/// The verdicts about both loads with losses, and the numbers: `1s -5.4 ± 4.7 ms, …`.
fn with_losses(
    of: impl Fn(&'static str) -> Estimate,
    judge: impl Fn(Estimate) -> ClaimVerdict,
) -> (String, ClaimVerdict) {
    let all = LOSING.map(|think| (think, of(think)));
    let shown = all.map(|(think, estimate)| format!("{think}: {estimate} ms"));
    let verdict = ClaimVerdict::all(all.map(|(_, estimate)| judge(estimate)));
    (shown.join(", "), verdict)
}

fn does_nothing_without_losses(cells: &Cells<'_>) -> Claim {
    let longer = cells.longer(PROFILES[0], THINK_TIMES[0], Copying::Half, 0);
    claim!("copies-do-nothing-in-a-light-load", "{longer} ms").needs(longer.within(-2.0..2.0))
}

fn pays_for_nobody(cells: &Cells<'_>) -> Claim {
    let alone = cells.longer(PROFILES[0], OVERLOAD, Copying::Half, 0);
    let both = [0, 1].map(|group| cells.longer(PROFILES[0], OVERLOAD, Copying::All, group));
    let verdicts = both.map(|longer| longer.above(alone / 2.0));
    claim!("copies-of-all-pay-nobody", "alone {alone} ms; all: {} ms, {} ms", both[0], both[1]).needs_all(verdicts)
}

/// The largest increase of the share of dropped packets that counts as none.
const NO_INCREASE: f64 = 0.001;

fn no_congestion(cells: &Cells<'_>) -> Claim {
    let more = THINK_TIMES.map(|think| {
        let loss = |copying| &cells.get(PROFILES[0], think, copying).loss;
        (think, difference(loss(Copying::All), loss(Copying::None)))
    });
    let shown =
        more.map(|(think, more)| format!("{think}: {:.2} ± {:.2} points", 100.0 * more.mean, 100.0 * more.half));
    let none = more.map(|(_, more)| more.below(NO_INCREASE));
    claim("duplicates-do-not-congest").shows(shown.join(", ")).needs_all(none)
}

fn goodput_stays(cells: &Cells<'_>) -> Claim {
    let least = PROFILES
        .iter()
        .flat_map(|profile| THINK_TIMES.map(|think| cells.get(profile, think, Copying::Half).fairness()))
        .fold(1.0, f64::min);
    claim!("copies-take-little-goodput", "{least:.4}").holds(least > 0.99)
}
