//! Recoup as the stack under test of [packetdrill](https://github.com/google/packetdrill).
//!
//! packetdrill runs scripts against a TCP stack. It makes system calls, sends packets, and checks each
//! packet of the stack and its time against the script. With `--so_filename` it calls the stack in a
//! shared object instead of the kernel's. This crate is a shared object of this kind. Its stack is
//! [`recoup_tcp::Connection`] in virtual time:
//!
//! ```text
//! packetdrill ─► calls (C)  ─► runtime: one host, one clock, calls that wait
//!                                  │
//!                                host: sockets by descriptor, listeners, poll, epoll
//!                                  │
//!                            recoup_tcp::Connection, one per connection
//! ```
//!
//! `docs/packetdrill.md` says how to run scripts. The environment variable `RECOUP_PROFILE` names the
//! profile that the endpoints follow.
//!
//! Nothing here is for Rust callers. The object exports `packetdrill_interface_init` and, for use with
//! `LD_PRELOAD`, the functions of the C library that it replaces.

mod calls;
mod errno;
mod host;
mod interface;
mod preload;
mod runtime;
mod settings;
mod sysctl;
mod tcp_info;

#[cfg(test)]
mod tests;
