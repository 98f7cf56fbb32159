//! What is known of one connection: its handshake, the engine beside its kernel, its last segment, and the decisions that are open.

use crate::copies::decision::{Decision, Kind};
use crate::copies::limits::{Budget, Limit};
use crate::copies::packet::{Odd, Packet};
use crate::copies::shadow::{Offer, Sent, Shadow, Wish};
use recoup_recovery::{Mechanisms, Trigger};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, Flags, SeqNumber};
use std::time::Duration;

/// After this long without a packet a connection is forgotten: half-open, and open.
const HALF_OPEN: Duration = Duration::from_secs(15);
const IDLE: Duration = Duration::from_secs(300);

/// After the end of both directions, reports are waited for this long.
const LINGER: Duration = Duration::from_secs(1);

/// For so long after a repair that hid a loss, no further help is given: ten round trips, and a second at least. In that time the
/// kernel learns of congestion by itself, if there is any.
const HIDDEN_ROUNDS: u32 = 10;
const HIDDEN_LEAST: Duration = Duration::from_secs(1);

/// The rules of both engines.
#[derive(Clone, Debug)]
pub struct Rules {
    pub kernel: Mechanisms,
    pub helper: Mechanisms,
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The peer's SYN arrived.
    Asked(Offer),
    /// This host's SYN was sent.
    Asking(Offer),
    /// This host's SYN-ACK was sent.
    Answered,
    Open,
}

/// A transfer: from the first byte of a flight until everything is acknowledged, and the peer sends again.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub begun: Instant,
    pub done: Option<Instant>,
}

/// The bytes of the last segment, ready to be sent again.
#[derive(Clone, Debug, Default)]
struct Kept {
    frame: Vec<u8>,
    span: Span,
    interface: u32,
}

impl Kept {
    /// Payload does not stay in memory longer than it is needed.
    fn wipe(&mut self) {
        self.frame.fill(0);
        std::hint::black_box(&self.frame);
        self.frame.clear();
    }
}

/// What a packet changed, for those who count.
#[derive(Clone, Copy, Debug, Default)]
pub struct News {
    /// A segment with sequence numbers was sent for the first time.
    pub sent: bool,
    /// The kernel retransmitted this.
    pub again: Option<Span>,
    /// A round trip that no retransmission blurs.
    pub rtt: Option<Duration>,
    /// A transfer has ended.
    pub exchange: Option<Exchange>,
    /// The connection is over.
    pub is_over: bool,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    stage: Stage,
    /// The sequence number of the SYN that began it, and whether this host sent it.
    begun_by: (SeqNumber, bool),
    shadow: Option<Box<Shadow>>,
    odd: Option<Odd>,
    /// It is one of those that are followed. Before this is known, nothing is sent.
    pub is_member: bool,
    kept: Kept,
    pub open: Vec<Decision>,
    pub budget: Budget,
    /// Its own packets with sequence numbers, and the guard's.
    pub sent: u64,
    pub helped: u64,
    /// The kernel has retransmitted: no help until all of what was sent then is acknowledged.
    spent_to: Offset,
    hidden_until: Instant,
    heard_at: Instant,
    exchange: Option<Exchange>,
    /// The end of a segment whose round trip is measured, and when it was sent.
    timed: Option<(Offset, Instant)>,
    has_peer_fin: bool,
    is_closing: bool,
    pub wake: Option<Instant>,
    pub number: u64,
}

impl Connection {
    /// From its first packet, a SYN. `None` if it begins otherwise.
    pub fn begin(packet: &Packet<'_>, number: u64, rules: &Rules) -> Option<Self> {
        let segment = &packet.segment;
        if !segment.flags.contains(Flags::SYN) || segment.flags.intersects(Flags::ACK | Flags::RST | Flags::FIN) {
            return None;
        }
        let offer = Offer::of(segment);
        let stage = if packet.outgoing { Stage::Asking(offer) } else { Stage::Asked(offer) };
        let mut connection = Self {
            stage,
            begun_by: (segment.seq, packet.outgoing),
            shadow: None,
            odd: packet.odd,
            is_member: false,
            kept: Kept::default(),
            open: Vec::new(),
            budget: Budget::new(Limit::CONNECTION, packet.at),
            sent: 0,
            helped: 0,
            spent_to: Offset::SYN,
            hidden_until: Instant::ZERO,
            heard_at: packet.at,
            exchange: None,
            timed: None,
            has_peer_fin: false,
            is_closing: false,
            wake: None,
            number,
        };
        if packet.outgoing && packet.odd.is_none() {
            connection.engage(packet, &offer, Trigger::Syn, rules);
        }
        Some(connection)
    }

    /// Whether a SYN is the one that began it, or a repetition of that.
    pub fn is_begun_by(&self, syn: &Packet<'_>) -> bool {
        self.begun_by == (syn.segment.seq, syn.outgoing)
    }

    /// The engine begins beside the kernel, with this host's SYN or SYN-ACK.
    fn engage(&mut self, packet: &Packet<'_>, own: &Offer, trigger: Trigger, rules: &Rules) {
        let ip_len = packet.last_ip_len(u32::MAX);
        self.shadow = Some(Box::new(Shadow::new(packet.at, own, trigger, &rules.kernel, &rules.helper, ip_len)));
        self.timed = Some((Offset::DATA, packet.at));
        self.sent += 1;
        self.keep(packet, Span::new(Offset::SYN, Offset::DATA), u32::MAX);
    }

    fn keep(&mut self, packet: &Packet<'_>, span: Span, mss: u32) {
        self.kept.wipe();
        if packet.write_last(mss, &mut self.kept.frame) {
            (self.kept.span, self.kept.interface) = (span, packet.interface);
        }
    }

    /// From now on it is left alone.
    pub fn leave(&mut self, why: Odd) {
        self.odd = self.odd.or(Some(why));
        self.shadow = None;
        self.kept.wipe();
    }

    pub fn odd(&self) -> Option<Odd> {
        self.odd
    }

    pub fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_deref()
    }

    /// A packet of the connection.
    pub fn on_packet(&mut self, packet: &Packet<'_>, rules: &Rules) -> News {
        self.heard_at = packet.at;
        let flags = packet.segment.flags;
        let mut news = News::default();
        if let Some(odd) = packet.odd {
            self.leave(odd);
        }
        if flags.contains(Flags::RST) {
            news.is_over = true;
            return news;
        }
        if packet.outgoing {
            self.on_outgoing(packet, rules, &mut news)
        } else {
            self.on_incoming(packet, &mut news)
        }
        self.is_closing = self.has_peer_fin && self.shadow.as_ref().is_none_or(|shadow| shadow.has_ended());
        news
    }

    fn on_outgoing(&mut self, packet: &Packet<'_>, rules: &Rules, news: &mut News) {
        let segment = &packet.segment;
        if let Stage::Asked(peer) = self.stage
            && self.odd.is_none()
        {
            if !segment.flags.contains(Flags::SYN | Flags::ACK) {
                return self.leave(Odd::Unclear);
            }
            let own = Offer::of(segment);
            self.engage(packet, &own, Trigger::SynAck, rules);
            if let Some(shadow) = &mut self.shadow {
                shadow.agree(packet.at, &own, &peer);
            }
            self.stage = Stage::Answered;
            news.sent = true;
            return;
        }
        let Some(shadow) = &mut self.shadow else { return };
        let mss = shadow.mss();
        let sent = shadow.on_sent(packet.at, segment, packet.last_ip_len(mss));
        let nxt = shadow.nxt();
        match sent {
            Sent::Nothing => {}
            Sent::Unclear => self.leave(Odd::Unclear),
            Sent::New(last) => {
                news.sent = true;
                self.sent += u64::from(segment.payload_len.div_ceil(mss).max(1));
                self.timed = self.timed.or(Some((last.end, packet.at)));
                self.exchange.get_or_insert(Exchange { begun: packet.at, done: None }).done = None;
                self.keep(packet, last, mss);
            }
            Sent::Again(span) => {
                news.again = Some(span);
                self.sent += 1;
                self.timed = None;
                self.spent_to = nxt;
                for decision in self.open.iter_mut().filter(|decision| decision.span.overlaps(span)) {
                    if decision.delivered.is_none() {
                        decision.kernel_again.get_or_insert(packet.at);
                    }
                }
            }
        }
    }

    fn on_incoming(&mut self, packet: &Packet<'_>, news: &mut News) {
        let segment = &packet.segment;
        let (syn, ack) = (segment.flags.contains(Flags::SYN), segment.flags.contains(Flags::ACK));
        self.has_peer_fin |= segment.flags.contains(Flags::FIN);
        let Some(shadow) = &mut self.shadow else { return };
        match self.stage {
            Stage::Asking(own) if syn && ack => {
                shadow.agree(packet.at, &own, &Offer::of(segment));
                self.stage = Stage::Open;
            }
            // Both ends opened at once (RFC 9293 §3.5, figure 7): rare, and nothing that the guard knows.
            Stage::Asking(_) if syn => return self.leave(Odd::Unclear),
            Stage::Answered if ack && !syn => self.stage = Stage::Open,
            // The SYN-ACK answers the copy of the SYN.
            Stage::Open if syn && ack => {
                let mut handshake = self.open.iter_mut().filter(|decision| decision.kind == Kind::Syn);
                handshake.by_ref().for_each(|decision| decision.is_reported = true);
            }
            _ => {}
        }
        if !ack {
            return;
        }
        // A client answers a second SYN-ACK with an ACK of its own (RFC 9293 §3.10.7.4, first step).
        let answers_syn_ack = segment.is_pure_ack() && segment.ack == shadow.isn() + 1;
        for decision in self.open.iter_mut().filter(|decision| decision.kind == Kind::SynAck) {
            decision.is_reported |= answers_syn_ack && decision.delivered.is_some();
        }
        let una = shadow.una();
        if !shadow.on_ack(packet.at, segment) {
            return self.leave(Odd::Unclear);
        }
        if let Some(duplicate) = shadow.duplicate(segment) {
            let mut open = self.open.iter_mut();
            let is_of = |decision: &&mut Decision| !decision.is_reported && decision.span.overlaps(duplicate);
            if let Some(decision) = open.find(is_of) {
                decision.is_reported = true;
            }
        }
        for decision in self.open.iter_mut().filter(|decision| decision.delivered.is_none()) {
            if shadow.is_delivered(decision.span) {
                decision.delivered = Some(packet.at);
            }
        }
        if shadow.una() > una
            && let Some((_, at)) = self.timed.filter(|(end, _)| shadow.una() >= *end)
        {
            self.timed = None;
            news.rtt = Some(packet.at.since(at));
        }
        if !self.kept.frame.is_empty() && shadow.is_delivered(self.kept.span) {
            self.kept.wipe();
        }
        if let Some(exchange) = &mut self.exchange {
            let is_done = shadow.una() == shadow.nxt();
            if is_done && exchange.done.is_none() {
                exchange.done = Some(packet.at);
            }
            if is_done && (segment.payload_len > 0 || self.has_peer_fin) {
                news.exchange = self.exchange.take();
            }
        }
    }

    /// The transfer that was complete when the connection ended.
    pub fn last_exchange(&mut self) -> Option<Exchange> {
        self.exchange.take().filter(|exchange| exchange.done.is_some())
    }

    /// When it needs attention next.
    pub fn next_time(&self) -> Instant {
        let wish = self.shadow.as_ref().and_then(|shadow| shadow.next_time());
        let settles = self.open.iter().filter_map(Decision::settles_at).min();
        [wish, settles].into_iter().flatten().min().map_or(self.ends_at(), |at| at.min(self.ends_at()))
    }

    /// When it is forgotten if nothing is heard.
    pub fn ends_at(&self) -> Instant {
        let after = match self.stage {
            _ if self.is_closing => LINGER,
            Stage::Open => IDLE,
            _ => HALF_OPEN,
        };
        self.heard_at + after
    }

    /// What the engine would send by `now`.
    pub fn wish(&mut self, now: Instant) -> Option<Wish> {
        self.shadow.as_mut()?.wish(now)
    }

    pub fn on_helped(&mut self, now: Instant, wish: Wish) {
        if let Some(shadow) = &mut self.shadow {
            shadow.on_helped(now, wish);
        }
    }

    pub fn kind(&self, wish: Wish) -> Kind {
        match (wish, self.stage) {
            (Wish::Probe(_), _) => Kind::Probe,
            (Wish::Copy(span), Stage::Asking(_)) if span.start == Offset::SYN => Kind::Syn,
            (Wish::Copy(span), _) if span.start == Offset::SYN => Kind::SynAck,
            (Wish::Copy(_), _) => Kind::Tail,
        }
    }

    /// Whether the kernel has retransmitted, and not all of what was sent by then is acknowledged.
    pub fn is_spent(&self) -> bool {
        self.shadow.as_ref().is_some_and(|shadow| shadow.una() < self.spent_to)
    }

    /// Whether help has just hidden a loss from the kernel.
    pub fn has_hidden(&self, now: Instant) -> bool {
        // Whether a report still comes is not known yet.
        now < self.hidden_until || self.open.iter().any(Decision::seems_to_hide)
    }

    /// Help repaired a loss that the kernel does not know of.
    pub fn on_hidden(&mut self, now: Instant) {
        let rounds = self.shadow.as_ref().and_then(|shadow| shadow.srtt()).unwrap_or_default() * HIDDEN_ROUNDS;
        self.hidden_until = now + rounds.max(HIDDEN_LEAST);
    }

    /// The frame that sends `span` again, and its interface.
    pub fn frame(&self, span: Span) -> Option<(&[u8], u32)> {
        let kept = &self.kept;
        (!kept.frame.is_empty() && kept.span == span).then_some((&kept.frame, kept.interface))
    }
}

/// Both ends of a connection, this host's first.
pub fn own_first(packet: &Packet<'_>) -> Endpoints {
    if packet.outgoing { packet.endpoints } else { packet.endpoints.reverse() }
}
