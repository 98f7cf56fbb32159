//! Recoup for Python: the module `recoup._recoup`. It converts arguments and results, and leaves the rest to
//! `recoup::commands`. The package in `python/` stands on it.
//!
//! ```text
//! recoup (Python: arguments, notebooks) ─► _recoup ─► watch::run ─┬─► worker thread: recoup::commands
//!                                             ▲                   └─► this thread: signals, progress
//!                                             └── Table (Arrow) ◄── Batches
//! ```
//!
//! Every long call runs on a thread of its own without the GIL. The calling thread looks for signals and reports progress.

mod analysis;
mod compare;
mod continuation;
mod errors;
mod explain;
mod paper;
mod partition;
mod plot;
mod run;
mod settings;
mod table;
mod watch;
mod whatif;

use mimalloc::MiMalloc;
use pyo3::prelude::*;
use std::ffi::OsString;

/// As in the program: with the system's allocator an analysis takes a quarter longer.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Runs the program `recoup` with these arguments, the program's name first, and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| recoup::run(arguments))
}

#[pymodule]
fn _recoup(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    errors::add_to(module)?;
    module.add_class::<table::Table>()?;
    module.add_class::<analysis::Analysis>()?;
    module.add_function(wrap_pyfunction!(analysis::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::intervals, module)?)?;
    module.add_class::<continuation::Continuation>()?;
    module.add_function(wrap_pyfunction!(partition::split, module)?)?;
    module.add_function(wrap_pyfunction!(partition::plan, module)?)?;
    module.add_function(wrap_pyfunction!(partition::analyze_partition, module)?)?;
    module.add_function(wrap_pyfunction!(partition::settle, module)?)?;
    module.add_class::<explain::Explanation>()?;
    module.add_function(wrap_pyfunction!(explain::explain, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain_connection, module)?)?;
    module.add_function(wrap_pyfunction!(explain::page, module)?)?;
    module.add_function(wrap_pyfunction!(plot::plot, module)?)?;
    module.add_class::<compare::Comparison>()?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_class::<whatif::Answers>()?;
    module.add_function(wrap_pyfunction!(whatif::whatif, module)?)?;
    module.add_class::<run::Results>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::scenarios, module)?)?;
    module.add_function(wrap_pyfunction!(paper::table_of, module)?)?;
    Ok(())
}
