//! The kernel's own reason for each retransmission beside ours, and how often they agree. docs/watch.md says what agrees.
//!
//! | module | what it does |
//! | --- | --- |
//! | `matching` | finds the kernel's report of each retransmission |
//! | `agreement` | counts which reasons agree |

mod agreement;
mod matching;

pub use agreement::Agreement;

use crate::event::Event;
use matching::Matching;
use recoup_captures::wording::count;
use recoup_kernel::{KernelError, Retransmissions};

/// Reports of the kernel beside what is said.
pub struct KernelReasons {
    reports: Retransmissions,
    matching: Matching,
}

impl KernelReasons {
    /// Asks the kernel for its retransmissions.
    ///
    /// # Errors
    /// Without the right to load programs into the kernel, or if the kernel lacks what they need.
    pub fn open() -> Result<Self, KernelError> {
        Ok(Self { reports: Retransmissions::open()?, matching: Matching::default() })
    }

    /// Takes what the kernel reported, and adds the reasons of retransmissions to what is said.
    pub fn hear(&mut self, events: &mut Vec<Event>) {
        let Self { reports, matching } = self;
        reports.take(|report| matching.report(report));
        let lost = reports.lost();
        let before = matching.agreement.unreported;
        if lost > before {
            let lost_now = count(lost - before, "retransmission");
            events
                .push(Event::Note { text: format!("the kernel did not report {lost_now}: their reasons are missing") });
            matching.agreement.unreported = lost;
        }
        matching.hear(events);
    }

    /// How often the kernel's reasons agree with ours so far.
    pub fn agreement(&self) -> &Agreement {
        &self.matching.agreement
    }
}
