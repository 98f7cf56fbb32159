//! What is done with, kept to be used again: the memory it holds is dearer than what it is.

use crate::case::Case;
use crate::replay::Replay;
use crate::tape::Tape;
use std::cell::RefCell;

/// Things of one kind that are kept.
const MOST: usize = 64;

/// What the cases of all connections use in turn.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    pub cases: Shelf<Case>,
    pub tapes: Shelf<Tape>,
    pub replays: Shelf<Replay>,
}

/// Things of one kind. Whoever takes one clears it.
#[derive(Debug)]
pub(crate) struct Shelf<T>(RefCell<Vec<Box<T>>>);

impl<T> Shelf<T> {
    /// One that was used before, if there is any.
    pub fn take(&self) -> Option<Box<T>> {
        self.0.borrow_mut().pop()
    }

    /// It is done with.
    pub fn give(&self, thing: Box<T>) {
        let mut things = self.0.borrow_mut();
        if things.len() < MOST {
            things.push(thing);
        }
    }
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}
