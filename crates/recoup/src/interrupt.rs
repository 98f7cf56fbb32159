//! Signals that end the program: what is half written goes first, and what was found so far may be told.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the next SIGINT is to be noted only.
static DEFERRED: AtomicBool = AtomicBool::new(false);

/// Whether one was.
static NOTED: AtomicBool = AtomicBool::new(false);

/// Has the next SIGINT only be noted; what comes after it ends the program as ever.
pub fn defer() {
    DEFERRED.store(true, Ordering::Relaxed);
}

/// Has SIGINT end the program again, and tells whether one came.
pub fn heed() -> bool {
    DEFERRED.store(false, Ordering::Relaxed);
    noted()
}

/// Whether a SIGINT came that was deferred.
pub fn noted() -> bool {
    NOTED.load(Ordering::Relaxed)
}

/// Ends the program as the SIGINT would have done that was deferred.
#[cfg(unix)]
pub fn end() -> ! {
    recoup_lab::output_file::exit(|| {
        let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT);
    })
}

/// Elsewhere there are no signals.
#[cfg(not(unix))]
pub fn end() -> ! {
    recoup_lab::output_file::exit(|| ())
}

/// Has SIGINT, SIGTERM and SIGHUP remove the files that are not whole yet; then they end the program
/// as ever, so that a shell sees 130, 143 or 129. One that whoever started the program has had it
/// ignore (`nohup`, a shell's background jobs) stays ignored.
#[cfg(unix)]
pub fn watch() {
    use recoup_lab::output_file::exit;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // Failing that, signals do what they do anyway.
    let Ok(mut signals) = Signals::new(not_ignored([SIGINT, SIGTERM, SIGHUP])) else {
        return;
    };
    let wait = move || {
        for signal in signals.forever() {
            if signal == SIGINT && DEFERRED.swap(false, Ordering::Relaxed) {
                NOTED.store(true, Ordering::Relaxed);
                continue;
            }
            exit(|| {
                let _ = emulate_default_handler(signal);
            });
        }
    };
    let _ = std::thread::Builder::new().spawn(wait);
}

/// Those of `signals` that were not ignored from the start.
#[cfg(unix)]
pub fn not_ignored<const N: usize>(signals: [i32; N]) -> impl Iterator<Item = i32> {
    // Where it cannot be told what is ignored, that is most likely a hang-up.
    let ignored = ignored().unwrap_or(1 << (signal_hook::consts::SIGHUP - 1));
    signals
        .into_iter()
        .filter(move |signal| ignored & 1 << (signal - 1) == 0)
}

/// The signals ignored from the start, a bit each, SIGHUP (1) the lowest; `None` where the system
/// has no /proc that says so.
#[cfg(unix)]
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Elsewhere there are no signals.
#[cfg(not(unix))]
pub fn watch() {}
