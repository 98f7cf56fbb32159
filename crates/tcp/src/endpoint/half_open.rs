//! What is left of a connection whose SYN-ACK waits for its ACK.
//!
//! A host under a flood of SYNs has very many of these connections, and knows of each no more than two SYNs say.
//! [`HalfOpen`] keeps that in 32 bytes (RFC 4987 §3.5, "SYN cache"). When something happens to the connection,
//! [`reopen`](HalfOpen::reopen) makes the endpoint again: it is given the same SYN, and sends the same SYN-ACKs at the
//! same times, which were sent before. So RTT, backoff and undo are those of an endpoint that was kept.
//!
//! A host that keeps nothing at all (RFC 4987 §3.6, "SYN cookies") learns what the SYN said from the ACK, and calls
//! [`Connection::establish`].

use super::*;
use crate::Connection;

/// A connection in SYN-RECEIVED. Addresses and ports are the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfOpen {
    /// When the SYN arrived.
    since: Instant,
    isn: SeqNumber,
    peer_isn: SeqNumber,
    ts_recent: u32,
    /// When the SYN-ACK was last sent, in µs after `since`.
    last_sent: u32,
    /// The peer's MSS option, or less if ours is.
    mss: u16,
    /// How often the SYN-ACK was sent.
    transmissions: u8,
    /// The shift of the peer's windows, if shifts were agreed on, and flags.
    options: u8,
    /// The shift of our windows that was offered.
    scale: u8,
    strange: StrangeAcks,
}

const _: () = assert!(size_of::<HalfOpen>() <= 32);

impl HalfOpen {
    const SHIFT: u8 = 0xf;
    const SCALED: u8 = 1 << 4;
    const TIMESTAMPS: u8 = 1 << 5;
    const SACK: u8 = 1 << 6;
    const ECN: u8 = 1 << 7;

    /// What is to be kept of an endpoint that got its SYN at `since`. `None` if it is in another state, has sent no
    /// SYN-ACK, owes a segment, or may send copies of segments: then it must stay.
    pub fn of(endpoint: &Endpoint, since: Instant) -> Option<Self> {
        if endpoint.state != State::SynReceived || endpoint.sender.sends_copies() {
            return None;
        }
        let owes = endpoint.syn_ack_due || endpoint.reset_due.is_some() || endpoint.sender.fin().is_some();
        let syn_ack = endpoint.sender.board().first().filter(|_| !owes)?;
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        let scaled = endpoint.scale > 0 || endpoint.peer_scale > 0;
        let options_len = if endpoint.timestamps { Config::TIMESTAMPS_LEN } else { 0 };
        Some(Self {
            since,
            isn: endpoint.isn,
            peer_isn: endpoint.peer_isn,
            ts_recent: endpoint.ts_recent,
            last_sent: u32::try_from(syn_ack.sent_at.since(since).as_micros()).ok()?,
            mss: endpoint.full_segment.saturating_add(options_len),
            transmissions: u8::try_from(syn_ack.transmissions()).ok()?,
            options: (endpoint.peer_scale & Self::SHIFT)
                | flag(scaled, Self::SCALED)
                | flag(endpoint.timestamps, Self::TIMESTAMPS)
                | flag(endpoint.sack, Self::SACK)
                | flag(endpoint.is_ecn_capable(), Self::ECN),
            scale: endpoint.offered_scale.unwrap_or(0),
            strange: endpoint.strange,
        })
    }

    /// When the SYN arrived.
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// Our initial sequence number.
    pub const fn isn(&self) -> SeqNumber {
        self.isn
    }

    const fn has(&self, flag: u8) -> bool {
        self.options & flag != 0
    }

    /// The SYN, with the options that were agreed on.
    fn syn(&self) -> Segment {
        let timestamps = Timestamps { value: self.ts_recent, echo: 0 };
        Segment {
            seq: self.peer_isn,
            flags: if self.has(Self::ECN) { Flags::SYN | Flags::ECE | Flags::CWR } else { Flags::SYN },
            options: Options {
                timestamps: self.has(Self::TIMESTAMPS).then_some(timestamps),
                mss: Some(self.mss),
                window_scale: self.has(Self::SCALED).then_some(self.options & Self::SHIFT),
                sack_permitted: self.has(Self::SACK),
                ..Options::NONE
            },
            ..Segment::default()
        }
    }

    /// Makes the connection again of one that listens, and was configured as the first time, with the same
    /// [ISN](Self::isn).
    pub fn reopen(&self, connection: &mut Connection) {
        if self.has(Self::SCALED) {
            // Whatever the listener offers by now.
            connection.endpoint_mut().offered_scale = Some(self.scale);
        }
        connection.deliver(self.since, &self.syn(), &[]);
        let last = self.since + Duration::from_micros(self.last_sent.into());
        let mut segment = Segment::default();
        for number in 1..=self.transmissions {
            let due = connection.next_wake().filter(|_| number > 1);
            let at = match number {
                _ if number == self.transmissions => last,
                1 => self.since,
                _ => due.map_or(last, |(at, _)| at.min(last)),
            };
            if let Some((_, timer)) = due {
                connection.on_wake(at, timer);
            }
            // They were sent before.
            while connection.poll_transmit(at, &mut segment).is_some() {}
        }
        connection.endpoint_mut().strange = self.strange;
    }
}

impl Connection {
    /// Opens a connection that listens, whose handshake was done without it: the peer sent this SYN, and has just
    /// acknowledged the SYN-ACK, whose sequence number was the configured one. The ACK is delivered next. There is no RTT
    /// sample of the handshake.
    pub fn establish(&mut self, now: Instant, syn: &Segment) {
        self.deliver(now, syn, &[]);
        let endpoint = self.endpoint_mut();
        if endpoint.state == State::SynReceived {
            endpoint.state = State::Established;
            endpoint.sender.establish(now, 0);
            // The SYN-ACK offered it.
            endpoint.receiver.offer_window();
        }
    }
}

#[cfg(test)]
mod tests;
