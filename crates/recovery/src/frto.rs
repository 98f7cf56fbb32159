//! F-RTO: was the timeout spurious? The sender finds out by sending new data instead of retransmissions.
//!
//! ```text
//! timeout:                   the first segment is retransmitted                  RFC 5682 §3.1 step 1
//! an ACK advances:           new data is sent instead of retransmissions                     step 2b
//!                            (nothing new to send, or all acknowledged: no test)             step 2a
//! more SACKs or a duplicate ACK once new data is out:      the loss was real                 step 3a
//! data from before the timeout, never retransmitted, arrives:  the timeout was spurious         step 3b
//! ```
//! Sources: RFC 5682 §2.1 (without SACK), §3.1 (with); Linux 6.12 `tcp_process_loss`.
//!
//! Deviations, all as in Linux:
//!
//! - Step 3b is tested on every ACK, also before new data was sent, because segments remember whether they
//!   were retransmitted. RFC 5682 §3.2's restriction is then unnecessary.
//! - The test runs again on each consecutive timeout, but not on a timeout that interrupts a fast recovery.
//! - During the test, the window grows by slow start instead of permitting two new segments.
//! - After a spurious timeout the sender restores the previous window (see [`undo`](crate::undo)) instead of
//!   applying RFC 4015.

/// The state of the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Frto {
    /// No test: the timeout counts as genuine.
    #[default]
    Off,
    /// The first segment was retransmitted; the next ACKs decide.
    Watching,
    /// New data is sent instead of retransmissions.
    NewDataFirst,
}

/// The evidence in an ACK after the timeout.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvidence {
    /// Data sent before the timeout and never retransmitted has arrived.
    pub original_arrived: bool,
    /// The ACK SACKs further segments, or is a duplicate ACK.
    pub more_out_of_order: bool,
    /// New data was sent since the timeout.
    pub new_data_out: bool,
    /// The ACK moves `snd_una`, but not past the data outstanding at the timeout.
    pub advances_short: bool,
    /// New data is available and fits the peer's window.
    pub can_send_new: bool,
}

/// The result of the test on an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoVerdict {
    /// The timeout was spurious.
    Spurious,
    /// The test continues in this state.
    Goes(Frto),
    /// New data must be sent, if there is any. The test is about the data outstanding now.
    TryNew(Frto),
}

impl Frto {
    /// Processes an ACK.
    pub fn on_ack(self, seen: AckEvidence) -> FrtoVerdict {
        if self == Self::Off {
            return FrtoVerdict::Goes(self);
        }
        if seen.original_arrived {
            return FrtoVerdict::Spurious;
        }
        if seen.new_data_out {
            return FrtoVerdict::Goes(match seen.more_out_of_order {
                true => Self::Off,
                false => self,
            });
        }
        if !seen.advances_short {
            return FrtoVerdict::Goes(self);
        }
        FrtoVerdict::TryNew(match seen.can_send_new {
            true => Self::NewDataFirst,
            false => Self::Off,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_follows_the_steps_of_the_rfc() {
        let nothing = AckEvidence::default();
        let advances = AckEvidence { advances_short: true, can_send_new: true, ..nothing };
        let stuck = AckEvidence { can_send_new: false, ..advances };
        let out = AckEvidence { new_data_out: true, ..nothing };
        let real = AckEvidence { more_out_of_order: true, ..out };
        let spurious = AckEvidence { original_arrived: true, ..real };
        use Frto::{NewDataFirst, Off, Watching};
        use FrtoVerdict::{Goes, Spurious, TryNew};
        let cases = [
            (Off, spurious, Goes(Off)),
            (Watching, nothing, Goes(Watching)),
            (Watching, advances, TryNew(NewDataFirst)),
            (Watching, stuck, TryNew(Off)),
            (Watching, spurious, Spurious),
            (NewDataFirst, out, Goes(NewDataFirst)),
            (NewDataFirst, real, Goes(Off)),
            (NewDataFirst, spurious, Spurious),
        ];
        for (state, seen, verdict) in cases {
            assert_eq!(state.on_ack(seen), verdict, "{state:?} {seen:?}");
        }
    }
}
