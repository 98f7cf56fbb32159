//! The cost of detecting a loss in flight size, in RTTs (§IV-D, equations 1 to 3).
//!
//! A detection reduces the flight from 2x segments to x (fast retransmit) or to 1 (timeout). It takes T RTTs to
//! reach the old flight again, in which G segments are sent. A sender that is left alone sends as many in
//! less time, t. The detection costs T − t.
//!
//! ```text
//!                                    from, to     T                G
//! F: a spurious fast retransmit      x, 2x        x + 1            3x²/2
//! R: a spurious timeout              2, 2x        x + log₂x − 1    3x²/2 + x − 2
//! RF: a timeout in place of a        2, x         log₂x − 1        x − 2
//!     fast retransmit
//! ```
//! In slow start the flight doubles from 2 to x in log₂x − 1 RTTs. Then it grows by one segment per RTT. The
//! RTT of the fast retransmit sends nothing new. The RTT of the timeout's own retransmission is not counted.
//!
//! [`Model::Forms`] are the equations of the paper. They take t as G divided by the mean flight over T, which
//! is 2x + T/2 (for RF, x + T/2):
//!
//! ```text
//! (1) F(x)  = x + 1 − 3x²/(5x + 1)
//! (2) R(x)  = x + log₂x − 1 − (3x² + 2x − 4)/(5x + log₂x − 1)
//! (3) RF(x) = log₂x − 1 − (2x − 4)/(2x + log₂x − 1)
//! ```
//! The equations are not fully legible in print. The legible parts agree: "x + 1 − 3x²" over "5x", "1" in (1);
//! "x + log x − 1 −" over "5x", "x − 1" in (2); "log x − 1" over "2x + log x − 1" in (3).
//!
//! [`Model::Counted`] counts segments RTT by RTT, for both senders. The forms exceed it by up to 13 %, because
//! the sender left alone needs less than T.
//!
//! # Deviations
//! - Below x = 2, slow start adds nothing to R and RF, instead of a negative number. Where (2) or (3) is
//!   negative, the result is 0: an avoided timeout makes nothing slower. F is 0 without a flight.

/// How the cost in flight size is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Model {
    /// The paper's equations.
    #[default]
    Forms,
    /// Counted segment by segment.
    Counted,
}

impl Model {
    /// Both models.
    pub const ALL: [Self; 2] = [Self::Forms, Self::Counted];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forms => "forms",
            Self::Counted => "counted",
        }
    }

    /// F: RTTs saved by avoiding a spurious fast retransmit with `flight` segments outstanding.
    pub fn fast_retransmit(self, flight: u32) -> f64 {
        match (self, half(flight)) {
            (_, 0.0) => 0.0,
            (Self::Forms, x) => {
                let time = x + 1.0;
                time - 1.5 * x * x / (2.0 * x + time / 2.0)
            }
            (Self::Counted, _) => {
                let (low, high) = reduced(flight);
                let (time, sent) = congestion_avoidance(low, high);
                time + 1.0 - time_alone(sent, high)
            }
        }
    }

    /// R: RTTs saved by avoiding a spurious timeout with `flight` segments outstanding.
    pub fn timeout(self, flight: u32) -> f64 {
        let saved = match (self, half(flight)) {
            (_, x) if x < 1.0 => 0.0,
            (Self::Forms, x) => {
                let time = x + x.log2() - 1.0;
                let sent = 1.5 * x * x + (x - 2.0).max(0.0);
                time - sent / (2.0 * x + time / 2.0)
            }
            (Self::Counted, _) => {
                let (low, high) = reduced(flight);
                let (begun, first) = slow_start(low);
                let (grown, then) = congestion_avoidance(low.max(2.0), high);
                begun + grown - time_alone(first + then, high)
            }
        };
        saved.max(0.0)
    }

    /// RF: RTTs saved when a loss is detected by fast retransmit instead of a timeout, with `flight`
    /// segments outstanding. The time to detect it is not included.
    pub fn fast_instead_of_timeout(self, flight: u32) -> f64 {
        let saved = match (self, half(flight)) {
            (_, x) if x <= 2.0 => 0.0,
            (Self::Forms, x) => {
                let time = x.log2() - 1.0;
                time - (x - 2.0) / (x + time / 2.0)
            }
            (Self::Counted, _) => {
                let (low, _) = reduced(flight);
                let (time, sent) = slow_start(low);
                time - time_alone(sent, low)
            }
        };
        saved.max(0.0)
    }
}

/// x: half of the flight.
fn half(flight: u32) -> f64 {
    f64::from(flight) / 2.0
}

/// The flight after a reduction, in whole segments, and before it.
fn reduced(flight: u32) -> (f64, f64) {
    (f64::from((flight / 2).max(1)), f64::from(flight))
}

/// The RTTs in which slow start takes a flight from 2 to `flight`, and the segments sent in them.
fn slow_start(flight: f64) -> (f64, f64) {
    let (mut time, mut sent, mut now) = (0.0, 0.0, 2.0);
    while now < flight {
        time += 1.0;
        sent += now;
        now *= 2.0;
    }
    (time, sent)
}

/// The RTTs in which a flight grows by one segment per RTT, and the segments sent in them.
fn congestion_avoidance(from: f64, to: f64) -> (f64, f64) {
    let time = (to - from).max(0.0);
    (time, time * (from + to - 1.0) / 2.0)
}

/// The RTTs in which a sender that is left alone sends `segments`, with `flight` in the first RTT and one
/// more in each that follows.
fn time_alone(segments: f64, flight: f64) -> f64 {
    // n whole RTTs send n·flight + n(n − 1)/2.
    let linear = flight - 0.5;
    let whole = (linear.mul_add(linear, 2.0 * segments).sqrt() - linear).floor();
    let left = segments - whole * (linear + whole / 2.0);
    whole + left / (flight + whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_counts_for_powers_of_two() {
        // x: F, R and RF by the forms, each beside its count.
        let cases = [
            (2, [(1.91, 1.80), (0.80, 0.80), (0.0, 0.0)]),
            (4, [(2.71, 2.50), (2.52, 2.30), (0.56, 0.50)]),
            (8, [(4.32, 3.90), (5.14, 4.62), (1.33, 1.25)]),
            (16, [(7.52, 6.74), (9.41, 8.40), (2.20, 2.12)]),
            (32, [(13.92, 12.40), (16.90, 15.05), (3.12, 3.06)]),
            (64, [(26.72, 23.74), (30.81, 27.37), (4.07, 4.03)]),
        ];
        for (x, expected) in cases {
            let of = |model: Model| {
                let flight = 2 * x;
                [model.fast_retransmit(flight), model.timeout(flight), model.fast_instead_of_timeout(flight)]
            };
            let found = of(Model::Forms).into_iter().zip(of(Model::Counted));
            for ((form, counted), (a, b)) in found.zip(expected) {
                assert!((form - a).abs() < 0.006, "x = {x}: {form}, expected {a}");
                assert!((counted - b).abs() < 0.006, "x = {x}: {counted}, expected {b}");
            }
        }
    }

    #[test]
    fn no_flight_costs_a_negative_or_endless_time() {
        for model in Model::ALL {
            for flight in (0..300).chain([1 << 20, u32::MAX]) {
                let all = [model.fast_retransmit(flight), model.timeout(flight), model.fast_instead_of_timeout(flight)];
                assert!(all.iter().all(|t| t.is_finite() && *t >= 0.0), "{flight}: {all:?}");
            }
        }
    }
}
