//! Runs the connections of a capture again, in the simulator, under other loss recovery.
//!
//! ```text
//! packets of a connection ─► record ─► transmissions ─┬─► delays, bottleneck, loss ─► network ─┐
//!                                                     ├─► receiver (its ACKs)  ────► network ─┤
//!                                                     └─► application (its writes) ───────────┴─► rerun
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | [`record`] | the packets of a connection, in stream offsets |
//! | [`transmission`] | every transmission of the sender, with its fate |
//! | [`loss`] | the loss process, which decides the fate of packets that the capture does not hold |
//! | [`bottleneck`] | the rate and the queue of the path, where they were the limit |
//!
//! All times are by the clock of the capture point, which stands at the sender, and count from the
//! connection's first packet.

pub mod bottleneck;
pub mod loss;
pub mod record;
pub mod transmission;
