//! The outcome of each packet, as JSON lines.
//!
//! The relay must not wait for a disk, so a thread writes. It polls every few milliseconds, so that
//! handing a record to it wakes no thread.

use std::{
    io::{self, BufWriter, Write},
    sync::mpsc::{Receiver, Sender, TryRecvError, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use recoup_path::DropCause;
use recoup_units::{Direction, FlowId, Instant};
use serde::Serialize;

use crate::{
    NetError,
    packet::{RelayedPacket, Tcp},
};

/// How a packet's way through the emulator ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// Its device took it.
    Delivered {
        /// When the path's hops let it leave.
        due: Instant,
        /// When it was handed to the device.
        departure: Instant,
    },
    /// A hop dropped it.
    Dropped {
        /// When.
        due: Instant,
        /// Why.
        cause: DropCause,
    },
    /// The device refused it.
    Refused {
        /// When the path's hops let it leave.
        due: Instant,
    },
    /// It was in flight when the emulator ended.
    Unfinished,
}

/// A packet and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct PacketRecord {
    /// Its direction.
    pub direction: Direction,
    /// Its number in its direction, from 1; copies have their original's.
    pub number: u64,
    /// When it was read.
    pub arrival: Instant,
    /// How it ended.
    pub outcome: PacketOutcome,
    /// Bytes, IP header included.
    pub len: usize,
    /// Its connection.
    pub flow: FlowId,
    /// Its TCP header; `None` if it is not TCP.
    pub tcp: Option<Tcp>,
    /// The path damaged it, so its receiver discards it.
    pub damaged: bool,
}

impl PacketRecord {
    pub(crate) const fn new(direction: Direction, packet: &RelayedPacket, outcome: PacketOutcome) -> Self {
        Self {
            direction,
            number: packet.number,
            arrival: packet.arrival,
            outcome,
            len: packet.len,
            flow: packet.flow,
            tcp: packet.tcp,
            damaged: packet.damaged,
        }
    }
}

/// A line of the log.
#[derive(Serialize)]
struct Line {
    direction: &'static str,
    packet: u64,
    arrival: u64,
    due: Option<u64>,
    departure: Option<u64>,
    #[serde(rename = "fate")]
    outcome: &'static str,
    len: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<TcpLine>,
}

#[derive(Serialize)]
struct TcpLine {
    connection: u64,
    seq: u32,
    ack: u32,
    payload: u32,
    flags: String,
}

impl From<&PacketRecord> for Line {
    fn from(entry: &PacketRecord) -> Self {
        let (outcome, due, departure) = match entry.outcome {
            PacketOutcome::Delivered { due, departure } => ("delivered", Some(due), Some(departure)),
            PacketOutcome::Dropped { due, cause } => (cause.name(), Some(due), None),
            PacketOutcome::Refused { due } => ("refused", Some(due), None),
            PacketOutcome::Unfinished => ("unfinished", None, None),
        };
        Self {
            direction: entry.direction.name(),
            packet: entry.number,
            arrival: entry.arrival.as_nanos(),
            due: due.map(Instant::as_nanos),
            departure: departure.map(Instant::as_nanos),
            outcome,
            len: entry.len,
            tcp: entry.tcp.map(|tcp| TcpLine {
                // Connections are counted from 1 where people read them.
                connection: entry.flow.0 + 1,
                seq: tcp.seq,
                ack: tcp.ack,
                payload: tcp.payload_len,
                flags: tcp.flags.to_string(),
            }),
        }
    }
}

/// A log being written: one JSON object per packet, in the order of their outcomes. All times are in
/// nanoseconds since the relay started.
#[derive(Debug)]
pub struct PacketLog<W> {
    entries: Sender<PacketRecord>,
    writer: JoinHandle<io::Result<W>>,
}

/// How often the writer polls for records.
const PAUSE: Duration = Duration::from_millis(5);

impl<W: Write + Send + 'static> PacketLog<W> {
    /// Begins a log.
    ///
    /// # Errors
    /// When the system starts no thread to write it.
    pub fn start(to: W) -> Result<Self, NetError> {
        let (entries, received) = channel();
        let writer = thread::Builder::new()
            .name("log".into())
            .spawn(move || write_all(to, &received))
            .map_err(NetError::system("start a thread"))?;
        Ok(Self { entries, writer })
    }

    /// Where a [`Relay`](crate::Relay) sends its records.
    pub fn sender(&self) -> Sender<PacketRecord> {
        self.entries.clone()
    }

    /// Writes the remaining records.
    ///
    /// # Errors
    /// When anything could not be written, now or before.
    pub fn finish(self) -> io::Result<W> {
        drop(self.entries);
        let panicked = |_| Err(io::Error::other("the writer panicked"));
        self.writer.join().unwrap_or_else(panicked)
    }
}

/// The first line: the schema of the others. A field may be added; where one vanishes or changes its
/// meaning, the version goes up by one.
const HEADER: &[u8] = b"{\"schema\":\"recoup.emulate.log\",\"version\":1}\n";

fn write_all<W: Write>(to: W, entries: &Receiver<PacketRecord>) -> io::Result<W> {
    let mut to = BufWriter::new(to);
    to.write_all(HEADER)?;
    loop {
        match entries.try_recv() {
            Ok(entry) => {
                serde_json::to_writer(&mut to, &Line::from(&entry))?;
                to.write_all(b"\n")?;
            }
            Err(TryRecvError::Empty) => thread::sleep(PAUSE),
            Err(TryRecvError::Disconnected) => break,
        }
    }
    to.into_inner().map_err(io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests;
