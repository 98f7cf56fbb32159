//! Simulates TCP flows in virtual time: two endpoints, a path between them, and a clock that jumps
//! from one event to the next.
//!
//! At equal times, packets are handled first, then applications that wanted to be woken, then timers. All
//! random choices are functions of the seed and the flow's number, so a flow has the same result
//! alone or among others, on any core.

mod application;
mod end;
mod flow;
mod host_random;
mod network;
mod observe;
mod packet;
mod pair;
mod timers;
pub mod traffic;
pub mod world;

pub use application::Application;
pub use flow::{FlowSpec, Simulation};
pub use network::{Chains, Entrance, Network};
pub use observe::{NoObserver, Observer, Point};
pub use packet::{EcnField, Packet};
pub use timers::TimerModel;
