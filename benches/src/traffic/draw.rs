//! Random draws. Each is a hash of the seed, its purpose and its number, so one draw more shifts no
//! other.

use siphasher::sip::SipHasher13;

/// Purpose of a random draw.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    Size,
    SizeAngle,
    Shape,
    Rtt,
    Rate,
    Trouble,
    Severity,
    Pause,
    Version,
    Profile,
    Flow,
    Start,
    Port,
    Identification,
    Retransmitting,
}

/// All draws of a seed.
#[derive(Clone, Copy, Debug)]
pub struct Draws(pub u64);

impl Draws {
    /// 64 uniform bits for draw number `n`.
    pub fn bits(self, purpose: Purpose, n: u64) -> u64 {
        SipHasher13::new_with_keys(self.0, purpose as u64).hash(&n.to_le_bytes())
    }

    /// Uniform between 0 and 1, exclusive.
    pub fn unit(self, purpose: Purpose, n: u64) -> f64 {
        ((self.bits(purpose, n) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Between `least` and `most`, with a uniform logarithm.
    pub fn between(self, purpose: Purpose, n: u64, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.unit(purpose, n))
    }

    /// Normal with mean 0 and variance 1 (Box and Muller, 1958).
    pub fn normal(self, radius: Purpose, angle: Purpose, n: u64) -> f64 {
        let turn = std::f64::consts::TAU * self.unit(angle, n);
        (-2.0 * self.unit(radius, n).ln()).sqrt() * turn.cos()
    }
}
