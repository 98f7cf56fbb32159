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
mod tests;
