//! What is checked, and how often it was found broken.

use serde::Serialize;

/// A statement about recoveries. `D` segments delivered in recovery so far (prr_delivered), `out`
/// sent (prr_out), `n` ACKs processed, `F` the window as recovery began, `s` ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// An ACK releases at most max(D − out, what it delivers) + 1.
    Clocked,
    /// An ACK releases at most what it delivers + 1.
    Paced,
    /// Losses ≤ F − s, F in flight, data unlimited, the survivors reported before the last ACK:
    /// before it pipe = cwnd = s.
    Converges,
    /// Losses ≤ FlightSize − s, data unlimited: before the last ACK pipe = cwnd = s.
    ConvergesAsStated,
    /// Data unlimited: before the last ACK pipe ≥ s.
    Refills,
    /// A write releases at most max(D − out, what the last ACK delivered) + 1.
    Banks,
    /// A write releases at most D − out + 1.
    BanksAsStated,
    /// With pipe > s and data to send, an ACK leaves out = ⌈D · s / F⌉, or out as it was where that
    /// is more; the first retransmission goes at any rate.
    Precise,
    /// out ≤ 2 · D.
    Twice,
    /// out ≤ 2 · D, while every ACK of the recovery delivered something.
    TwiceIfDelivering,
    /// out ≤ D + n.
    DeliveredAndAcks,
    /// out ≤ D + 1.
    DeliveredAndOne,
    /// out ≤ D + ACKs that advanced snd_una and showed no loss + 1.
    DeliveredAndSafe,
}

impl Property {
    /// Every one, in the order of reports.
    pub const ALL: [Self; 13] = [
        Self::Clocked,
        Self::Paced,
        Self::Converges,
        Self::ConvergesAsStated,
        Self::Refills,
        Self::Banks,
        Self::BanksAsStated,
        Self::Precise,
        Self::Twice,
        Self::TwiceIfDelivering,
        Self::DeliveredAndAcks,
        Self::DeliveredAndOne,
        Self::DeliveredAndSafe,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clocked => "clocked",
            Self::Paced => "paced",
            Self::Converges => "converges",
            Self::ConvergesAsStated => "converges_as_stated",
            Self::Refills => "refills",
            Self::Banks => "banks",
            Self::BanksAsStated => "banks_as_stated",
            Self::Precise => "precise",
            Self::Twice => "twice",
            Self::TwiceIfDelivering => "twice_if_delivering",
            Self::DeliveredAndAcks => "delivered_and_acks",
            Self::DeliveredAndOne => "delivered_and_one",
            Self::DeliveredAndSafe => "delivered_and_safe",
        }
    }
}

/// A moment of a flow's recovery.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// The flow's number.
    pub flow: u64,
    /// When, in ms since the flow began.
    pub at_ms: f64,
    /// Segments delivered in this recovery until then.
    pub delivered: u64,
    /// Segments sent in it until then.
    pub sent: u64,
    /// ACKs processed in it until then.
    pub acks: u64,
    /// Segments sent at that moment.
    pub burst: u32,
    /// Segments in flight after it.
    pub pipe: u32,
    /// The threshold.
    pub ssthresh: u32,
}

/// How often a property was put to the test, and how often it did not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    /// Cases.
    pub cases: u64,
    /// Of them, those in which it did not hold.
    pub broken: u64,
    /// The one farthest from holding, the first of several.
    pub worst: Option<Moment>,
    /// By how much.
    pub excess: u64,
}

impl Check {
    /// Takes in a case that exceeds what is stated by `excess`; one that does not holds.
    pub fn add(&mut self, excess: u64, moment: &Moment) {
        self.cases += 1;
        self.broken += u64::from(excess > 0);
        if excess > self.excess {
            self.excess = excess;
            self.worst = Some(*moment);
        }
    }
}
