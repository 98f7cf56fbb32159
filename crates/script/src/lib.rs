//! packetdrill scripts, run against Recoup's TCP endpoint in virtual time.
//!
//! [`Script::parse`] reads a script in packetdrill's language; [`Script::run`] plays its side of
//! the connection (packets, system calls, assertions over `TCP_INFO`) and compares every packet that
//! leaves with what the script expects, at the very microsecond. There is one connection, and
//! nothing else happens on the machine: what is read and has no effect is noted, never dropped
//! silently.
//!
//! ```
//! use recoup_script::{Script, Settings};
//!
//! let text = "
//!     0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//!    +0 bind(3, ..., ...) = 0
//!    +0 listen(3, 1) = 0
//!    +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
//!    +0 > S. 0:0(0) ack 1 <...>
//! ";
//! let report = Script::parse("syn.pkt", text)?.run(&Settings::default())?;
//! assert!(report.passed());
//! # Ok::<(), recoup_script::ScriptError>(())
//! ```
//!
//! What Linux's settings mean to an endpoint tells [`recoup_tcp::sysctl`].

mod code;
mod error;
mod lex;
mod packet;
mod parse;
mod run;
mod script;
mod shell;
mod wire;

pub use error::{Place, ScriptError};
pub use run::{Failure, Report, Settings};
pub use script::{Note, NoteKind, Script};
