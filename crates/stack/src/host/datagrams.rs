//! Sockets of datagrams: UDP, and echoes.
//!
//! A datagram goes to the socket that is connected to its sender; else to one bound to its destination; else to one
//! bound to the port at every address; else to the socket that takes any. Each step is one lookup of a hash.
//!
//! What has arrived waits in a queue of bounded memory, and a datagram for which there is no room is dropped (as by
//! Linux, whose bound `rmem_default` is ours). Sockets do not share this memory, so a flood to one harms no other.

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, SocketAddr},
};

use recoup_wire::{Ecn, Endpoints, Unreachable};

use super::{Host, HostError};

/// Memory of a socket's queue, in bytes (Linux `rmem_default`).
const RECEIVE_BUFFER: usize = 208 << 10;

/// What a queued datagram counts beside its bytes: about what the queue and the allocation take.
const OVERHEAD: usize = 160;

/// Identifies a socket of datagrams. Ids are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DatagramId {
    index: u32,
    generation: u32,
}

/// A datagram that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its sender. A port of 0 means that no answer is expected.
    pub source: SocketAddr,
    /// Where it was sent: for a socket that takes any, an address of anybody.
    pub destination: SocketAddr,
    /// Its data.
    pub bytes: Vec<u8>,
    /// The ECN field of its packet.
    pub ecn: Ecn,
}

/// What a socket takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// UDP to this address, or to this port at every address.
    Udp(SocketAddr),
    /// UDP of one flow to this address, whoever's it is: it is connected from the beginning.
    Flow(SocketAddr),
    /// UDP that no other socket takes.
    Any,
    /// Echo replies with this identifier.
    Echoes(u16),
}

/// A socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub takes: Takes,
    pub peer: Option<SocketAddr>,
    /// Bytes the path to the peer takes in a packet, if it was found to take fewer than the link.
    pub path_mtu: Option<u16>,
    /// What ICMP said of the peer. The next call returns it.
    pub error: Option<HostError>,
    queue: VecDeque<Datagram>,
    /// What the queue counts.
    memory: usize,
    most: usize,
    dropped: u64,
    /// It waits among those that are readable.
    announced: bool,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    socket: Option<Box<Socket>>,
}

/// All sockets of datagrams.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    slots: Vec<Slot>,
    free: Vec<u32>,
    bound: HashMap<SocketAddr, u32>,
    /// By both ends, of which `src` is this host's.
    connected: HashMap<Endpoints, u32>,
    echoes: HashMap<u16, u32>,
    any: Option<u32>,
    /// Sockets at a port of an IP version: more than one if they have different addresses.
    at_port: HashMap<(bool, u16), Vec<u32>>,
    /// Sockets with something new to read.
    readable: VecDeque<DatagramId>,
}

impl Datagrams {
    /// The socket for UDP along `path`, of which `src` is the destination. `own`: that is this host's.
    pub fn find(&self, path: &Endpoints, own: bool) -> Option<u32> {
        let at = |ip: IpAddr| self.bound.get(&SocketAddr::new(ip, path.src.port()));
        // A socket keeps its address when the host takes every address no longer.
        let found = self.connected.get(path).or_else(|| at(path.src.ip()));
        let found = found.or_else(|| at(unspecified(path.src.ip())).filter(|_| own));
        found.copied().or(self.any)
    }

    /// The socket that is connected along `path`, with its number.
    pub fn find_connected(&mut self, path: &Endpoints) -> Option<(u32, &mut Socket)> {
        let index = *self.connected.get(path)?;
        Some((index, self.slots.get_mut(index as usize)?.socket.as_deref_mut()?))
    }

    /// The socket for echo replies with this identifier.
    pub fn find_echoes(&self, identifier: u16) -> Option<u32> {
        self.echoes.get(&identifier).copied()
    }

    /// Whether a socket takes datagrams to every address.
    pub const fn takes_any(&self) -> bool {
        self.any.is_some()
    }

    /// Whether a socket is where another may not be: two may share a port if their addresses differ.
    pub fn is_taken(&self, local: SocketAddr) -> bool {
        let at = self.at_port.get(&(local.is_ipv4(), local.port()));
        at.into_iter().flatten().any(|index| {
            let socket = self.slots.get(*index as usize).and_then(|slot| slot.socket.as_deref());
            let Some(Takes::Udp(other)) = socket.map(|socket| socket.takes) else {
                return false;
            };
            other.ip() == local.ip() || other.ip().is_unspecified() || local.ip().is_unspecified()
        })
    }

    /// A new socket; what it takes must not be taken.
    pub fn add(&mut self, takes: Takes) -> DatagramId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        match takes {
            Takes::Udp(local) => {
                self.bound.insert(local, index);
                self.at_port.entry((local.is_ipv4(), local.port())).or_default().push(index);
            }
            // Once it is connected.
            Takes::Flow(_) => {}
            Takes::Any => self.any = Some(index),
            Takes::Echoes(identifier) => drop(self.echoes.insert(identifier, index)),
        }
        let slot = &mut self.slots[index as usize];
        slot.socket = Some(Box::new(Socket {
            takes,
            peer: None,
            path_mtu: None,
            error: None,
            queue: VecDeque::new(),
            memory: 0,
            most: RECEIVE_BUFFER,
            dropped: 0,
            announced: false,
        }));
        DatagramId { index, generation: slot.generation }
    }

    /// Connects a socket of UDP: from `local`, to `peer`.
    pub fn connect(&mut self, id: DatagramId, local: SocketAddr, peer: SocketAddr) -> Result<(), HostError> {
        let socket = self.get_mut(id)?;
        let Takes::Udp(before) = socket.takes else {
            return Err(HostError::Unreachable(peer));
        };
        let old_peer = socket.peer.replace(peer);
        socket.takes = Takes::Udp(local);
        socket.path_mtu = None;
        socket.error = None;
        match old_peer {
            Some(old) => drop(self.connected.remove(&Endpoints { src: before, dst: old })),
            None => drop(self.bound.remove(&before)),
        }
        self.connected.insert(Endpoints { src: local, dst: peer }, id.index);
        Ok(())
    }

    /// A new socket for the flow along `path`, of which `src` is where its datagrams come to. None must be connected so.
    pub fn open_flow(&mut self, path: &Endpoints) -> DatagramId {
        let id = self.add(Takes::Flow(path.src));
        if let Ok(socket) = self.get_mut(id) {
            socket.peer = Some(path.dst);
        }
        self.connected.insert(*path, id.index);
        id
    }

    /// Ends a socket.
    pub fn remove(&mut self, id: DatagramId) -> Result<(), HostError> {
        self.get_mut(id)?;
        let slot = &mut self.slots[id.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        let Some(socket) = slot.socket.take() else {
            return Err(HostError::Unknown);
        };
        self.free.push(id.index);
        match (socket.takes, socket.peer) {
            (Takes::Udp(local), peer) => {
                match peer {
                    Some(peer) => drop(self.connected.remove(&Endpoints { src: local, dst: peer })),
                    None => drop(self.bound.remove(&local)),
                }
                let port = (local.is_ipv4(), local.port());
                if let Some(at) = self.at_port.get_mut(&port) {
                    at.retain(|index| *index != id.index);
                    if at.is_empty() {
                        self.at_port.remove(&port);
                    }
                }
            }
            (Takes::Flow(local), peer) => {
                if let Some(peer) = peer {
                    self.connected.remove(&Endpoints { src: local, dst: peer });
                }
            }
            (Takes::Any, _) => self.any = None,
            (Takes::Echoes(identifier), _) => drop(self.echoes.remove(&identifier)),
        }
        // Ids of sockets that are gone must not pile up.
        if self.readable.len() > 2 * self.slots.len() + 16 {
            let slots = &self.slots;
            self.readable.retain(|id| slots[id.index as usize].generation == id.generation);
        }
        Ok(())
    }

    /// The socket of this id.
    pub fn get(&self, id: DatagramId) -> Result<&Socket, HostError> {
        let slot = self.slots.get(id.index as usize).filter(|slot| slot.generation == id.generation);
        slot.and_then(|slot| slot.socket.as_deref()).ok_or(HostError::Unknown)
    }

    /// The socket of this id.
    pub fn get_mut(&mut self, id: DatagramId) -> Result<&mut Socket, HostError> {
        let slot = self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation);
        slot.and_then(|slot| slot.socket.as_deref_mut()).ok_or(HostError::Unknown)
    }

    /// Puts a datagram into a socket's queue, if there is room. Nothing is copied otherwise.
    pub fn put(&mut self, index: u32, ends: &Endpoints, bytes: &[u8], ecn: Ecn) -> bool {
        let Some(socket) = self.slots.get_mut(index as usize).and_then(|slot| slot.socket.as_deref_mut()) else {
            return false;
        };
        let added = bytes.len() + OVERHEAD;
        if socket.memory + added > socket.most {
            socket.dropped += 1;
            return false;
        }
        socket.memory += added;
        let (source, destination) = (ends.src, ends.dst);
        socket.queue.push_back(Datagram { source, destination, bytes: bytes.to_vec(), ecn });
        self.announce(index);
        true
    }

    /// ICMP says that the peer of a socket refuses what it sent.
    pub fn reject(&mut self, index: u32, peer: SocketAddr, why: Unreachable) {
        if let Some(socket) = self.slots.get_mut(index as usize).and_then(|slot| slot.socket.as_deref_mut()) {
            socket.error = Some(HostError::Rejected { peer, why });
            self.announce(index);
        }
    }

    fn announce(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return;
        };
        let id = DatagramId { index, generation: slot.generation };
        if let Some(socket) = slot.socket.as_deref_mut()
            && !std::mem::replace(&mut socket.announced, true)
        {
            self.readable.push_back(id);
        }
    }

    pub fn has_readable(&self) -> bool {
        !self.readable.is_empty()
    }
}

impl Socket {
    /// Takes out the oldest datagram.
    pub fn take(&mut self) -> Option<Datagram> {
        let datagram = self.queue.pop_front()?;
        self.memory -= datagram.bytes.len() + OVERHEAD;
        if self.queue.is_empty() && self.queue.capacity() > 64 {
            self.queue = VecDeque::new();
        }
        Some(datagram)
    }

    /// The address that stands for where it takes datagrams.
    pub const fn local(&self) -> Option<SocketAddr> {
        match self.takes {
            Takes::Udp(local) | Takes::Flow(local) => Some(local),
            Takes::Any | Takes::Echoes(_) => None,
        }
    }
}

/// The unspecified address of the same IP version.
pub(crate) const fn unspecified(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    }
}

impl Host {
    /// Takes out a socket of datagrams that has something new: a datagram, or an error. Treat it as an edge, as an
    /// [`Event`](super::Event): receive until there is nothing.
    pub fn next_readable_datagram(&mut self) -> Option<DatagramId> {
        loop {
            let id = self.datagrams.readable.pop_front()?;
            if let Ok(socket) = self.datagrams.get_mut(id) {
                socket.announced = false;
                if !socket.queue.is_empty() || socket.error.is_some() {
                    return Some(id);
                }
            }
        }
    }

    /// Sets how much memory the queue of a socket takes, at most, bookkeeping included. What waits already stays.
    ///
    /// # Errors
    /// When no socket has this id.
    pub fn set_datagram_buffer(&mut self, id: DatagramId, bytes: usize) -> Result<(), HostError> {
        self.datagrams.get_mut(id)?.most = bytes;
        Ok(())
    }

    /// Datagrams of a socket that were dropped for want of room.
    ///
    /// # Errors
    /// When no socket has this id.
    pub fn dropped_datagrams(&self, id: DatagramId) -> Result<u64, HostError> {
        Ok(self.datagrams.get(id)?.dropped)
    }
}
