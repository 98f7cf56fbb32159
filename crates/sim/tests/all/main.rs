//! Whole flows in the simulator.

mod allocation;
mod applications;
mod hostile;
mod managed_queues;
mod studied_senders;
mod thinned_acks;
mod workload;
