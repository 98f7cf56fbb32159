//! Shared by several benches: captures to read, and the cost of a program's run.

pub mod attacks;
pub mod made;
pub mod many;
pub mod measure;
pub mod simulated;
pub mod traffic;
