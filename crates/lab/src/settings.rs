//! The settings of a scenario: the path, the traffic and the hosts.
//!
//! Every setting has a text form, the same in a scenario file and after `--set`; its [`Setting`] reads
//! and writes it. A setting that can differ by direction takes a comma-joined list of
//! `[up:|down:]VALUE`. A value without a prefix is for both directions; for `drop` and `link` it is for
//! the data direction, down.

mod descriptor;
mod exchanges;
mod faults;
mod hosts;
mod kernel;
mod path;
pub(crate) mod rto;
mod slp;
mod traffic;
pub(crate) mod value;

pub use descriptor::{Setting, all};
pub use kernel::KernelSettings;
pub use value::EachWay;

use recoup_path::PathSpec;
use recoup_path::{DataSegments, DropRules, HopSpec, LinkTrace, LossTrace, Probability, Queue};
use recoup_recovery::Profile;
use recoup_recovery::congestion::Algorithm;
use recoup_recovery::parameters::Parameters;
use recoup_recovery::slp::SlpRules;
use recoup_sim::{FlowSpec, TimerModel};
use recoup_support::exchange::Exchange;
use recoup_support::suggest::did_you_mean;
use recoup_tcp::flow::{Host, TimedWrite, Workload};
use recoup_tcp::{self as tcp, AckPolicy, Ecn, Push};
use recoup_units::{BitRate, Direction, Segments};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// A recorded link and the file it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The file.
    pub file: SourceFile,
    /// The recording.
    pub trace: LinkTrace,
}

/// Recorded losses and the file they came from.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedLosses {
    /// The file.
    pub file: SourceFile,
    /// What a lost packet is in the file.
    pub kind: TraceKind,
    /// The recording.
    pub trace: LossTrace,
}

/// What the entries of a loss trace say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// 1 is a lost packet: `trace:FILE`.
    Losses,
    /// 0 is a lost packet: `arrivals:FILE`.
    Arrivals,
}

/// Reordering: its probability and delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// The probability that a packet is held back.
    pub probability: Probability,
    /// How long it is held back.
    pub extra: Duration,
}

/// All settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Round-trip propagation delay, half of it each way.
    pub rtt: Duration,
    /// Link rate; `None` is infinitely fast.
    pub rate: EachWay<Option<BitRate>>,
    /// The queue in front of a rate or a link.
    pub queue: EachWay<Queue>,
    /// A recorded link in place of a rate.
    pub link: EachWay<Option<Link>>,
    /// Bytes the client writes once connected. The server writes nothing before it has them all.
    pub request: u64,
    /// Full segments the server sends.
    pub segments: u64,
    /// The server's writes in place of `segments`, in the order of time. Times count from the
    /// moment it would write the segments. If empty, it writes the segments at once.
    pub writes: Vec<TimedWrite>,
    /// Requests and responses in place of `request`, `segments` and `writes`. If empty, those apply.
    pub exchanges: Vec<Exchange>,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// The packets that are lost.
    pub drop: DropRules,
    /// Recorded losses beside them.
    pub recorded_losses: EachWay<Option<RecordedLosses>>,
    /// The packets that are held back.
    pub reorder: EachWay<Option<Reordering>>,
    /// The probability that the path duplicates a packet.
    pub duplicate: EachWay<Probability>,
    /// The probability that the path damages a packet.
    pub corrupt: EachWay<Probability>,
    /// When receivers acknowledge.
    pub ack: AckPolicy,
    /// The rounding of the sender's timers by hosts.
    pub timers: TimerModel,
    /// Congestion control; `None` for the profile's.
    pub cc: Option<Algorithm>,
    /// Both hosts negotiate explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// The initial congestion window; `None` for the profile's.
    pub initial_window: Option<Segments>,
    /// Parameters of the RTO, and dupthresh, in place of the profile's.
    pub parameters: Parameters,
    /// Each side closes as soon as it has written everything.
    pub close: bool,
    /// How long data may stay unacknowledged; `None` for the profile's.
    pub user_timeout: Option<Duration>,
    /// Bytes a receiver buffers.
    pub receive_buffer: u64,
    /// The segments that carry PSH.
    pub push: Push,
    /// The parameters of selective loss prevention, for profiles that have it.
    pub slp: SlpRules,
    /// The file of its likelihoods, if they came from one.
    pub slp_q: Option<SourceFile>,
    /// The kernel's TCP, where it is at an end.
    pub kernel: KernelSettings,
}

/// A file a setting was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceFile {
    /// Its name as the user wrote it.
    pub name: String,
    /// Its path, relative to the working directory or absolute.
    pub path: PathBuf,
}

/// The grammar of the `drop` setting, one rule per line.
pub fn drop_grammar() -> String {
    format!("{}\n{}", DropRules::GRAMMAR, faults::TRACE_GRAMMAR)
}

/// The most segments in flight at once in one direction.
const MOST_IN_FLIGHT: u64 = 2_000_000;

/// An error in a setting.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// No setting has this name.
    #[error("unknown setting `{word}`{}", did_you_mean(word, all().map(|s| s.key)))]
    UnknownKey {
        /// The name.
        word: String,
    },
    /// The path cannot be built.
    #[error("{0}")]
    Path(String),
    /// The value cannot be read, or lies outside its range.
    #[error("{key}: {why}")]
    Invalid {
        /// The setting.
        key: &'static str,
        /// The mistake, and the text expected.
        why: String,
    },
}

impl Default for Settings {
    /// The tail-loss study's path with nothing lost.
    fn default() -> Self {
        Self {
            rtt: Duration::from_millis(80),
            rate: EachWay::default(),
            queue: EachWay::default(),
            link: EachWay::default(),
            request: 0,
            segments: 10,
            writes: Vec::new(),
            exchanges: Vec::new(),
            mss: 1448,
            drop: DropRules::default(),
            recorded_losses: EachWay::default(),
            reorder: EachWay::default(),
            duplicate: EachWay::default(),
            corrupt: EachWay::default(),
            ack: AckPolicy::Quick,
            timers: TimerModel::Exact,
            cc: None,
            ecn: false,
            initial_window: None,
            parameters: Parameters::default(),
            close: false,
            user_timeout: None,
            receive_buffer: 64 << 20,
            push: Push::WriteEnd,
            slp: SlpRules::PAPER,
            slp_q: None,
            kernel: KernelSettings::default(),
        }
    }
}

impl Settings {
    /// Sets `key` to what `text` says. File names are relative to `base`.
    ///
    /// # Errors
    /// An unknown key, or a value that cannot be read or lies outside its range; the settings stay as
    /// they were.
    pub fn set(&mut self, key: &str, text: &str, base: &Path) -> Result<(), SettingsError> {
        let key = key.trim();
        let setting = descriptor::find(key).ok_or_else(|| SettingsError::UnknownKey { word: key.into() })?;
        (setting.set)(self, text.trim(), base).map_err(|why| SettingsError::Invalid { key: setting.key, why })
    }

    /// The value of `key` as text that [`set`](Self::set) reads; `None` for an unknown key.
    pub fn get(&self, key: &str) -> Option<String> {
        descriptor::find(key).map(|setting| (setting.get)(self))
    }

    /// The text of a setting that differs from the default.
    pub(crate) fn changed(&self, key: &str) -> Option<String> {
        self.get(key).filter(|value| Self::default().get(key).as_ref() != Some(value))
    }

    /// The files these settings were read from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let links = [&self.link.up, &self.link.down];
        let links = links.into_iter().flatten().map(|link| &link.file);
        let losses = [&self.recorded_losses.up, &self.recorded_losses.down];
        let losses = losses.into_iter().flatten().map(|losses| &losses.file);
        links.chain(losses).chain(&self.slp_q).map(|file| &*file.path)
    }

    /// The path these settings describe.
    ///
    /// # Errors
    /// A loss rule that does not fit the flow's length.
    pub fn path(&self) -> Result<PathSpec, SettingsError> {
        let lengths = DataSegments { up: self.data_segments(Host::Client), down: self.data_segments(Host::Server) };
        let drop =
            self.drop.resolve(lengths).map_err(|e| SettingsError::Invalid { key: "drop", why: e.to_string() })?;
        let hops = |direction| self.hops(&drop, direction);
        Ok(PathSpec { up: hops(Direction::Up), down: hops(Direction::Down) })
    }

    /// Checks that memory holds the packets that may be in flight at once.
    ///
    /// # Errors
    /// A receive buffer for too many segments of the flow.
    pub(crate) fn check_flight(&self) -> Result<(), SettingsError> {
        let workload = self.workload();
        let most = [&workload.client, &workload.server].map(|script| script.total());
        let most = most.into_iter().max().unwrap_or(0).min(self.receive_buffer);
        let segments = most.div_ceil(self.mss.into());
        match segments > MOST_IN_FLIGHT {
            true => Err(SettingsError::Invalid {
                key: "receive_buffer",
                why: format!(
                    "{segments} segments of {} bytes may be in flight at once: expected at most {MOST_IN_FLIGHT}",
                    self.mss
                ),
            }),
            false => Ok(()),
        }
    }

    /// The number of data segments that a host sends. `None` if it depends on the window, because writes may share
    /// segments.
    pub(crate) fn data_segments(&self, host: Host) -> Option<u64> {
        let writes: Vec<u64> = match host {
            Host::Client if self.exchanges.is_empty() => vec![self.request],
            Host::Server if self.writes_full_segments() => return Some(self.segments),
            Host::Server if self.exchanges.is_empty() => self.writes.iter().map(|write| write.bytes).collect(),
            Host::Client => self.exchanges.iter().map(|one| one.request).collect(),
            Host::Server => self.exchanges.iter().map(|one| one.response).collect(),
        };
        let mss = u64::from(self.mss);
        let written = writes.into_iter().filter(|bytes| *bytes > 0);
        let mut segments = 0_u64;
        let mut is_whole = true;
        for bytes in written {
            if !is_whole {
                return None;
            }
            is_whole = bytes.is_multiple_of(mss);
            segments = segments.saturating_add(bytes.div_ceil(mss));
        }
        Some(segments)
    }

    /// Whether the server writes full segments, and nothing else.
    pub fn writes_full_segments(&self) -> bool {
        self.writes.is_empty() && self.exchanges.is_empty()
    }

    /// The traffic these settings describe.
    pub(crate) fn workload(&self) -> Workload {
        if !self.exchanges.is_empty() {
            return exchanges::workload(&self.exchanges).closing(self.close);
        }
        let (response, later) = match self.writes.split_first() {
            None => (self.segments * u64::from(self.mss), &[][..]),
            Some((first, later)) if first.after.is_zero() => (first.bytes, later),
            Some(_) => (0, &self.writes[..]),
        };
        Workload::exchange(self.request, response).with_later_writes(later).closing(self.close)
    }

    pub(crate) fn hops(&self, drop: &DropRules, direction: Direction) -> Vec<HopSpec> {
        let mut hops: Vec<HopSpec> = drop.hops(direction).collect();
        hops.extend(self.recorded_losses.get(direction).iter().map(|losses| HopSpec::LossTrace(losses.trace.clone())));
        let duplicate = *self.duplicate.get(direction);
        let corrupt = *self.corrupt.get(direction);
        if duplicate > Probability::ZERO {
            hops.push(HopSpec::Duplicate { probability: duplicate });
        }
        if corrupt > Probability::ZERO {
            hops.push(HopSpec::Corrupt { probability: corrupt });
        }
        let queue = *self.queue.get(direction);
        match (self.link.get(direction), self.rate.get(direction)) {
            (Some(link), _) => hops.push(HopSpec::Link { trace: link.trace.clone(), queue }),
            (None, Some(rate)) => hops.push(HopSpec::Rate { rate: *rate, queue }),
            (None, None) => {}
        }
        hops.push(HopSpec::Delay(match direction {
            Direction::Up => self.rtt / 2,
            Direction::Down => self.rtt - self.rtt / 2,
        }));
        if let Some(Reordering { probability, extra }) = *self.reorder.get(direction) {
            hops.push(HopSpec::Reorder { probability, extra });
        }
        hops
    }

    /// A flow between two hosts of `profile`.
    pub fn flow(&self, profile: &Profile) -> FlowSpec {
        let mut mechanisms = *profile.mechanisms();
        mechanisms.congestion = self.cc.unwrap_or(mechanisms.congestion);
        mechanisms.initial_window = self.initial_window.unwrap_or(mechanisms.initial_window);
        mechanisms.user_timeout = self.user_timeout.unwrap_or(mechanisms.user_timeout);
        self.parameters.apply(&mut mechanisms);
        mechanisms.slp = mechanisms.slp.map(|_| self.slp);
        let host = tcp::Config {
            acks: self.ack,
            push: self.push,
            mss: self.mss,
            receive_buffer: self.receive_buffer,
            ecn: if self.ecn { Ecn::Ask } else { Ecn::Off },
            ..tcp::Config::new(mechanisms)
        };
        FlowSpec { client: host, server: host, timers: self.timers, workload: self.workload() }
    }
}

#[cfg(test)]
mod tests;
