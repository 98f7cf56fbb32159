//! Simulates TCP flows in virtual time: two endpoints, a path between them, and a clock that jumps
//! from one event to the next.
//!
//! At equal times, packets are handled first, then applications that wanted to be woken, then timers. All
//! random choices are functions of the seed and the flow's number, so a flow has the same result
//! alone or among others, on any core.
//!
//! | module | contents |
//! | --- | --- |
//! | `flow` | runs one flow over a network of its own, with a virtual clock |
//! | `world` (`links`, `queueing`, `wakes`) | runs many flows over links that they share; routes; what each link carried, and how long packets waited there; which host wakes next |
//! | `turn` | what happens to the hosts of a flow at one instant, whatever the network |
//! | `pair`, `end` | the two hosts of a flow; one of them |
//! | `network`, `application` | what carries packets, and what writes: traits, and their usual implementations (chains of hops, scripts) |
//! | `timers`, `observe`, `host_random` | host timer models; observers; random choices of hosts |
//! | `traffic` | sources of flows for a world: pairs of hosts that pause between flows, connection vectors of Tmix (`cvec`, `replay`, `synth`), a browser (`web`) |

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
mod turn;
pub mod world;

pub use application::Application;
pub use flow::{FlowSpec, Simulation};
pub use network::{Chains, Entrance, Network};
pub use observe::{NoObserver, Observer, Point};
pub use packet::{EcnField, Packet};
pub use timers::TimerModel;
