//! Analyzes one long capture in parts, by connection, on any number of machines.
//!
//! ```text
//! file ─► split ─┬─► record: frames, times, counts ──────► plan ─┐
//!                └─► headers of each partition (Parquet) ─┐      │
//!                        ┌───────────────────────────────┴──────┘
//!                        ▼                 ┌── facts about hosts ──┐
//!                analyze_partition ─► settle ─► Settled::Again ────┘
//!                                           └─► Settled::Final: what one analysis finds
//! ```
//!
//! [`split`] runs once per file and [`analyze_partition`] once per partition, each anywhere and at any time.
//! [`plan`] and [`settle`] run once per capture and pass. All of them read and write files in one folder, whose
//! path must be the same everywhere. What they return can be passed on as bytes ([`to_bytes`]).
//!
//! **Rows** are those of one analysis of the joined files, in its order: retransmissions by frame and sequence
//! number, connections by number and capture point. Connections are numbered by the first frame of each, round by
//! round. The only exception is the limit of memory: see [`FinalAnalysis::reached_memory_limit`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `packets` | the headers of packets as Parquet |
//! | `values` | values that travel between machines, as bytes |
//!
//! ```no_run
//! use recoup_captures::partition::{Decision, analyze_partition, plan, settle, split};
//! use recoup_captures::analysis::AllRetransmissions;
//! use recoup_trace::analyze::Settings;
//! use std::sync::Arc;
//!
//! let settings = Settings::default();
//! let captures = ["day.pcap0", "day.pcap1"];
//! // On any worker, one call per file.
//! let files = captures.map(|file| split(file.as_ref(), "parts".as_ref(), 4, &settings));
//! let files = files.into_iter().collect::<Result<Vec<_>, _>>()?;
//! let plan = plan(&files, &settings)?;
//! let mut again: Vec<usize> = (0..plan.partitions).collect();
//! let (mut analyses, mut facts) = (Vec::new(), Arc::default());
//! loop {
//!     // On any worker, one call per partition.
//!     for number in again {
//!         analyses.push(analyze_partition::<AllRetransmissions>(&plan, number, &facts, &settings)?);
//!     }
//!     match settle(&plan, analyses)? {
//!         Decision::Final(found) => break println!("{}", found.analyzed.findings.rows.len()),
//!         Decision::Again { kept, partitions, facts: now } => {
//!             (analyses, again, facts) = (kept, partitions, Arc::new(now));
//!         }
//!     }
//! }
//! # Ok::<(), recoup_captures::partition::PartitioningError>(())
//! ```

mod packets;
mod values;

use crate::analysis::{AnalysisError, Analyzed, Collector, assemble};
use packets::{PacketReader, PacketWriter};
use recoup_support::output_file::{OutputError, OutputFile};
use recoup_trace::analyze::{
    self, ForeignFacts, NumbersConnections, Partition, PartitionAnalysis, PartitionError, RoundPlan, Settings, Settled,
};
use recoup_trace::hosts::Hosts;
use recoup_trace::read::{Joined, JoinedOrder, Packet, ReadError, RecordedFile, record_file};
use recoup_units::visible;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use twox_hash::XxHash3_64;

pub use values::{ValueError, from_bytes, to_bytes};

/// How the name of a record ends.
const RECORD: &str = "packets";

/// A view whose parts can be put together.
pub trait PartitionView: Collector + NumbersConnections + Serialize + DeserializeOwned + Default {}

impl<V> PartitionView for V where V: Collector + NumbersConnections + Serialize + DeserializeOwned + Default {}

/// A capture file that was split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitFile {
    /// The name of the capture file.
    pub capture: String,
    /// The times of its packets, which [`plan`] reads.
    pub record: PathBuf,
    /// The headers of its packets by partition, as Parquet.
    pub partitions: Vec<PathBuf>,
    /// How many packets there are in each partition.
    pub packets: Vec<u64>,
    /// Why it cannot be read at all; `None` if it can. The other files are analyzed without it.
    pub failure: Option<String>,
}

/// How the partitions of a capture are analyzed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapturePlan {
    /// How many partitions there are.
    pub partitions: usize,
    /// Why captures were left out, one line each.
    pub failures: Vec<String>,
    rounds: RoundPlan,
    order: JoinedOrder,
}

impl CapturePlan {
    /// The name of the joined capture.
    pub fn name(&self) -> &str {
        self.rounds.name()
    }

    /// How many rounds there are. After each, facts about hosts are exchanged.
    pub fn rounds(&self) -> usize {
        self.rounds.rounds()
    }
}

/// The findings of all partitions.
#[derive(Debug)]
pub struct FinalAnalysis<V> {
    /// As of the whole capture.
    pub analyzed: Analyzed<V>,
    /// Facts about hosts.
    pub hosts: Hosts,
    /// Whether the connections of all partitions together exceeded the limit of memory
    /// ([`Settings::most_memory`]). One analysis closes some connections there, and each partition does so only at a
    /// limit of its own, so rows may differ.
    pub reached_memory_limit: bool,
}

/// Decision of [`settle`].
#[derive(Debug)]
pub enum Decision<V> {
    /// This is what one analysis finds.
    Final(Box<FinalAnalysis<V>>),
    /// Some partitions are to be analyzed again.
    Again {
        /// The analyses that stay as they are.
        kept: Vec<PartitionAnalysis<V>>,
        /// The numbers of the other partitions.
        partitions: Vec<usize>,
        /// All facts about hosts so far.
        facts: ForeignFacts,
    },
}

/// Why a capture cannot be analyzed in partitions. Each message is one line.
#[derive(Debug, Error)]
pub enum PartitioningError {
    /// A number of partitions is wrong.
    #[error("{0} partitions: expected 1 to 256")]
    Count(usize),
    /// Files were split into different numbers of partitions.
    #[error("{file}: split into {found} partitions: expected {expected}, as the other files")]
    Partitions {
        /// The capture file.
        file: String,
        /// Its partitions.
        found: usize,
        /// Those of the others.
        expected: usize,
    },
    /// A capture or a record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file of packets cannot be read or written.
    #[error(transparent)]
    Packets(#[from] io::Error),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Partitions cannot be analyzed or put together.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// Nothing in the capture can be analyzed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
}

/// The settings of an analysis in so many partitions: there is a shard for each. Up to 8 partitions have the shards of
/// the usual analysis.
fn with_shards(settings: &Settings, partitions: usize) -> Result<Settings, PartitioningError> {
    let settings = Settings { shards: settings.shards.max(partitions), ..settings.clone() };
    match (1..=settings.shard_count()).contains(&partitions) {
        true => Ok(settings),
        false => Err(PartitioningError::Count(partitions)),
    }
}

/// The file of a partition's packets, next to the record of the same capture file.
fn packets_file(record: &Path, number: usize, partitions: usize) -> PathBuf {
    record.with_extension(format!("{number}-of-{partitions}.parquet"))
}

/// Splits a capture file: writes the headers of its packets to `folder`, a Parquet file per partition, and a record of
/// their order. The files are named after the capture and its path. A capture that cannot be read is recorded as
/// such.
///
/// # Errors
/// If the number of partitions is wrong, or a file cannot be written.
pub fn split(
    capture: &Path,
    folder: &Path,
    partitions: usize,
    settings: &Settings,
) -> Result<SplitFile, PartitioningError> {
    let settings = with_shards(settings, partitions)?;
    let path = capture.to_string_lossy();
    let name = capture.file_name().map(|name| name.to_string_lossy());
    let digest = XxHash3_64::oneshot(path.as_bytes());
    let name = format!("{}-{digest:016x}.{RECORD}", name.unwrap_or_default());
    let record = folder.join(name);
    let files: Vec<PathBuf> = (0..partitions).map(|number| packets_file(&record, number, partitions)).collect();
    let create = |path: &PathBuf| {
        let out = OutputFile::create(path)?;
        Ok(PacketWriter::new(BufWriter::new(out))?)
    };
    let writers = files.iter().map(create).collect::<Result<Vec<_>, PartitioningError>>();
    let mut writers = writers?;
    let mut packets = vec![0; partitions];
    let recorded = record_file(capture, |packet| {
        let partition = Partition::of_packet(packet, partitions, &settings);
        packets[partition] += 1;
        writers[partition].write(packet)
    })?;
    for writer in writers {
        let out = writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.publish()?;
    }
    let mut out = BufWriter::new(OutputFile::create(&record)?);
    recorded.write(&mut out)?;
    out.flush()?;
    let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    out.publish()?;
    Ok(SplitFile {
        capture: visible(&path).into_owned(),
        record,
        partitions: files,
        packets,
        failure: recorded.file.failure().map(str::to_owned),
    })
}

/// Plans the analysis of the capture that these files make up. They are joined in the order of their times, whatever
/// the order given.
///
/// # Errors
/// If the files were split into different numbers of partitions, a record cannot be read, or no frame has a supported
/// link type.
pub fn plan(files: &[SplitFile], settings: &Settings) -> Result<CapturePlan, PartitioningError> {
    let partitions = files.first().map_or(1, |file| file.partitions.len());
    let mut records = Vec::with_capacity(files.len());
    for file in files {
        if file.partitions.len() != partitions {
            return Err(PartitioningError::Partitions {
                file: file.capture.clone(),
                found: file.partitions.len(),
                expected: partitions,
            });
        }
        // A damaged record is no damaged capture: the file must be split again.
        RecordedFile::read(&file.record)?;
        records.push(file.record.clone());
    }
    let mut joined = Joined::open_recorded(&records);
    let failures = joined.failures().into_iter().map(|failure| failure.to_string()).collect();
    let mut order = JoinedOrder::default();
    let rounds = RoundPlan::new(joined, settings.window, |joined| {
        order = joined.order().unwrap_or_default();
    })?;
    Ok(CapturePlan { partitions, failures, rounds, order })
}

/// Analyzes the connections of one partition. In the first pass there are no `facts`. Later, they are those of
/// [`Decision::Again`].
///
/// # Errors
/// If there is no such partition, or its packets cannot be read.
pub fn analyze_partition<V: PartitionView>(
    plan: &CapturePlan,
    number: usize,
    facts: &Arc<ForeignFacts>,
    settings: &Settings,
) -> Result<PartitionAnalysis<V>, PartitioningError> {
    let of = plan.partitions;
    let settings = with_shards(settings, of)?;
    let records: Vec<&Path> = plan.order.files().collect();
    let mut failure: Option<io::Error> = None;
    let mut packets = plan.order.replay(|file: usize| {
        let file = packets_file(records[file], number, of);
        let mut reader = PacketReader::open(&file)?;
        Ok::<_, io::Error>(move |packet: &mut Packet| reader.next_into(packet))
    });
    let next = |packet: &mut Packet| match packets.next_into(packet) {
        Ok(found) => found,
        Err(error) => {
            failure = Some(error);
            false
        }
    };
    let partition = Partition { number, of };
    let analysis = analyze::analyze_partition(&plan.rounds, partition, facts, &settings, next, V::default);
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(analysis?),
    }
}

/// Decides whether these analyses of all partitions are final, and puts them together if they are.
///
/// # Errors
/// If they are not the analyses of all partitions by this plan, or no frame of the capture is readable.
pub fn settle<V: PartitionView>(
    plan: &CapturePlan,
    analyses: Vec<PartitionAnalysis<V>>,
) -> Result<Decision<V>, PartitioningError> {
    let totals = match analyze::settle(&plan.rounds, analyses)? {
        Settled::Final(totals) => totals,
        Settled::Again { kept, partitions, facts } => {
            return Ok(Decision::Again { kept, partitions, facts });
        }
    };
    let name = plan.name();
    let analyzed = assemble(name, totals.counts, false, totals.findings, V::default)?;
    Ok(Decision::Final(Box::new(FinalAnalysis {
        analyzed,
        hosts: totals.hosts,
        reached_memory_limit: totals.reached_memory_limit,
    })))
}

/// Analyzes all partitions of a plan here, one after another, pass by pass.
///
/// # Errors
/// Those of [`analyze_partition`] and [`settle`].
pub fn analyze_all<V: PartitionView>(
    plan: &CapturePlan,
    settings: &Settings,
) -> Result<FinalAnalysis<V>, PartitioningError> {
    let mut analyses = Vec::new();
    let mut again: Vec<usize> = (0..plan.partitions).collect();
    let mut facts = Arc::new(ForeignFacts::default());
    loop {
        for number in again {
            analyses.push(analyze_partition(plan, number, &facts, settings)?);
        }
        match settle(plan, analyses)? {
            Decision::Final(found) => return Ok(*found),
            Decision::Again { kept, partitions, facts: now } => {
                (analyses, again, facts) = (kept, partitions, Arc::new(now))
            }
        }
    }
}

#[cfg(test)]
mod tests;
