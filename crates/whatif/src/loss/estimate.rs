//! From counts to probabilities.
//!
//! **Shrinkage of levels** (empirical Bayes, beta-binomial; Kleinman, "Proportions with Extraneous
//! Variance", JASA 68, 1973). With `x_i` losses among `n_i` packets of connection `i`, `K` connections,
//! `N = Σ n_i` and `p = Σ x_i / N`, the weighted sum of squares `S = Σ n_i (x_i/n_i − p)²` has the
//! expectation `p (1 − p) [(1 − ρ)(K − 1) + ρ (N − Σ n_i² / N)]`, where `ρ` is the correlation within a
//! connection. Solved for `ρ`, the prior weighs `M = (1 − ρ) / ρ` packets, and the estimate of connection
//! `i` is `(x_i + M p) / (n_i + M)`. If `ρ ≤ 0`, the connections do not differ by more than chance (or by
//! less: positions hit each alike), and all have `p`. Where there is too little to estimate `ρ` from, a
//! connection's level is refined as a context is:
//!
//! **Refinement of contexts** (Bayesian model averaging; Hoeting et al., Statistical Science 14, 1999).
//! A context has either the probability `p` of the coarser one, or one of its own, with prior
//! Beta(w p, w (1 − p)), which weighs `w = 4` packets: with the unit information prior (Kass and Wasserman,
//! 1995), `w = 1`, a dozen packets without a loss would rule out a loss rate of a percent. Both are as likely
//! beforehand. The estimate is the mean of both posterior means, weighted by the marginal
//! likelihoods of `x` losses of `n` packets. So three retransmissions that arrived change little, and three
//! hundred that arrived where a tenth of the originals was lost mean that retransmissions arrive.
//!
//! **Composition.** Most retransmissions belong to the connections that lose most. So a context is compared
//! with what the connections that it was seen in lose, not with the mean of all
//! (`Cell::expected`, without the one loss that made the retransmission). Factors are ratios of odds, so
//! that a probability remains one whatever the level.

use super::{
    COPIES, Factors, GAPS, LossProcess,
    counts::{Cell, LossCounts, Spread},
};
use std::time::Duration;

/// The fewest connections, and the fewest events, from which their spread is estimated.
const ENOUGH: f64 = 20.0;

/// How many packets the coarser context weighs in the estimate of a context with a probability of its own.
const PRIOR_WEIGHT: f64 = 4.0;

/// Probabilities are kept this far from 0 and 1 where their odds are needed.
const MARGIN: f64 = 1e-9;

/// The process of connections that are thought of as alike.
pub(super) fn pooled(counts: &LossCounts) -> LossProcess {
    let level = match counts.level.events > 0.0 || !counts.any_loss() {
        true => counts.level.share(),
        // Only packets of other contexts were lost: their factor needs a level that is not zero.
        false => 0.5 / (counts.level.trials + 1.0),
    };
    LossProcess {
        level,
        factors: coarse_to_fine(counts, level),
        held: counts.held.share(),
        holds: sorted(counts),
        duplicated: counts.duplicated.share(),
    }
}

/// The process of a path: the level by shrinkage, the contexts by refinement.
pub(super) fn path(capture: &LossProcess, all: &LossCounts, path: &LossCounts) -> LossProcess {
    // The spread of connections says how far a path of few connections may be from the others, and nothing
    // about a path of many.
    let estimate = if path.level.connections >= ENOUGH { from_hypotheses } else { from_spread };
    let mut process = shrunk(capture, all, path, estimate);
    let own = &path.after_arrival;
    for (factor, cell) in process.factors.after_arrival.iter_mut().zip(own).skip(1) {
        *factor = refined(*factor, cell, process.level);
    }
    let factors = process.factors.after_loss.as_flattened_mut().iter_mut();
    for (factor, cell) in factors.zip(path.after_loss.as_flattened()) {
        *factor = refined(*factor, cell, process.level);
    }
    process
}

/// The process of a connection: the level by shrinkage, the contexts of its path.
pub(super) fn connection(path: &LossProcess, all: &LossCounts, own: &LossCounts) -> LossProcess {
    shrunk(path, all, own, from_spread)
}

/// The probability of an event in a part, from that in the whole, the counts of the whole and of the part.
type Shrinkage = fn(f64, &Spread, &Spread) -> f64;

fn from_hypotheses(whole: f64, _: &Spread, part: &Spread) -> f64 {
    mean_of_hypotheses(whole, part.trials, part.events)
}

fn from_spread(whole: f64, all: &Spread, part: &Spread) -> f64 {
    if !all.is_enough() {
        return from_hypotheses(whole, all, part);
    }
    match all.prior_weight() {
        Some(weight) => (part.events + weight * whole) / (part.trials + weight),
        None => whole,
    }
}

fn shrunk(whole: &LossProcess, all: &LossCounts, part: &LossCounts, estimate: Shrinkage) -> LossProcess {
    LossProcess {
        level: estimate(whole.level, &all.level, &part.level),
        factors: whole.factors,
        held: estimate(whole.held, &all.held, &part.held),
        // Few holds say less about their lengths than those of all.
        holds: if part.holds.len() as f64 >= ENOUGH { sorted(part) } else { whole.holds.clone() },
        duplicated: estimate(whole.duplicated, &all.duplicated, &part.duplicated),
    }
}

/// The factors of all contexts, from what originals lose after an arrival to each context alone.
fn coarse_to_fine(counts: &LossCounts, level: f64) -> Factors {
    let mut factors = Factors::default();
    let arrivals = &counts.after_arrival[1..];
    let losses = &counts.after_loss[1..];
    let all = Cell::sum(arrivals.iter().chain(losses.as_flattened()));
    let any_copy = refined(1.0, &all, level);
    for copy in 1..COPIES {
        // Where few copies follow an arrival, those after a loss say at least how this copy fares.
        let after_loss = refined(any_copy, &Cell::sum(&counts.after_loss[copy]), level);
        factors.after_arrival[copy] = refined(after_loss, &counts.after_arrival[copy], level);
    }
    // A burst ends with time: beforehand, each decade keeps half of the memory (of the logarithm of its factor)
    // of the decade before. Copies of all numbers tell how much it really keeps.
    let mut before = refined(1.0, &Cell::sum(&counts.after_loss[0]), level);
    for gap in 0..GAPS {
        let coarse = if gap == 0 { before } else { before.sqrt() };
        let original = refined(coarse, &counts.after_loss[0][gap], level);
        before = original;
        factors.after_loss[0][gap] = original;
        for copy in 1..COPIES {
            let coarse = original * factors.after_arrival[copy];
            factors.after_loss[copy][gap] = refined(coarse, &counts.after_loss[copy][gap], level);
        }
    }
    factors
}

/// The factor of a context, from that of a coarser one and the packets seen in it.
fn refined(coarse: f64, cell: &Cell, level: f64) -> f64 {
    if cell.sent == 0.0 || level <= 0.0 {
        return coarse;
    }
    // Losses by position hit each connection alike; then the expectation without one loss is too small.
    let reference = (cell.expected / cell.sent).max(level);
    let parent = scaled(reference, coarse);
    odds(mean_of_hypotheses(parent, cell.sent, cell.lost)) / odds(reference)
}

/// The probability of a context whose coarser one has the probability `parent`: the module's model average.
fn mean_of_hypotheses(parent: f64, sent: f64, lost: f64) -> f64 {
    if sent == 0.0 || (parent <= 0.0 && lost == 0.0) {
        return parent;
    }
    let p = parent.clamp(MARGIN, 1.0 - MARGIN);
    let arrived = sent - lost;
    let same = lost * p.ln() + arrived * (1.0 - p).ln();
    let (a, b) = (PRIOR_WEIGHT * p, PRIOR_WEIGHT * (1.0 - p));
    let own = ln_beta(lost + a, arrived + b) - ln_beta(a, b);
    let weight = 1.0 / (1.0 + (own - same).exp());
    weight * p + (1.0 - weight) * (lost + a) / (sent + a + b)
}

/// The logarithm of Euler's beta function.
fn ln_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

fn odds(p: f64) -> f64 {
    let p = p.clamp(MARGIN, 1.0 - MARGIN);
    p / (1.0 - p)
}

/// The probability whose odds are `factor` times those of `p`. What never happens stays so.
pub(super) fn scaled(p: f64, factor: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    let odds = odds(p) * factor;
    if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
}

fn sorted(counts: &LossCounts) -> Vec<Duration> {
    let mut holds: Vec<_> = counts.holds.iter().map(|&(_, hold)| hold).collect();
    holds.sort_unstable();
    holds
}

impl Spread {
    /// Whether the spread of the connections can be estimated.
    fn is_enough(&self) -> bool {
        self.connections >= ENOUGH && self.events >= ENOUGH
    }

    /// How many packets the mean of all weighs in the estimate of one connection; `None`: all have the mean.
    fn prior_weight(&self) -> Option<f64> {
        let p = self.share();
        let chance = p * (1.0 - p);
        if chance <= 0.0 {
            return None;
        }
        let squares = self.squared_events_by_trials - p * p * self.trials;
        let freedom = self.connections - 1.0;
        let spread = self.trials - self.squared_trials / self.trials - freedom;
        let correlation = (squares / chance - freedom) / spread;
        (spread > 0.0 && correlation > 0.0).then(|| ((1.0 - correlation) / correlation).max(1.0))
    }
}
