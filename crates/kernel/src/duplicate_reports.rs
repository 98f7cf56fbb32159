//! Hides from the kernel what receivers report about duplicates that another program of this host sent.
//!
//! A receiver reports each duplicate in the first block of a SACK option (DSACK, RFC 2883). The kernel takes a report
//! for a retransmission of its own: it undoes the reduction of its window, or expects more reordering. If another
//! program sent the copy, the report is not the kernel's. A program in the kernel takes it out of the segment before
//! TCP reads it. It is attached to the arriving packets of an interface (TCX, Linux 6.6), for as long as its
//! [`DuplicateReports`] lives: the kernel detaches it when the process ends, however it ends.
//!
//! - **A report is hidden if it lies within a range that was named** by [`hide`](DuplicateReports::hide), once for each
//!   call. A connection has four ranges; a fifth takes the place of the oldest.
//! - **The report's block is taken out, and all else of the segment stays**, with a checksum that fits. NOPs fill the
//!   place.
//! - **A segment that would then be a bare duplicate acknowledgement is dropped**: one with no data, no other block, no
//!   flag but ACK, no options but timestamps, no new acknowledgement and the same window. The kernel takes one for the
//!   end of a tail loss probe's episode (net/ipv4/tcp_input.c: `tcp_process_tlp_ack`).
//! - **Everything else passes as it is**: fragments, IPv6 extension headers, packets with VLAN tags and all protocols
//!   but TCP.
//!
//! A packet costs 70 ns if no copies are sent over its connection, and 170 ns if they are and it has SACK blocks.
//!
//! # What does not hold
//! - **A report may be lost.** Then a later report of the same range is hidden in its place, even if it is the
//!   kernel's. [`stop_hiding`](DuplicateReports::stop_hiding) says that the kernel has retransmitted the range.
//! - **Packet sockets see reports**, as they see packets before the program does.
//! - **The kernel forgets connections that were not used for long**, if there are more than 16,384.
//!
//! | module | what it does |
//! | --- | --- |
//! | `tables` | the bytes that the program in the kernel reads |

mod tables;

use crate::connection_key::{ConnectionKey, connection_key};
use crate::load::{KernelError, Needs, map, object, persist, typed};
use aya::Ebpf;
use aya::maps::{HashMap, MapData, MapError, PerCpuArray};
use aya::programs::links::LinkOrder;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{ProgramError, SchedClassifier, TcAttachType, tc::TcError};
use recoup_wire::{Endpoints, SeqNumber};
use tables::{Count, Ranges, RangesValue, SeenValue};

/// The compiled bpf/duplicate_reports.bpf.c.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/duplicate_reports.bpf.o");

const NEEDS: Needs = Needs {
    program: "duplicate_reports",
    // CAP_PERFMON: places in packets are computed.
    capabilities: "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON",
    granted: "cap_net_raw,cap_bpf,cap_net_admin,cap_perfmon",
    linux: "6.6",
};

/// What the program in the kernel has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DuplicateReportCounts {
    /// Reports hidden.
    pub hidden: u64,
    /// Segments dropped, because they would have been bare duplicate acknowledgements. Their reports are hidden, too.
    pub dropped: u64,
    /// Segments of these connections whose options have no sense or could not be written. They have passed as they
    /// were.
    pub not_understood: u64,
}

/// Hides reports for as long as it lives.
pub struct DuplicateReports {
    // Dropping it detaches the program.
    object: Ebpf,
    copies: HashMap<MapData, ConnectionKey, RangesValue>,
    arrived: HashMap<MapData, ConnectionKey, SeenValue>,
    counts: PerCpuArray<MapData, u64>,
    /// The number of the newest range.
    number: u32,
}

impl DuplicateReports {
    /// Begins, without any range, at an interface of the calling thread's network namespace. It comes after programs
    /// that are there.
    ///
    /// # Errors
    /// If there is no such interface, without the right to load programs into the kernel, or if the kernel lacks what
    /// they need.
    pub fn attach(interface: &str) -> Result<Self, KernelError> {
        let mut reports = Self::load()?;
        let options = TcAttachOptions::TcxOrder(LinkOrder::default());
        let attached = reports.program()?.attach_with_options(interface, TcAttachType::Ingress, options);
        attached.map_err(|why| match why {
            ProgramError::TcError(TcError::IoError(why)) => {
                KernelError::NoInterface { interface: interface.to_owned(), why: why.to_string() }
            }
            why => NEEDS.program_error(&why),
        })?;
        Ok(reports)
    }

    fn load() -> Result<Self, KernelError> {
        let mut object = object(&NEEDS, OBJECT, None)?;
        let (copies, arrived) = (map(&mut object, &NEEDS, "copies")?, map(&mut object, &NEEDS, "arrived")?);
        let counts = map(&mut object, &NEEDS, "counts")?;
        let mut reports = Self {
            object,
            copies: typed(&NEEDS, copies)?,
            arrived: typed(&NEEDS, arrived)?,
            counts: typed(&NEEDS, counts)?,
            number: 0,
        };
        let program = reports.program()?;
        persist(|| program.load()).map_err(|why| NEEDS.program_error(&why))?;
        Ok(reports)
    }

    fn program(&mut self) -> Result<&mut SchedClassifier, KernelError> {
        let program = self.object.program_mut(NEEDS.program);
        let program = program.ok_or_else(|| NEEDS.refused(&"it is not in the object"))?;
        program.try_into().map_err(|why| NEEDS.program_error(&why))
    }

    /// Hides the next report of a duplicate within these bytes. `copy` is the sender and the receiver of the copy: this
    /// host is the sender. `end` is the sequence number after the last byte.
    ///
    /// Call it before the copy is sent. Each call hides one more report.
    ///
    /// # Errors
    /// If the IP versions of both ends differ, or the kernel refuses.
    pub fn hide(&mut self, copy: &Endpoints, start: SeqNumber, end: SeqNumber) -> Result<(), KernelError> {
        let key = connection(copy)?;
        if !start.before(end) {
            return Ok(());
        }
        let mut ranges = self.ranges(&key)?.unwrap_or_default();
        self.number = self.number.wrapping_add(1);
        ranges.add(start, end, self.number);
        self.copies.insert(key, ranges.bytes(), 0).map_err(|why| NEEDS.refused(&why))
    }

    /// Hides no report any more of ranges with any of these bytes: the kernel itself has retransmitted them.
    ///
    /// # Errors
    /// If the IP versions of both ends differ, or the kernel refuses.
    pub fn stop_hiding(&mut self, copy: &Endpoints, start: SeqNumber, end: SeqNumber) -> Result<(), KernelError> {
        let key = connection(copy)?;
        let Some(mut ranges) = self.ranges(&key)? else { return Ok(()) };
        if !ranges.remove(start, end) {
            return Ok(());
        }
        self.copies.insert(key, ranges.bytes(), 0).map_err(|why| NEEDS.refused(&why))
    }

    /// Forgets a connection, because it is closed.
    ///
    /// # Errors
    /// If the IP versions of both ends differ, or the kernel refuses.
    pub fn forget(&mut self, copy: &Endpoints) -> Result<(), KernelError> {
        let key = connection(copy)?;
        for removed in [self.copies.remove(&key), self.arrived.remove(&key)] {
            match removed {
                Ok(()) | Err(MapError::KeyNotFound) => {}
                Err(MapError::SyscallError(why)) if why.io_error.kind() == std::io::ErrorKind::NotFound => {}
                Err(why) => return Err(NEEDS.refused(&why)),
            }
        }
        Ok(())
    }

    /// What was done so far.
    pub fn counts(&self) -> DuplicateReportCounts {
        let count = |what| self.counts.get(&(what as u32), 0).map_or(0, |counts| counts.iter().sum());
        DuplicateReportCounts {
            hidden: count(Count::Hidden),
            dropped: count(Count::Dropped),
            not_understood: count(Count::NotUnderstood),
        }
    }

    fn ranges(&self, key: &ConnectionKey) -> Result<Option<Ranges>, KernelError> {
        match self.copies.get(key, 0) {
            Ok(bytes) => Ok(Some(Ranges::read(&bytes))),
            Err(MapError::KeyNotFound) => Ok(None),
            Err(why) => Err(NEEDS.refused(&why)),
        }
    }
}

fn connection(copy: &Endpoints) -> Result<ConnectionKey, KernelError> {
    connection_key(copy).ok_or(KernelError::TwoVersions(*copy))
}

#[cfg(test)]
mod tests;
