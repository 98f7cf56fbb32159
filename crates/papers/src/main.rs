//! The program `recoup-papers`, which `recoup paper` calls.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// As in `recoup`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(recoup_papers::program::run(std::env::args_os()))
}
