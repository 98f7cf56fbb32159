//! SYN cookies: SYN-ACKs of which the host keeps nothing (RFC 4987 §3.6).
//!
//! A listener with as many half-open connections as it may have answers further SYNs with a cookie: an initial sequence
//! number that only this host can have made for this path, this SYN and this minute. The ACK of it opens the connection,
//! and says what the SYN said:
//!
//! | what | where it stands |
//! | --- | --- |
//! | the peer's ISN | the ACK's sequence number, less 1 |
//! | its MSS, rounded down to one of [`SIZES`] | three bits of the cookie |
//! | window scale, SACK, ECN | the lowest six bits of our timestamp, which the ACK echoes |
//! | its timestamp | the ACK's |
//!
//! So without timestamps there is no SACK, no window scale and no ECN. The timestamp of a SYN-ACK with a cookie is up to
//! 64 ms older than the clock, never newer.
//!
//! A cookie is valid for one to two minutes, and a listener looks for one only if it sent one lately. It has 29 bits that
//! nobody can guess, and two are valid at a time: of 2^28 forged ACKs, one opens a connection.
//!
//! Sources: RFC 4987 §3.6 and appendix A; Linux `syncookies.c`, which keeps the same in its timestamps.
//!
//! Deviations. From RFC 6528: a cookie does not grow with time, so a segment of an earlier connection along the same path
//! is an old duplicate by chance only. Where the path had a connection within the last minute (TIME-WAIT), no cookie is
//! sent, but a half-open connection kept. From Linux: the MSS is never larger than the peer's; an
//! ACK without a valid cookie is not answered by a reset.

use std::{net::SocketAddr, time::Duration};

use recoup_units::Instant;
use recoup_wire::{Decoded, Endpoints, Flags, Options, Segment, SeqNumber, Timestamps};

use super::{Host, ListenerId, Secret, Sink, connection::Origin, half_open::Begins, input::Addressee, memory::Budget};
use crate::TcpOptions;

/// The sizes that a cookie can say, in bytes. The least is what an endpoint takes at least.
const SIZES: [u16; 8] = [48, 536, 1220, 1300, 1400, 1440, 1460, 8940];

/// Bits of the cookie that say the size.
const SIZE_BITS: u32 = 3;

/// How long the number lasts that is hashed into a cookie.
const PERIOD: Duration = Duration::from_secs(60);

/// How long a cookie is valid at most.
const LIFE: Duration = Duration::from_secs(120);

/// Options in the timestamp: the peer's window scale or [`NO_SCALE`], and two flags.
const SCALE: u32 = 0xf;
const NO_SCALE: u8 = 0xf;
const SACK: u32 = 1 << 4;
const ECN: u32 = 1 << 5;
const ALL: u32 = 0x3f;

/// The period that `now` is in.
fn period(now: Instant) -> u64 {
    now.as_nanos() / PERIOD.as_nanos() as u64
}

/// The cookie for a SYN, of the size at this place among [`SIZES`].
fn cookie(secret: &Secret, path: &Endpoints, peer_isn: SeqNumber, size: usize, period: u64) -> SeqNumber {
    let hash = secret.cookie(path, peer_isn, size as u8, period);
    SeqNumber(hash << SIZE_BITS | size as u32)
}

/// What a SYN offers, in six bits.
fn offered(syn: &Segment, ecn: bool) -> u32 {
    let scale = syn.options.window_scale.map_or(NO_SCALE, |scale| scale.min(Options::MAX_WINDOW_SCALE));
    let flag = |on: bool, flag: u32| if on { flag } else { 0 };
    u32::from(scale) | flag(syn.options.sack_permitted, SACK) | flag(ecn, ECN)
}

/// The latest timestamp up to `clock` that says this.
fn stamp(clock: u32, offered: u32) -> u32 {
    let stamp = clock & !ALL | offered;
    if stamp > clock { stamp.wrapping_sub(ALL + 1) } else { stamp }
}

/// The SYN that an ACK with a cookie stands for. `None` if the cookie is not one of this host's, or too old.
fn syn_of(secret: &Secret, now: Instant, path: &Endpoints, ack: &Segment) -> Option<Segment> {
    let (made, peer_isn) = (SeqNumber(ack.ack.0.wrapping_sub(1)), SeqNumber(ack.seq.0.wrapping_sub(1)));
    let size = (made.0 & ((1 << SIZE_BITS) - 1)) as usize;
    let present = period(now);
    let valid = |period| cookie(secret, path, peer_isn, size, period) == made;
    if !valid(present) && !present.checked_sub(1).is_some_and(valid) {
        return None;
    }
    let mut syn = Segment { seq: peer_isn, flags: Flags::SYN, window: ack.window, ..Segment::default() };
    syn.options.mss = SIZES.get(size).copied();
    if let Some(Timestamps { value, echo }) = ack.options.timestamps {
        syn.options.timestamps = Some(Timestamps { value, echo: 0 });
        syn.options.window_scale = Some((echo & SCALE) as u8).filter(|scale| *scale != NO_SCALE);
        syn.options.sack_permitted = echo & SACK != 0;
        if echo & ECN != 0 {
            syn.flags |= Flags::ECE | Flags::CWR;
        }
    }
    Some(syn)
}

impl Host {
    /// Takes out where a flood of SYNs, or many clients at once, have just made a listener send cookies.
    pub fn take_flooded(&mut self) -> Option<SocketAddr> {
        self.flooded.take()
    }

    /// Answers a SYN to a listener that is full with a cookie.
    pub(super) fn send_cookie(
        &mut self,
        now: Instant,
        id: ListenerId,
        options: &TcpOptions,
        decoded: &Decoded,
        sink: &mut dyn Sink,
    ) {
        let (path, syn) = (decoded.endpoints.reverse(), &decoded.segment);
        let largest = syn.options.mss.unwrap_or(536);
        let size = SIZES.iter().rposition(|size| *size <= largest).unwrap_or(0);
        let isn = cookie(&self.secret, &path, syn.seq, size, period(now));
        // What the ACK will not say is not agreed on.
        let mut syn = *syn;
        if syn.options.timestamps.is_none() || !options.endpoint.timestamps {
            syn.options = Options { mss: syn.options.mss, ..Options::NONE };
            syn.flags = Flags::SYN;
        }
        // The connection may begin with less than others do now, and must not take back what the SYN-ACK offered.
        let receive_buffer = Some(Budget::least_receive(options));
        let index = self.open(path, Some(options), Origin::Admitted, Begins { isn, receive_buffer });
        let answer = self.table.at_mut(index).and_then(|connection| {
            connection.tcp.deliver(now, &syn, &[]);
            let mut answer = Segment::default();
            connection.tcp.poll_transmit(now, &mut answer)?;
            let ecn = connection.tcp.endpoint().is_ecn_capable();
            if let Some(timestamps) = &mut answer.options.timestamps {
                timestamps.value = stamp(timestamps.value, offered(&syn, ecn));
            }
            Some(answer)
        });
        self.table.free(index);
        if let Some(listener) = self.listeners.get_mut(id) {
            let until = listener.cookies_until.replace(now + LIFE);
            if until.is_none_or(|until| until <= now) {
                self.flooded = Some(path.src);
            }
        }
        if let Some(answer) = answer {
            self.stats.cookies_sent += 1;
            self.stats.packets_out += self.egress.send_bare(&path, &answer, sink);
        }
    }

    /// The connection that an ACK to a listener opens, if it has a cookie.
    pub(super) fn take_cookie(&mut self, now: Instant, id: ListenerId, decoded: &Decoded) -> Addressee {
        let (path, ack) = (decoded.endpoints.reverse(), &decoded.segment);
        let Some(listener) = self.listeners.get_mut(id).filter(|listener| listener.cookies_until > Some(now)) else {
            return Addressee::Nobody;
        };
        let crowded = listener.is_crowded();
        let Some(options) = self.options_for(id, &path) else {
            return Addressee::Nobody;
        };
        let Some(syn) = syn_of(&self.secret, now, &path, ack) else {
            self.stats.cookies_refused += 1;
            // What comes in front of the ACK that opens its connection does not say the peer's ISN. A reset would end that
            // connection, as Linux's does. But it may be for a connection of another host with this address.
            return if self.has_others_to_ask() { Addressee::Nobody } else { Addressee::Later };
        };
        if crowded || !self.has_place() {
            // The peer sends again, and finds room then, or too late.
            self.stats.syns_dropped += 1;
            return Addressee::Later;
        }
        self.stats.cookies_accepted += 1;
        self.listeners.add_embryonic(id);
        let begins = Begins { isn: SeqNumber(ack.ack.0.wrapping_sub(1)), receive_buffer: None };
        let index = self.open(path, Some(&options), Origin::Listener(id), begins);
        if let Some(connection) = self.table.at_mut(index) {
            connection.tcp.establish(now, &syn);
        }
        Addressee::Connection(index)
    }
}

#[cfg(test)]
mod tests;
