//! Waiting for descriptors: `poll` and `epoll`.

use super::*;

/// Readiness of a descriptor, as bits of `poll` (those of `epoll` are the same).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness(pub u32);

impl Readiness {
    const IN: u32 = libc::EPOLLIN as u32 | libc::EPOLLRDNORM as u32;
    const OUT: u32 = libc::EPOLLOUT as u32 | libc::EPOLLWRNORM as u32;
    const ALWAYS: u32 = libc::EPOLLERR as u32 | libc::EPOLLHUP as u32;
}

/// Events that the script waits for on a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Interest {
    /// Bits of `epoll`, `EPOLLET` and `EPOLLONESHOT` among them.
    pub events: u32,
    /// Handed back with what happened.
    pub data: u64,
}

/// A descriptor waited for.
#[derive(Clone, Copy, Debug)]
struct Watch {
    fd: Fd,
    interest: Interest,
    /// The changes of the socket when an event on it was reported last.
    seen: Option<u64>,
    disarmed: bool,
}

/// An epoll instance.
#[derive(Debug, Default)]
pub(super) struct Epoll {
    watches: Vec<Watch>,
}

impl Epoll {
    /// `fd` was closed.
    pub fn forget(&mut self, fd: Fd) {
        self.watches.retain(|watch| watch.fd != fd);
    }
}

impl Sockets {
    /// Readiness of `fd`.
    pub fn readiness(&mut self, fd: Fd) -> Outcome<Readiness> {
        let socket = self.socket_of(fd)?;
        let id = match &socket.role {
            Role::Fresh => return Ok(Readiness(Readiness::OUT | libc::EPOLLHUP as u32)),
            Role::Listener(ids) => {
                let waits = ids.iter().any(|id| self.host.acceptable(*id) > 0);
                return Ok(Readiness(if waits { Readiness::IN } else { 0 }));
            }
            Role::Connected(id) => *id,
        };
        let tcp = self.host.connection(id).ok_or(Errno::BAD_DESCRIPTOR)?;
        let mut bits = 0;
        let (ended, shut) = (socket.is_at_end(tcp), tcp.is_write_shut());
        let mut full = false;
        if tcp.is_past_handshake() {
            if tcp.endpoint().readable() > 0 || ended {
                bits |= Readiness::IN;
            }
            if ended {
                bits |= libc::EPOLLRDHUP as u32;
            }
            full = !(shut || tcp.has_much_room());
            if !full {
                bits |= Readiness::OUT;
            }
        }
        if (ended && shut) || tcp.is_closed() {
            bits |= libc::EPOLLHUP as u32;
        }
        if self.pending_error(socket).is_some() {
            bits |= libc::EPOLLERR as u32;
        }
        if full {
            self.host.await_room(id)?;
        }
        Ok(Readiness(bits))
    }

    /// `poll` without waiting: what happened of `events` on `fd`.
    pub fn poll(&mut self, fd: Fd, events: u32) -> u32 {
        match self.readiness(fd) {
            Ok(Readiness(bits)) => bits & (events | Readiness::ALWAYS),
            Err(_) => libc::POLLNVAL as u32,
        }
    }
    pub fn epoll_create(&mut self) -> Outcome<Fd> {
        self.add(Descriptor::Epoll(Epoll::default()))
    }

    fn epoll_mut(&mut self, fd: Fd) -> Outcome<&mut Epoll> {
        match self.descriptors.get_mut(&fd) {
            Some(Descriptor::Epoll(epoll)) => Ok(epoll),
            Some(_) => Err(Errno::INVALID),
            None => Err(Errno::BAD_DESCRIPTOR),
        }
    }

    /// `epoll_ctl` to begin watching `fd`.
    pub fn epoll_add(&mut self, epoll: Fd, fd: Fd, interest: Interest) -> Outcome<()> {
        self.socket_of(fd)?;
        let epoll = self.epoll_mut(epoll)?;
        if epoll.watches.iter().any(|watch| watch.fd == fd) {
            return Err(Errno::EXISTS);
        }
        epoll.watches.push(Watch { fd, interest, seen: None, disarmed: false });
        Ok(())
    }

    /// `epoll_ctl` to watch `fd` for something else.
    pub fn epoll_modify(&mut self, epoll: Fd, fd: Fd, interest: Interest) -> Outcome<()> {
        let watches = &mut self.epoll_mut(epoll)?.watches;
        let watch = watches.iter_mut().find(|watch| watch.fd == fd);
        let watch = watch.ok_or(Errno::NO_ENTRY)?;
        *watch = Watch { fd, interest, seen: None, disarmed: false };
        Ok(())
    }

    /// `epoll_ctl` to end watching `fd`.
    pub fn epoll_remove(&mut self, epoll: Fd, fd: Fd) -> Outcome<()> {
        let epoll = self.epoll_mut(epoll)?;
        let before = epoll.watches.len();
        epoll.forget(fd);
        if before == epoll.watches.len() { Err(Errno::NO_ENTRY) } else { Ok(()) }
    }

    /// `epoll_wait` without waiting: at most `most` of what happened.
    pub fn epoll_events(&mut self, epoll: Fd, most: usize) -> Outcome<Vec<Interest>> {
        let mut watches = std::mem::take(&mut self.epoll_mut(epoll)?.watches);
        let mut events = Vec::new();
        for watch in &mut watches {
            if events.len() == most {
                break;
            }
            if let Some(event) = self.happened(watch) {
                events.push(event);
            }
        }
        self.epoll_mut(epoll)?.watches = watches;
        Ok(events)
    }

    fn happened(&mut self, watch: &mut Watch) -> Option<Interest> {
        let changes = self.socket_of(watch.fd).map_or(0, |socket| socket.changes);
        let events = watch.interest.events;
        let bits = self.poll(watch.fd, events);
        let edge = events & libc::EPOLLET as u32 != 0;
        if bits == 0 || watch.disarmed || (edge && watch.seen == Some(changes)) {
            return None;
        }
        watch.seen = Some(changes);
        watch.disarmed = events & libc::EPOLLONESHOT as u32 != 0;
        Some(Interest { events: bits, data: watch.interest.data })
    }
}
