//! The applications at the hosts.

use recoup_tcp::Endpoint;
use recoup_tcp::flow::{Action, ScriptProgress};
use recoup_units::{Instant, Offset};

/// An application at one host. It reads all data at once.
///
/// The simulation asks it after every event at its host, and when it wanted to be woken. At one instant it is
/// woken after all packets have arrived. The host transmits after each action.
pub trait Application {
    /// The next thing to do now. It is called again until it returns `None`, or until
    /// [`wake`](Self::wake) says that the rest can wait for the other packets of this instant.
    fn poll(&mut self, now: Instant, endpoint: &Endpoint) -> Option<Action>;

    /// When it wants to act although nothing happens. A wake-up at which it does nothing is not repeated at
    /// that instant.
    fn wake(&self) -> Option<Instant>;

    /// All bytes it writes. The flow is complete when both hosts have received all bytes of the other. It is
    /// asked once, before the flow begins. `None` if it is not known then: such a flow is never complete, and the
    /// application knows best when its data has arrived.
    fn total(&self) -> Option<u64>;
}

impl Application for ScriptProgress {
    #[inline]
    fn poll(&mut self, now: Instant, endpoint: &Endpoint) -> Option<Action> {
        if self.is_finished() {
            return None;
        }
        // A script that has begun goes on, so that its timed writes do not depend on how the connection ends.
        if !self.has_begun() && !endpoint.is_open() {
            return None;
        }
        let receiver = endpoint.receiver();
        let fin = u64::from(receiver.finished());
        let received = data_before(receiver.next()).saturating_sub(fin);
        let acknowledged = data_before(endpoint.sender().una());
        Self::poll(self, now, received, acknowledged)
    }

    fn wake(&self) -> Option<Instant> {
        self.due()
    }

    fn total(&self) -> Option<u64> {
        Some(self.script().total())
    }
}

/// Bytes of a stream before `end`, without the SYN.
const fn data_before(end: Offset) -> u64 {
    end.0.saturating_sub(Offset::DATA.0)
}
