//! Searches for better parameters.

use super::{Fit, Fitted, Parameter, Scale};
use crate::experiment::{self, Effort, ExperimentError, Setup};

/// The first step, as a part of a parameter's range.
const FIRST_STEP: f64 = 0.1;

/// The search ends when the steps are smaller than this part of the range.
const LAST_STEP: f64 = 0.002;

/// Runs the baseline at most `most` times, beginning with `fit`, and returns the best fit. After each run, `each` gets the number
/// of runs and the best fit so far.
///
/// A pattern search (Hooke and Jeeves, "Direct search solution of numerical and statistical problems", 1961) along the axes:
/// it needs no derivatives, and the costs of one seed do not change. Each parameter steps up or down while that helps; when no
/// step does, all steps are halved.
///
/// # Errors
/// A population that cannot be run.
pub fn search(fitted: &Fitted, fit: &Fit, most: u32, mut each: impl FnMut(u32, &Fit)) -> Result<Fit, ExperimentError> {
    let mut best = measured(fitted, fit.clone())?;
    let mut runs = 1;
    let mut step = FIRST_STEP;
    each(runs, &best);
    while step >= LAST_STEP {
        let mut has_improved = false;
        for parameter in 0..best.parameters.len() {
            for direction in [step, -step] {
                if runs >= most {
                    return Ok(best);
                }
                let mut tried = best.clone();
                if !tried.parameters[parameter].step(direction) {
                    continue;
                }
                let tried = measured(fitted, tried)?;
                runs += 1;
                if tried.cost() < best.cost() {
                    best = tried;
                    has_improved = true;
                    each(runs, &best);
                    break;
                }
                each(runs, &best);
            }
        }
        if !has_improved {
            step /= 2.0;
        }
    }
    Ok(best)
}

/// The fit with what the baseline has.
///
/// # Errors
/// A population that cannot be run.
pub fn measured(fitted: &Fitted, mut fit: Fit) -> Result<Fit, ExperimentError> {
    let measured = (fitted.measure)(&setup(&fit)?, &fit.values(), fit.size)?;
    fit.set_ours(&measured);
    Ok(fit)
}

/// The setup of the experiments that use a fit, with the fit's seed.
///
/// # Errors
/// A fit of no experiment, or a scenario that cannot be read.
pub fn setup(fit: &Fit) -> Result<Setup, ExperimentError> {
    let experiment = experiment::all().find(|one| fit.experiments.contains(&one.title()));
    let mut setup = Setup::new(experiment.ok_or_else(|| "a fit of no experiment".to_owned())?, Effort::Full)?;
    setup.base.seed = fit.seed;
    Ok(setup)
}

impl Parameter {
    /// Moves the value by a part of its range. Whether it has moved.
    fn step(&mut self, part: f64) -> bool {
        let before = self.value;
        let moved = match self.scale {
            Scale::Log => before * (self.most / self.least).powf(part),
            Scale::Linear => before + (self.most - self.least) * part,
        };
        self.value = rounded(moved).clamp(self.least, self.most);
        self.value != before
    }
}

/// Four digits: more would promise a precision that a simulated population does not have.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
