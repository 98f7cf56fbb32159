//! Counts how often the kernel's reasons agree with our triggers.

use crate::totals::{TRIGGERS, place};
use recoup_captures::wording::{grouped, list};
use recoup_kernel::Reason;
use recoup_recovery::Trigger;
use recoup_trace::finding::Triggers;

/// The number of reasons.
pub const REASONS: usize = Reason::ALL.len();

/// Retransmissions by our trigger and the kernel's reason.
type Pairs = [[u64; REASONS]; TRIGGERS];

/// How often the kernel's reasons agree with ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// By the trigger that was said last. Of two triggers that nothing distinguishes, the one that agrees counts.
    pub pairs: Pairs,
    /// By the trigger that was said when the reason came. Only goes up.
    pub first: Pairs,
    /// Retransmissions by trigger that the kernel did not report, although it reported others of the same direction.
    pub without: [u64; TRIGGERS],
    /// Retransmissions of senders that the kernel reports nothing of.
    pub elsewhere: u64,
    /// Reported retransmissions that are no findings, of connections that were captured from their SYN on, at this sender.
    pub missed: [u64; REASONS],
    /// The same of other connections: the original need not be in the capture.
    pub unseen: u64,
    /// Reported retransmissions that could not be passed on, so that no packet is on the wire.
    pub unsent: u64,
    /// Retransmissions that the kernel could not report, because too many waited to be read.
    pub unreported: u64,
}

/// Whether the kernel's reason is one that our trigger stands for.
pub fn agrees(triggers: Triggers, reason: Reason) -> bool {
    triggers.iter().any(|trigger| reasons(trigger).contains(&reason))
}

/// The reasons that a trigger stands for. docs/watch.md has this table.
const fn reasons(trigger: Trigger) -> &'static [Reason] {
    match trigger {
        // In the state Loss, the kernel retransmits what slow start permits and what an ACK shows to be lost again by the same
        // function. Nothing in its state tells them apart.
        Trigger::Fast | Trigger::Early => &[Reason::Fast, Reason::ReorderingTimer, Reason::AfterTimeout],
        Trigger::SlowStart => &[Reason::AfterTimeout],
        Trigger::Rto => &[Reason::Timeout],
        Trigger::Tlp => &[Reason::LossProbe],
        Trigger::Pmtu | Trigger::MtuProbe => &[Reason::NonCongestion],
        Trigger::Syn => &[Reason::Syn],
        Trigger::SynAck => &[Reason::SynAck],
        _ => &[],
    }
}

impl Agreement {
    /// The kernel has reported why it sent a retransmission with these triggers.
    pub fn begin(&mut self, triggers: Triggers, reason: Reason) {
        self.first[counted_under(triggers, reason)][reason as usize] += 1;
        self.add(triggers, reason);
    }

    /// The retransmission has these triggers now.
    pub fn add(&mut self, triggers: Triggers, reason: Reason) {
        self.pairs[counted_under(triggers, reason)][reason as usize] += 1;
    }

    /// It has these triggers no longer.
    pub fn remove(&mut self, triggers: Triggers, reason: Reason) {
        let pair = &mut self.pairs[counted_under(triggers, reason)][reason as usize];
        *pair = pair.saturating_sub(1);
    }

    /// Retransmissions whose trigger and reason are known and agree.
    fn agreed(&self) -> u64 {
        self.count(|trigger, reason| trigger.is_some_and(|trigger| agrees(trigger.into(), reason)))
    }

    /// Retransmissions whose trigger and reason are known and differ.
    fn differing(&self) -> u64 {
        self.count(differ)
    }

    fn count(&self, counts: impl Fn(Option<Trigger>, Reason) -> bool) -> u64 {
        let triggers = Trigger::ALL.into_iter().map(Some).chain([None]);
        let pairs = triggers.flat_map(|trigger| Reason::ALL.map(|reason| (trigger, reason)));
        let counted = pairs.filter(|(trigger, reason)| counts(*trigger, *reason));
        counted.map(|(trigger, reason)| self.pairs[place(trigger)][reason as usize]).sum()
    }

    /// In a sentence or two.
    pub fn summary(&self) -> String {
        let (agreed, differing) = (self.agreed(), self.differing());
        let compared = agreed + differing;
        let mut text = format!("the kernel's reasons: {} of {} agree", grouped(agreed), grouped(compared));
        if compared > 0 {
            // Rounded down, so that 100.0 % means all.
            text += &format!(" ({:.1} %)", (agreed as f64 / compared as f64 * 1000.0).floor() / 10.0);
        }
        let others = [
            ("have no trigger", self.count(|trigger, _| trigger.is_none())),
            ("left the kernel in a state that shows no reason", self.count(is_unclear)),
            ("were not reported by the kernel", self.without.iter().sum()),
            ("are of senders that the kernel reports nothing of", self.elsewhere),
            ("were reported by the kernel and not found", self.missed.iter().sum()),
            (
                "were reported by the kernel and not found, of senders that were not captured from the start",
                self.unseen,
            ),
            ("could not be passed on by the kernel", self.unsent),
            ("could not be reported by the kernel", self.unreported),
        ];
        for (what, n) in others.into_iter().filter(|(_, n)| *n > 0) {
            text += &format!("; {} {what}", grouped(n));
        }
        let pairs = self.differing_pairs();
        match pairs.is_empty() {
            true => text,
            false => format!("{text}. They differ: {}", list(&pairs)),
        }
    }

    /// Pairs that differ, the most frequent first.
    fn differing_pairs(&self) -> Vec<String> {
        let times = |(trigger, reason): &(Trigger, Reason)| self.pairs[*trigger as usize][*reason as usize];
        let pairs = Trigger::ALL.into_iter().flat_map(|trigger| Reason::ALL.map(|reason| (trigger, reason)));
        let mut pairs: Vec<_> = pairs.filter(|pair| times(pair) > 0 && differ(Some(pair.0), pair.1)).collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(times(pair)));
        let text = |pair: (Trigger, Reason)| {
            format!("{} {} (kernel: {})", grouped(times(&pair)), pair.0.name(), pair.1.title())
        };
        pairs.into_iter().map(text).collect()
    }
}

/// The place of a retransmission among the triggers: that of the one which agrees, or else of the first one.
fn counted_under(triggers: Triggers, reason: Reason) -> usize {
    let agreeing = triggers.iter().find(|trigger| reasons(*trigger).contains(&reason));
    place(agreeing.or(triggers.first()))
}

/// Whether both are known and do not agree.
fn differ(trigger: Option<Trigger>, reason: Reason) -> bool {
    reason != Reason::Unknown && trigger.is_some_and(|trigger| !agrees(trigger.into(), reason))
}

/// Whether our trigger is known, and the kernel's reason is not.
fn is_unclear(trigger: Option<Trigger>, reason: Reason) -> bool {
    trigger.is_some() && reason == Reason::Unknown
}

#[cfg(test)]
mod tests;
