//! The settings of a scenario: what the path is like, what is sent, how the hosts behave.
//!
//! Every setting has a text form, the same in a scenario file and after `--set`. Settings that can
//! differ by direction take a comma-joined list of `[up:|down:]VALUE`; without a prefix a value is
//! for both, except for `drop` and `link`, where the data direction, down, is meant.

use crate::quantity::{format_duration, parse_duration, parse_rate};
use crate::suggest::did_you_mean;
use recoup_path::{DataSegments, DropRules, HopSpec, LinkTrace, Probability, Queue};
use recoup_recovery::Profile;
use recoup_recovery::congestion::Algorithm;
use recoup_sim::{FlowSpec, PathSpec, TimerModel, Workload};
use recoup_tcp::{self as tcp, AckPolicy};
use recoup_units::{BitRate, Direction};
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// A value for each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EachWay<T> {
    /// From client to server.
    pub up: T,
    /// From server to client.
    pub down: T,
}

impl<T> EachWay<T> {
    fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl<T: Clone> EachWay<T> {
    /// Reads `[up:|down:]VALUE,…`. Directions not named keep `rest`; a value without a prefix goes
    /// where `plain` says.
    fn parse(
        text: &str,
        rest: T,
        plain: &[Direction],
        mut value: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<Self, String> {
        let mut each = Self {
            up: rest.clone(),
            down: rest,
        };
        for part in text.split(',').map(str::trim) {
            let (directions, part) = match part.split_once(':') {
                Some(("up", part)) => (&[Direction::Up][..], part),
                Some(("down", part)) => (&[Direction::Down][..], part),
                _ => (plain, part),
            };
            let value = value(part)?;
            for direction in directions {
                match direction {
                    Direction::Up => each.up = value.clone(),
                    Direction::Down => each.down = value.clone(),
                }
            }
        }
        Ok(each)
    }
}

impl<T: PartialEq> EachWay<T> {
    fn format(&self, value: impl Fn(&T) -> String) -> String {
        if self.up == self.down {
            value(&self.up)
        } else {
            format!("up:{},down:{}", value(&self.up), value(&self.down))
        }
    }
}

/// A recorded link and the file it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// As the user wrote it.
    pub file: String,
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
    /// Full segments the server sends.
    pub segments: u64,
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
    /// Each side closes as soon as it has written everything.
    pub close: bool,
    /// How long data may stay unacknowledged; `None` is the profile's.
    pub user_timeout: Option<Duration>,
    /// Bytes a receiver buffers.
    pub receive_buffer: u64,
}

/// A setting's name and what it takes.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// What it is and which values it takes.
    pub help: &'static str,
}

/// Every setting, in the order of listings.
pub const KEYS: [Key; 16] = [
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
        name: "segments",
        help: "full segments the server sends: 10",
    },
    Key {
        name: "mss",
        help: "payload bytes of a full segment: 1448",
    },
    Key {
        name: "drop",
        help: "what is lost: none, or [up:|down:]KIND[@T],… with the kinds tail:N data:K[-L] syn:K ack:K offset:A-B bernoulli:P gilbert-elliott:PGB,PBG[,loss_bad=1,loss_good=0]",
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
    /// The value does not fit.
    #[error("{key}: {why}")]
    Invalid {
        /// The setting.
        key: &'static str,
        /// What is wrong, and what was expected.
        why: String,
    },
}

const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];
const DOWN: [Direction; 1] = [Direction::Down];

impl Default for Settings {
    /// The tail-loss study's path with nothing lost.
    fn default() -> Self {
        Self {
            rtt: Duration::from_millis(80),
            rate: EachWay::default(),
            queue: EachWay::default(),
            link: EachWay::default(),
            segments: 10,
            mss: 1448,
            drop: DropRules::default(),
            reorder: EachWay::default(),
            duplicate: EachWay::default(),
            corrupt: EachWay::default(),
            ack: AckPolicy::Quick,
            timers: TimerModel::Exact,
            cc: None,
            close: false,
            user_timeout: None,
            receive_buffer: 64 << 20,
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
            "rtt" => self.rtt = parse_rtt(text)?,
            "rate" => self.rate = EachWay::parse(text, None, &BOTH, optional(parse_rate))?,
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
            "segments" => self.segments = parse_number(text, 1, 1_000_000_000)?,
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
            "close" => self.close = parse_word(text, &[("false", false), ("true", true)])?,
            "user_timeout" => self.user_timeout = parse_user_timeout(text)?,
            "receive_buffer" => self.receive_buffer = parse_number(text, 1, 1 << 30)?,
            _ => unreachable!("every key of KEYS has an arm"),
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
                .format(|l| l.as_ref().map_or("none".into(), |l| l.file.clone())),
            "segments" => self.segments.to_string(),
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
            "close" => self.close.to_string(),
            "user_timeout" => self.user_timeout.map_or_else(profile, format_duration),
            "receive_buffer" => self.receive_buffer.to_string(),
            _ => return None,
        })
    }

    /// The path these settings describe.
    ///
    /// # Errors
    /// A loss rule that does not fit the flow's length.
    pub fn path(&self) -> Result<PathSpec, SettingsError> {
        let lengths = DataSegments {
            up: Some(0),
            down: Some(self.segments),
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
        mechanisms.user_timeout = self.user_timeout.unwrap_or(mechanisms.user_timeout);
        let host = tcp::Config {
            acks: self.ack,
            mss: self.mss,
            receive_buffer: self.receive_buffer,
            ..tcp::Config::new(mechanisms)
        };
        FlowSpec {
            client: host,
            server: host,
            timers: self.timers,
            workload: Workload {
                request: 0,
                response: self.segments * u64::from(self.mss),
                close: self.close,
            },
        }
    }
}

/// `none`, or what `value` reads.
fn optional<T>(
    mut value: impl FnMut(&str) -> Result<T, String>,
) -> impl FnMut(&str) -> Result<Option<T>, String> {
    move |text| {
        if text == "none" {
            Ok(None)
        } else {
            value(text).map(Some)
        }
    }
}

fn parse_rtt(text: &str) -> Result<Duration, String> {
    let rtt = parse_duration(text)?;
    let day = Duration::from_secs(86_400);
    if rtt > day {
        Err(format!("`{text}` is too long: expected at most a day"))
    } else {
        Ok(rtt)
    }
}

fn parse_number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| format!("`{text}`: expected a whole number from {least} to {most}"))
}

fn parse_word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let near = did_you_mean(text, known.iter().copied());
            format!("`{text}`: expected {}{near}", known.join(" or "))
        })
}

fn parse_drop(text: &str) -> Result<DropRules, String> {
    text.parse().map_err(|e: recoup_path::DropRulesError| {
        let near = e
            .unknown()
            .map(|(word, known)| did_you_mean(word, known.iter().copied()));
        format!("{e}{}", near.unwrap_or_default())
    })
}

fn parse_probability(text: &str) -> Result<Probability, String> {
    text.parse()
        .map_err(|e: recoup_path::ProbabilityError| e.to_string())
}

fn parse_probabilities(text: &str) -> Result<EachWay<Probability>, String> {
    EachWay::parse(text, Probability::ZERO, &BOTH, parse_probability)
}

fn parse_reordering(text: &str) -> Result<Reordering, String> {
    let (probability, extra) = text.split_once(':').ok_or_else(|| {
        format!("`{text}`: expected none or PROBABILITY:EXTRA, such as 0.01:20ms")
    })?;
    Ok(Reordering {
        probability: parse_probability(probability)?,
        extra: parse_duration(extra)?,
    })
}

fn parse_ack(text: &str) -> Result<AckPolicy, String> {
    let (kind, value) = match text.split_once(':') {
        Some((kind, value)) => (kind, Some(value)),
        None => (text, None),
    };
    match (kind, value) {
        ("quick", None) => Ok(AckPolicy::Quick),
        ("delayed", None) => Ok(AckPolicy::Delayed(Duration::from_millis(200))),
        ("delayed", Some(delay)) => parse_duration(delay).map(AckPolicy::Delayed),
        ("linux", None) => Ok(AckPolicy::Linux {
            quick: AckPolicy::LINUX_QUICK,
        }),
        ("linux", Some(quick)) => Ok(AckPolicy::Linux {
            quick: parse_number(quick, 0, 1_000_000)? as u32,
        }),
        _ => {
            let near = did_you_mean(kind, ["quick", "delayed", "linux"]);
            Err(format!(
                "`{text}`: expected quick, delayed[:200ms] or linux[:16]{near}"
            ))
        }
    }
}

fn format_ack(ack: AckPolicy) -> String {
    match ack {
        AckPolicy::Quick => "quick".into(),
        AckPolicy::Delayed(delay) => format!("delayed:{}", format_duration(delay)),
        AckPolicy::Linux {
            quick: AckPolicy::LINUX_QUICK,
        } => "linux".into(),
        AckPolicy::Linux { quick } => format!("linux:{quick}"),
    }
}

fn parse_timers(text: &str) -> Result<TimerModel, String> {
    let (kind, value) = text.split_once(':').unwrap_or((text, ""));
    match (kind, value) {
        ("exact", "") if !text.contains(':') => Ok(TimerModel::Exact),
        ("granularity", value) => {
            let granularity = parse_duration(value)?;
            if granularity.is_zero() {
                return Err(format!(
                    "`{text}`: expected a granularity above zero, such as 10ms"
                ));
            }
            Ok(TimerModel::Granularity(granularity))
        }
        ("linux-wheel", hz) => Ok(TimerModel::LinuxWheel {
            hz: parse_number(hz, 1, 1_000_000)? as u32,
        }),
        _ => {
            let near = did_you_mean(kind, ["exact", "granularity", "linux-wheel"]);
            Err(format!(
                "`{text}`: expected exact, granularity:10ms or linux-wheel:HZ{near}"
            ))
        }
    }
}

fn format_timers(timers: TimerModel) -> String {
    match timers {
        TimerModel::Exact => "exact".into(),
        TimerModel::Granularity(g) => format!("granularity:{}", format_duration(g)),
        TimerModel::LinuxWheel { hz } => format!("linux-wheel:{hz}"),
    }
}

fn parse_cc(text: &str) -> Result<Option<Algorithm>, String> {
    let mut words = vec![("profile", None)];
    words.extend(Algorithm::ALL.map(|a| (a.name(), Some(a))));
    parse_word(text, &words)
}

fn parse_user_timeout(text: &str) -> Result<Option<Duration>, String> {
    if text == "profile" {
        return Ok(None);
    }
    let timeout = parse_duration(text)?;
    if timeout.is_zero() {
        return Err(format!(
            "`{text}`: expected more than zero, such as 300s, or profile"
        ));
    }
    Ok(Some(timeout))
}

fn read_link(text: &str, base: &Path) -> Result<Link, String> {
    let path = base.join(text);
    let contents = std::fs::read_to_string(&path)
        .map_err(|e| format!("cannot read the link trace {}: {e}", path.display()))?;
    let trace = LinkTrace::parse(&contents).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Link {
        file: text.into(),
        trace,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &str, text: &str) -> Result<String, String> {
        let mut settings = Settings::default();
        settings
            .set(key, text, Path::new("."))
            .map_err(|e| e.to_string())?;
        Ok(settings.get(key).unwrap())
    }

    #[test]
    fn every_key_reads_what_it_writes() {
        for key in KEYS {
            let text = Settings::default().get(key.name).unwrap();
            assert_eq!(set(key.name, &text), Ok(text), "{}", key.name);
        }
        assert_eq!(Settings::default().get("nonsense"), None);
    }

    #[test]
    fn values_are_normalised() {
        for (key, text, printed) in [
            ("rtt", " 0.08s ", "80ms"),
            ("rate", "10Mbit", "10Mbit"),
            ("rate", "up:1Mbit,down:none", "up:1Mbit,down:none"),
            ("rate", "down:5Mbit", "up:none,down:5Mbit"),
            ("queue", "100", "100p"),
            ("queue", "up:none,down:64kB", "up:none,down:64kB"),
            ("drop", "tail:3", "tail:3"),
            ("drop", "up:ack:2,bernoulli:0.01", "up:ack:2,bernoulli:0.01"),
            ("reorder", "0.01:20ms", "0.01:20ms"),
            ("duplicate", "up:0.5", "up:0.5,down:0"),
            ("ack", "delayed", "delayed:200ms"),
            ("ack", "linux:8", "linux:8"),
            ("timers", "linux-wheel:250", "linux-wheel:250"),
            ("timers", "granularity:10ms", "granularity:10ms"),
            ("cc", "reno", "reno"),
            ("user_timeout", "30s", "30s"),
        ] {
            assert_eq!(set(key, text), Ok(printed.into()), "{key}={text}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        for (key, text, part) in [
            ("rtts", "1ms", "unknown setting `rtts`, did you mean `rtt`?"),
            (
                "rtt",
                "-5ms",
                "rtt: `-5ms` is not a duration: expected a number with a unit, not negative",
            ),
            (
                "rate",
                "0",
                "rate: `0` is not a rate: expected a number above zero",
            ),
            (
                "segments",
                "0",
                "segments: `0`: expected a whole number from 1 to",
            ),
            (
                "mss",
                "70000",
                "mss: `70000`: expected a whole number from 1 to 65463",
            ),
            ("drop", "tial:1", "did you mean `tail`?"),
            ("ack", "quik", "did you mean `quick`?"),
            ("timers", "exact:1", "timers: `exact:1`: expected exact"),
            ("timers", "granularity:0ms", "above zero"),
            ("cc", "bbr", "cc: `bbr`: expected profile or cubic or reno"),
            ("close", "yes", "close: `yes`: expected false or true"),
            ("link", "no/such/file", "link: cannot read the link trace"),
            ("duplicate", "2", "not a probability"),
        ] {
            let error = set(key, text).unwrap_err();
            assert!(
                error.contains(part) && !error.contains('\n'),
                "{key}={text}: {error}"
            );
        }
    }

    #[test]
    fn losses_must_fit_the_flow() {
        let mut settings = Settings::default();
        settings.set("drop", "tail:11", Path::new(".")).unwrap();
        let error = settings.path().unwrap_err().to_string();
        assert_eq!(
            error,
            "drop: `tail:11`: the flow has only 10 data segments from server to client"
        );
        settings.set("segments", "11", Path::new(".")).unwrap();
        assert!(settings.path().is_ok());
    }
}
