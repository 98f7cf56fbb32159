//! Studies of simulated captures.
