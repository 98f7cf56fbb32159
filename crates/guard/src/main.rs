//! The program `recoup-guard`, which `recoup guard` calls.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(recoup_guard::program::run(std::env::args_os()))
}
