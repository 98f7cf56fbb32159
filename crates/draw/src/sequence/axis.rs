//! Axes: whole numbers to places in pixels, with ticks at round numbers.

recoup_units::named! {
    /// The quantity an axis shows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Quantity {
        /// Nanoseconds.
        Time = "time",
        /// Bytes.
        Sequence = "sequence",
    }
}

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    name: &'static str,
    size: u64,
}

impl Quantity {
    /// The unit in which an axis up to `high` is labelled.
    fn unit(self, high: u64) -> Unit {
        let units: &[(u64, &str, u64)] = match self {
            Self::Time => &[(10_000_000_000, "s", 1_000_000_000), (0, "ms", 1_000_000)],
            Self::Sequence => &[
                (10_000_000_000, "GB", 1_000_000_000),
                (10_000_000, "MB", 1_000_000),
                (10_000, "kB", 1000),
                (0, "bytes", 1),
            ],
        };
        let fits = |(from, ..): &&(u64, &str, u64)| high >= *from;
        let (_, name, size) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
        Unit { name, size: *size }
    }
}

/// A range of numbers on a range of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PixelAxis {
    quantity: Quantity,
    low: u64,
    high: u64,
    /// The places of `low` and `high`.
    ends: (f64, f64),
    step: u64,
}

impl PixelAxis {
    /// An axis from `low` to `high`, which becomes at least `low` + 1, between the places `ends` and
    /// with at most `max_ticks` ticks.
    pub fn new(quantity: Quantity, low: u64, high: u64, ends: (f64, f64), max_ticks: u64) -> Self {
        let high = high.max(low.saturating_add(1));
        Self { quantity, low, high, ends, step: step(low, high, max_ticks) }
    }

    /// The place of `value` in pixels; values off the axis are at the nearer end.
    pub fn place(&self, value: u64) -> f64 {
        let along = (value.clamp(self.low, self.high) - self.low) as f64;
        let (from, to) = self.ends;
        from + (to - from) * (along / (self.high - self.low) as f64)
    }

    /// Whether `value` is on the axis.
    pub fn shows(&self, value: u64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The quantity with its unit.
    pub fn label(&self) -> String {
        let unit = self.quantity.unit(self.high);
        format!("{} ({})", self.quantity.name(), unit.name)
    }

    /// Two places and the values there, in the unit of the label, for readers who compute values from places.
    pub fn scale(&self) -> String {
        let unit = self.quantity.unit(self.high).size as f64;
        let (from, to) = self.ends;
        let (low, high) = (self.low as f64 / unit, self.high as f64 / unit);
        format!("{from} {to} {low} {high}")
    }

    /// Place and text of each round number on the axis.
    pub fn ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        let unit = self.quantity.unit(self.high).size;
        let first = self.low.div_ceil(self.step);
        let last = self.high / self.step;
        (first..=last).map(move |i| {
            let value = i * self.step;
            (self.place(value), decimal(value, unit, self.step))
        })
    }
}

/// The smallest 1, 2 or 5 times a power of ten that makes at most `max_ticks` ticks.
fn step(low: u64, high: u64, max_ticks: u64) -> u64 {
    let mut power = 1u64;
    loop {
        for digit in [1, 2, 5] {
            let step = power.saturating_mul(digit);
            let ticks = (high / step).saturating_add(1).saturating_sub(low.div_ceil(step));
            if ticks <= max_ticks.max(1) || step > high {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// `value` in units of `unit`, with the decimals that multiples of `step` need.
fn decimal(value: u64, unit: u64, step: u64) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if step.is_multiple_of(unit) {
        return whole.to_string();
    }
    // Units are powers of ten: one decimal per zero, less the decimals that `step` keeps at zero.
    let digits = unit.ilog10() as usize;
    let needed = digits - step.ilog10() as usize;
    let all = format!("{rest:0digits$}");
    format!("{whole}.{}", &all[..needed])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(quantity: Quantity, low: u64, high: u64) -> (String, Vec<String>) {
        let axis = PixelAxis::new(quantity, low, high, (0.0, 800.0), 8);
        (axis.label(), axis.ticks().map(|(_, text)| text).collect())
    }

    #[test]
    fn ticks_are_round_numbers_in_a_suitable_unit() {
        let ms = 1_000_000;
        for (quantity, low, high, label, ticks) in [
            (Quantity::Time, 0, 350 * ms, "time (ms)", "0 50 100 150 200 250 300 350"),
            (Quantity::Time, 90 * ms, 93 * ms, "time (ms)", "90.0 90.5 91.0 91.5 92.0 92.5 93.0"),
            (Quantity::Time, 7, 12, "time (ms)", "0.000007 0.000008 0.000009 0.000010 0.000011 0.000012"),
            (Quantity::Time, 0, 60_000 * ms, "time (s)", "0 10 20 30 40 50 60"),
            (
                Quantity::Time,
                10_000 * ms,
                10_003 * ms,
                "time (s)",
                "10.0000 10.0005 10.0010 10.0015 10.0020 10.0025 10.0030",
            ),
            (Quantity::Sequence, 0, 30_000, "sequence (kB)", "0 5 10 15 20 25 30"),
            (Quantity::Sequence, 0, 9000, "sequence (bytes)", "0 2000 4000 6000 8000"),
            (Quantity::Sequence, 19_000, 22_000, "sequence (kB)", "19.0 19.5 20.0 20.5 21.0 21.5 22.0"),
            (Quantity::Sequence, 5, 5, "sequence (bytes)", "5 6"),
        ] {
            let found = texts(quantity, low, high);
            assert_eq!((found.0.as_str(), found.1.join(" ").as_str()), (label, ticks));
        }
    }

    #[test]
    fn places_span_the_axis_from_end_to_end() {
        let right = PixelAxis::new(Quantity::Time, 100, 200, (70.0, 870.0), 8);
        let up = PixelAxis::new(Quantity::Sequence, 0, 30, (300.0, 0.0), 8);
        for (axis, value, place) in [
            (right, 100, 70.0),
            (right, 150, 470.0),
            (right, 200, 870.0),
            (right, 99, 70.0),
            (right, 999, 870.0),
            (up, 0, 300.0),
            (up, 10, 200.0),
            (up, 30, 0.0),
            // Places lie between pixels, too.
            (up, 1, 290.0),
            (PixelAxis::new(Quantity::Time, 0, 16, (0.0, 4.0), 8), 1, 0.25),
        ] {
            assert_eq!(axis.place(value), place, "{value} on {axis:?}");
        }
        let vast = PixelAxis::new(Quantity::Time, 0, u64::MAX, (0.0, 800.0), 8);
        let places = (vast.place(u64::MAX), vast.place(u64::MAX / 2));
        assert_eq!(places, (800.0, 400.0));
        assert!(vast.ticks().count() <= 8);
    }
}
