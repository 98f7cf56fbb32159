//! Where the time of each direction went.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`division`] | divides the life of a direction among the states of its sender |

pub(crate) mod division;
