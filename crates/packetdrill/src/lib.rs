//! Recoup as the stack under test of [packetdrill](https://github.com/google/packetdrill).
//!
//! packetdrill runs scripts against a TCP stack. It makes system calls, sends packets, and checks each
//! packet of the stack and its time against the script. With `--so_filename` it calls the stack in a
//! shared object instead of the kernel's. This crate is a shared object of this kind. Its stack is
//! the host of [`recoup_stack`], in virtual time:
//!
//! ```text
//! packetdrill ─► calls (C)  ─► runtime: one clock, calls that wait
//!                                  │
//!                                sockets: descriptors, options, errors, poll, epoll, pipes
//!                                  │
//!                                recoup_stack::host::Host: connections, listeners, timers, ICMP
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `calls`, `interface` | the functions in C, and the table in which packetdrill finds them |
//! | `preload` | functions of the C library that packetdrill calls past the table |
//! | `runtime` | the process's sockets, the clock, calls that wait |
//! | `sockets` | what POSIX and Linux make of the stack's host: descriptors, options, errors, readiness, pipes |
//! | `settings`, `sysctl` | a socket's options from the profile, the flags and the kernel's settings |
//! | `errno`, `tcp_info` | error numbers, and the layout of `TCP_INFO` |
//!
//! `docs/packetdrill.md` says how to run scripts. The environment variable `RECOUP_PROFILE` names the
//! profile that the endpoints follow.
//!
//! Nothing here is for Rust callers. The object exports `packetdrill_interface_init` and, for use with
//! `LD_PRELOAD`, the functions of the C library that it replaces.

mod calls;
mod errno;
mod interface;
mod preload;
mod runtime;
mod settings;
mod sockets;
mod sysctl;
mod tcp_info;

#[cfg(test)]
mod tests;
