//! Memory pools: reusing large values is cheaper than allocating them for each connection.

use super::{episode::Episode, replay::Replay, tape::Tape};
use std::cell::RefCell;

/// Values that a pool keeps at most.
const MOST_KEPT: usize = 16;

/// The pools of one shard.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub episodes: Pool<Episode>,
    pub tapes: Pool<Tape>,
    pub replays: Pool<Replay>,
}

/// Freed values of one type. Whoever takes one resets it.
#[derive(Debug)]
pub(crate) struct Pool<T>(RefCell<Vec<Box<T>>>);

impl<T> Pool<T> {
    /// A used value, if there is one.
    pub fn take(&self) -> Option<Box<T>> {
        self.0.borrow_mut().pop()
    }

    /// Returns a value to the pool.
    pub fn give(&self, value: Box<T>) {
        let mut values = self.0.borrow_mut();
        if values.len() < MOST_KEPT {
            values.push(value);
        }
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}
