//! Which packets are in the capture twice.
//!
//! A mirrored port shows a packet as it comes and as it goes, a capture of all interfaces of a bridge
//! on each of them, and merged files hold what both captured. Such a copy is alike in everything TCP
//! says, comes at once, and has the same IP identification, where there is one (RFC 6864 §4: it may be
//! 0 on packets that are not fragmented; IPv6 has none).

use super::Direction;
use super::flights::{Flight, Sending};
use crate::read::Packet;
use crate::shared::Context;
use recoup_units::Instant;
use recoup_wire::Flags;
use std::time::Duration;

/// Packets remembered: hosts hand them on in batches of about so many.
const REMEMBERED: usize = 8;

/// Nothing is sent again within this, where no round trip was timed yet: retransmission timers of
/// handshakes run for a second (RFC 6298 §2.1), and what answers an ACK waits for it.
pub(super) const AT_ONCE: Duration = Duration::from_millis(1);

/// The same in ticks.
const TICKS_AT_ONCE: u32 = 977;

/// Nor within this, however near the ends are. A host hands packets from one of its interfaces to the next
/// as soon.
const WITHIN_A_HOST: Duration = Duration::from_micros(20);

/// Fingerprints of the last packets, and when they came.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    prints: [u32; REMEMBERED],
    /// In ticks.
    came: [u32; REMEMBERED],
    next: u8,
}

impl Recent {
    /// Whether one like it came just now.
    #[inline]
    pub fn holds(&self, print: u32, now: Instant) -> bool {
        let tick = tick(now);
        let mut found = false;
        for (&other, &came) in self.prints.iter().zip(&self.came) {
            found |= other == print && tick.wrapping_sub(came) <= TICKS_AT_ONCE;
        }
        found
    }

    /// How long ago the last one like it came, in ns.
    #[cold]
    pub fn age(&self, print: u32, now: Instant) -> Option<u64> {
        let all = self.prints.iter().zip(&self.came);
        let ages = all.filter(|(other, _)| **other == print);
        let ticks = ages.map(|(_, came)| tick(now).wrapping_sub(*came)).min()?;
        Some(u64::from(ticks) << TICK_BITS)
    }

    /// It is the last one now.
    #[inline]
    pub fn push(&mut self, print: u32, now: Instant) {
        let i = usize::from(self.next) % REMEMBERED;
        self.prints[i] = print;
        self.came[i] = tick(now);
        self.next = self.next.wrapping_add(1);
    }

    /// Looks at what a packet changes. The value means nothing.
    #[inline]
    pub fn warm(&self) -> u64 {
        u64::from(self.prints[0] ^ self.next as u32)
    }
}

/// A tick is 2^10 ns, about 1 µs.
const TICK_BITS: u32 = 10;

fn tick(at: Instant) -> u32 {
    (at.as_nanos() >> TICK_BITS) as u32
}

/// All that TCP says in a packet and the IP identification, multilinear hashing of its words.
#[inline]
fn print(packet: &Packet) -> u32 {
    let segment = &packet.segment;
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let stamps = segment.options.timestamps;
    let stamps = stamps.map_or(0, |stamps| pair(stamps.value, stamps.echo));
    let id = u32::from(packet.ip_id.unwrap_or_default());
    let rest = pair(
        segment.payload_len ^ u32::from(segment.flags.bits()) << 24,
        id << 16 | u32::from(segment.window),
    );
    let mut sum = pair(segment.seq.0, segment.ack.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    sum = sum.wrapping_add(stamps.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    sum = sum.wrapping_add(rest.wrapping_mul(0x94d0_49bb_1331_11eb));
    for [left, right] in segment.options.sack.as_slice() {
        let block = pair(left.0, right.0).wrapping_mul(0xd6e8_feb8_6659_fd93);
        sum = sum.rotate_left(5).wrapping_add(block);
    }
    (sum >> 32) as u32
}

impl Direction {
    /// Whether a packet just like it came at once before; one that [is not](Self::is_doubled) that packet
    /// is remembered.
    #[inline]
    pub fn has_seen(&mut self, packet: &Packet, now: Instant) -> bool {
        let print = print(packet);
        let seen = self.recent.holds(print, now);
        if !seen {
            self.recent.push(print, now);
        }
        seen
    }

    /// Whether a packet just like one that came at once before it is that packet. The sender hears an ACK
    /// twice that the network doubled: only where the capture has `most` packets twice it has that twice.
    /// Without an IP identification duplicate ACKs may well be alike; with SACK they report something new
    /// each.
    #[cold]
    pub fn is_doubled(
        &mut self,
        packet: &Packet,
        now: Instant,
        most: bool,
        context: &Context<'_>,
    ) -> bool {
        let print = print(packet);
        let segment = &packet.segment;
        let is_bare = segment.sequence_len() == 0;
        let same = match packet.ip_id {
            _ if is_bare && !most => false,
            Some(id) if id != 0 => true,
            _ if is_bare => segment.options.timestamps.is_some() && context.shared.sack,
            _ => {
                let age = self.recent.age(print, now).map(Duration::from_nanos);
                age.is_some_and(|age| age < self.too_soon(packet, context))
            }
        };
        if same {
            self.doubled += 1;
            self.segments += u64::from(!is_bare);
            self.bytes += u64::from(segment.payload_len);
        } else {
            self.recent.push(print, now);
        }
        same
    }

    /// The very packet once more: retransmissions have an identification of their own, or come later.
    pub(super) fn is_copy(
        &self,
        before: &Flight,
        sending: Sending,
        packet: &Packet,
        context: &Context<'_>,
    ) -> bool {
        if before.ts != sending.ts {
            return false;
        }
        match (before.ip_id, sending.ip_id) {
            (Some(before), Some(now)) if before != now => false,
            (Some(id), Some(_)) if id != 0 => true,
            _ => sending.at.since(before.last) < self.too_soon(packet, context),
        }
    }

    /// Within this nothing is sent again: it takes a round trip to be told of a loss. Copies may come
    /// nearer together than they went; where timestamps show that they went together, the whole round
    /// trip counts.
    #[cold]
    fn too_soon(&self, packet: &Packet, context: &Context<'_>) -> Duration {
        let segment = &packet.segment;
        let answers = segment.flags.contains(Flags::SYN.union(Flags::ACK));
        match self.rtts.least() {
            // A SYN that the network doubled is answered twice. If it was the capture that doubled it
            // but did so later, how many others it doubled tells in the end.
            _ if answers && !context.shared.syn_doubled => Duration::ZERO,
            _ if segment.flags.contains(Flags::SYN) => AT_ONCE,
            None => AT_ONCE,
            Some(least) if segment.options.timestamps.is_some() => {
                ((least + self.common(context).lag) / 2).max(WITHIN_A_HOST)
            }
            Some(least) => (least / 2).max(WITHIN_A_HOST),
        }
    }
}
