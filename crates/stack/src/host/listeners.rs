//! Where connections come to: listeners, and SYNs about which the application decides.

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, SocketAddr},
};

use recoup_units::Instant;
use recoup_wire::{Endpoints, Segment, SeqNumber};

use super::{ConnectionId, EMBRYONIC_LIFE, Host, HostError, connection::Origin};
use crate::TcpOptions;

/// Which listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub(super) u32);

/// A SYN that waits for a decision: to be admitted or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The listener it came to.
    pub listener: ListenerId,
    /// The ends of the connection it asks for: `src` is where it came to, `dst` its sender.
    pub path: Endpoints,
}

/// A SYN that waits.
#[derive(Debug)]
struct Waiting {
    listener: ListenerId,
    segment: Segment,
    /// The least initial sequence number of the connection, where the path had one lately.
    least_isn: Option<SeqNumber>,
    since: Instant,
}

/// A place connections come to.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    /// `None`: every address and port that no other listener has.
    local: Option<SocketAddr>,
    pub options: TcpOptions,
    /// Connections have one of these each, where there are any.
    choices: Vec<TcpOptions>,
    /// Connections whose handshake is not done, and SYNs that wait for a decision.
    pub embryonic: usize,
    /// Cookies that were sent are valid until then.
    pub cookies_until: Option<Instant>,
    /// Open connections that nobody has accepted.
    pub ready: VecDeque<ConnectionId>,
    /// SYNs that wait for a decision and that the application has not taken, oldest first.
    unseen: VecDeque<Endpoints>,
    /// It waits among those with such SYNs.
    asks: bool,
}

impl Listener {
    /// Which of the choices a connection has whose hash this is.
    fn choice(&self, hash: u64) -> usize {
        // Both fit.
        (hash % self.choices.len().max(1) as u64) as usize
    }

    /// The options of a connection whose hash this is.
    fn options_of(&self, hash: u64) -> &TcpOptions {
        self.choices.get(self.choice(hash)).unwrap_or(&self.options)
    }

    /// Whether it has as many connections in handshakes as it may have.
    fn is_full(&self) -> bool {
        self.embryonic >= self.options.backlog
    }

    /// Whether as many connections wait to be accepted as may.
    pub fn is_crowded(&self) -> bool {
        self.ready.len() >= self.options.backlog
    }
}

/// All listeners of a host.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    by_id: HashMap<ListenerId, Listener>,
    by_address: HashMap<SocketAddr, ListenerId>,
    any: Option<ListenerId>,
    /// How many there have been.
    made: u32,
    waiting: HashMap<Endpoints, Waiting>,
    /// Listeners with SYNs in `unseen` that were not announced.
    asking: VecDeque<ListenerId>,
}

impl Listeners {
    /// The listener for what comes to `local`.
    pub fn at(&self, local: SocketAddr) -> Option<ListenerId> {
        let unspecified: IpAddr = match local {
            SocketAddr::V4(_) => [0; 4].into(),
            SocketAddr::V6(_) => [0; 16].into(),
        };
        let found = self.by_address.get(&local);
        let found = found.or_else(|| self.by_address.get(&SocketAddr::new(unspecified, local.port())));
        found.copied().or(self.any)
    }

    /// Whether one has this very address.
    pub fn has(&self, local: SocketAddr) -> bool {
        self.by_address.contains_key(&local)
    }

    pub fn get_mut(&mut self, id: ListenerId) -> Option<&mut Listener> {
        self.by_id.get_mut(&id)
    }

    /// Whether one takes connections at every address.
    pub const fn takes_any(&self) -> bool {
        self.any.is_some()
    }

    fn add(&mut self, local: Option<SocketAddr>, options: &TcpOptions) -> ListenerId {
        let id = ListenerId(self.made);
        self.made = self.made.wrapping_add(1);
        self.by_id.insert(id, Listener { local, options: *options, ..Listener::default() });
        id
    }

    /// Whether a listener has room for one more connection. If so it is counted.
    pub fn take_place(&mut self, id: ListenerId) -> bool {
        let listener = self.by_id.get_mut(&id).filter(|listener| !listener.is_full());
        listener.is_some_and(|listener| {
            listener.embryonic += 1;
            true
        })
    }

    /// Counts one more connection, whether there is room or not.
    pub fn add_embryonic(&mut self, id: ListenerId) {
        if let Some(listener) = self.by_id.get_mut(&id) {
            listener.embryonic += 1;
        }
    }

    /// A connection or a SYN no longer counts as embryonic.
    pub fn give_place(&mut self, id: ListenerId) {
        if let Some(listener) = self.by_id.get_mut(&id) {
            listener.embryonic = listener.embryonic.saturating_sub(1);
        }
    }

    /// Keeps a SYN until the application has decided. One that waits already stays. Returns
    /// how many others made room for it; `None` if it is not kept.
    pub fn keep_syn(
        &mut self,
        now: Instant,
        id: ListenerId,
        path: Endpoints,
        segment: Segment,
        least_isn: Option<SeqNumber>,
    ) -> Option<u64> {
        if self.waiting.contains_key(&path) {
            return Some(0);
        }
        self.forget_old(now, id);
        let mut displaced = 0;
        if !self.take_place(id) {
            // The oldest that the application has not seen makes room: a SYN of a flood, rather than a client that waits
            // (RFC 4987 §3.4). It is not answered.
            let oldest = self.by_id.get_mut(&id).and_then(|listener| listener.unseen.pop_front());
            if oldest.and_then(|path| self.take_syn(&path)).is_none() || !self.take_place(id) {
                return None;
            }
            displaced = 1;
        }
        self.waiting.insert(path, Waiting { listener: id, segment, least_isn, since: now });
        if let Some(listener) = self.by_id.get_mut(&id) {
            listener.unseen.push_back(path);
            if !std::mem::replace(&mut listener.asks, true) {
                self.asking.push_back(id);
            }
        }
        Some(displaced)
    }

    /// Forgets SYNs of a listener whose sender has given up.
    fn forget_old(&mut self, now: Instant, id: ListenerId) {
        while let Some(path) = self.by_id.get(&id).and_then(|listener| listener.unseen.front().copied()) {
            if self.waiting.get(&path).is_some_and(|waiting| now.since(waiting.since) < EMBRYONIC_LIFE) {
                return;
            }
            self.take_syn(&path);
            if let Some(listener) = self.by_id.get_mut(&id) {
                listener.unseen.pop_front();
            }
        }
    }

    /// Whether there are SYNs that were not announced.
    pub fn asks(&self) -> bool {
        !self.asking.is_empty()
    }

    /// Takes out a SYN that waits, and the least initial sequence number of the connection.
    pub fn take_syn(&mut self, path: &Endpoints) -> Option<(Segment, Option<SeqNumber>)> {
        let waiting = self.waiting.remove(path)?;
        self.give_place(waiting.listener);
        Some((waiting.segment, waiting.least_isn))
    }
}

impl Host {
    /// Takes connections at `local` from now on; at each of the host's addresses if it is the
    /// unspecified one. Each is announced by its first event, and waits until it is [accepted](Self::accept).
    ///
    /// # Errors
    /// When the address is not this host's, or taken. Port 0 stands for a free one, which
    /// [`listens_at`](Self::listens_at) tells.
    pub fn listen(&mut self, local: SocketAddr) -> Result<ListenerId, HostError> {
        let options = self.config.tcp;
        self.listen_with(local, &options)
    }

    /// As [`listen`](Self::listen), with options of its own.
    ///
    /// # Errors
    /// As [`listen`](Self::listen).
    pub fn listen_with(&mut self, local: SocketAddr, options: &TcpOptions) -> Result<ListenerId, HostError> {
        let ip = local.ip();
        if !(ip.is_unspecified() || self.config.every_address || self.config.addresses.contains(&ip)) {
            return Err(HostError::NotOurs(ip));
        }
        let local = match local.port() {
            0 => {
                let mut places = self.secret.ports(ip, local).map(|port| SocketAddr::new(ip, port));
                places.find(|place| !self.listeners.has(*place)).ok_or(HostError::InUse(local))?
            }
            _ => local,
        };
        if self.listeners.by_address.contains_key(&local) {
            return Err(HostError::InUse(local));
        }
        let id = self.listeners.add(Some(local), options);
        self.listeners.by_address.insert(local, id);
        Ok(id)
    }

    /// Takes connections to every address and port that no other listener has, whoever's address it is.
    ///
    /// # Errors
    /// When another listener does that already.
    pub fn listen_any(&mut self, options: &TcpOptions) -> Result<ListenerId, HostError> {
        if self.listeners.takes_any() {
            return Err(HostError::AnyInUse);
        }
        let id = self.listeners.add(None, options);
        self.listeners.any = Some(id);
        Ok(id)
    }

    /// Takes no more connections there. Those that were accepted go on, the others are reset.
    pub fn stop_listening(&mut self, id: ListenerId) {
        let Some(listener) = self.listeners.by_id.remove(&id) else {
            return;
        };
        match listener.local {
            Some(local) => drop(self.listeners.by_address.remove(&local)),
            None => self.listeners.any = None,
        }
        self.listeners.waiting.retain(|_, waiting| waiting.listener != id);
        for connection in listener.ready {
            // An error says that it is gone already.
            let _ = self.abort(connection);
        }
    }

    /// Takes out an open connection of a listener.
    pub fn accept(&mut self, id: ListenerId) -> Option<ConnectionId> {
        self.listeners.get_mut(id)?.ready.pop_front()
    }

    /// The number of open connections of a listener that wait to be accepted.
    pub fn acceptable(&self, id: ListenerId) -> usize {
        self.listeners.by_id.get(&id).map_or(0, |listener| listener.ready.len())
    }

    /// Takes connections with other options from now on.
    ///
    /// # Errors
    /// When there is no such listener.
    pub fn set_listener_options(&mut self, id: ListenerId, options: &TcpOptions) -> Result<(), HostError> {
        let listener = self.listeners.get_mut(id).ok_or(HostError::Unknown)?;
        listener.options = *options;
        listener.choices.clear();
        Ok(())
    }

    /// Gives each connection one of `choices` from now on, by a keyed hash of its addresses and ports: about as many
    /// connections have one as another, and no peer can choose. What concerns the listener itself is that of the first one.
    /// Handshakes under way end with the new ones, so these should agree with the old ones on what SYNs offer.
    ///
    /// # Errors
    /// When there is no such listener, or no choice.
    pub fn split_listener(&mut self, id: ListenerId, choices: &[TcpOptions]) -> Result<(), HostError> {
        let (listener, first) = self.listeners.get_mut(id).zip(choices.first()).ok_or(HostError::Unknown)?;
        listener.options = *first;
        listener.choices = choices.to_vec();
        Ok(())
    }

    /// Which of the choices of its [split](Self::split_listener) listener a connection has.
    pub fn choice(&self, id: ConnectionId) -> Option<usize> {
        let path = self.path(id)?;
        let listener = self.listeners.by_id.get(&self.listener(id)?)?;
        Some(listener.choice(self.secret.choice(&path)))
    }

    /// The options of a connection that comes to a listener along `path`.
    pub(super) fn options_for(&self, id: ListenerId, path: &Endpoints) -> Option<TcpOptions> {
        let listener = self.listeners.by_id.get(&id)?;
        if listener.choices.len() < 2 {
            return Some(listener.options);
        }
        Some(*listener.options_of(self.secret.choice(path)))
    }

    /// Where a listener takes connections; `None` if everywhere, or if there is none.
    pub fn listens_at(&self, id: ListenerId) -> Option<SocketAddr> {
        self.listeners.by_id.get(&id)?.local
    }

    /// The options of a listener; those of the host if there is none.
    pub fn listener_options(&self, id: ListenerId) -> TcpOptions {
        self.listeners.by_id.get(&id).map_or(self.config.tcp, |listener| listener.options)
    }

    /// Takes out a SYN to a listener about which the application is to decide ([`TcpOptions::decide_first`]).
    pub fn next_incoming(&mut self, id: ListenerId) -> Option<Incoming> {
        let path = self.listeners.get_mut(id)?.unseen.pop_front()?;
        Some(Incoming { listener: id, path })
    }

    /// Takes out a listener with SYNs that wait for a decision and were not announced. Treat it as an
    /// edge: take out [incoming](Self::next_incoming) ones until there is none.
    pub fn next_asking(&mut self) -> Option<ListenerId> {
        let id = self.listeners.asking.pop_front()?;
        if let Some(listener) = self.listeners.get_mut(id) {
            listener.asks = false;
        }
        Some(id)
    }

    /// Answers a SYN: the connection opens. It is accepted already.
    ///
    /// # Errors
    /// When the SYN does not wait any more, or there are as many connections as there may be.
    pub fn admit(&mut self, now: Instant, path: &Endpoints, options: &TcpOptions) -> Result<ConnectionId, HostError> {
        let syn = self.listeners.take_syn(path).ok_or(HostError::Unknown)?;
        if !self.has_place() {
            self.stats.syns_dropped += 1;
            return Err(HostError::Exhausted(path.dst));
        }
        Ok(self.answer(now, path, options, syn))
    }

    /// The connection that a SYN opens.
    fn answer(
        &mut self,
        now: Instant,
        path: &Endpoints,
        options: &TcpOptions,
        (segment, least_isn): (Segment, Option<SeqNumber>),
    ) -> ConnectionId {
        let begins = self.begins(now, path, least_isn);
        let index = self.open(*path, Some(options), Origin::Admitted, begins);
        if let Some(connection) = self.table.at_mut(index) {
            connection.deliver(now, &segment, &[]);
        }
        self.mark_dirty(index);
        self.table.id(index)
    }

    /// Refuses the connection that a SYN asks for: its sender is reset.
    ///
    /// # Errors
    /// When the SYN does not wait any more.
    pub fn refuse(&mut self, now: Instant, path: &Endpoints) -> Result<(), HostError> {
        let options = self.config.tcp;
        let syn = self.listeners.take_syn(path).ok_or(HostError::Unknown)?;
        // It lives until the next transmission, whatever the number of connections is.
        let id = self.answer(now, path, &options, syn);
        self.abort(id)
    }

    /// Forgets a SYN, which is not answered.
    pub fn ignore(&mut self, path: &Endpoints) {
        self.listeners.take_syn(path);
    }
}
