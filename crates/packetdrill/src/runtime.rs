//! The process's sockets and clock, and calls that wait.
//!
//! packetdrill runs a script in one thread and the system calls that may block in another. The
//! second waits here, on a condition variable, for what the first makes happen: packets it injects
//! and time it lets pass. Time is virtual; it passes when packetdrill sleeps, when it waits for a
//! packet, and by a microsecond whenever it looks at the clock, since it also waits by looking.
//!
//! Two rules keep the two threads in step though no real time passes:
//!
//! - Time stops at each event, and at each deadline of a call that waits, until every waiting call
//!   has looked whether it may return.
//! - Before packetdrill's sleep lets time pass, calls that returned must have looked at the clock,
//!   which packetdrill does to learn when they did. (Should a caller never look, the sleep goes on
//!   after [`PATIENCE`].)

use crate::{
    errno::{Errno, Outcome},
    settings::Settings,
    sockets::{Fd, Packet, Sockets},
};
use recoup_units::Instant;
use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::ThreadId,
    time::Duration,
};

/// How far a look at the clock moves it.
const TICK: Duration = Duration::from_micros(1);

/// How long, in real time, one thread waits for another to do what it is about to do.
const PATIENCE: Duration = Duration::from_millis(200);

/// The sockets and those who use them.
#[derive(Debug)]
pub struct Runtime {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    sockets: Option<Sockets>,
    /// The thread the script runs in: the one that began.
    main: Option<ThreadId>,
    waiters: Vec<Waiter>,
    /// Counts what waiters should look at.
    generation: u64,
    /// Threads whose call has returned and which have not looked at the clock since.
    returning: Vec<ThreadId>,
}

/// A call that waits.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: ThreadId,
    deadline: Option<Instant>,
    /// The generation it has looked at.
    looked: u64,
}

/// The process's.
pub static RUNTIME: Runtime = Runtime::new();

impl Runtime {
    /// Without sockets.
    pub const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                sockets: None,
                main: None,
                waiters: Vec::new(),
                generation: 0,
                returning: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves sockets that still are.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins anew, without any socket.
    pub fn begin(&self, settings: Settings) {
        let mut state = self.lock();
        *state = State {
            sockets: Some(Sockets::new(settings)),
            main: Some(std::thread::current().id()),
            ..State::default()
        };
    }

    /// The sockets are not needed any more.
    pub fn end(&self) {
        *self.lock() = State::default();
        self.changed.notify_all();
    }

    /// Whether `fd` is one of the sockets' descriptors.
    pub fn knows(&self, fd: Fd) -> bool {
        self.lock().sockets.as_ref().is_some_and(|sockets| sockets.knows(fd))
    }

    /// A call that never waits.
    pub fn call<T>(&self, call: impl FnOnce(&mut Sockets) -> Outcome<T>) -> Outcome<T> {
        let mut state = self.lock();
        let result = call(state.sockets.as_mut().ok_or(Errno::BAD_DESCRIPTOR)?);
        self.tell(&mut state);
        result
    }

    /// A call that waits while it says `EAGAIN`: for as long as it takes, or for `limit`, after
    /// which it is asked for its result by `late`.
    pub fn wait<T>(
        &self,
        limit: Option<Duration>,
        mut call: impl FnMut(&mut Sockets) -> Outcome<T>,
        late: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<T> {
        let mut state = self.lock();
        let thread = std::thread::current().id();
        let in_main = state.main == Some(thread);
        let mut deadline = None;
        loop {
            let sockets = state.sockets.as_mut().ok_or(Errno::BAD_DESCRIPTOR)?;
            let result = call(sockets);
            let now = sockets.now();
            if !matches!(result, Err(Errno::AGAIN)) {
                self.leave(&mut state, thread);
                return result;
            }
            deadline = deadline.or(limit.map(|limit| now + limit));
            if deadline.is_some_and(|at| at <= now) {
                self.leave(&mut state, thread);
                return late();
            }
            if in_main {
                // Nobody else makes time pass.
                let Some(until) = [sockets.next_event(), deadline].into_iter().flatten().min() else {
                    return result; // nothing will ever happen
                };
                sockets.advance(until);
                self.tell(&mut state);
            } else {
                state = self.look_again(state, thread, deadline);
            }
        }
    }

    /// Waits until there is something to look at.
    fn look_again<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        thread: ThreadId,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        let looked = state.generation;
        let waiter = Waiter { thread, deadline, looked };
        match state.waiters.iter_mut().find(|w| w.thread == thread) {
            Some(known) => *known = waiter,
            None => state.waiters.push(waiter),
        }
        self.changed.notify_all();
        let wait = self.changed.wait_while(state, |state| state.generation == looked && state.sockets.is_some());
        wait.unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A waiting call returns.
    fn leave(&self, state: &mut State, thread: ThreadId) {
        let before = state.waiters.len();
        state.waiters.retain(|waiter| waiter.thread != thread);
        if state.waiters.len() < before {
            state.returning.push(thread);
        }
        self.tell(state);
    }

    /// There is something to look at.
    fn tell(&self, state: &mut State) {
        state.generation += 1;
        self.changed.notify_all();
    }

    /// Waits until every waiting call has looked, and until those that return have looked at the
    /// clock.
    fn settle<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let settled = self.changed.wait_timeout_while(state, PATIENCE, |state| {
            let generation = state.generation;
            let looking = state.waiters.iter().any(|w| w.looked < generation);
            looking || !state.returning.is_empty()
        });
        let (mut state, _) = settled.unwrap_or_else(|poisoned| poisoned.into_inner());
        state.returning.clear();
        state
    }

    /// Lets `duration` pass.
    pub fn sleep(&self, duration: Duration) {
        let mut state = self.settle(self.lock());
        let Some(end) = state.sockets.as_ref().map(|sockets| sockets.now() + duration) else {
            return;
        };
        loop {
            let wake = state.waiters.iter().filter_map(|w| w.deadline).min();
            let until = wake.map_or(end, |wake| wake.min(end));
            let Some(sockets) = state.sockets.as_mut() else {
                return;
            };
            let reached = sockets.advance(until);
            self.tell(&mut state);
            if reached && until == end {
                return;
            }
            state = self.settle(state);
        }
    }

    /// The time, which is then a little later.
    pub fn time(&self) -> Instant {
        let mut state = self.lock();
        let thread = std::thread::current().id();
        state.returning.retain(|other| *other != thread);
        self.changed.notify_all();
        let Some(sockets) = state.sockets.as_mut() else {
            return Instant::ZERO;
        };
        let now = sockets.now();
        while !sockets.advance(now + TICK) {}
        self.tell(&mut state);
        now
    }

    /// An IP packet arrives.
    pub fn inject(&self, bytes: &[u8]) -> Outcome<()> {
        self.call(|sockets| {
            sockets.receive(bytes);
            Ok(())
        })
    }

    /// The next packet that leaves; lets time pass until there is one.
    /// `None`: nothing will ever leave unless something else happens first.
    pub fn next_packet(&self) -> Option<Packet> {
        let mut state = self.lock();
        loop {
            let wake = state.waiters.iter().filter_map(|w| w.deadline).min();
            let sockets = state.sockets.as_mut()?;
            if let Some(packet) = sockets.next_packet() {
                return Some(packet);
            }
            let until = [sockets.next_event(), wake].into_iter().flatten().min()?;
            sockets.advance(until);
            self.tell(&mut state);
            if wake == Some(until) {
                // Its call returns, and may send.
                state = self.settle(state);
            }
        }
    }
}
