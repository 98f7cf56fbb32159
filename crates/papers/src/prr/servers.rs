//! Servers.

pub mod connection;
pub mod users;
