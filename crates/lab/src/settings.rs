//! The settings of a scenario: what the path is like, what is sent, how the hosts behave.
//!
//! Every setting has a text form, the same in a scenario file and after `--set`. Settings that can
//! differ by direction take a comma-joined list of `[up:|down:]VALUE`; without a prefix a value is
//! for both, except for `drop` and `link`, where the data direction, down, is meant.

mod text;

pub use text::{EachWay, parse_request};

use crate::quantity::{format_duration, parse_duration, parse_rate};
use crate::suggest::did_you_mean;
use recoup_path::PathSpec;
use recoup_path::{DataSegments, DropRules, HopSpec, LinkTrace, Probability, Queue};
use recoup_recovery::Profile;
use recoup_recovery::congestion::Algorithm;
use recoup_recovery::slp::{LossRate, SlpRules};
use recoup_sim::{FlowSpec, TimerModel};
use recoup_tcp::flow::{Workload, Write};
use recoup_tcp::{self as tcp, AckPolicy, Push, Switch, Switches};
use recoup_units::{BitRate, Direction, Segments};
use std::path::{Path, PathBuf};
use std::time::Duration;
use text::{
    BOTH, DOWN, PUSHES, SWITCHED, format_ack, format_likelihoods, format_request, format_timers,
    format_word, format_writes, optional, parse_ack, parse_cc, parse_drop, parse_initial_window,
    parse_kernel_cc, parse_loss_rate, parse_number, parse_probabilities, parse_reordering,
    parse_share, parse_timers, parse_user_timeout, parse_word, parse_writes, read_likelihoods,
    read_link,
};
use thiserror::Error;

/// A recorded link and the file it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The file.
    pub file: SourceFile,
    /// The recording.
    pub trace: LinkTrace,
}

/// Reordering: how often, and by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// How likely a packet is held.
    pub probability: Probability,
    /// How much longer it takes.
    pub extra: Duration,
}

/// All settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Round-trip propagation delay, split evenly.
    pub rtt: Duration,
    /// Link rate; `None` is infinitely fast.
    pub rate: EachWay<Option<BitRate>>,
    /// The queue in front of a rate or a link.
    pub queue: EachWay<Queue>,
    /// A recorded link in place of a rate.
    pub link: EachWay<Option<Link>>,
    /// Bytes the client writes once connected, which the server waits for.
    pub request: u64,
    /// Full segments the server sends.
    pub segments: u64,
    /// What the server writes and when, counted from the moment it would write the segments, in
    /// the order of time; empty: the segments at once.
    pub writes: Vec<Write>,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// What is lost.
    pub drop: DropRules,
    /// Packets held back.
    pub reorder: EachWay<Option<Reordering>>,
    /// How likely a packet is sent twice by the path.
    pub duplicate: EachWay<Probability>,
    /// How likely a packet is damaged.
    pub corrupt: EachWay<Probability>,
    /// When receivers acknowledge.
    pub ack: AckPolicy,
    /// How hosts round the sender's timers.
    pub timers: TimerModel,
    /// Congestion control; `None` is the profile's.
    pub cc: Option<Algorithm>,
    /// The congestion window to begin with; `None` is the profile's.
    pub initial_window: Option<Segments>,
    /// Each side closes as soon as it has written everything.
    pub close: bool,
    /// How long data may stay unacknowledged; `None` is the profile's.
    pub user_timeout: Option<Duration>,
    /// Bytes a receiver buffers.
    pub receive_buffer: u64,
    /// Which segments carry PSH.
    pub push: Push,
    /// What selective loss prevention goes by, where a profile has it.
    pub slp: SlpRules,
    /// The file its likelihoods came from, if they did from one.
    pub slp_q: Option<SourceFile>,
    /// What is switched on or off where the kernel's TCP is at an end.
    pub kernel: Switches,
    /// The congestion control of its sockets by the kernel's own name, if another than `cc`.
    pub kernel_cc: Option<String>,
}

/// A file a setting was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceFile {
    /// As the user wrote it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What the `drop` setting takes, line by line.
pub const DROP_GRAMMAR: &str = DropRules::GRAMMAR;

/// A setting's name and what it takes.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// What it is and which values it takes.
    pub help: &'static str,
}

/// Every setting, in the order of listings.
pub const KEYS: [Key; 31] = [
    Key {
        name: "rtt",
        help: "round-trip propagation delay, split evenly: 80ms",
    },
    Key {
        name: "rate",
        help: "link rate: none, 10Mbit, or up:1Mbit,down:10Mbit",
    },
    Key {
        name: "queue",
        help: "drop-tail queue in front of a rate or link: none, 100 (packets), 64kB; or up:…,down:…",
    },
    Key {
        name: "link",
        help: "recorded link (mahimahi format) in place of a rate: none, FILE (down), or up:FILE,down:FILE",
    },
    Key {
        name: "request",
        help: "what the client writes once connected, before which the server writes nothing: 0, 300B",
    },
    Key {
        name: "segments",
        help: "full segments the server sends: 10",
    },
    Key {
        name: "writes",
        help: "what the server writes, and how long after accepting (or after the whole request), in place of segments: none, 20kB@0,10kB@500ms (a kB is 1000 bytes)",
    },
    Key {
        name: "mss",
        help: "payload bytes of a full segment: 1448",
    },
    Key {
        name: "drop",
        help: "what is lost: none, or [up:|down:]KIND[@T],… as told below: tail:1",
    },
    Key {
        name: "reorder",
        help: "packets held back: none, P:EXTRA as in 0.01:20ms; or up:…,down:…",
    },
    Key {
        name: "duplicate",
        help: "probability that the path doubles a packet: 0; or up:…,down:…",
    },
    Key {
        name: "corrupt",
        help: "probability that the path damages a packet: 0; or up:…,down:…",
    },
    Key {
        name: "ack",
        help: "receivers acknowledge: quick (each segment), delayed[:200ms] (every second), linux[:16] (so many at once, then delayed by 40 ms)",
    },
    Key {
        name: "timers",
        help: "how hosts round the sender's timers: exact, granularity:10ms, linux-wheel:HZ",
    },
    Key {
        name: "cc",
        help: "congestion control: profile (as the profile says), cubic, reno",
    },
    Key {
        name: "initial_window",
        help: "congestion window to begin with, in segments: profile, 10",
    },
    Key {
        name: "close",
        help: "each side closes once it has written everything: false, true",
    },
    Key {
        name: "user_timeout",
        help: "give up after this long without progress: profile, 300s",
    },
    Key {
        name: "receive_buffer",
        help: "bytes a receiver buffers: 67108864",
    },
    Key {
        name: "psh",
        help: "which segments carry PSH: write (the last of each write), burst (of each burst of several, too; newer Linux)",
    },
    Key {
        name: "slp.p",
        help: "of +slp: how likely a packet is lost: 0.02 or 2%, 0 to 1; learned (from the connection)",
    },
    Key {
        name: "slp.q",
        help: "of +slp: how likely a loss means a timeout: paper (syn and syn_ack 1, psh 0.1), KIND:Q,… as in tail:1,psh:0.1, or a CSV file of lines kind,q; a kind is syn, syn_ack, fin, psh, tail, first or other, q is 0 to 1, and 0 for a kind left out",
    },
    Key {
        name: "slp.bw",
        help: "of +slp: the bandwidth until the connection has measured its delivery rate: 10Mbit",
    },
    Key {
        name: "slp.gap",
        help: "of +slp: the gap between original and copy, as a share of SRTT (5 ms before there is one): 0.125, 0 to 1",
    },
    Key {
        name: "kernel.cc",
        help: "congestion control of the kernel's sockets (--on kernel): default (cc, or cubic), or what this kernel has: bbr",
    },
    Key {
        name: "kernel.tlp",
        help: "of the kernel as sender or receiver (--on kernel): tail loss probes: default, on, off",
    },
    Key {
        name: "kernel.rack",
        help: "of the kernel as sender or receiver (--on kernel): RACK: default, on, off",
    },
    Key {
        name: "kernel.sack",
        help: "of the kernel as sender or receiver (--on kernel): SACK: default, on, off",
    },
    Key {
        name: "kernel.dsack",
        help: "of the kernel as sender or receiver (--on kernel): reports of duplicates: default, on, off",
    },
    Key {
        name: "kernel.timestamps",
        help: "of the kernel as sender or receiver (--on kernel): timestamps: default, on, off",
    },
    Key {
        name: "kernel.frto",
        help: "of the kernel as sender or receiver (--on kernel): F-RTO: default, on, off",
    },
];

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// No setting has this name.
    #[error("unknown setting `{word}`{}", did_you_mean(word, KEYS.iter().map(|k| k.name)))]
    UnknownKey {
        /// The name.
        word: String,
    },
    /// The path cannot be built.
    #[error("{0}")]
    Path(String),
    /// The value does not fit.
    #[error("{key}: {why}")]
    Invalid {
        /// The setting.
        key: &'static str,
        /// What is wrong, and what was expected.
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
            mss: 1448,
            drop: DropRules::default(),
            reorder: EachWay::default(),
            duplicate: EachWay::default(),
            corrupt: EachWay::default(),
            ack: AckPolicy::Quick,
            timers: TimerModel::Exact,
            cc: None,
            initial_window: None,
            close: false,
            user_timeout: None,
            receive_buffer: 64 << 20,
            push: Push::WriteEnd,
            slp: SlpRules::PAPER,
            slp_q: None,
            kernel: Switches::default(),
            kernel_cc: None,
        }
    }
}

impl Settings {
    /// Sets `key` to what `text` says. File names are relative to `base`.
    ///
    /// # Errors
    /// An unknown key, or a value that cannot be read or lies outside its range; nothing is changed
    /// then.
    pub fn set(&mut self, key: &str, text: &str, base: &Path) -> Result<(), SettingsError> {
        let key = KEYS
            .iter()
            .map(|k| k.name)
            .find(|name| *name == key.trim())
            .ok_or_else(|| SettingsError::UnknownKey {
                word: key.trim().into(),
            })?;
        self.set_known(key, text.trim(), base)
            .map_err(|why| SettingsError::Invalid { key, why })
    }

    fn set_known(&mut self, key: &str, text: &str, base: &Path) -> Result<(), String> {
        match key {
            "rtt" => self.rtt = parse_duration(text)?,
            "rate" => {
                self.rate = EachWay::parse(
                    text,
                    None,
                    &BOTH,
                    optional(|t| parse_rate(t).map_err(|why| why + ", or none")),
                )?
            }
            "queue" => {
                let queue = |t: &str| {
                    t.parse()
                        .map_err(|e: recoup_path::QueueError| e.to_string())
                };
                self.queue = EachWay::parse(text, Queue::Unlimited, &BOTH, queue)?;
            }
            "link" => {
                self.link = EachWay::parse(text, None, &DOWN, optional(|t| read_link(t, base)))?;
            }
            "request" => self.request = parse_request(text)?,
            "segments" => self.segments = parse_number(text, 1, 1_000_000_000)?,
            "writes" => self.writes = parse_writes(text)?,
            "mss" => self.mss = parse_number(text, 1, 65_463)? as u16,
            "drop" => self.drop = parse_drop(text)?,
            "reorder" => {
                self.reorder = EachWay::parse(text, None, &BOTH, optional(parse_reordering))?;
            }
            "duplicate" => self.duplicate = parse_probabilities(text)?,
            "corrupt" => self.corrupt = parse_probabilities(text)?,
            "ack" => self.ack = parse_ack(text)?,
            "timers" => self.timers = parse_timers(text)?,
            "cc" => self.cc = parse_cc(text)?,
            "initial_window" => self.initial_window = parse_initial_window(text)?,
            "close" => self.close = parse_word(text, &[("false", false), ("true", true)])?,
            "user_timeout" => self.user_timeout = parse_user_timeout(text)?,
            "receive_buffer" => self.receive_buffer = parse_number(text, 1, 1 << 30)?,
            "psh" => self.push = parse_word(text, &PUSHES)?,
            "slp.p" => self.slp.loss = parse_loss_rate(text)?,
            "slp.q" => (self.slp_q, self.slp.likelihoods) = read_likelihoods(text, base)?,
            "slp.bw" => self.slp.bandwidth = parse_rate(text)?,
            "slp.gap" => self.slp.gap = parse_share(text)?,
            "kernel.cc" => self.kernel_cc = parse_kernel_cc(text)?,
            _ => {
                let switch = kernel_switch(key);
                let switch = switch.unwrap_or_else(|| unreachable!("every key has an arm"));
                self.kernel.set(switch, parse_word(text, &SWITCHED)?);
            }
        }
        Ok(())
    }

    /// The value of `key` as text that [`set`](Self::set) reads; `None` for an unknown key.
    pub fn get(&self, key: &str) -> Option<String> {
        let probability = |p: &Probability| p.to_string();
        let profile = || String::from("profile");
        Some(match key {
            "rtt" => format_duration(self.rtt),
            "rate" => self
                .rate
                .format(|r| r.map_or("none".into(), |r| r.to_string())),
            "queue" => self.queue.format(Queue::to_string),
            "link" => self
                .link
                .format(|l| l.as_ref().map_or("none".into(), |l| l.file.name.clone())),
            "request" => format_request(self.request),
            "segments" => self.segments.to_string(),
            "writes" => format_writes(&self.writes),
            "mss" => self.mss.to_string(),
            "drop" if self.drop.0.is_empty() => "none".into(),
            "drop" => self.drop.to_string(),
            "reorder" => self.reorder.format(|r| match r {
                None => "none".into(),
                Some(r) => format!("{}:{}", r.probability, format_duration(r.extra)),
            }),
            "duplicate" => self.duplicate.format(probability),
            "corrupt" => self.corrupt.format(probability),
            "ack" => format_ack(self.ack),
            "timers" => format_timers(self.timers),
            "cc" => self.cc.map_or_else(profile, |cc| cc.name().into()),
            "initial_window" => self
                .initial_window
                .map_or_else(profile, |window| window.to_string()),
            "close" => self.close.to_string(),
            "user_timeout" => self.user_timeout.map_or_else(profile, format_duration),
            "receive_buffer" => self.receive_buffer.to_string(),
            "psh" => format_word(self.push, &PUSHES),
            "slp.p" => match self.slp.loss {
                LossRate::Fixed(p) => p.to_string(),
                LossRate::Learned => "learned".into(),
            },
            "slp.q" => match &self.slp_q {
                Some(file) => file.name.clone(),
                None => format_likelihoods(&self.slp.likelihoods),
            },
            "slp.bw" => self.slp.bandwidth.to_string(),
            "slp.gap" => self.slp.gap.to_string(),
            "kernel.cc" => self.kernel_cc.clone().unwrap_or_else(|| "default".into()),
            _ => format_word(self.kernel.get(kernel_switch(key)?), &SWITCHED),
        })
    }

    /// The path these settings describe.
    ///
    /// # Errors
    /// A loss rule that does not fit the flow's length.
    pub fn path(&self) -> Result<PathSpec, SettingsError> {
        let lengths = DataSegments {
            up: Some(self.request.div_ceil(u64::from(self.mss))),
            down: self.data_segments(),
        };
        let drop = self
            .drop
            .resolve(lengths)
            .map_err(|e| SettingsError::Invalid {
                key: "drop",
                why: e.to_string(),
            })?;
        let hops = |direction| self.hops(&drop, direction);
        Ok(PathSpec {
            up: hops(Direction::Up),
            down: hops(Direction::Down),
        })
    }

    /// How many data segments the server sends; `None` when it depends on what is written while
    /// the window is full.
    pub(crate) fn data_segments(&self) -> Option<u64> {
        let mss = u64::from(self.mss);
        let Some((last, others)) = self.writes.split_last() else {
            return Some(self.segments);
        };
        let whole = others.iter().all(|write| write.bytes.is_multiple_of(mss));
        let others = others.iter().map(|write| write.bytes / mss);
        whole.then(|| others.sum::<u64>() + last.bytes.div_ceil(mss))
    }

    /// What is sent.
    pub(crate) fn workload(&self) -> Workload {
        let (response, later) = match self.writes.split_first() {
            None => (self.segments * u64::from(self.mss), &[][..]),
            Some((first, later)) if first.after.is_zero() => (first.bytes, later),
            Some(_) => (0, &self.writes[..]),
        };
        Workload {
            request: self.request,
            response,
            later: later.into(),
            close: self.close,
        }
    }

    fn hops(&self, drop: &DropRules, direction: Direction) -> Vec<HopSpec> {
        let mut hops: Vec<HopSpec> = drop.hops(direction).collect();
        let duplicate = *self.duplicate.get(direction);
        let corrupt = *self.corrupt.get(direction);
        if duplicate > Probability::ZERO {
            hops.push(HopSpec::Duplicate {
                probability: duplicate,
            });
        }
        if corrupt > Probability::ZERO {
            hops.push(HopSpec::Corrupt {
                probability: corrupt,
            });
        }
        let queue = *self.queue.get(direction);
        match (self.link.get(direction), self.rate.get(direction)) {
            (Some(link), _) => hops.push(HopSpec::Link {
                trace: link.trace.clone(),
                queue,
            }),
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
        mechanisms.slp = mechanisms.slp.map(|_| self.slp);
        let host = tcp::Config {
            acks: self.ack,
            push: self.push,
            mss: self.mss,
            receive_buffer: self.receive_buffer,
            ..tcp::Config::new(mechanisms)
        };
        FlowSpec {
            client: host,
            server: host,
            timers: self.timers,
            workload: self.workload(),
        }
    }
}

/// The part of the kernel a setting switches.
fn kernel_switch(key: &str) -> Option<Switch> {
    let name = key.strip_prefix("kernel.")?;
    Switch::ALL.into_iter().find(|switch| switch.name() == name)
}

#[cfg(test)]
mod tests;
