//! The progress bar of `recoup paper`.

use crate::experiment::{Effort, Experiment};
use crate::run::{Progress, Request};
use indicatif::{ProgressBar, ProgressStyle};
use recoup::{console, interrupt};
use recoup_lab::stage::Stage;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One bar for all experiments that are simulated, and one for each that is measured, when standard error is a terminal.
///
/// The bar counts the seconds of the experiments' budgets: an experiment that is under way has used as much of its budget
/// as time has passed.
pub struct ExperimentBar {
    effort: Effort,
    /// Whether the time of each experiment is said, beside its budget.
    says_times: bool,
    state: Mutex<State>,
}

struct State {
    /// Over all experiments that are simulated.
    whole: ProgressBar,
    /// Of the experiment that is measured.
    measured: ProgressBar,
    /// The budgets of the experiments that are finished, in ms.
    used_ms: u64,
    current: Option<(&'static Experiment, Instant)>,
}

fn millis(seconds: u32) -> u64 {
    u64::from(seconds) * 1000
}

impl ExperimentBar {
    pub fn new(request: &Request, effort: Effort, says_times: bool) -> Self {
        let sum = request.planned.iter().map(|one| millis(one.experiment.budget.of(effort)));
        let whole = if request.simulate {
            ProgressBar::with_draw_target(Some(sum.sum()), console::progress_target())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {percent} % {msg}, {elapsed}") {
            whole.set_style(style.progress_chars("=> "));
        }
        Self {
            effort,
            says_times,
            state: Mutex::new(State { whole, measured: ProgressBar::hidden(), used_ms: 0, current: None }),
        }
    }

    fn with(&self, act: impl FnOnce(&mut State)) {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Which experiment of how many it is: `slp combined (6 of 6)`.
fn count(experiment: &Experiment, number: usize, all: usize) -> String {
    format!("{} ({number} of {all})", experiment.title())
}

impl Progress for ExperimentBar {
    fn experiment_begins(&self, experiment: &'static Experiment, number: usize, all: usize) {
        self.with(|state| {
            state.whole.set_message(count(experiment, number, all));
            state.current = Some((experiment, Instant::now()));
        });
    }

    fn measurement_begins(&self, experiment: &'static Experiment, stage: Stage, flows: u64) {
        let flows = console::flows_bar(flows);
        flows.set_prefix(format!("{} {} ", experiment.title(), stage.name()));
        self.with(|state| {
            state.whole.finish_and_clear();
            state.measured = flows;
        });
    }

    fn flows_finished(&self, flows: u64) {
        self.with(|state| state.measured.inc(flows));
    }

    fn experiment_ends(&self, took: Option<Duration>) {
        self.with(|state| {
            state.measured.finish_and_clear();
            let Some((experiment, _)) = state.current.take() else {
                return;
            };
            let budget = experiment.budget.of(self.effort);
            state.used_ms += millis(budget);
            state.whole.set_position(state.used_ms);
            let is_last = Some(state.used_ms) == state.whole.length();
            if is_last || took.is_none() {
                state.whole.finish_and_clear();
            }
            let Some(took) = took.filter(|_| self.says_times) else {
                return;
            };
            let took = took.as_secs_f64();
            let line = format!("{}: {took:.1} s of {budget} s", experiment.title());
            state.whole.suspend(|| {
                if took > f64::from(budget) {
                    console::note(format_args!("{line}, more than its budget"))
                } else {
                    console::status(format_args!("{line}"))
                }
            });
        });
    }

    fn goes_on(&self) -> bool {
        self.with(|state| {
            if let Some((experiment, since)) = state.current {
                let budget = millis(experiment.budget.of(self.effort));
                let spent = (since.elapsed().as_millis() as u64).min(budget);
                state.whole.set_position(state.used_ms + spent);
            }
        });
        !interrupt::is_interrupted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;

    #[test]
    fn progress_says_which_experiment_of_how_many() {
        let mut all = experiment::all();
        let fig7 = all.find(|one| one.title() == "slp fig7").expect("it");
        assert_eq!(count(fig7, 3, 10), "slp fig7 (3 of 10)");
    }
}
