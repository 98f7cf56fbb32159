//! The program `recoup-proxy`, which `recoup proxy`, `recoup serve` and `recoup fetch` call.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    ExitCode::from(recoup_proxy::program::run(std::env::args_os()))
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    recoup::console::error("recoup-proxy: expected Linux");
    ExitCode::from(2)
}
