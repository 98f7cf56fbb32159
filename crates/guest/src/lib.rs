//! A transport stack that is not ours, as a host with one connection in virtual time.
//!
//! Everything that happens to a host is an [`Input`] at a time that the caller names: a packet arrives, the application calls,
//! a timer is due. [`Guest::step`] answers with the packets that the host sends and its [`Status`]. A guest reads no clock,
//! and takes its random numbers from [`Setup::seed`], so a run can be repeated exactly.
//!
//! ```text
//! the caller ──► Guest::step(now, input) ──► packets out, status (when to wake it)
//!                   ├── a stack in this process: implements Guest
//!                   └── Child: a process that speaks JSON lines ◄──► serve(a stack in that process)
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `guest` | the trait, its inputs and what a host shows |
//! | `lines` | the JSON lines of a child process (docs/conformance.md) |
//! | `child` | a guest in a child process |
//! | `process` | a child process that answers lines of JSON, for this protocol or another |
//! | `serve` | the child's side |

mod child;
mod guest;
mod lines;
mod process;
mod serve;

pub use child::Child;
pub use guest::{About, Counters, Ended, Failed, Guest, Input, Setup, Status, Transport};
pub use process::Process;
pub use serve::{ServeError, serve};
