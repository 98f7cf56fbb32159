//! Connection vectors of Tmix: what the applications of a connection wrote, apart from the network they had.
//!
//! Weigle, Adurthi, Hernández-Campos, Jeffay and Smith, "Tmix: A Tool for Generating Realistic TCP Application
//! Workloads in ns-2", 2006, §3. Both file formats are those of ns-2 (The ns Manual, "Tmix: Internet Traffic
//! Generation", 44.2.1 original, 44.2.2 alternate; `tmix/tmix.cc` of ns-2.35 where the manual is silent). Times are
//! microseconds, sizes are bytes.
//!
//! ```text
//! # original                        # alternate
//! SEQ 6851 2 21217 555346           S 6851 2 21217 555346
//! w 64800 6432                      w 64800 6432            windows of initiator and acceptor
//! r 1176194                         r 1176194               the least round-trip time
//! l 0.000000 0.010000               l 0.000000 0.010000     loss rates: to the acceptor, to the initiator
//! > 245                             I 0 0 245               the initiator sends 245 bytes
//! t 51257                                                   (I: wait after sending, wait after receiving, bytes)
//! < 3410                            A 0 51257 3410          the acceptor takes 51 ms to answer
//! t 5000                            A 5000 0 0              it closes 5 ms later
//! ```
//!
//! In a concurrent vector (`CONC`, `C`) both hosts send without waiting for each other: `c>`, `c<` are units of data,
//! `t>`, `t<` waits after the same host's unit before. An `m` line with the segment sizes of both hosts may follow the
//! first line.
//!
//! Deviations from ns-2: a file with a line that is not understood is refused, where ns-2 skips the line or stops. A
//! wait of 0 is no wait, where ns-2 makes it 1 µs. A vector that does not say when it ends closes as soon as all data
//! has arrived, where ns-2 waits for a configurable time.

mod parse;
mod write;

pub use parse::{CvecError, parse};
pub use write::{Format, write};

use recoup_tcp::flow::{Host, Script, When, Workload, Write};
use std::time::Duration;

/// What the applications of one connection write. The initiator is the client.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionVector {
    /// When the connection begins, from the beginning of the file's time.
    pub start: Duration,
    /// Its number in the file.
    pub id: u64,
    /// Whether the hosts wait for each other's data.
    pub pattern: Pattern,
    /// The largest windows that client and server offered, in bytes.
    pub windows: Option<[u64; 2]>,
    /// The segment sizes of client and server, in bytes.
    pub segment_sizes: Option<[u16; 2]>,
    /// The least round-trip time of the network.
    pub min_rtt: Option<Duration>,
    /// Shares of packets lost, from 0 to 1: those of the client, those of the server.
    pub loss: [f64; 2],
    /// What the hosts write. In a sequential vector units follow one another, in a concurrent one those of each host
    /// do.
    pub units: Vec<DataUnit>,
}

/// How the hosts of a connection depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A host that answers has received all data before. Requests and responses are like this.
    Sequential,
    /// Each host sends when its own time has come.
    Concurrent,
}

/// An application data unit: what a host writes at a time. Without bytes, the host closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataUnit {
    /// The host that writes.
    pub from: Host,
    /// When it writes.
    pub wait: Wait,
    /// How many bytes.
    pub bytes: u64,
}

/// What a host waits for before it writes, and how long after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// After it wrote its unit before, or after the connection is established if there is none.
    AfterSending(Duration),
    /// After it has received all units of the other host that stand before this one.
    AfterReceiving(Duration),
}

impl Wait {
    /// How long.
    pub const fn duration(self) -> Duration {
        match self {
            Self::AfterSending(wait) | Self::AfterReceiving(wait) => wait,
        }
    }
}

impl ConnectionVector {
    /// The bytes that a host writes.
    pub fn bytes(&self, from: Host) -> u64 {
        let units = self.units.iter().filter(|unit| unit.from == from);
        units.fold(0, |sum, unit| sum.saturating_add(unit.bytes))
    }

    /// The wait of a unit that the original format puts in one number: after the unit before it, whoever wrote that.
    pub(crate) fn usual_wait(&self, from: Host, wait: Duration) -> Wait {
        let last = self.units.last().map(|unit| unit.from);
        match self.pattern {
            Pattern::Sequential if last.is_some_and(|last| last != from) => Wait::AfterReceiving(wait),
            Pattern::Sequential | Pattern::Concurrent => Wait::AfterSending(wait),
        }
    }

    /// The scripts of both applications. Each closes when it has written and received everything, the one that sends
    /// last when the vector says so.
    pub fn workload(&self) -> Workload {
        let hosts = [Host::Client, Host::Server];
        let [client, server] = hosts.map(|host| self.script(host));
        Workload { client, server }
    }

    fn script(&self, host: Host) -> Script {
        let mut writes = Vec::new();
        let mut received = 0_u64;
        let mut close = Duration::ZERO;
        for unit in &self.units {
            match unit.from == host {
                false => received = received.saturating_add(unit.bytes),
                true if unit.bytes == 0 => close = unit.wait.duration(),
                true => {
                    let (received, after) = match unit.wait {
                        Wait::AfterSending(after) => (0, after),
                        Wait::AfterReceiving(after) => (received, after),
                    };
                    let when = When { received, acknowledged: 0, after };
                    let bytes = unit.bytes;
                    writes.push(Write { when, bytes });
                }
            }
        }
        let mut script = Script::of(&writes);
        script.close = Some(When { received, acknowledged: 0, after: close });
        script
    }
}

/// The two hosts in the order of files: initiator, acceptor.
pub(crate) const fn place(host: Host) -> usize {
    match host {
        Host::Client => 0,
        Host::Server => 1,
    }
}

#[cfg(test)]
mod tests;
