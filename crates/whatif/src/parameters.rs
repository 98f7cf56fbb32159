//! What other parameters of loss detection would change for a captured sender (2007 study, §IV-C, §IV-D, §V-B).

mod change;
mod grid;

pub use change::{Change, ChangeKind, DetectionChange};
pub use grid::{Grid, Instances, Parameter};
