//! The program `recoup-watch`, which `recoup watch` calls.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// As in `recoup`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(recoup_watch::program::run(std::env::args_os()))
}
