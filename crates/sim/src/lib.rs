//! TCP flows in virtual time: two endpoints, a path between them, and a clock that jumps from one
//! event to the next.
//!
//! At equal times packets are handled before what applications write of their own accord, and that
//! before timers. Everything random is a function of the seed and the flow's number, so a flow can
//! be run alone, on any core, and come out the same.

mod draw;
mod flow;
mod observe;
mod packet;
mod timers;

pub use flow::{FlowSpec, Simulation};
pub use observe::{NoObserver, Observer, Point};
pub use packet::Packet;
pub use timers::TimerModel;
