//! Packets in.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use recoup_recovery::State as RecoveryState;
use recoup_tcp::TimeWaitAnswer;
use recoup_units::Instant;
use recoup_wire::{Checksum, Decoded, Endpoints, Flags, Segment, SeqNumber, decode, decode_unverified};

use super::{Host, Sink, connection::Origin, others::Outcome};
use crate::VnetHeader;

/// Whether an address can be one host's on a network.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => !(ip.is_multicast() || ip.is_broadcast() || ip.octets()[0] == 0 || ip.is_loopback()),
        IpAddr::V6(ip) => !(ip.is_multicast() || ip.is_unspecified() || ip.is_loopback()),
    }
}

/// Whether an address can be a peer's: one host's, and a port's.
pub(crate) fn is_peer(address: SocketAddr) -> bool {
    is_unicast(address.ip()) && address.port() != 0
}

/// Whom a segment is for.
pub(super) enum Addressee {
    Connection(u32),
    /// Nobody now: the application is to decide about the SYN, a cookie answered it, or there is no room.
    Later,
    /// A connection in TIME-WAIT, which gives this answer.
    TimeWait(Option<Segment>),
    Nobody,
}

impl Host {
    /// Takes in an IP packet. What cannot wait is answered at once; call [`poll_transmit`](Self::poll_transmit) when
    /// all there is has been handed in.
    pub fn on_packet(&mut self, now: Instant, packet: &[u8], sink: &mut dyn Sink) {
        self.on_frame(now, &VnetHeader::default(), packet, sink);
    }

    /// As [`on_packet`](Self::on_packet), of a device with offloads: the packet may stand for several, and
    /// its checksum be yet to be completed. It is taken as one long segment; ACKs count it as the
    /// full-sized ones that it holds, and are sent for it as a whole.
    pub fn on_frame(&mut self, now: Instant, header: &VnetHeader, packet: &[u8], sink: &mut dyn Sink) {
        self.stats.packets_in += 1;
        self.on_whole(now, header, packet, sink);
    }

    /// A packet that came as it is, or was put together from fragments.
    pub(super) fn on_whole(&mut self, now: Instant, header: &VnetHeader, packet: &[u8], sink: &mut dyn Sink) {
        let decoded = if header.vouches_for_checksum() {
            decode_unverified(packet).map(|decoded| Decoded { tcp_checksum: Checksum::Correct, ..decoded })
        } else {
            decode(packet)
        };
        let outcome = match decoded {
            Ok(decoded) => self.on_tcp(now, &decoded, header, packet, sink),
            Err(error) => match self.on_other(now, &error, header, packet, sink) {
                Some(outcome) => outcome,
                None => return,
            },
        };
        self.pass_on(outcome, header, packet);
    }

    /// A TCP segment.
    fn on_tcp(
        &mut self,
        now: Instant,
        decoded: &Decoded,
        header: &VnetHeader,
        packet: &[u8],
        sink: &mut dyn Sink,
    ) -> Outcome {
        let ends = &decoded.endpoints;
        let whole = decoded.tcp_checksum == Checksum::Correct && decoded.ip_checksum_ok;
        // Connections outlive the listener that took every address.
        let ours = self.is_own(ends.dst.ip()) || self.has_path(&ends.reverse());
        let ours = ours && ends.dst.port() != 0;
        let from_peer = is_peer(ends.src) && !self.config.addresses.contains(&ends.src.ip());
        if !(whole && ours && from_peer) {
            return if whole && !ours { Outcome::NotTaken } else { Outcome::Ignored };
        }
        let payload = packet.get(decoded.payload.clone()).unwrap_or_default();
        // Whoever vouches for a checksum does not vouch for bytes that are not there.
        if payload.len() != decoded.segment.payload_len as usize {
            return Outcome::Ignored;
        }
        match self.addressee(now, decoded, sink) {
            Addressee::Connection(index) => {
                if decoded.ecn.is_marked() {
                    self.on_mark(index, &decoded.segment);
                }
                self.deliver(now, index, &decoded.segment, payload, sink);
            }
            Addressee::Later | Addressee::TimeWait(None) => {}
            Addressee::TimeWait(Some(answer)) => {
                let path = decoded.endpoints.reverse();
                self.stats.packets_out += self.egress.send_bare(&path, &answer, sink);
            }
            Addressee::Nobody if self.keep_stray(header, packet) => {}
            Addressee::Nobody => self.on_nobody(now, decoded, sink),
        }
        Outcome::Taken
    }

    /// Whether there is a connection along `path`, in whatever state.
    pub(super) fn has_path(&mut self, path: &Endpoints) -> bool {
        self.table.find(path).is_some() || self.half_open.has(path) || self.time_waits.has(path)
    }

    /// Whom a segment is for: a connection, a new one if it opens one.
    fn addressee(&mut self, now: Instant, decoded: &Decoded, sink: &mut dyn Sink) -> Addressee {
        let path = decoded.endpoints.reverse();
        let Some(index) = self.table.find_again(&path) else {
            if let Some(found) = self.half_open_addressee(now, &path, decoded) {
                return found;
            }
            return match self.time_waits.on_segment(now, &path, &decoded.segment, self.config.most_time_waits) {
                None | Some(TimeWaitAnswer::Ended) => self.welcome(now, decoded, None, sink),
                Some(TimeWaitAnswer::BeginsAnew(least)) => self.welcome(now, decoded, Some(least), sink),
                Some(TimeWaitAnswer::Nothing) => Addressee::TimeWait(None),
                Some(TimeWaitAnswer::Acknowledge(answer)) => Addressee::TimeWait(Some(answer)),
                Some(TimeWaitAnswer::Challenge(answer)) => {
                    let spent = self.challenges.spend(now, &self.secret);
                    self.stats.challenges_withheld += u64::from(!spent);
                    Addressee::TimeWait(spent.then_some(answer))
                }
            };
        };
        if self.table.at(index).is_some_and(|connection| connection.tcp.is_closed()) {
            // It ended by a packet of the same batch, or by its owner, and has not had its turn. A SYN may follow.
            self.table.forget_path(index);
            return self.addressee(now, decoded, sink);
        }
        let anew = self.table.at_mut(index).and_then(|c| c.tcp.endpoint().begins_anew(now, &decoded.segment));
        if anew.is_some() && self.listeners.at(path.src).is_some() {
            let released = self.table.at_mut(index).is_some_and(|c| c.released);
            match released {
                true => self.table.free(index),
                // Its owner may not have read everything yet.
                false => self.table.forget_path(index),
            }
            return self.welcome(now, decoded, anew, sink);
        }
        Addressee::Connection(index)
    }

    /// Whom a segment of a half-open connection is for: the connection, if there is room for it once it is open.
    fn half_open_addressee(&mut self, now: Instant, path: &Endpoints, decoded: &Decoded) -> Option<Addressee> {
        let (listener, isn) = self.half_open.get(path).map(|kept| (kept.listener, kept.half.isn()))?;
        let segment = &decoded.segment;
        let crowded = self.listeners.get_mut(listener).is_some_and(|listener| listener.is_crowded());
        let full = crowded || !self.has_place();
        if !self.has_memory_for_state() || full && !segment.flags.intersects(Flags::RST | Flags::SYN) {
            // The peer sends again, and so does this side with its SYN-ACK.
            self.stats.syns_dropped += 1;
            return Some(Addressee::Later);
        }
        // An earlier copy of its SYN may have been answered with a cookie, which the peer has taken.
        let ack_alone = segment.flags.contains(Flags::ACK) && !segment.flags.intersects(Flags::RST | Flags::SYN);
        if ack_alone && segment.ack != isn + 1 {
            match self.take_cookie(now, listener, decoded) {
                Addressee::Nobody => {}
                found => {
                    if matches!(found, Addressee::Connection(_)) {
                        self.half_open.take(path);
                        self.listeners.give_place(listener);
                    }
                    return Some(found);
                }
            }
        }
        self.reopen(path).map(Addressee::Connection)
    }

    /// What becomes of a segment to no connection: a SYN that a listener waits for opens one, and so does an ACK of a
    /// cookie. `least`: its initial sequence number is this one or a later one, because the path had a connection lately.
    fn welcome(&mut self, now: Instant, decoded: &Decoded, least: Option<SeqNumber>, sink: &mut dyn Sink) -> Addressee {
        let flags = decoded.segment.flags;
        if flags.contains(Flags::RST) || !flags.intersects(Flags::SYN | Flags::ACK) {
            return Addressee::Nobody;
        }
        let path = decoded.endpoints.reverse();
        let Some(id) = self.listeners.at(path.src) else {
            return Addressee::Nobody;
        };
        if !flags.contains(Flags::SYN) {
            return self.take_cookie(now, id, decoded);
        }
        if flags.intersects(Flags::ACK | Flags::FIN) {
            return Addressee::Nobody;
        }
        let Some(options) = self.options_for(id, &path) else {
            return Addressee::Nobody;
        };
        if options.decide_first {
            return match self.listeners.keep_syn(now, id, path, decoded.segment, least) {
                Some(displaced) => {
                    self.stats.syns_dropped += displaced;
                    Addressee::Later
                }
                None => Addressee::Nobody,
            };
        }
        let crowded = self.listeners.get_mut(id).is_none_or(|listener| listener.is_crowded());
        if crowded || !self.has_place() {
            return Addressee::Nobody;
        }
        if !self.listeners.take_place(id) {
            match least {
                // This peer had a connection, so it is where it says.
                Some(_) => self.listeners.add_embryonic(id),
                None if options.syn_cookies => {
                    self.send_cookie(now, id, &options, decoded, sink);
                    return Addressee::Later;
                }
                None => return Addressee::Nobody,
            }
        }
        let begins = self.begins(now, &path, least);
        Addressee::Connection(self.open(path, Some(&options), Origin::Listener(id), begins))
    }

    /// The packet of a segment was marked "congestion experienced". That counts for data in the window alone (RFC 3168
    /// §6.1.5).
    fn on_mark(&mut self, index: u32, segment: &Segment) {
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        let endpoint = connection.tcp.endpoint();
        let (next, receiver) = (endpoint.receive_next(), endpoint.receiver());
        let window = receiver.edge().since(receiver.next());
        let begins = segment.seq.before(next + u32::try_from(window).unwrap_or(u32::MAX));
        let ends = (segment.seq + segment.payload_len).after(next);
        if segment.payload_len > 0 && begins && ends {
            connection.tcp.endpoint_mut().on_congestion_experienced();
        }
    }

    fn deliver(&mut self, now: Instant, index: u32, segment: &Segment, payload: &[u8], sink: &mut dyn Sink) {
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        // Data that earlier ACKs permitted is sent before an ACK that may report a loss is processed: data then
        // in flight keeps the recovery's ACK clock running.
        let una = connection.tcp.endpoint().send_unacknowledged();
        let duplicate = payload.is_empty() && segment.ack == una;
        let mut now = now;
        if connection.dirty && (duplicate || !segment.options.sack.is_empty()) {
            self.transmit(now, index, sink);
            // RACK orders segments by their send times (RFC 8985 §5.2).
            now += Duration::from_nanos(1);
        }
        // The data of a SYN is not kept. A SYN without an answer would leave a connection that nothing ends.
        let keeps = !payload.is_empty() && !segment.flags.contains(Flags::SYN);
        if keeps && !self.has_memory_for(now, index, segment) {
            // One that this segment has just made, of a cookie or of what was kept of it, must have a turn all the same.
            return self.mark_dirty(index);
        }
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        let before = connection.tcp.endpoint().receiver().next();
        connection.deliver(now, segment, payload);
        if !payload.is_empty() {
            self.limit_out_of_order(index);
        }
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        let in_order = payload.is_empty() || connection.tcp.endpoint().receiver().next() > before;
        // The peer counts dupACKs, and a loss just found is repaired before more is read.
        let lossy = connection.tcp.endpoint().sender().state() == RecoveryState::Recovery;
        if in_order && !lossy && !self.config.answer_each {
            self.mark_dirty(index);
        } else {
            self.transmit(now, index, sink);
        }
    }

    /// A segment for no connection: what is not itself a reset is answered by one, but a listener ignores
    /// what neither opens nor acknowledges (RFC 9293 §3.10.7.2).
    fn on_nobody(&mut self, now: Instant, decoded: &Decoded, sink: &mut dyn Sink) {
        let path = decoded.endpoints.reverse();
        let acks = decoded.segment.flags.contains(Flags::ACK);
        if !acks && self.listeners.at(path.src).is_some() {
            let syn = decoded.segment.flags.contains(Flags::SYN);
            self.stats.syns_dropped += u64::from(syn);
            return;
        }
        self.nobody.on_segment(now, &decoded.segment);
        let mut reset = Segment::default();
        if self.nobody.poll_transmit(now, &mut reset).is_some() {
            self.stats.refused += 1;
            self.stats.packets_out += self.egress.send_bare(&path, &reset, sink);
        }
    }
}
