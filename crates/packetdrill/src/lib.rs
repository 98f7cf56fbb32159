//! Recoup as the stack under test of [packetdrill](https://github.com/google/packetdrill).
//!
//! packetdrill runs scripts against a TCP stack: system calls and packets in, packets out, each
//! checked against what the script expects and when. Given a shared object (`--so_filename`), it
//! calls the stack in there instead of the kernel's. This crate is such an object, over
//! [`recoup_tcp::Endpoint`] in virtual time:
//!
//! ```text
//! packetdrill ─► calls (C)  ─► runtime: one host, one clock, calls that wait
//!                                  │
//!                                host: sockets by descriptor, listeners, buffers, poll, epoll
//!                                  │
//!                            recoup_tcp::Endpoint, one a connection
//! ```
//!
//! How to run scripts is told in `docs/packetdrill.md`; which profile the endpoints follow says the
//! environment variable `RECOUP_PROFILE`.
//!
//! Nothing here is for Rust callers: what the object exports is `packetdrill_interface_init`, and
//! the functions of the C library it stands in front of when preloaded.

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
