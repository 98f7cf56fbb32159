//! The C interface of the loss recovery engine, [`recoup_recovery`].
//!
//! ```text
//! recoup_sender_init, _new       memory of the host, or of the heap      create
//! recoup_written … recoup_on_ack the calls of Sender, one by one         send, ack, timers, status
//! include/recoup_recovery.h      generated from this crate by cbindgen   tests/header.rs
//! ```
//! A C host sees one opaque type, `recoup_sender`, and plain structs of fixed-width integers ([`abi`]). Every
//! function that can fail returns a code: 0 or more for success, and a negative [`abi::Error`] otherwise.
//!
//! The interface answers these mistakes with an error: null and misaligned pointers, memory that is too small,
//! a pointer to something that is no sender, a call from inside a callback, numbers out of range. Mistakes that it
//! cannot detect are listed at the top of the header: avoiding them is the host's duty.
//!
//! **Panics.** A panic does not cross the boundary. All functions are `extern "C"`, and Rust aborts the process when
//! a panic reaches the end of such a function. The engine does not panic on any input, so a panic would be a defect,
//! and the sender's state unknown. To catch it would let the host go on with that state.
//!
//! **Deviations from the Rust interface.** Positions count from 0, where [`recoup_units::Offset`] counts from 1
//! after the SYN. Numbered packets and byte offsets share all functions. Congestion control is the profile's; the
//! host cannot bring its own. Events, recoveries, reasons, the path MTU and the user timeout are not offered.

pub mod abi;
mod ack;
mod create;
mod handle;
mod lent;
mod pointers;
mod profile;
mod send;
mod status;
mod timers;

pub use ack::*;
pub use create::*;
pub use handle::Handle;
pub use profile::*;
pub use send::*;
pub use status::*;
pub use timers::*;
