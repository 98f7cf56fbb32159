//! F-RTO: was the timeout spurious? After it, new data instead of retransmissions tells.
//!
//! ```text
//! timeout:                   the first segment is retransmitted                  RFC 5682 §3.1 step 1
//! an ACK advances:           new data goes instead of what was taken as lost                 step 2b
//!                            (nothing new to send, or all acknowledged: no test)             step 2a
//! more SACKs or a duplicate ACK once new data is out:      the loss was real                 step 3a
//! data from before the timeout, never retransmitted, arrives:  the timeout was spurious         step 3b
//! ```
//! Sources: RFC 5682 §2.1 (without SACK), §3.1 (with); Linux 6.12 `tcp_process_loss`.
//!
//! Deviations, all Linux's: step 3b is tested on every ACK, also before new data went, since segments
//! remember whether they were retransmitted (RFC 5682 §3.2's restriction falls away with that); the test
//! is run again on each timeout in a row, but not on one that interrupts a fast recovery; the window
//! grows by slow start meanwhile rather than being held to two new segments; a spurious timeout is
//! answered by going back to the window before it, see [`undo`](crate::undo), instead of by RFC 4015.

/// Where the test stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frto {
    /// No test: the timeout is taken for real.
    #[default]
    Off,
    /// The first segment was retransmitted; the next ACKs decide.
    Watching,
    /// New data goes instead of retransmissions.
    NewDataFirst,
}

/// What an ACK after the timeout shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvidence {
    /// Data sent before the timeout and never retransmitted has arrived.
    pub original_arrived: bool,
    /// It SACKs anew, or is a duplicate ACK.
    pub more_out_of_order: bool,
    /// New data has gone since the timeout.
    pub new_data_out: bool,
    /// It moves `snd_una`, but not past what was out at the timeout.
    pub advances_short: bool,
    /// There is new data the peer's window takes.
    pub can_send_new: bool,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The timeout was spurious.
    Spurious,
    /// The test goes on in this state.
    Goes(Frto),
    /// New data is to go, if there is any; what is out now is what the test is about.
    TryNew(Frto),
}

impl Frto {
    /// Takes in an ACK.
    pub fn on_ack(self, seen: AckEvidence) -> Verdict {
        if self == Self::Off {
            return Verdict::Goes(self);
        }
        if seen.original_arrived {
            return Verdict::Spurious;
        }
        if seen.new_data_out {
            return Verdict::Goes(match seen.more_out_of_order {
                true => Self::Off,
                false => self,
            });
        }
        if !seen.advances_short {
            return Verdict::Goes(self);
        }
        Verdict::TryNew(match seen.can_send_new {
            true => Self::NewDataFirst,
            false => Self::Off,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps() {
        let nothing = AckEvidence::default();
        let advances = AckEvidence {
            advances_short: true,
            can_send_new: true,
            ..nothing
        };
        let stuck = AckEvidence {
            can_send_new: false,
            ..advances
        };
        let out = AckEvidence {
            new_data_out: true,
            ..nothing
        };
        let real = AckEvidence {
            more_out_of_order: true,
            ..out
        };
        let spurious = AckEvidence {
            original_arrived: true,
            ..real
        };
        use Frto::{NewDataFirst, Off, Watching};
        use Verdict::{Goes, Spurious, TryNew};
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
