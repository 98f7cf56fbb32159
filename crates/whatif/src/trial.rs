//! What a rerun does otherwise than the capture.

use crate::loss::LossProcess;
use recoup_recovery::Mechanisms;
use recoup_units::Segments;
use std::time::Duration;

/// What is tried in a rerun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The sender's mechanisms. Their initial window does not count, but the next field.
    pub mechanisms: Mechanisms,
    /// Its initial window; `None`: as captured.
    pub initial_window: Option<Segments>,
    /// Whether both ends use timestamps, if they did; or nobody does.
    pub timestamps: bool,
    /// How the receiver acknowledges.
    pub acks: PeerAcks,
    /// Whether the receiver's window is so large that it never limits the sender.
    pub wide_window: bool,
}

/// How the receiver of a rerun acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerAcks {
    /// When it did so in the capture.
    #[default]
    AsCaptured,
    /// Every segment at once.
    Quick,
    /// As in the capture, but never later than this after a segment arrived.
    Within(Duration),
}

impl Trial {
    /// Whether new data may leave faster or slower than with `base`, before any loss.
    pub fn changes_pace(&self, base: &Mechanisms) -> bool {
        self.mechanisms.congestion != base.congestion
            || self.mechanisms.restart_after_idle != base.restart_after_idle
            || self.initial_window.is_some()
            || self.wide_window
            || self.acks != PeerAcks::AsCaptured
    }

    /// These mechanisms; everything else as captured.
    pub const fn of(mechanisms: Mechanisms) -> Self {
        Self { mechanisms, initial_window: None, timestamps: true, acks: PeerAcks::AsCaptured, wide_window: false }
    }
}

/// The fates of the sender's packets in a rerun.
#[derive(Clone, Copy, Debug)]
pub struct Fates<'a> {
    /// Where fates are drawn from.
    pub losses: &'a LossProcess,
    /// The seed of the draws.
    pub seed: u64,
    /// Whether every packet's fate is drawn: the connection runs once more on the same path. Otherwise only packets that the
    /// capture does not hold are drawn.
    pub anew: bool,
}

impl<'a> Fates<'a> {
    /// Those of the capture. What it does not hold is drawn.
    pub const fn captured(losses: &'a LossProcess, seed: u64) -> Self {
        Self { losses, seed, anew: false }
    }

    /// All of them drawn.
    pub const fn anew(losses: &'a LossProcess, seed: u64) -> Self {
        Self { losses, seed, anew: true }
    }
}
