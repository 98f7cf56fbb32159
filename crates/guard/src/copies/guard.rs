//! Decides what is sent: the engine's wish, within what does no harm.
//!
//! ```text
//! packet ─► connection: reportshake, engine ─► wish ─► vetoes ─► control? dry run? ─► send
//!                │                                                                   │
//!                └─────────────── ACK: what became of it ─► outcome ◄─────────────────┘
//! ```

use crate::compare::is_control;
use crate::copies::connection::{Connection, News, Rules, own_first};
use crate::copies::decision::{Act, Decision, Kind, Veto};
use crate::copies::event::{Counts, Event, Named};
use crate::copies::limits::{Budget, FREE, Limit, SHARE};
use crate::copies::packet::{Odd, Packet};
use crate::copies::path::{Paths, Rise};
use crate::copies::shadow::Wish;
use recoup_recovery::Mechanisms;
use recoup_recovery::slp::LossRate;
use recoup_units::{Instant, Ppm, Span};
use recoup_wire::{Endpoints, Flags, SeqNumber};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::Duration;

/// Later than this after its time, nothing is sent: what the guard knows may be old.
const LATE: Duration = Duration::from_millis(10);

/// How the guard acts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The rules of this host's kernel.
    pub kernel: Mechanisms,
    /// The same with the mechanisms that help.
    pub helper: Mechanisms,
    /// Whether p is learned from each path.
    pub learns_loss: bool,
    /// Send; otherwise say what would be sent.
    pub acts: bool,
    /// Only SYNs and SYN-ACKs are copied.
    pub handshakes_only: bool,
    /// The share of connections that are left alone, to compare with.
    pub control: Ppm,
    /// The key by which they are chosen.
    pub key: u64,
    /// Copies a second, to one address and in all.
    pub destination: Limit,
    pub host: Limit,
    /// The most connections that are followed.
    pub most: usize,
}

/// Keeps the peer's reports of what the guard sent from the kernel (RFC 2883).
pub trait Reports {
    /// The next report of a duplicate of this segment, which is about to be sent again on this interface, is not the kernel's.
    ///
    /// # Errors
    /// When that cannot be done.
    fn hide(&mut self, what: &Named, interface: u32) -> io::Result<()>;
    /// The kernel itself has retransmitted this: reports of it are its own.
    fn show(&mut self, what: &Named);
    /// The connection is over.
    fn forget(&mut self, connection: &Endpoints);
}

/// Whether a connection, this host's end first, is one of those that are followed.
pub type IsMember = Box<dyn Fn(&Endpoints) -> bool>;

/// Sends a frame on the interface of this number.
pub type Send<'a> = dyn FnMut(&[u8], u32) -> io::Result<()> + 'a;

/// All connections.
pub struct Guard {
    settings: Settings,
    is_member: IsMember,
    connections: HashMap<Endpoints, Connection>,
    /// When connections need attention, by the number of the connection.
    timers: BTreeMap<(Instant, u64), Endpoints>,
    paths: Paths,
    host: Budget,
    next_number: u64,
    counts: Counts,
    events: Vec<Event>,
}

impl Guard {
    pub fn new(settings: Settings, now: Instant) -> Self {
        Self {
            connections: HashMap::new(),
            timers: BTreeMap::new(),
            paths: Paths::new(settings.destination),
            host: Budget::new(settings.host, now),
            next_number: 0,
            counts: Counts::default(),
            events: Vec::new(),
            is_member: Box::new(|_| true),
            settings,
        }
    }

    /// Follows these connections alone. It is asked once for each connection, when this host's SYN or SYN-ACK is seen, and
    /// again when the client's ACK is if that SYN-ACK seems to be of none: with SYN cookies, the kernel has no socket before.
    #[must_use]
    pub fn with_members(self, is_member: IsMember) -> Self {
        Self { is_member, ..self }
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Connections that are followed now.
    pub fn open(&self) -> usize {
        self.connections.len()
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// When [`run`](Self::run) has something to do.
    pub fn next_time(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    fn is_control(&self, connection: &Endpoints) -> bool {
        is_control(connection, self.settings.key, self.settings.control)
    }

    /// A packet passed an interface.
    pub fn on_packet(&mut self, packet: &Packet<'_>, reports: &mut dyn Reports) {
        let ends = own_first(packet);
        let is_first = packet.segment.flags.contains(Flags::SYN) && !packet.segment.flags.contains(Flags::ACK);
        let mut is_reused = false;
        if is_first && let Some(known) = self.connections.get(&ends) {
            is_reused = !known.is_begun_by(packet);
        }
        if is_reused {
            self.end(&ends, reports);
        }
        if !self.connections.contains_key(&ends) {
            return self.begin(packet, ends, is_reused);
        }
        let rules = self.rules(&ends, packet.at);
        let Some(connection) = self.connections.get_mut(&ends) else { return };
        let (was_odd, was_member) = (connection.odd(), connection.is_member);
        let news = connection.on_packet(packet, &rules);
        let odd = connection.odd();
        if !was_member && !self.admit(packet, &ends) {
            return self.end(&ends, reports);
        }
        if was_member && let (None, Some(odd)) = (was_odd, odd) {
            *self.counts.left_alone.entry(odd).or_default() += 1;
            reports.forget(&ends);
        }
        self.hear(&ends, packet.at, news, reports);
    }

    fn begin(&mut self, packet: &Packet<'_>, ends: Endpoints, is_reused: bool) {
        if self.connections.len() >= self.settings.most {
            let flags = packet.segment.flags;
            self.counts.beyond += u64::from(flags.contains(Flags::SYN) && !flags.contains(Flags::ACK));
            return;
        }
        let rules = self.rules(&ends, packet.at);
        let Some(mut connection) = Connection::begin(packet, self.next_number, &rules) else { return };
        if packet.outgoing && !(self.is_member)(&ends) {
            return;
        }
        self.next_number += 1;
        if is_reused {
            connection.leave(Odd::Reused);
        }
        self.connections.insert(ends, connection);
        if packet.outgoing {
            self.paths.to(ends.dst.ip(), packet.at).on_sent(packet.at);
            self.count(&ends);
        }
        self.schedule(&ends);
    }

    /// Counts a connection from here on.
    fn count(&mut self, ends: &Endpoints) {
        let is_control = self.is_control(ends);
        let Some(connection) = self.connections.get_mut(ends) else { return };
        connection.is_member = true;
        self.counts.connections += 1;
        self.counts.control += u64::from(is_control);
        if let Some(odd) = connection.odd() {
            *self.counts.left_alone.entry(odd).or_default() += 1;
        }
    }

    /// Asks whether a connection to this host is one of those that are followed, if its socket can be known by now. `false`: it
    /// is not.
    fn admit(&mut self, packet: &Packet<'_>, ends: &Endpoints) -> bool {
        let flags = packet.segment.flags;
        if !packet.outgoing && !flags.contains(Flags::ACK) {
            return true;
        }
        if (self.is_member)(ends) {
            self.count(ends);
            return true;
        }
        packet.outgoing && flags.contains(Flags::SYN)
    }

    /// The rules for a connection, with what is known of its path.
    fn rules(&mut self, ends: &Endpoints, now: Instant) -> Rules {
        let mut helper = self.settings.helper;
        if self.settings.learns_loss
            && let Some(slp) = &mut helper.slp
        {
            slp.loss = LossRate::Fixed(self.paths.to(ends.dst.ip(), now).loss());
        }
        Rules { kernel: self.settings.kernel, helper }
    }

    /// What a packet of a connection changed.
    fn hear(&mut self, ends: &Endpoints, at: Instant, news: News, reports: &mut dyn Reports) {
        let path = self.paths.to(ends.dst.ip(), at);
        if news.sent {
            path.on_sent(at);
        }
        if let Some(rtt) = news.rtt {
            path.on_rtt(at, rtt);
        }
        if let Some(span) = news.again {
            path.on_lost(at);
            if let Some(isn) = self.isn(ends) {
                reports.show(&Named::of(ends, isn, span));
            }
        }
        if let Some(exchange) = news.exchange {
            let is_control = self.is_control(ends);
            self.events.push(Event::Exchanged { exchange, is_control });
        }
        if news.is_over {
            return self.end(ends, reports);
        }
        self.schedule(ends);
    }

    fn isn(&self, ends: &Endpoints) -> Option<SeqNumber> {
        Some(self.connections.get(ends)?.shadow()?.isn())
    }

    /// Sets the timer of a connection anew.
    fn schedule(&mut self, ends: &Endpoints) {
        let Some(connection) = self.connections.get_mut(ends) else { return };
        let next = connection.next_time();
        if connection.wake == Some(next) {
            return;
        }
        if let Some(old) = connection.wake.replace(next) {
            self.timers.remove(&(old, connection.number));
        }
        self.timers.insert((next, connection.number), *ends);
    }

    /// Does what is due by `until`, of which everything was heard. It is `now`.
    pub fn run(&mut self, until: Instant, now: Instant, reports: &mut dyn Reports, send: &mut Send<'_>) {
        while let Some((&(at, number), &ends)) = self.timers.first_key_value()
            && at <= until
        {
            self.timers.remove(&(at, number));
            if let Some(connection) = self.connections.get_mut(&ends) {
                connection.wake = None;
            }
            self.attend(&ends, at, now.max(at), reports, send);
        }
    }

    /// A connection's time has come.
    fn attend(&mut self, ends: &Endpoints, at: Instant, now: Instant, reports: &mut dyn Reports, send: &mut Send<'_>) {
        while let Some(wish) = self.connections.get_mut(ends).and_then(|connection| connection.wish(at)) {
            self.decide(ends, wish, at, now, reports, send);
        }
        let Some(connection) = self.connections.get_mut(ends) else { return };
        if connection.ends_at() <= at {
            return self.end(ends, reports);
        }
        let (settled, open) = std::mem::take(&mut connection.open)
            .into_iter()
            .partition(|decision| decision.settles_at().is_some_and(|settles| settles <= at));
        connection.open = open;
        self.settle(ends, settled, at);
        self.schedule(ends);
    }

    /// The engine would send this now.
    fn decide(
        &mut self,
        ends: &Endpoints,
        wish: Wish,
        due: Instant,
        now: Instant,
        reports: &mut dyn Reports,
        send: &mut Send<'_>,
    ) {
        let is_control = self.is_control(ends);
        let Some(connection) = self.connections.get_mut(ends) else { return };
        let Some(shadow) = connection.shadow().filter(|_| connection.is_member) else { return };
        let (kind, span, isn) = (connection.kind(wish), wish.span(), shadow.isn());
        let what = Named::of(ends, isn, span);
        let (kernel_at, min_rtt) = (shadow.kernel_acts_at(), shadow.min_rtt());
        let gap = shadow.sent_at(span).map_or(Duration::ZERO, |sent| now.since(sent));
        let bytes = connection.frame(span).map_or(0, |(frame, _)| frame.len());
        let path = self.paths.to(ends.dst.ip(), now);
        let rtt = min_rtt.or(path.shortest());
        let share = FREE + connection.sent / SHARE;
        let rise = path.rise(now);
        let veto = match () {
            () if kind == Kind::Probe && connection.is_spent() => Some(Veto::Kernel),
            () if kind == Kind::Tail && connection.is_spent() => Some(Veto::Kernel),
            () if self.settings.handshakes_only && matches!(kind, Kind::Tail | Kind::Probe) => Some(Veto::Handshakes),
            () if bytes == 0 => Some(Veto::Bytes),
            () if now.since(due) > LATE => Some(Veto::Late),
            () if connection.has_hidden(now) => Some(Veto::Hidden),
            () if rise == Some(Rise::Loss) => Some(Veto::LossRises),
            () if rise == Some(Rise::RoundTripTime) => Some(Veto::RttRises),
            () if connection.helped >= share || !connection.budget.permits(now, bytes) => Some(Veto::Connection),
            () if !path.budget.permits(now, bytes) => Some(Veto::Destination),
            () if !self.host.permits(now, bytes) => Some(Veto::Host),
            () => None,
        };
        if let Some(veto) = veto {
            *self.counts.vetoes.entry((kind, veto)).or_default() += 1;
            return;
        }
        let act = match () {
            () if is_control => Act::Control,
            () if !self.settings.acts => Act::Dry,
            () => Act::Sent,
        };
        if act == Act::Sent && !self.send(ends, what, span, kind, reports, send) {
            return;
        }
        let Some(connection) = self.connections.get_mut(ends) else { return };
        connection.helped += 1;
        connection.budget.take(bytes);
        // What a control or a dry run does not send leaves the others' budgets alone.
        if act == Act::Sent {
            self.paths.to(ends.dst.ip(), now).budget.take(bytes);
            self.host.take(bytes);
            self.counts.sent += 1;
            self.counts.sent_bytes += bytes as u64;
        }
        let decision = Decision {
            at: now,
            kind,
            span,
            act,
            gap,
            rtt,
            kernel_at,
            kernel_again: None,
            delivered: None,
            is_reported: false,
        };
        connection.on_helped(now, wish);
        connection.open.push(decision.clone());
        self.events.push(Event::Decided { what, decision, bytes });
    }

    /// Sends; `false` if that cannot be done.
    fn send(
        &mut self,
        ends: &Endpoints,
        what: Named,
        span: Span,
        kind: Kind,
        reports: &mut dyn Reports,
        send: &mut Send<'_>,
    ) -> bool {
        let Some((frame, interface)) = self.connections.get(ends).and_then(|connection| connection.frame(span)) else {
            return false;
        };
        let is_reportshake = matches!(kind, Kind::Syn | Kind::SynAck);
        let is_hidden = is_reportshake || reports.hide(&what, interface).is_ok();
        let is_sent = is_hidden && send(frame, interface).is_ok();
        if !is_sent {
            *self.counts.vetoes.entry((kind, Veto::System)).or_default() += 1;
            if is_hidden && !is_reportshake {
                reports.show(&what);
            }
        }
        is_sent
    }

    /// Says what became of decisions.
    fn settle(&mut self, ends: &Endpoints, decisions: Vec<Decision>, now: Instant) {
        let is_control = self.is_control(ends);
        for decision in decisions {
            let (outcome, saved) = decision.outcome();
            let Some(connection) = self.connections.get_mut(ends) else { return };
            if decision.seems_to_hide() {
                connection.on_hidden(now);
                self.paths.to(ends.dst.ip(), now).on_lost(now);
            }
            let isn = self.isn(ends).unwrap_or_default();
            let what = Named::of(ends, isn, decision.span);
            self.events.push(Event::Settled { what, decision, outcome, saved, is_control });
        }
    }

    /// A connection is over.
    fn end(&mut self, ends: &Endpoints, reports: &mut dyn Reports) {
        let Some(connection) = self.connections.get_mut(ends) else { return };
        let open = std::mem::take(&mut connection.open);
        let exchange = connection.last_exchange();
        let now = open.iter().map(|decision| decision.at).max().unwrap_or_default();
        self.settle(ends, open, now);
        if let Some(exchange) = exchange {
            let is_control = self.is_control(ends);
            self.events.push(Event::Exchanged { exchange, is_control });
        }
        if let Some(connection) = self.connections.remove(ends)
            && let Some(wake) = connection.wake
        {
            self.timers.remove(&(wake, connection.number));
        }
        reports.forget(ends);
    }

    /// Ends all connections.
    pub fn finish(&mut self, reports: &mut dyn Reports) {
        let mut ends: Vec<(u64, Endpoints)> =
            self.connections.iter().map(|(ends, connection)| (connection.number, *ends)).collect();
        ends.sort_unstable_by_key(|(number, _)| *number);
        ends.iter().for_each(|(_, ends)| self.end(ends, reports));
    }

    /// Packets were missed: what is known of open connections may be wrong.
    pub fn on_missed(&mut self) {
        let mut left = 0;
        for connection in self.connections.values_mut().filter(|connection| connection.odd().is_none()) {
            connection.leave(Odd::Unclear);
            left += u64::from(connection.is_member);
        }
        if left > 0 {
            *self.counts.left_alone.entry(Odd::Unclear).or_default() += left;
        }
    }
}

#[cfg(test)]
mod tests;
