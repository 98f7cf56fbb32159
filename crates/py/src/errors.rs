//! The exceptions. Each message is the line that the program would print.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;

pyo3::create_exception!(
    recoup,
    RecoupError,
    PyValueError,
    "Something that Recoup cannot do. The message says what, where and what was expected."
);
pyo3::create_exception!(recoup, CaptureError, RecoupError, "A capture that cannot be opened, read or analyzed.");
pyo3::create_exception!(recoup, StateError, RecoupError, "A saved analysis that cannot be continued.");

/// Adds the exceptions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("RecoupError", py.get_type::<RecoupError>())?;
    module.add("CaptureError", py.get_type::<CaptureError>())?;
    module.add("StateError", py.get_type::<StateError>())
}

/// Wrong use.
pub fn wrong(line: impl Display) -> PyErr {
    RecoupError::new_err(line.to_string())
}

/// A capture.
pub fn capture(line: impl Display) -> PyErr {
    CaptureError::new_err(line.to_string())
}

/// A defect of Recoup.
pub fn defect(line: impl Display) -> PyErr {
    PyRuntimeError::new_err(line.to_string())
}
