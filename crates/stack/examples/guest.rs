//! The stack as a guest in a child process: it answers JSON lines on standard input (docs/conformance.md).
//!
//! ```sh
//! cargo build --example guest -p recoup-stack --features guest
//! recoup drill --conformance --stack target/debug/examples/guest
//! ```

use recoup_guest::{ServeError, serve};
use recoup_stack::guest::OneConnection;
use std::io::{stdin, stdout};

fn main() -> Result<(), ServeError> {
    serve(|setup| OneConnection::new(setup).map(Box::new), stdin().lock(), stdout().lock())
}
