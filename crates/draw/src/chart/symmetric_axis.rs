//! An axis for values of both signs: linear from −1 to 1, logarithmic beyond.
//!
//! ```text
//! place(v) = v                        |v| ≤ 1
//!            ±(1 + log₁₀ |v|)         beyond
//! ```

/// The largest power of ten on an axis. Beyond it, arithmetic would overflow.
const MOST: f64 = 290.0;

/// An axis that is linear from −1 to 1 and logarithmic beyond. It goes at least from −1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SymmetricAxis {
    /// The place of its lower end, a whole number.
    low: i32,
    high: i32,
}

/// The place of a value: 0, ±1, ±10, ±100, … are one apart.
fn place(value: f64) -> f64 {
    match value.abs() {
        small if small <= 1.0 => value,
        large => value.signum() * (1.0 + large.log10().min(MOST)),
    }
}

/// The value at a place that is a whole number, and its text.
fn round(place: i32) -> (f64, String) {
    let power = place.abs() - 1;
    let digits = match power {
        0..=5 => format!("{}", 10_u32.pow(power.unsigned_abs())),
        _ => format!("1e{power}"),
    };
    match place {
        0 => (0.0, "0".into()),
        1.. => (digits.parse().unwrap_or_default(), digits),
        _ => (-digits.parse::<f64>().unwrap_or_default(), format!("−{digits}")),
    }
}

impl SymmetricAxis {
    /// The axis that shows these finite values, and at least −1 to 1, from one round number to another.
    pub fn covering(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((-1.0, 1.0), |(low, high): (f64, f64), value| (value.min(low), value.max(high)));
        Self { low: place(low).floor() as i32, high: place(high).ceil() as i32 }
    }

    /// The position of `value`, from 0 at the lower end to 1 at the upper end; values off the axis are at the
    /// nearer end.
    pub fn part(self, value: f64) -> f64 {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        ((place(value) - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Value and text of 0, ±1, ±10, … or of every second, third, … of them. The first choice that `fit`
    /// accepts is taken.
    pub fn ticks(self, fit: impl Fn(&[(f64, String)]) -> bool) -> Vec<(f64, String)> {
        let mut ticks = Vec::new();
        for every in 1..=(self.high - self.low).max(1) {
            let places = (self.low..=self.high).filter(|place| place % every == 0);
            ticks = places.map(round).collect();
            if fit(&ticks) {
                break;
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests;
