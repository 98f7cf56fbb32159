//! Signals that end the program. Files that are not whole are removed first. A command may defer the
//! first SIGINT, to print what it has found so far.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the next SIGINT is deferred.
static DEFERRED: AtomicBool = AtomicBool::new(false);

/// Whether a deferred SIGINT came.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Defers the next SIGINT. The one after it ends the program.
pub fn defer() {
    DEFERRED.store(true, Ordering::Relaxed);
}

/// Lets SIGINT end the program again. Returns whether a deferred one came.
pub fn stop_deferring() -> bool {
    DEFERRED.store(false, Ordering::Relaxed);
    is_interrupted()
}

/// Whether a deferred SIGINT came.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Ends the program as the deferred SIGINT would have done.
#[cfg(unix)]
pub fn exit() -> ! {
    recoup_support::output_file::exit(|| {
        let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT);
    })
}

/// Other systems have no signals.
#[cfg(not(unix))]
pub fn exit() -> ! {
    recoup_support::output_file::exit(|| ())
}

/// Removes the files that are not whole yet when SIGINT, SIGTERM or SIGHUP comes. The signal then ends
/// the program, so that a shell sees 130, 143 or 129. A signal that the program was started to ignore
/// (`nohup`, background jobs of a shell) stays ignored.
#[cfg(unix)]
pub fn watch() {
    use recoup_support::output_file::exit;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // Without a handler, signals keep their default action.
    let Ok(mut signals) = Signals::new(not_ignored([SIGINT, SIGTERM, SIGHUP])) else {
        return;
    };
    let wait = move || {
        for signal in signals.forever() {
            if signal == SIGINT && DEFERRED.swap(false, Ordering::Relaxed) {
                INTERRUPTED.store(true, Ordering::Relaxed);
                continue;
            }
            exit(|| {
                let _ = emulate_default_handler(signal);
            });
        }
    };
    let _ = std::thread::Builder::new().spawn(wait);
}

/// The signals among `signals` that were not ignored when the program started.
#[cfg(unix)]
pub fn not_ignored<const N: usize>(signals: [i32; N]) -> impl Iterator<Item = i32> {
    // Where the system does not say which signals are ignored, SIGHUP is the most likely one.
    let ignored = ignored().unwrap_or(1 << (signal_hook::consts::SIGHUP - 1));
    signals.into_iter().filter(move |signal| ignored & 1 << (signal - 1) == 0)
}

/// The signals ignored when the program started, one bit each, SIGHUP (1) the lowest. `None` where the
/// system has no /proc that says so.
#[cfg(unix)]
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Other systems have no signals.
#[cfg(not(unix))]
pub fn watch() {}
