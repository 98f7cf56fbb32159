//! Random quantities of a flow.

use recoup_path::draws;

/// The quantity that a draw decides.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    Rtt,
    Rate,
    Queue,
    Loss,
    Bursts,
    Reordering,
    ReorderingDelay,
    Pauses,
    PauseBegin,
    PauseLength,
    Exchanges,
    ResponseSize,
    ThinkTime,
    Sack,
    Timestamps,
    DelayedAcks,
    RequestSize,
    Patience,
    CaptureEnd,
}

/// The draws of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Draws(draws::Draws);

impl Draws {
    pub const fn new(seed: u64, flow: u64) -> Self {
        // "flows" in ASCII.
        Self(draws::Draws::new(seed, 0x66_6c6f_7773, flow))
    }

    /// As [`draws::Draws::uniform`].
    pub fn uniform(&self, purpose: Purpose, n: u64) -> f64 {
        self.0.uniform(purpose as u64, n)
    }

    /// As [`draws::Draws::happens`].
    pub fn happens(&self, probability: f64, purpose: Purpose) -> bool {
        self.0.happens(probability, purpose as u64)
    }

    /// As [`draws::Draws::lognormal`].
    pub fn lognormal(&self, of: &draws::LogNormal, purpose: Purpose, n: u64) -> f64 {
        self.0.lognormal(of, purpose as u64, n)
    }

    /// As [`draws::Draws::exponential`].
    pub fn exponential(&self, mean: f64, purpose: Purpose, n: u64) -> f64 {
        self.0.exponential(mean, purpose as u64, n)
    }
}
