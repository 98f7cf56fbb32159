//! The properties, and how often each did not hold.

/// A statement about recoveries.
///
/// `D` is prr_delivered: segments delivered in the recovery so far. `out` is prr_out: segments sent in
/// it. `n` is the number of ACKs processed, `s` is ssthresh. `F` is RecoverFS: FlightSize at the beginning of
/// recovery, or what RFC 9937 §6.1 defines. `U` is the part of the flight that is not delivered before
/// recovery, and includes what the ACK that begins recovery delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// An ACK releases at most max(D − out, segments it delivers) + 1.
    Clocked,
    /// An ACK releases at most the number of segments it delivers + 1.
    Paced,
    /// If losses ≤ U − s, U ≤ F, data are unlimited and all other segments of U are reported before the last
    /// ACK, then pipe = cwnd = s before the last ACK.
    Converges,
    /// If losses ≤ FlightSize − s and data are unlimited, then pipe = cwnd = s before the last ACK.
    ConvergesAsStated,
    /// If data are unlimited, then pipe ≥ s before the last ACK.
    Refills,
    /// A write releases at most max(D − out, segments the last ACK delivered) + 1.
    Banks,
    /// A write releases at most D − out + 1.
    BanksAsStated,
    /// With pipe > s and data to send, out = ⌈D · s / F⌉ after an ACK, or unchanged if already larger.
    /// The first retransmission is always sent.
    Precise,
    /// out ≤ 2 · D.
    Twice,
    /// out ≤ 2 · D, as long as every ACK of the recovery delivers something.
    TwiceIfDelivering,
    /// out ≤ D + n.
    DeliveredAndAcks,
    /// out ≤ D + 1.
    DeliveredAndOne,
    /// out ≤ D + ACKs that advanced snd_una and showed no loss + 1.
    DeliveredAndSafe,
    /// With pipe ≤ s and data to send, an ACK releases min(s − pipe, max(D − out, segments it delivers) + 1). The first
    /// retransmission is always sent.
    SlowStarts,
    /// With pipe ≤ s and data to send, an ACK that shows no further loss leaves pipe at least as large as before it, or at s.
    Inhibits,
    /// D is the progress of snd_una and of the segments SACKed since recovery began.
    Progress,
    /// The segments that an ACK delivers are those that an observer of the ACKs which arrive finds.
    Observed,
    /// All segments delivered so far are those that an observer at the receiver finds, who sees the lost ACKs, too.
    ObservedAnywhere,
    /// After an ACK of recovery pipe is not larger than before it.
    Shrinks,
}

impl Property {
    /// All, in the order of reports.
    pub const ALL: [Self; 19] = [
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
        Self::SlowStarts,
        Self::Inhibits,
        Self::Progress,
        Self::Observed,
        Self::ObservedAnywhere,
        Self::Shrinks,
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
            Self::SlowStarts => "slow_starts",
            Self::Inhibits => "inhibits",
            Self::Progress => "progress",
            Self::Observed => "observed",
            Self::ObservedAnywhere => "observed_anywhere",
            Self::Shrinks => "shrinks",
        }
    }
}

/// The state of a flow's recovery at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The flow's number.
    pub flow: u64,
    /// The time since the flow began, in ms.
    pub at_ms: f64,
    /// Segments delivered in the recovery so far.
    pub delivered: u64,
    /// Segments sent in the recovery so far.
    pub sent: u64,
    /// ACKs processed in the recovery so far.
    pub acks: u64,
    /// Segments sent at that moment.
    pub burst: u32,
    /// Segments in flight afterwards.
    pub pipe: u32,
    /// ssthresh in segments.
    pub ssthresh: u32,
}

/// How often a property was checked and did not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Check {
    /// Cases in which the property was checked.
    pub cases: u64,
    /// Cases in which it did not hold.
    pub broken: u64,
    /// The case with the largest excess; the first of several.
    pub worst: Option<Moment>,
    /// The excess of the worst case.
    pub excess: u64,
}

impl Check {
    /// Adds a case. It breaks the property if `excess` is above 0.
    pub fn add(&mut self, excess: u64, moment: &Moment) {
        self.cases += 1;
        self.broken += u64::from(excess > 0);
        if excess > self.excess {
            self.excess = excess;
            self.worst = Some(*moment);
        }
    }
}
