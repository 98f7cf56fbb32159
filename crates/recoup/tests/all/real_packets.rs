//! Shared by tests with real packets.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Allows one test at a time, because the tests measure time.
static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test sends packets.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
