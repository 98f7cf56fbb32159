//! The properties, and how often each did not hold.

choices! {
    /// A statement about recoveries.
    ///
    /// `D` is prr_delivered: segments delivered in the recovery so far. `out` is prr_out: segments sent in
    /// it. `n` is the number of ACKs processed, `s` is ssthresh. `F` is RecoverFS: FlightSize at the beginning of
    /// recovery, or what RFC 9937 §6.1 defines. `U` is the part of the flight that is not delivered before
    /// recovery, and includes what the ACK that begins recovery delivers.
    pub enum Property {
        /// An ACK releases at most max(D − out, segments it delivers) + 1.
        Clocked = "clocked",
        /// An ACK releases at most the number of segments it delivers + 1.
        Paced = "paced",
        /// If losses ≤ U − s, U ≤ F, data are unlimited and all other segments of U are reported before the last
        /// ACK, then pipe = cwnd = s before the last ACK.
        Converges = "converges",
        /// If losses ≤ FlightSize − s and data are unlimited, then pipe = cwnd = s before the last ACK.
        ConvergesAsStated = "converges_as_stated",
        /// If data are unlimited, then pipe ≥ s before the last ACK.
        Refills = "refills",
        /// A write releases at most max(D − out, segments the last ACK delivered) + 1.
        Banks = "banks",
        /// A write releases at most D − out + 1.
        BanksAsStated = "banks_as_stated",
        /// With pipe > s and data to send, out = ⌈D · s / F⌉ after an ACK, or unchanged if already larger.
        /// The first retransmission is always sent.
        Precise = "precise",
        /// out ≤ 2 · D.
        Twice = "twice",
        /// out ≤ 2 · D, as long as every ACK of the recovery delivers something.
        TwiceIfDelivering = "twice_if_delivering",
        /// out ≤ D + n.
        DeliveredAndAcks = "delivered_and_acks",
        /// out ≤ D + 1.
        DeliveredAndOne = "delivered_and_one",
        /// out ≤ D + ACKs that advanced snd_una and showed no loss + 1.
        DeliveredAndSafe = "delivered_and_safe",
        /// With pipe ≤ s and data to send, an ACK releases min(s − pipe, max(D − out, segments it delivers) + 1). The first
        /// retransmission is always sent.
        SlowStarts = "slow_starts",
        /// With pipe ≤ s and data to send, an ACK that shows no further loss leaves pipe at least as large as before it, or at s.
        Inhibits = "inhibits",
        /// D is the progress of snd_una and of the segments SACKed since recovery began.
        Progress = "progress",
        /// The segments that an ACK delivers are those that an observer of the ACKs which arrive finds.
        Observed = "observed",
        /// All segments delivered so far are those that an observer at the receiver finds, who sees the lost ACKs, too.
        ObservedAnywhere = "observed_anywhere",
        /// After an ACK of recovery pipe is not larger than before it.
        Shrinks = "shrinks",
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
