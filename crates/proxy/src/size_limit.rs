//! The process' limit of file sizes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// SIGXFSZ (signal(7)): a write went beyond RLIMIT_FSIZE. It ends the process by default. With any handler, the write fails with
/// EFBIG instead, which can be reported like a full disk.
pub fn survive() -> io::Result<()> {
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}
