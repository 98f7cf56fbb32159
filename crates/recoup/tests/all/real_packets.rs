//! What tests with real packets share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Allows one test at a time, because the tests measure time.
static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test sends packets.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports why a test does not run; fails if RECOUP_REQUIRE_TOOLS is set.
pub fn skip(why: impl std::fmt::Display) {
    let required = std::env::var_os("RECOUP_REQUIRE_TOOLS").is_some();
    assert!(!required, "{why}, and RECOUP_REQUIRE_TOOLS is set");
    eprintln!("SKIPPED: {why}");
}
