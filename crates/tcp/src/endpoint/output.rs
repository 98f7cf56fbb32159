//! The segments an endpoint sends, and the data written to it.

use super::*;
use crate::Push;
use recoup_recovery::MoreSent;
use recoup_recovery::slp::Carried;
use recoup_wire::ip_len;

impl Endpoint {
    /// The application hands over `bytes` to send, in one write. Ignored once closed.
    pub fn write(&mut self, now: Instant, bytes: u64) {
        self.write_part(now, bytes, true);
        self.end_write();
    }

    /// The application hands over a part of a write. For drivers that transmit before the rest of the write
    /// is taken, as Linux does when a chunk of its send queue is full (see
    /// [`chunk_room`](Self::chunk_room)). `first`: the write begins with this part. Returns whether enough
    /// is queued to transmit everything, not just one burst.
    pub fn write_part(&mut self, now: Instant, bytes: u64, first: bool) -> bool {
        let mut all = false;
        if !self.is_closed() && self.sender.fin().is_none() {
            all = self.pusher.queue(bytes, first, &self.sender);
            self.sender.on_written(now, bytes);
        }
        all
    }

    /// Which segments carry the PSH bit.
    pub(crate) fn push(&self) -> Push {
        self.pusher.policy()
    }

    /// Whether the segment transmitted last is followed by others of its burst.
    pub fn is_in_burst(&self) -> bool {
        self.pusher.is_in_burst()
    }

    /// The write whose parts were handed over ends: its end is pushed.
    pub fn end_write(&mut self) {
        self.pusher.mark();
    }

    /// Switches Nagle's rule on or off.
    pub fn set_nagle(&mut self, on: bool) {
        self.sender.set_nagle(on);
    }

    /// Whether the next bytes written begin a chunk of the send queue rather than fill one.
    pub fn begins_chunk(&self) -> bool {
        !self.pusher.joins_tail(&self.sender)
    }

    /// How many bytes fill the chunk of the send queue that is being filled; without
    /// [`Push::Burst`](crate::Push::Burst) there are no chunks, and it takes any length.
    pub fn chunk_room(&self) -> u64 {
        self.pusher.room(&self.sender)
    }

    /// Writes the next segment to transmit now to `segment`. Drivers call it after every other call until it
    /// returns `None`. (It writes in place because copying a segment would cost more than the rest of a
    /// transmission.)
    pub fn poll_transmit(&mut self, now: Instant, segment: &mut Segment) -> Option<Transmit> {
        let Some(transmit) = self.next_transmit(now, segment) else {
            self.pusher.pause();
            return None;
        };
        let what = match transmit {
            Transmit::Stream(what) => Some(what),
            Transmit::Control => None,
        };
        self.traffic.on_sent(now, segment, what);
        if transmit.is_last(segment) {
            self.pusher.pause();
        }
        Some(transmit)
    }

    /// Transmits more segments like `segment`, which [`poll_transmit`](Self::poll_transmit) just returned,
    /// at most `most`. They are what it would return next, and differ only in their
    /// sequence numbers: each is that of the one before plus [`Segment::payload_len`]. If they are not known to be
    /// [`all`](MoreSent::all), [`poll_transmit`](Self::poll_transmit) decides what follows.
    #[inline]
    pub fn transmit_more(&mut self, now: Instant, segment: &Segment, most: u32) -> MoreSent {
        let owes_other = self.reset_due.is_some() || self.syn_ack_due || self.acks.is_due();
        if !owes_other && self.sender.is_held_by_window(now) {
            self.pusher.pause();
            return MoreSent { segments: 0, all: true };
        }
        self.transmit_alike(now, segment, most)
    }

    fn transmit_alike(&mut self, now: Instant, segment: &Segment, most: u32) -> MoreSent {
        let size = u32::from(self.full_segment);
        let alike = segment.payload_len == size
            && segment.flags == Flags::ACK
            && segment.options.sack.is_empty()
            && segment.seq + size == self.isn.at(self.sender.nxt())
            && self.pusher.marks_ends_alone()
            && !self.receiver.has_sack_blocks()
            && self.reset_due.is_none()
            && !self.syn_ack_due
            && !self.path_mtu.wants_probe()
            && !self.is_closed();
        if !alike {
            return MoreSent::default();
        }
        let mut sent = self.sender.send_more(now, most);
        self.traffic.on_sent_more(sent.segments, size);
        sent.all &= !self.acks.is_due();
        sent
    }

    fn next_transmit(&mut self, now: Instant, segment: &mut Segment) -> Option<Transmit> {
        if let Some(reset) = self.reset_due.take() {
            *segment = reset.segment(now);
            return Some(Transmit::Control);
        }
        if self.is_closed() || self.state == State::Listen {
            return None;
        }
        let next = match self.path_mtu.matters(self.sender.una()) {
            false => self.sender.send_next(now),
            true => self.send_or_probe(now),
        };
        if let Some(what) = next {
            *segment = Segment::default();
            self.syn_ack_due = false;
            match what.span() {
                Some(span) => self.carry(now, what, span, segment),
                // Out of window on purpose: it must draw an ACK (RFC 9293 §3.8.6.1).
                None => self.bare_ack(now, Offset(self.sender.una().0.saturating_sub(1)), segment),
            }
            return Some(Transmit::Stream(what));
        }
        if std::mem::take(&mut self.syn_ack_due) && self.state == State::SynReceived {
            *segment = Segment::default();
            self.answer_syn(now, segment);
            return Some(Transmit::Control);
        }
        if self.take_keep_alive_probe() {
            *segment = Segment::default();
            // A number that the peer has acknowledged: it must answer with an ACK (RFC 9293 §3.8.4).
            self.bare_ack(now, Offset(self.sender.nxt().0.saturating_sub(1)), segment);
            return Some(Transmit::Control);
        }
        if self.acks.is_due() && self.synchronized() {
            *segment = Segment::default();
            self.bare_ack(now, self.sender.nxt(), segment);
            return Some(Transmit::Control);
        }
        None
    }

    /// Whether the segment the sender just sent has the PSH bit.
    fn carries_push(&mut self, what: Transmission) -> bool {
        let Some(span) = what.span().filter(|span| !span.contains(Offset::SYN)) else {
            return false;
        };
        let written = self.sender.fin().unwrap_or(self.sender.limit());
        let payload = Span::new(span.start, span.end.min(written).max(span.start));
        if payload.is_empty() {
            return false;
        }
        let sender = &self.sender;
        match what {
            Transmission::Again(_, trigger) => {
                let alone = matches!(trigger, Trigger::Rto | Trigger::Tlp);
                self.pusher.on_again(payload, alone, sender)
            }
            Transmission::Copy(_) => self.copy_pushed,
            _ => self.pusher.on_new(payload, written, sender),
        }
    }

    /// Makes `segment`, an empty one, carry `span` of the send stream, just sent as `what` says.
    fn carry(&mut self, now: Instant, what: Transmission, span: Span, segment: &mut Segment) {
        let syn = span.contains(Offset::SYN);
        let fin = self.sender.fin().is_some_and(|fin| span.contains(fin));
        let mut flags = if self.state == State::SynSent { Flags::NONE } else { Flags::ACK };
        if syn {
            flags |= Flags::SYN;
        }
        if fin {
            flags |= Flags::FIN;
        }
        let payload_len = span.len() - u64::from(syn) - u64::from(fin);
        if self.carries_push(what) {
            flags |= Flags::PSH;
        }
        segment.seq = self.isn.at(span.start);
        segment.payload_len = payload_len as u32;
        segment.flags = flags;
        segment.flags |= self.ecn.flags(segment, payload_len > 0 && what.is_new());
        self.finish(now, segment);
        if what.is_new() && self.sender.sends_copies() {
            self.offer_copy(now, span, segment);
        }
    }

    /// `segment` carries `span` for the first time: is it worth a copy?
    fn offer_copy(&mut self, now: Instant, span: Span, segment: &Segment) {
        let carried = Carried { ip_len: ip_len(segment, self.ip_version), push: segment.flags.contains(Flags::PSH) };
        if self.sender.offer_copy(now, span, carried) {
            self.copy_pushed = carried.push;
        }
    }

    /// Makes `segment`, an empty one, the SYN-ACK again. It answers a second SYN. It is no retransmission,
    /// since nothing says that the first SYN-ACK was lost.
    #[inline(never)]
    fn answer_syn(&mut self, now: Instant, segment: &mut Segment) {
        segment.seq = self.isn.at(Offset::SYN);
        segment.flags = Flags::SYN | Flags::ACK;
        segment.flags |= self.ecn.flags(segment, false);
        self.finish(now, segment);
    }

    fn bare_ack(&mut self, now: Instant, at: Offset, segment: &mut Segment) {
        segment.seq = self.isn.at(at);
        segment.flags = Flags::ACK;
        segment.flags |= self.ecn.flags(segment, false);
        self.finish(now, segment);
    }

    /// Adds acknowledgment, window and options.
    #[inline(always)] // for each segment
    fn finish(&mut self, now: Instant, segment: &mut Segment) {
        let syn = segment.flags.contains(Flags::SYN);
        if self.timestamps {
            let echo = if segment.flags.contains(Flags::ACK) { self.ts_recent } else { 0 };
            segment.options.timestamps = Some(Timestamps { value: timestamp(now), echo });
        }
        if syn {
            self.offer_options(&mut segment.options);
        }
        let window = self.receiver.offer_window();
        let scale = if syn { 0 } else { self.scale };
        segment.window = (window >> scale).min(0xffff) as u16;
        if segment.flags.contains(Flags::ACK) {
            segment.ack = self.ack_number();
            let room = self.sack_room(segment.payload_len);
            if self.sack && !syn {
                self.report_sacks(room, &mut segment.options.sack);
            }
            self.last_ack_sent = self.receiver.next();
            // Data that left no room for SACK blocks has not said all: the ACK is still owed.
            if room > 0 || !self.sack || !self.receiver.has_sack_blocks() {
                self.acks.on_ack_sent();
            }
        }
    }

    /// Adds the options of a SYN.
    #[inline(never)]
    fn offer_options(&self, options: &mut Options) {
        options.mss = Some(self.announced_mss);
        // A SYN-ACK answers what the SYN offered (RFC 7323 §2.2: never scaled itself).
        let scaling = self.state == State::SynSent || self.scale > 0 || self.peer_scale > 0;
        options.window_scale = self.offered_scale.filter(|_| scaling);
        options.sack_permitted = self.sack;
    }

    /// Adds at most `room` SACK blocks.
    #[inline]
    fn report_sacks(&mut self, room: usize, sack: &mut SackBlocks) {
        if self.receiver.has_sack_blocks() {
            let isn = self.peer_isn;
            self.receiver.take_sack_blocks(room, |block| {
                sack.push([isn.at(block.start), isn.at(block.end)]);
            });
        }
    }

    /// How many SACK blocks fit beside `payload_len` bytes: options take room from the payload,
    /// and a full segment has none left (RFC 9293 §3.7.1).
    fn sack_room(&self, payload_len: u32) -> usize {
        let most = match self.timestamps {
            true => SackBlocks::MAX_WITH_TIMESTAMPS,
            false => SackBlocks::MAX,
        };
        if payload_len == 0 {
            return most;
        }
        // Two bytes of padding, two of kind and length, eight a block.
        let free = u32::from(self.full_segment).saturating_sub(payload_len);
        most.min(free.saturating_sub(4) as usize / 8)
    }

    pub(super) fn ack_number(&self) -> SeqNumber {
        self.peer_isn.at(self.receiver.next())
    }
}
