//! A bounded queue of packets between two owners.

use crate::VnetHeader;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// A packet, and what is left to be done about it.
pub(super) type Frame = (VnetHeader, Vec<u8>);

#[derive(Debug)]
struct State {
    frames: VecDeque<Frame>,
    capacity: usize,
    /// An end is gone.
    closed: bool,
    /// Waits for a packet.
    taker: Option<Waker>,
    /// Waits for room.
    giver: Option<Waker>,
}

/// Both ends of a queue: one gives, the other takes. Each closes it when it is dropped.
#[derive(Debug)]
pub(super) struct Giver(Arc<Mutex<State>>);

#[derive(Debug)]
pub(super) struct Taker(Arc<Mutex<State>>);

/// A queue of at most `capacity` packets.
pub(super) fn queue(capacity: usize) -> (Giver, Taker) {
    let frames = VecDeque::new();
    let state = State { frames, capacity: capacity.max(1), closed: false, taker: None, giver: None };
    let state = Arc::new(Mutex::new(state));
    (Giver(Arc::clone(&state)), Taker(state))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // No code of others runs under the lock, so that a panic leaves the state whole.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn close(state: &Mutex<State>) {
    let mut state = lock(state);
    state.closed = true;
    let wakers = [state.taker.take(), state.giver.take()];
    drop(state);
    wakers.into_iter().flatten().for_each(Waker::wake);
}

fn remember(place: &mut Option<Waker>, context: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(context.waker()),
        None => *place = Some(context.waker().clone()),
    }
}

impl Giver {
    /// Packets for which there is room. If the other end is gone there is no limit, for what nobody takes.
    pub fn room(&self) -> usize {
        let state = lock(&self.0);
        if state.closed { usize::MAX } else { state.capacity - state.frames.len() }
    }

    pub fn is_closed(&self) -> bool {
        lock(&self.0).closed
    }

    /// Adds a packet. Returns it if there is no room, or nobody to take it.
    pub fn give(&self, frame: Frame) -> Result<(), Frame> {
        let mut state = lock(&self.0);
        if state.closed || state.frames.len() >= state.capacity {
            return Err(frame);
        }
        state.frames.push_back(frame);
        let waker = state.taker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// Is ready when there is room, or the other end is gone.
    pub fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0);
        if state.closed || state.frames.len() < state.capacity {
            return Poll::Ready(());
        }
        remember(&mut state.giver, context);
        Poll::Pending
    }
}

impl Taker {
    /// Takes out a packet.
    pub fn take(&self) -> Option<Frame> {
        let mut state = lock(&self.0);
        let frame = state.frames.pop_front();
        let waker = frame.as_ref().and_then(|_| state.giver.take());
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        frame
    }

    /// Whether the other end is gone and nothing is left.
    pub fn is_over(&self) -> bool {
        let state = lock(&self.0);
        state.closed && state.frames.is_empty()
    }

    /// Is ready when there is a packet, or the other end is gone.
    pub fn poll_frame(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0);
        if state.closed || !state.frames.is_empty() {
            return Poll::Ready(());
        }
        remember(&mut state.taker, context);
        Poll::Pending
    }
}

impl Drop for Giver {
    fn drop(&mut self) {
        close(&self.0);
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        close(&self.0);
    }
}
