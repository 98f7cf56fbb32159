//! The keys of a world, and their values as text.

use super::{Link, Tmix, Workload, WorldScenario};
use crate::settings::value::put;
use crate::settings::{self, Settings, SettingsError, SourceFile};
use recoup_sim::traffic::cvec;
use recoup_sim::traffic::synth::{self, Synth};
use recoup_sim::world::MOST_OPEN;
use recoup_support::input;
use recoup_support::profile::parse_profile;
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_support::suggest::did_you_mean;
use recoup_units::visible;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The longest time a world simulates: 30 days.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// The most runs. The results of all are kept.
const MOST_RUNS: u64 = 1000;

/// The most links, and the most workloads.
const MOST_NAMES: usize = 256;

/// The keys of a world.
const WORLD_KEYS: [&str; 7] = ["about", "profiles", "seed", "runs", "duration", "links", "workloads"];

/// A key of a link or of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Key<T: 'static> {
    /// Its name.
    pub name: &'static str,
    /// Its meaning and values.
    pub help: &'static str,
    /// `None` for the setting of this name.
    form: Option<(Set<T>, Get<T>)>,
}

/// Reads a value. File names are relative to the path.
type Set<T> = fn(&mut T, &str, &Path) -> Result<(), String>;

/// Writes the value as [`Set`] reads it, unless it is the default.
type Get<T> = fn(&T) -> Option<String>;

const fn key<T>(name: &'static str, help: &'static str, set: Set<T>, get: Get<T>) -> Key<T> {
    Key { name, help, form: Some((set, get)) }
}

const fn of_link(name: &'static str, help: &'static str) -> Key<Link> {
    Key { name, help, form: None }
}

/// The keys of a link.
pub const LINK_KEYS: [Key<Link>; 9] = [
    key(
        "between",
        "the two nodes it connects: [\"left\", \"right\"]; up is from the first to the second",
        |link, text, _| put(&mut link.between, parse_nodes(text)),
        |link| Some(link.between.join(",")),
    ),
    key(
        "delay",
        "propagation delay one way: 20ms",
        |link, text, _| put(&mut link.settings.rtt, parse_duration(text).map(|delay| delay.saturating_mul(2))),
        |link| Some(format_duration(link.settings.rtt / 2)),
    ),
    of_link("rate", "as the setting rate"),
    of_link("queue", "as the setting queue"),
    of_link("link", "as the setting link, but for both directions unless it names one"),
    of_link("drop", "as the setting drop, but for both directions unless it names one"),
    of_link("reorder", "as the setting reorder"),
    of_link("duplicate", "as the setting duplicate"),
    of_link("corrupt", "as the setting corrupt"),
];

fn set_of_link(link: &mut Link, key: &str, text: &str, base: &Path) -> Result<(), String> {
    set_setting(&mut link.settings, key, text, base)?;
    // A link has no direction in which the data flows, so what does not say its direction is for both.
    if !text.contains("up:") && !text.contains("down:") {
        let Settings { link, drop, recorded_losses, .. } = &mut link.settings;
        if key == "link" {
            link.up.clone_from(&link.down);
        }
        if key == "drop" {
            drop.apply_both_ways();
            recorded_losses.up.clone_from(&recorded_losses.down);
        }
    }
    Ok(())
}

/// The keys of a workload that are not settings of hosts and traffic.
pub const WORKLOAD_KEYS: [Key<Workload>; 9] = [
    key(
        "client",
        "the node of the clients",
        |one, text, _| put(&mut one.client, Ok(text.into())),
        |one| Some(one.client.clone()),
    ),
    key(
        "server",
        "the node of the servers, which send the data",
        |one, text, _| put(&mut one.server, Ok(text.into())),
        |one| Some(one.server.clone()),
    ),
    key(
        "profile",
        "the hosts' profile; without it, the one that is compared",
        |one, text, _| put(&mut one.profile, parse_profile(text).map(Some)),
        |one| Some(one.profile.as_ref()?.name().into()),
    ),
    key(
        "pairs",
        "pairs of hosts, each of which runs one flow after another, in all workloads at most 100,000: 100",
        |one, text, _| put(&mut one.pairs, number(text, 1, MOST_OPEN as u64).map(Some)),
        |one| Some(one.pairs?.to_string()),
    ),
    key(
        "think",
        "the mean pause of a pair before each flow, exponentially distributed: 70ms",
        |one, text, _| put(&mut one.think, parse_duration(text)),
        |one| one.pairs.map(|_| format_duration(one.think)),
    ),
    key(
        "every",
        "in place of pairs: the mean interval at which flows begin (Poisson), of which at most 100,000 may be open at once: 50ms",
        |one, text, _| put(&mut one.every, parse_interval(text).map(Some)),
        |one| one.every.map(format_duration),
    ),
    key(
        "flows",
        "how many flows begin at most: 1000",
        |one, text, _| put(&mut one.flows, number(text, 1, u64::MAX).map(Some)),
        |one| Some(one.flows?.to_string()),
    ),
    key(
        "tmix",
        "in place of pairs: connection vectors of Tmix to replay: a file, or synth:10 (a synthetic mix of ten connections a second); at most 1,000,000 connections, and 100,000 open at once",
        |one, text, base| put(&mut one.tmix, parse_tmix(text, base).map(Some)),
        |one| Some(one.tmix.as_ref()?.to_string()),
    ),
    key(
        "scale",
        "what the start times of tmix are multiplied by: 0.5 doubles the load",
        |one, text, _| put(&mut one.scale, parse_scale(text)),
        |one| (one.scale != 1.0).then(|| one.scale.to_string()),
    ),
];

/// Whether a setting is for links, and not for hosts.
fn is_of_link(key: &str) -> bool {
    key == "rtt" || LINK_KEYS.iter().any(|of_link| of_link.name == key)
}

/// The settings that a workload can have.
pub fn host_settings() -> impl Iterator<Item = &'static str> {
    let all = settings::all().map(|setting| setting.key);
    all.filter(|key| !is_of_link(key) && !key.starts_with("kernel."))
}

/// Sets `key` to what `text` says. `grows`: names of links and workloads that do not exist yet begin new ones.
pub(super) fn set(world: &mut WorldScenario, key: &str, text: &str, base: &Path, grows: bool) -> Result<(), String> {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    match (first, rest) {
        ("seed", "") => world.seed = number(text, 0, u64::MAX)?,
        ("runs", "") => world.runs = number(text, 1, MOST_RUNS)?,
        ("duration", "") => {
            let duration = parse_duration(text)?;
            if duration.is_zero() || duration > LONGEST {
                return Err(format!("`{text}`: expected a duration up to 30 days"));
            }
            world.duration = duration;
        }
        ("links" | "workloads", _) => {
            let Some((name, key)) = rest.split_once('.') else {
                return Err(format!("`{first}`: expected [{first}.NAME] with its keys below"));
            };
            if first == "links" {
                let new = grows.then_some(Link::new as fn(&str) -> Link);
                set_link(named(&mut world.links, ("link", name), |link| &link.name, new)?, key, text, base)?;
            } else {
                let new = grows.then_some(Workload::new as fn(&str) -> Workload);
                set_workload(named(&mut world.workloads, ("workload", name), |one| &one.name, new)?, key, text, base)?;
            }
        }
        _ => {
            let near = did_you_mean(first, WORLD_KEYS);
            let known = WORLD_KEYS.join(", ");
            return Err(format!("unknown key `{key}`: expected one of {known}{near}"));
        }
    }
    Ok(())
}

/// The link or workload of this name. If there is none, `new` makes one.
fn named<'a, T>(
    all: &'a mut Vec<T>,
    (kind, name): (&str, &str),
    name_of: fn(&T) -> &str,
    new: Option<fn(&str) -> T>,
) -> Result<&'a mut T, String> {
    let at = match (all.iter().position(|one| name_of(one) == name), new) {
        (Some(at), _) => at,
        (None, Some(_)) if visible(name) != name => {
            return Err(format!("{kind} `{}`: expected a name without control characters", visible(name)));
        }
        (None, Some(_)) if all.len() >= MOST_NAMES => return Err(format!("expected at most {MOST_NAMES} {kind}s")),
        (None, Some(new)) => {
            all.push(new(name));
            all.len() - 1
        }
        (None, None) => return Err(format!("no {kind} `{name}`{}", did_you_mean(name, all.iter().map(name_of)))),
    };
    Ok(&mut all[at])
}

fn set_link(link: &mut Link, name: &str, text: &str, base: &Path) -> Result<(), String> {
    match LINK_KEYS.iter().find(|key| key.name == name) {
        Some(Key { form: Some((set, _)), .. }) => set(link, text, base),
        Some(_) => set_of_link(link, name, text, base),
        None if name == "rtt" => Err("a link has `delay`, one way, in place of `rtt`".into()),
        None => Err(unknown(name, "link", LINK_KEYS.map(|key| key.name).into())),
    }
}

fn set_workload(one: &mut Workload, name: &str, text: &str, base: &Path) -> Result<(), String> {
    match WORKLOAD_KEYS.iter().find(|key| key.name == name).and_then(|key| key.form) {
        Some((set, _)) => set(one, text, base),
        None if host_settings().any(|known| known == name) => set_setting(&mut one.settings, name, text, base),
        None if is_of_link(name) => Err(format!("`{name}` is a key of links, not of workloads")),
        None => {
            let known = WORKLOAD_KEYS.iter().map(|key| key.name);
            Err(unknown(name, "workload", known.chain(host_settings()).collect()))
        }
    }
}

fn parse_nodes(text: &str) -> Result<[String; 2], String> {
    let nodes: Vec<&str> = text.split(',').map(str::trim).collect();
    match nodes[..] {
        [from, to] if from == to || from.is_empty() || to.is_empty() => {
            Err(format!("`{text}`: expected two nodes with different names"))
        }
        [from, to] => Ok([from, to].map(Into::into)),
        _ => Err(format!("`{text}`: expected two nodes, such as [\"left\", \"right\"]")),
    }
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err(format!("`{text}`: expected an interval above 0")),
        interval => Ok(interval),
    }
}

fn parse_scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| (1e-6..=1e6).contains(scale));
    scale.ok_or_else(|| format!("`{text}`: expected a number above 0"))
}

/// The longest file of connection vectors that is read, in bytes.
const LONGEST_CVEC: u64 = 256 << 20;

fn parse_tmix(text: &str, base: &Path) -> Result<Tmix, String> {
    if let Some(rate) = text.strip_prefix("synth") {
        let rate = match rate {
            "" => Some(Synth::default().rate),
            rate => rate.strip_prefix(':').and_then(|rate| rate.parse().ok()),
        };
        let rate = rate.filter(|rate| (1e-3..=1e5).contains(rate));
        let wrong = || format!("`{text}`: expected synth:10, with connections a second up to 100,000");
        return rate.map(Tmix::Synthetic).ok_or_else(wrong);
    }
    let path = base.join(text);
    let content = input::read_file(&path, LONGEST_CVEC)
        .map_err(|e| format!("cannot read the connection vectors {}: {e}", path.display()))?;
    let vectors = cvec::parse(&content).map_err(|e| format!("{}:{}: {}", path.display(), e.line, e.why))?;
    if vectors.len() as f64 > synth::MOST {
        let (file, most, found) = (path.display(), synth::MOST, vectors.len());
        return Err(format!("{file}: expected at most {most} connections, found {found}"));
    }
    let name = text.into();
    Ok(Tmix::File(SourceFile { name, path }, vectors.into()))
}

fn set_setting(settings: &mut Settings, key: &str, text: &str, base: &Path) -> Result<(), String> {
    settings.set(key, text, base).map_err(|e| match e {
        SettingsError::Invalid { why, .. } => why,
        other => other.to_string(),
    })
}

fn unknown(key: &str, kind: &str, known: Vec<&str>) -> String {
    let near = did_you_mean(key, known.iter().copied());
    match near.is_empty() {
        true => format!("unknown key `{key}` of a {kind}: expected one of {}", known.join(", ")),
        false => format!("unknown key `{key}` of a {kind}{near}"),
    }
}

fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| match most {
        u64::MAX => format!("`{text}`: expected a whole number from {least}"),
        _ => format!("`{text}`: expected a whole number from {least} to {most}"),
    })
}

/// Every key that differs from its default, with its value as text that [`set`] reads.
pub(super) fn values(world: &WorldScenario) -> Vec<(String, String)> {
    let mut all = vec![
        ("seed".to_string(), world.seed.to_string()),
        ("runs".into(), world.runs.to_string()),
        ("duration".into(), format_duration(world.duration)),
    ];
    for link in &world.links {
        let value = |key: &Key<Link>| key.form.map_or(link.settings.changed(key.name), |(_, get)| get(link));
        let values = LINK_KEYS.iter().filter_map(|key| Some((key.name, value(key)?)));
        all.extend(values.map(|(name, value)| (format!("links.{}.{name}", link.name), value)));
    }
    for one in &world.workloads {
        let values = WORKLOAD_KEYS.iter().filter_map(|key| Some((key.name, (key.form?.1)(one)?)));
        let settings = host_settings().filter_map(|name| Some((name, one.settings.changed(name)?)));
        all.extend(values.chain(settings).map(|(name, value)| (format!("workloads.{}.{name}", one.name), value)));
    }
    all
}

impl fmt::Display for Tmix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file, _) => f.write_str(&file.name),
            Self::Synthetic(rate) => write!(f, "synth:{rate}"),
        }
    }
}
