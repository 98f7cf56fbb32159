//! The rate and the queue of the path, where they were the limit.
