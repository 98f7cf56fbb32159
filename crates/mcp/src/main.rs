//! The program `recoup-mcp`, which `recoup mcp` calls.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// As in `recoup`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(recoup_mcp::program::run(std::env::args_os()))
}
