//! Each retransmission of this machine's TCP, in all network namespaces, and the kernel's reason for it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `record` | reads the bytes that the program in the kernel writes |
//! | `reason` | the reason, from the state of the connection |

mod reason;
mod record;

pub use reason::Reason;

use crate::clock::BootOffset;
use crate::load::{KernelError, Needs, attach, kernel_types, map, object, typed};
use aya::Ebpf;
use aya::maps::{MapData, PerCpuArray, RingBuf};
use record::Record;
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};

/// The compiled bpf/retransmissions.bpf.c.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/retransmissions.bpf.o");

/// `recoup watch` needs CAP_NET_RAW besides.
const fn needs(program: &'static str) -> Needs {
    Needs { program, capabilities: "CAP_BPF and CAP_PERFMON", granted: "cap_net_raw,cap_bpf,cap_perfmon", linux: "5.8" }
}

const NEEDS: Needs = needs("retransmissions");

/// A retransmission of the kernel's. One may leave as several packets (segmentation offload).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelRetransmission {
    /// When the kernel passed it on.
    pub at: Instant,
    /// Its sender and receiver.
    pub endpoints: Endpoints,
    /// The sequence number of its first byte, SYN or FIN.
    pub seq: SeqNumber,
    /// The sequence number after it.
    pub end: SeqNumber,
    /// Why the kernel sent it.
    pub reason: Reason,
    /// Whether it left TCP. Otherwise the packet could not be passed on, and none is on the wire.
    pub is_sent: bool,
}

/// Reports retransmissions for as long as it lives.
pub struct Retransmissions {
    // Dropping it detaches the programs.
    _object: Ebpf,
    ring: RingBuf<MapData>,
    lost: PerCpuArray<MapData, u64>,
}

impl Retransmissions {
    /// Begins to report.
    ///
    /// # Errors
    /// Without the right to load programs into the kernel, or if the kernel lacks what they need.
    pub fn open() -> Result<Self, KernelError> {
        let btf = kernel_types()?;
        let mut object = object(&NEEDS, OBJECT, Some(&btf))?;
        let segments = "tcp_retransmit_skb";
        // The kernel refuses programs that read an argument which its tracepoint does not have.
        match attach(&mut object, &needs("segment_or_error"), segments, &btf) {
            Err(KernelError::Refused { .. }) => attach(&mut object, &needs("segment"), segments, &btf)?,
            other => other?,
        }
        attach(&mut object, &needs("syn_ack"), "tcp_retransmit_synack", &btf)?;
        let (ring, lost) = (map(&mut object, &NEEDS, "records")?, map(&mut object, &NEEDS, "lost")?);
        let (ring, lost) = (typed(&NEEDS, ring)?, typed(&NEEDS, lost)?);
        Ok(Self { _object: object, ring, lost })
    }

    /// Takes what was reported since the last call.
    pub fn take(&mut self, mut each: impl FnMut(KernelRetransmission)) {
        let offset = BootOffset::now();
        while let Some(bytes) = self.ring.next() {
            if let Some(record) = Record::read(&bytes) {
                each(KernelRetransmission {
                    at: offset.instant(record.at),
                    endpoints: record.endpoints(),
                    seq: record.seq,
                    end: record.end,
                    reason: Reason::of(&record),
                    is_sent: record.error == 0,
                });
            }
        }
    }

    /// Retransmissions so far that were not reported, because too many waited to be taken.
    pub fn lost(&self) -> u64 {
        self.lost.get(&0, 0).map_or(0, |counts| counts.iter().sum())
    }
}

#[cfg(test)]
mod tests;
