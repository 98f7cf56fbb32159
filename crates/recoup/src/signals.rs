//! Signals: SIGINT and SIGTERM end the program with what it has. SIGHUP opens its file again; without a file, its terminal is
//! gone, so it ends too.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Signals that came.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    end: Arc<AtomicBool>,
    reopen: Arc<AtomicBool>,
}

impl Signals {
    /// Waits for signals from here on. A second SIGINT ends the program at once.
    ///
    /// # Errors
    /// When the system does not let the program handle them.
    pub fn new(has_file: bool) -> io::Result<Self> {
        let signals = Self::ends()?;
        flag::register(SIGHUP, Arc::clone(if has_file { &signals.reopen } else { &signals.end }))?;
        Ok(signals)
    }

    /// As [`new`](Self::new) does, but SIGHUP ends the program at once: its terminal is gone, so there is nothing to give back.
    ///
    /// # Errors
    /// When the system does not let the program handle them.
    pub fn of_terminal() -> io::Result<Self> {
        Self::ends()
    }

    fn ends() -> io::Result<Self> {
        let signals = Self::default();
        // The order matters: the first one finds the flag not set yet. Programs such as `timeout` send SIGTERM twice.
        flag::register_conditional_default(SIGINT, Arc::clone(&signals.end))?;
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&signals.end))?;
        }
        Ok(signals)
    }

    /// Whether the program is to end.
    pub fn is_end(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Ends the program as a signal would.
    pub fn end(&self) {
        self.end.store(true, Ordering::Relaxed);
    }

    /// Whether files are to be opened again, since the last call.
    pub fn take_reopen(&self) -> bool {
        self.reopen.swap(false, Ordering::Relaxed)
    }
}
