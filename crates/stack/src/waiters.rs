//! Tasks that wait for sockets, in little memory: most sockets have one that waits to read, and none that waits to write.

use crate::host::ConnectionId;
use std::{
    mem,
    task::{Context, Waker},
};

/// Tasks that wait for the same thing.
#[derive(Debug)]
#[expect(clippy::box_collection, reason = "a vector is larger than a waker")]
pub(crate) enum Wakers {
    One(Waker),
    /// None, or more than one.
    Others(Option<Box<Vec<Waker>>>),
}

// One waker costs nothing beside itself.
const _: () = assert!(size_of::<Wakers>() == size_of::<Waker>());

impl Default for Wakers {
    fn default() -> Self {
        Self::Others(None)
    }
}

impl Wakers {
    pub fn add(&mut self, context: &Context<'_>) {
        let waker = context.waker();
        match self {
            Self::One(known) if known.will_wake(waker) => {}
            Self::One(_) => {
                if let Self::One(known) = self.take() {
                    *self = Self::Others(Some(Box::new(vec![known, waker.clone()])));
                }
            }
            Self::Others(None) => *self = Self::One(waker.clone()),
            Self::Others(Some(others)) => {
                if !others.iter().any(|known| known.will_wake(waker)) {
                    others.push(waker.clone());
                }
            }
        }
    }

    pub fn take(&mut self) -> Self {
        mem::take(self)
    }

    /// Appends them to `due`.
    pub fn move_to(self, due: &mut Vec<Waker>) {
        match self {
            Self::One(waker) => due.push(waker),
            Self::Others(None) => {}
            Self::Others(Some(mut others)) => due.append(&mut others),
        }
    }
}

/// Tasks that wait for a socket.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    pub read: Wakers,
    pub write: Wakers,
}

/// Tasks that wait for connections, by their numbers. When its handle is dropped, nobody waits for a connection any more, so
/// that the next one of this number begins with none.
#[derive(Debug, Default)]
pub(crate) struct ByConnection(Vec<Waiters>);

impl ByConnection {
    pub fn of(&mut self, id: ConnectionId) -> &mut Waiters {
        let index = id.index();
        if index >= self.0.len() {
            self.0.resize_with(index + 1, Waiters::default);
        }
        &mut self.0[index]
    }

    pub fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Waiters> {
        self.0.get_mut(id.index())
    }

    /// Takes out those that wait for a connection whose handle is dropped.
    pub fn remove(&mut self, id: ConnectionId) -> Waiters {
        self.get_mut(id).map(mem::take).unwrap_or_default()
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Waiters> {
        self.0.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn each_task_is_woken_once_however_often_it_asked() {
        for tasks in 0..4 {
            let counters: Vec<Arc<Counter>> = (0..tasks).map(|_| Arc::default()).collect();
            let mut wakers = Wakers::default();
            for _ in 0..3 {
                for counter in &counters {
                    wakers.add(&Context::from_waker(&Waker::from(Arc::clone(counter))));
                }
            }
            let mut due = Vec::new();
            wakers.take().move_to(&mut due);
            wakers.take().move_to(&mut due);
            due.into_iter().for_each(Waker::wake);
            assert!(counters.iter().all(|counter| counter.0.load(Ordering::Relaxed) == 1), "{tasks} tasks");
        }
    }
}
