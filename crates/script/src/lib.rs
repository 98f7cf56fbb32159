//! packetdrill scripts, run against Recoup's TCP endpoint in virtual time.
//!
//! [`Script::parse`] parses a script in packetdrill's language. [`Script::run`] performs its packets,
//! system calls and assertions over `TCP_INFO`, and compares every packet the endpoint sends with the
//! packet the script expects, to the microsecond. The machine has one connection and nothing else. A
//! part of a script that has no effect gives a note.
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
//! [`recoup_tcp::sysctl`] maps Linux's settings to an endpoint's configuration.

mod code;
mod conformance;
mod error;
mod lex;
mod packet;
mod parse;
mod run;
mod script;
mod shell;
mod wire;

pub use conformance::CONFORMANCE;
pub use error::{Place, ScriptError};
pub use run::{Failure, MakeGuest, NotApplicable, Report, Settings, Subject};
pub use script::{Claim, Level, Note, NoteKind, Script};
