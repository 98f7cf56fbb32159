//! Where the time of a direction went, and what it lost to which cause.

pub(crate) mod lost;
