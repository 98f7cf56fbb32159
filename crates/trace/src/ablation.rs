//! Leaves out the later steps of an analysis, to measure what each step costs.

/// A step of the analysis of a packet. Each needs those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Dividing the packets among the shards, after reading them.
    #[cfg(feature = "ablation")]
    Deal,
    /// Finding or opening the connection of each packet. It ends with the first FIN or RST.
    Find,
    /// Following the connection: what is outstanding, and what is acknowledged.
    Follow,
    /// Recognizing packets that were captured twice, and sampling round-trip times.
    Sample,
    /// Judging retransmissions.
    Judge,
    /// Replaying them through the engine: the whole analysis.
    Replay,
}

#[cfg(feature = "ablation")]
static LAST: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(Step::Replay as u8);

/// All analyses of this process end after `step`. What they find is then incomplete.
#[cfg(feature = "ablation")]
pub fn stop_after(step: Step) {
    LAST.store(step as u8, std::sync::atomic::Ordering::Relaxed);
}

/// Whether `step` is taken.
#[cfg(feature = "ablation")]
#[inline]
pub(crate) fn reaches(step: Step) -> bool {
    step as u8 <= LAST.load(std::sync::atomic::Ordering::Relaxed)
}

/// Whether `step` is taken.
#[cfg(not(feature = "ablation"))]
#[inline(always)]
pub(crate) const fn reaches(_: Step) -> bool {
    true
}
