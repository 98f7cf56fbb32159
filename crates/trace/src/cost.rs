//! Where the time of each direction went, and what it lost to which cause.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`division`] | divides the life of a direction among the states of its sender |
//! | [`lost`] | measures the time that a direction lost, and names the causes |
//! | [`policer`] | finds the policer that dropped packets |
//! | [`queue`] | tells losses by a full queue from others |

pub(crate) mod division;
pub(crate) mod lost;
pub(crate) mod policer;
pub(crate) mod queue;
