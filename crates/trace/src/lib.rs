//! Explains the TCP retransmissions of packet captures.
//!
//! ```text
//! capture file ─► read ─► follow ─► attribute ─► finding
//!                           │         └─► verdict
//!                           └─ analyze drives it on all cores
//! ```
//!
//! | stage | question |
//! | --- | --- |
//! | [`read`] | which TCP segments does the capture hold? |
//! | `follow` | what is each packet: new data, retransmission, duplicate, probe? |
//! | `attribute` | why was it retransmitted? The recovery engine replays the sender. |
//! | `verdict` | was the retransmission needed? |
//! | [`finding`] | the results: retransmissions and connections |
//! | [`hosts`] | what do all connections of a host show of it? |
//!
//! | module | contents |
//! | --- | --- |
//! | `read` | captures to segments: pcap and pcapng, plain, gzip or zstd, every usual link layer; ICMP messages about segments; unreadable frames are counted by reason |
//! | `… joined` | several files as one capture (`plan`: which and in which order; `look`: the beginning of a file; `open_file`: reading ahead; `files`, `frame_map`: what was read of each; `recorded`, `part`, `replay`: the same of recorded times, without the packets) |
//! | `… copies`, `direction::copied` | copies of segments that another program sent beside the sender's TCP: no retransmissions, and no round-trip times |
//! | `… packet`, `follow::packed` | packets in a compact form, from the reader until their shard takes them |
//! | `follow` | connections and their directions in bounded memory: what each packet is, the capture point, round-trip times |
//! | `… connection::messages` | what is said of a segment apart from its own packet: path MTU, copies by another program |
//! | `… fields`, `connection::plain`, `direction::plain` | the short way for plain packets of connections to which nothing has happened |
//! | `… ends`, `table::groups` | the ends of a connection as integers; the packets of a round, grouped by connection |
//! | `… points`, `table::capture_points` | tell the capture points of a merged file apart, and follow a connection at each |
//! | `… direction::away` | what the way from a distant sender shows: its clock, its IP identifications, the ACKs that may not have reached it |
//! | `… table::removal` | removes connections that have ended, are silent, or are too many |
//! | `… held` | ended connections that wait until their sender is settled, and verdicts that may be revised |
//! | `attribute` | why a segment was retransmitted: an `episode` from its `tape`, the `replay` through the engine, and `identify` (which profile the sender runs) |
//! | `… by_host` | a queue in which the values of a host are found quickly: waiting connections, provisional verdicts |
//! | `… playback` | a tape made ready for its replays: its ACKs, decoded once, and where nothing more can change a score |
//! | `… way_back`, `replay::unseen` | away from the sender: which ACKs it had heard, and what it sent that was lost before the capture point |
//! | `… replay::segment_size` | why a segment is retransmitted in parts: path MTU, or a lost probe of it |
//! | `verdict` | whether it was needed: the receiver's reports (`acks`, `history`), or what arrived at the receiver |
//! | `cost::division` | where the time of a direction went: its life, divided among the states of its sender |
//! | `cost::lost` | the time each direction lost, by cause: `episodes`, `causes`, `handshake`, `delays` |
//! | `timeline` | segments, goodput and round-trip times of all connections over time, in bounded memory |
//! | `qlog` | traces of QUIC: read, followed, and their losses judged and named like those of captures |
//! | `hosts` | facts about hosts, from all their connections: a value that analyses take, return and merge |
//! | `systems` | the profiles compared with, and the systems that retransmit by them |
//! | `memory` | estimates what connections hold; at the bound, `analyze` closes connections |
//! | `finding` | the results, and `revision`s of verdicts given out before |
//! | `analyze` (`feed`, `shard`) | drives all stages on all cores, with a clock that survives wrong timestamps |
//! | `… selection`; `follow::connection::attention`, `direction::skim` | which connections are analyzed, and in which time; those that are only numbered |
//! | `… round`, `rounds` | packets that are analyzed together; the rounds of a whole capture, planned before it is analyzed |
//! | `… partition`, `exchange` | some shards of a capture at a time; the facts about hosts that partitions exchange after each round, and why the result is that of one analysis |
//! | `… analyzer`, `saved`, `merge` | one capture after another, with pauses in between; what a paused analysis keeps, and its checks; two analyses of disjoint connections become one |
//! | `ablation` | leaves out the later steps, to measure what each costs |

//! | [`timeline`] | segments, retransmissions, goodput and round-trip times over time |
//!
//! [`analyze`] runs all stages over a capture.

#[cfg(not(feature = "ablation"))]
mod ablation;
#[cfg(feature = "ablation")]
pub mod ablation;
pub mod analyze;
mod attribute;
mod cost;
pub mod finding;
mod follow;
pub mod hosts;
mod memory;
pub mod qlog;
pub mod read;
pub mod systems;
pub mod timeline;
mod verdict;
