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
//! Deviations, beside those at the steps: after a spurious timeout the sender restores the previous window (see
//! [`undo`](crate::undo)) instead of applying RFC 4015, as in Linux. RFC 5682 §3.2's restriction is unnecessary, because
//! segments remember whether they were retransmitted.

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
    //= RFC 5682 §3.1 MUST: "If the sender applies the SACK-enhanced F-RTO algorithm, it MUST follow the steps below."
    pub fn on_ack(self, seen: AckEvidence) -> FrtoVerdict {
        if self == Self::Off {
            return FrtoVerdict::Goes(self);
        }
        //= RFC 5682 §2.1 step 3b step: "If the acknowledgment advances the window (i.e., if it acknowledges data that
        //=   was not retransmitted after the timeout), declare the timeout spurious, set SpuriousRecovery to SPUR_TO,
        //=   and set the value of the "recover" variable to SND.UNA (the oldest unacknowledged sequence number
        //=   [Pos81])."
        //= deviation: tested on every ACK, also before new data was sent: segments remember whether they were
        //=   retransmitted
        if seen.original_arrived {
            return FrtoVerdict::Spurious;
        }
        if seen.new_data_out {
            return FrtoVerdict::Goes(match seen.more_out_of_order {
                //= RFC 5682 §2.1 step 3a step: "If the acknowledgment is a duplicate ACK, set the congestion window to
                //=   no more than 3 * MSS (where MSS indicates Maximum Segment Size), and continue with the slow-start
                //=   algorithm retransmitting unacknowledged segments."
                //= deviation: the window stays what slow start made of it
                //= RFC 5682 §3.1 step 3a step: "If the Cumulative Acknowledgment field or the SACK information covers
                //=   more than "RecoveryPoint", set the congestion window to no more than 3 * MSS and proceed with the
                //=   conventional RTO recovery, retransmitting unacknowledged segments."
                //= deviation: the window stays what slow start made of it
                true => Self::Off,
                false => self,
            });
        }
        //= RFC 5682 §2.1 SHOULD: "The TCP sender SHOULD ignore such segments and wait for a segment that either
        //=   acknowledges new data or is a duplicate acknowledgment."
        //= RFC 5682 §2.1 step 2a step: "If the acknowledgment is a duplicate ACK, OR the Acknowledgment field covers
        //=   "recover" but not more than "recover", OR the acknowledgment does not acknowledge all of the data that was
        //=   retransmitted in step 1, revert to the conventional RTO recovery and continue by retransmitting
        //=   unacknowledged data in slow start."
        //= deviation: a duplicate ACK before new data was sent does not end the test, as in Linux
        //= RFC 5682 §3.1 step 2 step: "If duplicate ACKs arrive before the cumulative acknowledgment for retransmitted
        //=   data, adjust the scoreboard according to the incoming SACK information. Stay in step 2 and wait for the
        //=   next new acknowledgment."
        if !seen.advances_short {
            return FrtoVerdict::Goes(self);
        }
        FrtoVerdict::TryNew(match seen.can_send_new {
            //= RFC 5682 §2.1 step 2b step: "Else, if the acknowledgment advances the window AND the Acknowledgment
            //=   field does not cover "recover", transmit up to two new (previously unsent) segments and enter step 3
            //=   of this algorithm."
            //= deviation: the window grows by slow start, and permits as much
            //= RFC 5682 §3.1 step 2b step: "Else, if the Cumulative Acknowledgment field does not cover "RecoveryPoint"
            //=   but is larger than SND.UNA, transmit up to two new (previously unsent) segments and proceed to step
            //=   3."
            //= deviation: the window grows by slow start, and permits as much
            true => Self::NewDataFirst,
            //= RFC 5682 §2.1 step 2b step: "If the TCP sender does not have any new data to send, or the advertised
            //=   window prohibits new transmissions, the recommended action is to skip step 3 of this algorithm and
            //=   continue with slow-start retransmissions, following the conventional RTO recovery algorithm."
            //= RFC 5682 §3.1 step 2b step: "If the TCP sender is not able to transmit any previously unsent data --
            //=   either due to receiver window limitation or because it does not have any new data to send -- the
            //=   recommended action is to refrain from entering step 3 of this algorithm."
            false => Self::Off,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= test: RFC 5682 §2.1 step 2b
    //= test: RFC 5682 §2.1 step 3a
    //= test: RFC 5682 §2.1 step 3b
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
