//! Axes with ticks at round numbers: linear from 0, logarithmic, or both.

use super::symmetric_axis::SymmetricAxis;

/// An axis of any kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Axis {
    Linear(LinearAxis),
    Log(LogAxis),
    Symmetric(SymmetricAxis),
}

impl Axis {
    /// The position of `value` on the axis, as of its kind.
    pub fn part(self, value: f64) -> f64 {
        match self {
            Self::Linear(axis) => axis.part(value),
            Self::Log(axis) => axis.part(value),
            Self::Symmetric(axis) => axis.part(value),
        }
    }

    /// Value and text of each number on the axis. An axis that is not linear has those that `fit` accepts.
    pub fn ticks(self, fit: impl Fn(&[(f64, String)]) -> bool) -> Vec<(f64, String)> {
        match self {
            Self::Linear(axis) => axis.ticks().collect(),
            Self::Log(axis) => axis.ticks(fit),
            Self::Symmetric(axis) => axis.ticks(fit),
        }
    }
}

/// A linear axis from 0 upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinearAxis {
    step: f64,
    steps: u32,
}

impl LinearAxis {
    /// An axis from 0 to at least `largest` and at least 1, in 3 to 7 steps of 1, 2 or 5 times a power
    /// of ten.
    pub fn up_to(largest: f64) -> Self {
        Self::covering(largest.max(1.0))
    }

    /// An axis from 0 to at least `largest`, in steps like [`up_to`](Self::up_to)'s; to 1 when
    /// `largest` is not a positive number.
    pub fn covering(largest: f64) -> Self {
        // Within these bounds, arithmetic neither overflows nor underflows.
        let top = if largest > 0.0 { largest } else { 1.0 }.clamp(1e-300, 1e300);
        let power = 10f64.powf((top / 7.0).log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| step * 7.0 >= top).unwrap_or(10.0 * power);
        // Without the margin, rounding could turn 0.6 into four steps of 0.2.
        let steps = (top / step - 1e-6).ceil() as u32;
        Self { step, steps }
    }

    /// Value and text of each number on the axis.
    pub fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        (0..=self.steps).map(move |i| {
            let value = f64::from(i) * self.step;
            let text = match self.step {
                step if step >= 1e4 && value > 0.0 => format!("{value:.1e}"),
                step if step >= 1.0 => format!("{value:.0}"),
                step if step >= 1e-4 => {
                    // As many decimals as the step has. The margin covers steps stored a little low.
                    let digits = (-step.log10() - 1e-9).ceil() as usize;
                    format!("{value:.digits$}")
                }
                _ if value > 0.0 => format!("{value:.1e}"),
                _ => "0".into(),
            };
            (value, text)
        })
    }

    /// The position of `value` on the axis, from 0 at its start to 1 at its end; values off the axis
    /// are at the nearer end.
    pub fn part(self, value: f64) -> f64 {
        (value / (f64::from(self.steps) * self.step)).clamp(0.0, 1.0)
    }
}

/// A logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// An axis between two positive numbers. A range of less than a decade is widened to a decade, so
    /// that the axis has round numbers.
    pub fn between(low: f64, high: f64) -> Self {
        // Within these bounds, arithmetic neither overflows nor underflows.
        let [low, high] = [low, high].map(|x| x.clamp(1e-290, 1e290));
        let margin = (10.0 * low / high).max(1.0).sqrt();
        Self { low: low / margin, high: high * margin }
    }

    /// The position of `value`, which is positive, on the axis, from 0 to 1; values off the axis are at
    /// the nearer end.
    pub fn part(self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// Value and text of the round numbers on the axis: 1, 2 and 5 of every decade, or 1 of every
    /// decade, or 1 of every second, third, … decade. The first choice that `fit` accepts is taken.
    pub fn ticks(self, fit: impl Fn(&[(f64, String)]) -> bool) -> Vec<(f64, String)> {
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let choices = std::iter::once((1, &[1, 2, 5][..]));
        let choices = choices.chain((1..=last - first).map(|every| (every, &[1][..])));
        let mut ticks = Vec::new();
        for (every, digits) in choices {
            let decades = (first..=last).filter(|power| power % every == 0);
            let numbers = decades.flat_map(|power| digits.iter().map(move |d| round(*d, power)));
            ticks = numbers.filter(|(value, _)| self.shows(*value)).collect();
            if fit(&ticks) {
                break;
            }
        }
        ticks
    }

    /// Whether `value` is on the axis, with a margin for rounding errors.
    fn shows(self, value: f64) -> bool {
        (self.low * (1.0 - 1e-9)..=self.high * (1.0 + 1e-9)).contains(&value)
    }
}

/// Value and text of `digit` times ten to the power of `power`.
fn round(digit: u32, power: i32) -> (f64, String) {
    let text = format!("{digit}e{power}");
    let value: f64 = text.parse().unwrap_or(f64::from(digit));
    match power {
        -4..=5 => (value, value.to_string()),
        _ => (value, text),
    }
}

#[cfg(test)]
mod tests;
