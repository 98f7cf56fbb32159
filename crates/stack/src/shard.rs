//! A host that sockets and a runner share.
//!
//! Each stack has one lock. The runner holds it while it exchanges a batch with the device, and a socket for one call.
//! Wakers of sockets are called after the lock is released, because they may run code of others.

use crate::{
    Notice,
    driver::Clock,
    host::{DatagramId, Event, Host, ListenerId, Stray, Strays},
    waiters::{ByConnection, Waiters, Wakers},
};
use recoup_units::Instant;
use std::{
    collections::HashMap,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    task::{Context, Waker},
};

type Notify = Arc<dyn Fn(&Notice) + Send + Sync>;

/// What the lock protects.
pub(crate) struct Inner {
    pub host: Host,
    pub connections: ByConnection,
    /// Of each listener: those that accept, and those that take SYNs to decide about.
    pub listeners: HashMap<ListenerId, Wakers>,
    /// Tasks that wait for a datagram.
    pub datagrams: HashMap<DatagramId, Waiters>,
    /// Wait for a packet that the stack does not take.
    pub raw: Wakers,
    /// Whether somebody takes such packets.
    pub has_raw: bool,
    /// Wait for room to send a datagram.
    pub room: Wakers,
    /// Wait for the end of the last connection.
    pub finish: Wakers,
    /// Packets that another stack of the same addresses does not take.
    pub strays: Strays,
    /// Wakes the runner.
    pub runner: Option<Waker>,
    /// Why no socket works any more.
    pub gone: Option<String>,
    /// Stacks and sockets that use this.
    pub handles: usize,
    pub notify: Option<Notify>,
    /// Wakers to call once the lock is released.
    due: Vec<Waker>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("host", &self.host).field("gone", &self.gone).finish_non_exhaustive()
    }
}

impl Inner {
    /// Wakes `wakers` once the lock is released.
    pub fn wake(&mut self, wakers: impl FnOnce(&mut Self) -> Option<&mut Wakers>) {
        let woken = wakers(self).map(Wakers::take).unwrap_or_default();
        woken.move_to(&mut self.due);
    }

    /// Wakes everybody: the device is gone.
    pub fn wake_all(&mut self) {
        let Self { connections, datagrams, listeners, finish, raw, room, due, .. } = self;
        let sockets = connections.values_mut().chain(datagrams.values_mut());
        let sockets = sockets.flat_map(|waiters| [&mut waiters.read, &mut waiters.write]);
        for wakers in sockets.chain(listeners.values_mut()).chain([finish, raw, room]) {
            wakers.take().move_to(due);
        }
    }

    /// Wakes whom the host's events concern.
    pub fn pass_on_events(&mut self) {
        while let Some(event) = self.host.next_event() {
            self.pass_on(&event);
        }
        while let Some(socket) = self.host.next_readable_datagram() {
            self.wake(|inner| Some(&mut inner.datagrams.get_mut(&socket)?.read));
        }
        if self.host.has_raw() {
            self.raw.take().move_to(&mut self.due);
        }
        // Without room, senders would wake the runner, and it them, again and again.
        if self.host.has_room_for_datagrams() {
            self.room.take().move_to(&mut self.due);
        }
        while let Some(listener) = self.host.next_asking() {
            self.wake(|inner| inner.listeners.get_mut(&listener));
        }
    }

    fn pass_on(&mut self, event: &Event) {
        let over = event.closed.is_some();
        if let Some(waiters) = self.connections.get_mut(event.connection) {
            if event.readable || event.opened || over {
                waiters.read.take().move_to(&mut self.due);
            }
            if event.writable || event.opened || over {
                waiters.write.take().move_to(&mut self.due);
            }
        }
        if event.opened
            && let Some(listener) = self.host.listener(event.connection)
        {
            self.wake(|inner| inner.listeners.get_mut(&listener));
        }
    }

    /// Fails once no socket works any more.
    pub fn check(&self) -> io::Result<()> {
        match &self.gone {
            None => Ok(()),
            Some(why) => Err(io::Error::new(io::ErrorKind::BrokenPipe, why.clone())),
        }
    }
}

/// A host and who waits for it.
#[derive(Debug)]
pub(crate) struct Shard {
    inner: Mutex<Inner>,
    pub clock: Clock,
    /// Whose packet it may be that is not this one's.
    next: OnceLock<Weak<Self>>,
}

impl Shard {
    pub fn new(host: Host, clock: Clock) -> Arc<Self> {
        let inner = Inner {
            host,
            connections: ByConnection::default(),
            listeners: HashMap::new(),
            datagrams: HashMap::new(),
            raw: Wakers::default(),
            has_raw: false,
            room: Wakers::default(),
            finish: Wakers::default(),
            strays: Strays::default(),
            runner: None,
            gone: None,
            handles: 0,
            notify: None,
            due: Vec::new(),
        };
        Arc::new(Self { inner: Mutex::new(inner), clock, next: OnceLock::new() })
    }

    /// Shards with the same addresses pass what they do not take on to each other, in a ring.
    pub fn join(ring: &[Arc<Self>]) {
        for (shard, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            // Each is joined once, where it is made.
            let _ = shard.next.set(Arc::downgrade(next));
        }
    }

    /// Gives packets that are not this shard's to the next one. No lock is held meanwhile.
    pub fn pass_on(&self, strays: Vec<Stray>) {
        let Some(next) = self.next.get().and_then(Weak::upgrade).filter(|_| !strays.is_empty()) else {
            return;
        };
        let mut inner = next.lock();
        for stray in strays {
            if !inner.strays.put(stray) {
                break;
            }
        }
        let runner = inner.runner.take();
        inner.due.extend(runner);
        Self::release(inner);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere leaves a host that is still a host.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(mut inner: MutexGuard<'_, Inner>) {
        let due = std::mem::take(&mut inner.due);
        drop(inner);
        due.into_iter().for_each(Waker::wake);
    }

    /// A socket's call. If the host has something to do then, the runner is woken.
    pub fn call<T>(&self, call: impl FnOnce(&mut Inner, Instant) -> T) -> T {
        let mut inner = self.lock();
        let result = call(&mut inner, self.clock.now());
        if inner.host.has_work() || inner.host.has_events() {
            let runner = inner.runner.take();
            inner.due.extend(runner);
        }
        Self::release(inner);
        result
    }

    /// The runner's call, which leaves its waker.
    pub fn run<T>(&self, context: &Context<'_>, run: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        match &mut inner.runner {
            Some(waker) => waker.clone_from(context.waker()),
            place => *place = Some(context.waker().clone()),
        }
        let result = run(&mut inner);
        inner.pass_on_events();
        Self::release(inner);
        result
    }

    /// Every socket fails from now on, and says why. The first reason stays.
    pub fn end(&self, why: String) {
        let mut inner = self.lock();
        inner.gone.get_or_insert(why);
        inner.wake_all();
        Self::release(inner);
    }

    /// One more stack or socket uses this.
    pub fn hold(self: &Arc<Self>) -> Hold {
        self.lock().handles += 1;
        Hold(Arc::clone(self))
    }

    /// Tells whom it concerns. No lock is held meanwhile.
    pub fn notify(&self, notice: &Notice) {
        let notify = self.lock().notify.clone();
        if let Some(notify) = notify {
            notify(notice);
        }
    }
}

/// A use of a shard. The runner ends after the last one is dropped.
#[derive(Debug)]
pub(crate) struct Hold(Arc<Shard>);

impl std::ops::Deref for Hold {
    type Target = Arc<Shard>;

    fn deref(&self) -> &Arc<Shard> {
        &self.0
    }
}

impl Clone for Hold {
    fn clone(&self) -> Self {
        self.0.hold()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.handles -= 1;
        if inner.handles == 0 {
            let runner = inner.runner.take();
            inner.due.extend(runner);
        }
        Shard::release(inner);
    }
}
