//! Scales with numbers at round places, from 0 up or logarithmic.

/// A scale from 0 up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    step: f64,
    steps: u32,
}

impl Axis {
    /// From 0 to at least `largest` and 1, in 3 to 7 steps of 1, 2 or 5 times a power of ten.
    pub fn up_to(largest: f64) -> Self {
        Self::covering(largest.max(1.0))
    }

    /// From 0 to at least `largest`, in such steps; to 1 when that is no positive number.
    pub fn covering(largest: f64) -> Self {
        // Far from where arithmetic on it would overflow or vanish.
        let top = if largest > 0.0 { largest } else { 1.0 }.clamp(1e-300, 1e300);
        let power = 10f64.powf((top / 7.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|n| n * power)
            .into_iter()
            .find(|step| step * 7.0 >= top)
            .unwrap_or(10.0 * power);
        // With a margin, lest 0.6 make a fourth step of 0.2.
        let steps = (top / step - 1e-6).ceil() as u32;
        Self { step, steps }
    }

    /// The numbers on the axis, and their text.
    pub fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        (0..=self.steps).map(move |i| {
            let value = f64::from(i) * self.step;
            let text = match self.step {
                step if step >= 1e4 && value > 0.0 => format!("{value:.1e}"),
                step if step >= 1.0 => format!("{value:.0}"),
                step if step >= 1e-4 => {
                    // As many digits as the step has; a hair less lest 0.1 count as 0.09….
                    let digits = (-step.log10() - 1e-9).ceil() as usize;
                    format!("{value:.digits$}")
                }
                _ if value > 0.0 => format!("{value:.1e}"),
                _ => "0".into(),
            };
            (value, text)
        })
    }

    /// Where `value` is on the axis, from 0 at its foot to 1 at its end; what is beyond is at the
    /// nearer of these.
    pub fn part(self, value: f64) -> f64 {
        (value / (f64::from(self.steps) * self.step)).clamp(0.0, 1.0)
    }
}

/// A logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// Between these positive numbers; what is less than a decade stands amid one, so that there are
    /// round numbers.
    pub fn between(low: f64, high: f64) -> Self {
        // Far from where arithmetic on them would overflow or vanish.
        let [low, high] = [low, high].map(|x| x.clamp(1e-290, 1e290));
        let margin = (10.0 * low / high).max(1.0).sqrt();
        Self {
            low: low / margin,
            high: high * margin,
        }
    }

    /// Where `value`, which is positive, is on the axis, from 0 to 1; what is beyond is at the
    /// nearer end.
    pub fn part(self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// Round numbers on the axis and their text: 1, 2 and 5 of every decade, or 1 alone, or of
    /// every few decades, the first of these that `fit`.
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

    /// Whether `value` is on the axis, arithmetic's error forgiven.
    fn shows(self, value: f64) -> bool {
        (self.low * (1.0 - 1e-9)..=self.high * (1.0 + 1e-9)).contains(&value)
    }
}

/// `digit` times that power of ten, and its text.
fn round(digit: u32, power: i32) -> (f64, String) {
    let text = format!("{digit}e{power}");
    let value: f64 = text.parse().unwrap_or(f64::from(digit));
    match power {
        -4..=5 => (value, value.to_string()),
        _ => (value, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_round_numbers() {
        let cases: [(f64, &[&str]); 6] = [
            (0.0, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (1.2, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2"]),
            (1.41, &["0.0", "0.5", "1.0", "1.5"]),
            (7.0, &["0", "1", "2", "3", "4", "5", "6", "7"]),
            (61.0, &["0", "10", "20", "30", "40", "50", "60", "70"]),
            (
                1.2e6,
                &["0", "2.0e5", "4.0e5", "6.0e5", "8.0e5", "1.0e6", "1.2e6"],
            ),
        ];
        for (largest, numbers) in cases {
            let ticks: Vec<_> = Axis::up_to(largest).ticks().map(|(_, text)| text).collect();
            assert_eq!(ticks, numbers, "up to {largest}");
        }
    }

    #[test]
    fn an_axis_covers_what_is_asked_and_small_steps_have_their_digits() {
        let cases: [(f64, &[&str]); 6] = [
            (0.0, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (f64::NAN, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (
                0.06,
                &["0.00", "0.01", "0.02", "0.03", "0.04", "0.05", "0.06"],
            ),
            (
                0.3,
                &["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"],
            ),
            (
                0.000_7,
                &[
                    "0.0000", "0.0001", "0.0002", "0.0003", "0.0004", "0.0005", "0.0006", "0.0007",
                ],
            ),
            (
                3e-9,
                &[
                    "0", "5.0e-10", "1.0e-9", "1.5e-9", "2.0e-9", "2.5e-9", "3.0e-9",
                ],
            ),
        ];
        for (largest, numbers) in cases {
            let ticks: Vec<_> = Axis::covering(largest)
                .ticks()
                .map(|(_, text)| text)
                .collect();
            assert_eq!(ticks, numbers, "up to {largest}");
        }
    }

    #[test]
    fn a_logarithmic_axis_has_as_many_round_numbers_as_fit() {
        let cases: [(f64, f64, usize, &[&str]); 8] = [
            (
                0.1,
                30.0,
                9,
                &["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"],
            ),
            (0.1, 30.0, 7, &["0.1", "1", "10"]),
            (250.0, 8_388_608.0, 5, &["1000", "10000", "100000", "1e6"]),
            (250.0, 8_388_608.0, 3, &["10000", "1e6"]),
            (
                1e-6,
                1e-4,
                9,
                &["1e-6", "2e-6", "5e-6", "1e-5", "2e-5", "5e-5", "0.0001"],
            ),
            // One number, and little more, amid a decade.
            (30.0, 30.0, 9, &["10", "20", "50"]),
            (3.0, 4.0, 9, &["2", "5", "10"]),
            // Nothing fits: the fewest there are.
            (1.0, 100.0, 0, &["1", "100"]),
        ];
        for (low, high, most, expected) in cases {
            let ticks = LogAxis::between(low, high).ticks(|ticks| ticks.len() <= most);
            let numbers: Vec<_> = ticks.into_iter().map(|(_, text)| text).collect();
            assert_eq!(numbers, expected, "{low} to {high}, at most {most}");
        }
    }

    #[test]
    fn a_decade_is_as_wide_anywhere_on_a_logarithmic_axis() {
        let axis = LogAxis::between(0.1, 100.0);
        for (value, part) in [
            (0.01, 0.0),
            (0.1, 0.0),
            (1.0, 1.0),
            (10.0, 2.0),
            (100.0, 3.0),
            (1e9, 3.0),
        ] {
            assert!((axis.part(value) - part / 3.0).abs() < 1e-12, "{value}");
        }
    }
}
