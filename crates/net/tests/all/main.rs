//! Recoup's host and its testbed with the kernel's TCP. One binary holds all tests, because the tests of
//! one group wait while those of another compute.

#![cfg(target_os = "linux")]

mod examples;
mod faults;
mod floods;
mod host;
mod restart;
mod storm;
mod testbed;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Tests run side by side, except one that measures the memory of the process.
static PROCESS: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    PROCESS.read().unwrap_or_else(PoisonError::into_inner)
}

fn alone() -> RwLockWriteGuard<'static, ()> {
    PROCESS.write().unwrap_or_else(PoisonError::into_inner)
}
