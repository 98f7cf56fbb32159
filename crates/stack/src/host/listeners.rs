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
pub struct ListenerId(u32);

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
#[derive(Debug)]
pub(crate) struct Listener {
    /// `None`: every address and port that no other listener has.
    local: Option<SocketAddr>,
    pub options: TcpOptions,
    /// Connections whose handshake is not done, and SYNs that wait for a decision.
    pub embryonic: usize,
    /// Open connections that nobody has accepted.
    pub ready: VecDeque<ConnectionId>,
}

impl Listener {
    fn is_full(&self) -> bool {
        self.embryonic + self.ready.len() >= self.options.backlog
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
    /// Those of `waiting` that the application has not seen, and others that are gone.
    unseen: VecDeque<Endpoints>,
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
        self.by_id.insert(id, Listener { local, options: *options, embryonic: 0, ready: VecDeque::new() });
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

    /// A connection or a SYN no longer counts as embryonic.
    pub fn give_place(&mut self, id: ListenerId) {
        if let Some(listener) = self.by_id.get_mut(&id) {
            listener.embryonic = listener.embryonic.saturating_sub(1);
        }
    }

    /// Keeps a SYN until the application has decided. One that waits already stays.
    pub fn keep_syn(
        &mut self,
        now: Instant,
        listener: ListenerId,
        path: Endpoints,
        segment: Segment,
        least_isn: Option<SeqNumber>,
    ) -> bool {
        if self.waiting.contains_key(&path) {
            return true;
        }
        self.forget_old(now);
        if !self.take_place(listener) {
            return false;
        }
        self.waiting.insert(path, Waiting { listener, segment, least_isn, since: now });
        self.unseen.push_back(path);
        true
    }

    /// Forgets SYNs whose sender has given up, oldest first.
    fn forget_old(&mut self, now: Instant) {
        while let Some(path) = self.unseen.front().copied() {
            match self.waiting.get(&path).map(|waiting| waiting.since) {
                Some(since) if now.since(since) < EMBRYONIC_LIFE => return,
                Some(_) => drop(self.take_syn(&path)),
                None => {}
            }
            self.unseen.pop_front();
        }
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
    /// When the address is not this host's, or taken.
    pub fn listen(&mut self, local: SocketAddr) -> Result<ListenerId, HostError> {
        let options = self.config.tcp;
        self.listen_with(local, &options)
    }

    /// As [`listen`](Self::listen), with options of its own.
    ///
    /// # Errors
    /// As [`listen`](Self::listen).
    pub fn listen_with(&mut self, local: SocketAddr, options: &TcpOptions) -> Result<ListenerId, HostError> {
        if !local.ip().is_unspecified() && !self.config.addresses.contains(&local.ip()) {
            return Err(HostError::NotOurs(local.ip()));
        }
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

    /// Takes out a SYN about which the application is to decide ([`TcpOptions::decide_first`]).
    pub fn next_incoming(&mut self) -> Option<Incoming> {
        loop {
            let path = self.listeners.unseen.pop_front()?;
            if let Some(waiting) = self.listeners.waiting.get(&path) {
                return Some(Incoming { listener: waiting.listener, path });
            }
        }
    }

    /// Answers a SYN: the connection opens. It is accepted already.
    ///
    /// # Errors
    /// When the SYN does not wait any more, or there are as many connections as there may be.
    pub fn admit(&mut self, now: Instant, path: &Endpoints, options: &TcpOptions) -> Result<ConnectionId, HostError> {
        let (segment, least_isn) = self.listeners.take_syn(path).ok_or(HostError::Unknown)?;
        if self.table.len() >= self.config.most_connections {
            return Err(HostError::Exhausted(path.dst));
        }
        let index = self.open(now, *path, Some(options), Origin::Admitted, least_isn);
        if let Some(connection) = self.table.at_mut(index) {
            connection.deliver(now, &segment, &[]);
        }
        self.mark_dirty(index);
        Ok(self.table.id(index))
    }

    /// Refuses the connection that a SYN asks for: its sender is reset.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub fn refuse(&mut self, now: Instant, path: &Endpoints) -> Result<(), HostError> {
        let options = self.config.tcp;
        let id = self.admit(now, path, &options)?;
        self.abort(id)
    }

    /// Forgets a SYN, which is not answered.
    pub fn ignore(&mut self, path: &Endpoints) {
        self.listeners.take_syn(path);
    }
}
