//! The text of a case: one line of `key=value` words. It is printed when the case fails, and parsed to
//! run it again.

use crate::hostile::case::{Case, Host};
use recoup_path::{HopSpec, Queue};
use recoup_sim::TimerModel;
use recoup_tcp::AckPolicy;
use recoup_units::BitRate;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The environment variable that holds the case to run.
pub const VARIABLE: &str = "RECOUP_CASE";

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let test = "cargo test -p recoup-sim --test all hostile::a_case_given_by_hand";
        write!(f, "{VARIABLE}='{self}' {test}")
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_host(f, "client", &self.client)?;
        write_host(f, "server", &self.server)?;
        write!(f, "timers={} ", timers_text(self.timers))?;
        write!(f, "request={} response={} ", self.request, self.response)?;
        write!(f, "close={} ", self.close)?;
        write!(f, "user_timeout={} ", duration_text(self.user_timeout))?;
        write!(f, "up={} ", hops_text(&self.up))?;
        write!(f, "down={} ", hops_text(&self.down))?;
        write!(f, "seed={} flow={}", self.seed, self.flow)
    }
}

fn write_host(f: &mut fmt::Formatter<'_>, name: &str, host: &Host) -> fmt::Result {
    write!(f, "{name}.profile={} ", host.profile)?;
    write!(f, "{name}.acks={} ", acks_text(host.acks))?;
    write!(f, "{name}.mss={} ", host.mss)?;
    write!(f, "{name}.buffer={} ", host.buffer)?;
    write!(f, "{name}.timestamps={} ", host.timestamps)?;
    write!(f, "{name}.sack={} ", host.sack)
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = Words::read(text)?;
        let case = Self {
            client: host(&mut words, "client")?,
            server: host(&mut words, "server")?,
            timers: words.take("timers", timers)?,
            request: words.take("request", plain)?,
            response: words.take("response", plain)?,
            close: words.take("close", plain)?,
            user_timeout: words.take("user_timeout", duration)?,
            up: words.take("up", hops)?,
            down: words.take("down", hops)?,
            seed: words.take("seed", plain)?,
            flow: words.take("flow", plain)?,
        };
        match words.0.first_key_value() {
            Some((key, _)) => Err(format!("`{key}` is no setting of a case")),
            None => Ok(case),
        }
    }
}

fn host(words: &mut Words<'_>, name: &str) -> Result<Host, String> {
    let key = |setting| format!("{name}.{setting}");
    Ok(Host {
        profile: words.take(&key("profile"), plain)?,
        acks: words.take(&key("acks"), acks)?,
        mss: words.take(&key("mss"), plain)?,
        buffer: words.take(&key("buffer"), plain)?,
        timestamps: words.take(&key("timestamps"), plain)?,
        sack: words.take(&key("sack"), plain)?,
    })
}

/// The words that are not parsed yet.
struct Words<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Words<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let word = |word: &'a str| {
            let pair = word.split_once('=');
            pair.ok_or_else(|| format!("`{word}` is no key=value"))
        };
        text.split_whitespace().map(word).collect::<Result<_, _>>().map(Self)
    }

    fn take<T>(&mut self, key: &str, read: fn(&str) -> Option<T>) -> Result<T, String> {
        let value = self.0.remove(key).ok_or_else(|| format!("`{key}=` is missing"))?;
        read(value).ok_or_else(|| format!("`{key}={value}` cannot be read"))
    }
}

fn plain<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// A duration in microseconds; all durations in cases are multiples of that.
fn duration_text(duration: Duration) -> String {
    format!("{}us", duration.as_micros())
}

fn duration(text: &str) -> Option<Duration> {
    Some(Duration::from_micros(plain(text.strip_suffix("us")?)?))
}

fn timers_text(timers: TimerModel) -> String {
    match timers {
        TimerModel::Exact => "exact".into(),
        TimerModel::Granularity(step) => format!("granularity:{}", duration_text(step)),
        TimerModel::LinuxWheel { hz } => format!("wheel:{hz}"),
        TimerModel::LinuxJiffies { hz } => format!("jiffies:{hz}"),
    }
}

fn timers(text: &str) -> Option<TimerModel> {
    Some(match kind(text) {
        ("exact", "") => TimerModel::Exact,
        ("granularity", step) => TimerModel::Granularity(duration(step)?),
        ("wheel", hz) => TimerModel::LinuxWheel { hz: plain(hz)? },
        ("jiffies", hz) => TimerModel::LinuxJiffies { hz: plain(hz)? },
        _ => return None,
    })
}

fn acks_text(acks: AckPolicy) -> String {
    match acks {
        AckPolicy::Quick => "quick".into(),
        AckPolicy::Delayed(delay) => format!("delayed:{}", duration_text(delay)),
        AckPolicy::Linux { quick } => format!("linux:{quick}"),
    }
}

fn acks(text: &str) -> Option<AckPolicy> {
    Some(match kind(text) {
        ("quick", "") => AckPolicy::Quick,
        ("delayed", delay) => AckPolicy::Delayed(duration(delay)?),
        ("linux", quick) => AckPolicy::Linux { quick: plain(quick)? },
        _ => return None,
    })
}

fn hops_text(hops: &[HopSpec]) -> String {
    hops.iter().map(hop_text).collect::<Vec<_>>().join(">")
}

fn hops(text: &str) -> Option<Vec<HopSpec>> {
    text.split('>').filter(|hop| !hop.is_empty()).map(hop).collect()
}

fn hop_text(hop: &HopSpec) -> String {
    match hop {
        HopSpec::Delay(delay) => format!("delay:{}", duration_text(*delay)),
        HopSpec::Rate { rate, queue } => format!("rate:{}:{queue}", rate.bits_per_second()),
        HopSpec::Link { .. } | HopSpec::LossTrace(_) => unreachable!("no case has a recording"),
        HopSpec::Loss(loss) => format!("loss:{loss}"),
        HopSpec::Reorder { probability, extra } => {
            format!("reorder:{probability}:{}", duration_text(*extra))
        }
        HopSpec::Shortcut { .. } => unreachable!("no case has a shortcut"),
        HopSpec::Duplicate { probability } => format!("duplicate:{probability}"),
        HopSpec::Corrupt { probability } => format!("corrupt:{probability}"),
        HopSpec::ThinAcks { hold } => format!("thin-acks:{}", duration_text(*hold)),
    }
}

fn hop(text: &str) -> Option<HopSpec> {
    Some(match kind(text) {
        ("delay", delay) => HopSpec::Delay(duration(delay)?),
        ("rate", values) => {
            let (bits, queue) = values.split_once(':')?;
            HopSpec::Rate { rate: BitRate::from_bits_per_second(plain(bits)?)?, queue: plain::<Queue>(queue)? }
        }
        ("loss", loss) => HopSpec::Loss(plain(loss)?),
        ("reorder", values) => {
            let (probability, extra) = values.split_once(':')?;
            HopSpec::Reorder { probability: plain(probability)?, extra: duration(extra)? }
        }
        ("duplicate", probability) => HopSpec::Duplicate { probability: plain(probability)? },
        ("corrupt", probability) => HopSpec::Corrupt { probability: plain(probability)? },
        ("thin-acks", hold) => HopSpec::ThinAcks { hold: duration(hold)? },
        _ => return None,
    })
}

/// The text before the first colon, and the text after it.
fn kind(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or((text, ""))
}
