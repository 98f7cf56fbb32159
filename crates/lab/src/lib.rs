//! Scenarios as data, runs of many flows, and reports of their results.
//!
//! | module | contents |
//! | --- | --- |
//! | [`scenario`], [`settings`], [`effect`] | experiments as data; each setting as a descriptor; which settings have no effect |
//! | [`world`] | many flows over shared links: links and workloads from TOML, the topology, the results |
//! | [`website`] | web pages as data: sizes and subdomains of objects, from TOML and HAR files |
//! | [`run`], [`stage`] | many flows on all cores; the simulator, real packets and the kernel as stages |
//! | [`sweep`] | every combination of some values of a scenario's keys, and its results |
//! | [`report`] | results side by side, the finding in one sentence, intervals, plots |
//! | [`events`], [`flows`], [`pcap`], [`diagram`] | what a run writes: event streams, a row for each flow, packets, the marks of a time–sequence diagram |

pub mod diagram;
pub mod effect;
pub mod events;
pub mod flows;
pub mod pcap;
pub mod report;
pub mod run;
pub mod scenario;
pub mod settings;
pub mod stage;
pub mod sweep;
pub mod website;
pub mod world;
