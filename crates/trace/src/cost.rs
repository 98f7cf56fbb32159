//! Where the time of each direction went, and what it lost to which cause.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`division`] | divides the life of a direction among the states of its sender |
//! | [`lost`] | the time lost, by cause |

pub(crate) mod division;
pub(crate) mod lost;
