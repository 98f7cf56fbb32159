//! What the other end's ACKs tell of a direction: what has arrived, how long that took, and what was
//! sent that the capture lacks.

use super::flights::{Flight, Sending};
use super::{Direction, FAR, NOTHING};
use crate::read::Packet;
use crate::shared::Context;
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};
use std::mem::replace;

/// Acknowledged packets that are remembered in any case, for copies of them that come late.
const REMEMBERED: usize = 4;

/// The most that are for a round trip: the network may double packets, and hold up the second.
const MOST_REMEMBERED: usize = 256;

impl Direction {
    /// A packet from the other end acknowledges what this one sent. Returns how long that took, in ns,
    /// where something sent once is acknowledged.
    #[inline]
    pub fn on_ack(&mut self, packet: &Packet, now: Instant, context: &Context<'_>) -> Option<u64> {
        let segment = &packet.segment;
        let isn = match self.isn {
            Some(isn) => isn,
            None => self.begin_midway(segment.ack),
        };
        let cumulative = segment.ack.unwrap(isn, self.una)?;
        if cumulative.since(self.una) > FAR || self.una.since(cumulative) > FAR {
            return None;
        }
        if cumulative > self.nxt {
            if !self.is_believed(cumulative) {
                return None;
            }
            self.on_missed(cumulative, now);
        }
        self.doubtful = NOTHING;
        let syn = segment.flags.contains(Flags::SYN);
        let window = u64::from(segment.window) << if syn { 0 } else { self.window_scale };
        let carries_data = segment.sequence_len() > 0;
        let blocks = segment.options.sack.as_slice();
        let out_of_order = blocks.iter().any(|[left, _]| left.after(segment.ack));
        let repeated = !context.shared.sack
            && cumulative == self.una
            && !carries_data
            && window == self.window
            && self.flights.len() > self.settled;
        if out_of_order || repeated {
            self.open_case(&self.common(context));
        }
        self.window = window;
        if self.case.is_some() {
            self.tell_case(packet, now, isn, Ack::new(cumulative, window), context);
        }
        if cumulative > self.una {
            self.window_edge = cumulative + window;
            self.advanced_at = now;
            let remembered = context.shared.answers[context.side].nanos();
            self.settle(cumulative, now, remembered)
        } else {
            if cumulative == self.una {
                self.window_edge = cumulative + window;
            }
            None
        }
    }

    /// An ACK, but for its blocks, goes to the case.
    #[inline(never)]
    fn tell_case(
        &mut self,
        packet: &Packet,
        now: Instant,
        isn: SeqNumber,
        mut ack: Ack,
        context: &Context<'_>,
    ) {
        let Some(case) = &mut self.case else { return };
        let segment = &packet.segment;
        ack.carries_data = segment.sequence_len() > 0;
        for [left, right] in segment.options.sack.as_slice() {
            // An old ACK may report as well: what it acknowledges is unwrapped as it stands.
            let near = |number: &SeqNumber| number.unwrap(isn, ack.cumulative);
            if let (Some(left), Some(right)) = (near(left), near(right))
                && right > left
            {
                ack.push_block(Span::new(left, right));
            }
        }
        // Where options are cut it may be the echo of a duplicate, reported beside it.
        let whole = packet.options_complete;
        let echo = (segment.options.timestamps.filter(|_| whole)).map(|ts| ts.echo);
        case.on_ack(now, self.una, &ack, echo);
        self.rest(now, context);
    }

    /// An ACK above everything seen: the capture lacks packets, or the ACK is not the receiver's. Another
    /// that says as much, or data beyond, tells; where no packet was captured, ACKs are all there is.
    #[cold]
    fn is_believed(&mut self, cumulative: Offset) -> bool {
        let before = replace(&mut self.doubtful, cumulative);
        let takes_probe = self.probed == self.nxt && cumulative == self.nxt + 1;
        self.segments == 0 || before <= cumulative || takes_probe
    }

    /// What was acknowledged too early was sent. When it was acknowledged is no round-trip time.
    #[cold]
    pub(super) fn believe(&mut self) {
        let una = replace(&mut self.doubtful, NOTHING);
        self.pass(una);
        self.window_edge = self.window_edge.max(una);
    }

    /// An ACK of bytes that were not captured.
    #[cold]
    fn on_missed(&mut self, cumulative: Offset, now: Instant) {
        let span = Span::new(self.nxt, cumulative);
        // The byte of a probe was captured, and taken after all.
        self.missing += span.len() - u64::from(self.probed == span.start);
        if let Some(case) = &mut self.case {
            case.on_new(now, span);
        }
        let sending = Sending {
            at: now,
            ts: None,
            ip_id: None,
        };
        self.push(Flight::unseen(span, sending));
        self.nxt = cumulative;
    }

    /// Everything below `una` has arrived. What was before is remembered for a round trip, `remembered`
    /// ns of which are between here and the sender.
    fn settle(&mut self, una: Offset, now: Instant, remembered: u64) -> Option<u64> {
        let timed = self.pass(una);
        let remembered = remembered.saturating_add(self.rtts.least_nanos());
        while self.settled > REMEMBERED
            && let Some(oldest) = self.flights.front()
            && (self.settled > MOST_REMEMBERED || now.nanos_since(oldest.last) > remembered)
        {
            self.flights.pop_front();
            self.settled -= 1;
        }
        let (first, newest) = timed?;
        let (rtt, newest) = (now.nanos_since(first), now.nanos_since(newest));
        self.rtts.on_sample(rtt, newest, una, self.nxt);
        Some(newest)
    }

    /// Counts everything below `una` as arrived. When the first and the last of it were sent, if all of
    /// it was sent once.
    #[inline]
    fn pass(&mut self, una: Offset) -> Option<(Instant, Instant)> {
        let mut first = None;
        let mut newest = None;
        let mut unsure = false;
        let mut i = self.settled;
        while let Some(flight) = self.flights.get(i)
            && flight.span.start < una
        {
            // Karn's rule; what was not captured has no time of its own.
            if flight.copies > 0 || !flight.seen {
                unsure = true;
            } else if flight.span.end <= una || flight.span.start >= self.una {
                first = first.or(Some(flight.at));
                newest = Some(flight.at);
            }
            if flight.span.end > una {
                break;
            }
            i += 1;
        }
        self.settled = i;
        self.una = una;
        if unsure { None } else { first.zip(newest) }
    }
}
