//! Network paths: per direction, a [`Chain`] of hops that take `now`.
//!
//! A path is described by [`HopSpec`]s (delay, rate and queue, recorded link, loss,
//! reordering, duplication, corruption, thinning of ACKs) and run as a [`Chain`]. Nothing here reads a
//! clock, sleeps, starts a thread or does I/O, so the simulator in virtual time and the emulator in real
//! time drive the same hops. A chain is generic over the packets it carries. It asks a [`Packet`] for
//! its flow and its length, and, where a hop counts segments or ACKs, for its [`TcpFacts`].
//!
//! ```
//! # use recoup_path::{Chain, Exit, HopSpec, Packet, Queue, TcpFacts};
//! # use recoup_units::{BitRate, Direction, FlowId, Instant};
//! # use std::time::Duration;
//! # #[derive(Clone)]
//! # struct Ping;
//! # impl Packet for Ping {
//! #     fn flow(&self) -> FlowId { FlowId(0) }
//! #     fn ip_len(&self) -> u32 { 1500 }
//! #     fn tcp(&self) -> Option<TcpFacts> { None }
//! #     fn corrupt(&mut self, _draw: u64) {}
//! # }
//! let rate = BitRate::from_bits_per_second(12_000_000).unwrap();
//! let hops = [
//!     HopSpec::Rate { rate, queue: "100p".parse()? },
//!     HopSpec::Delay(Duration::from_millis(20)),
//! ];
//! let mut chain = Chain::new(&hops, Direction::Down, 1)?;
//! chain.enter(Instant::ZERO, Ping);
//! while let Some(now) = chain.next_event() {
//!     while let Some(exit) = chain.next_exit(now) {
//!         assert!(matches!(exit, Exit::Delivered(Ping)));
//!         assert_eq!(now, Instant::from_millis(21));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `chain`, `hop`, `hop_queue`, `packet_store`, `thin` | hops in a row, driven by `now`: the same in virtual and real time |
//! | `aqm` | queues that drop or mark packets before they are full: RED, CoDel |
//! | `link`, `spec` | recorded links; hops and paths as values |
//! | `loss`, `loss_trace`, `packet_rng` | which packets are lost: by position, at random, in outages, above a rate, or as recorded; the random draws |
//! | `draws` | random quantities by key, for sources of flows and statistics |
//! | `quantity` | durations and rates as people write them |

mod aqm;
mod chain;
pub mod draws;
mod flows;
mod hop;
mod hop_queue;
mod link;
mod loss;
mod loss_trace;
mod packet;
mod packet_rng;
mod packet_store;
mod probability;
pub mod quantity;
mod spec;
mod thin;

pub use aqm::{CoDel, Red};
pub use chain::{Chain, ChainError, DropCause, Exit};
pub use link::{LinkTrace, LinkTraceError};
pub use loss::{Bucket, DataSegments, DropRules, DropRulesError, GilbertElliott, LossKind, LossSpec, Outages, Policer};
pub use loss_trace::{LossTrace, LossTraceError};
pub use packet::{Packet, TcpFacts};
pub use probability::{Probability, ProbabilityError};
pub use spec::{HopSpec, PathSpec, Queue, QueueError, one_line};
