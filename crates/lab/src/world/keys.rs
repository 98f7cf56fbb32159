//! The keys of a world, and their values as text.

use super::{Link, Tmix, Workload, WorldScenario};
use crate::settings::{self, Settings, SettingsError, SourceFile};
use recoup_sim::traffic::cvec;
use recoup_sim::traffic::synth::Synth;
use recoup_support::input;
use recoup_support::profile::parse_profile;
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_support::suggest::did_you_mean;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The longest time a world simulates: 30 days.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// The most pairs, flows or runs.
const MOST: u64 = 1_000_000;

/// The keys of a world.
const WORLD_KEYS: [&str; 7] = ["about", "profiles", "seed", "runs", "duration", "links", "workloads"];

/// The keys of a link: names and meanings.
pub const LINK_KEYS: [(&str, &str); 9] = [
    ("between", "the two nodes it connects: [\"left\", \"right\"]; up is from the first to the second"),
    ("delay", "propagation delay one way: 20ms"),
    ("rate", "as the setting rate"),
    ("queue", "as the setting queue"),
    ("link", "as the setting link, but for both directions unless it names one"),
    ("drop", "as the setting drop, but for both directions unless it names one"),
    ("reorder", "as the setting reorder"),
    ("duplicate", "as the setting duplicate"),
    ("corrupt", "as the setting corrupt"),
];

/// The keys of a workload that are not settings of hosts and traffic: names and meanings.
pub const WORKLOAD_KEYS: [(&str, &str); 9] = [
    ("client", "the node of the clients"),
    ("server", "the node of the servers, which send the data"),
    ("profile", "the hosts' profile; without it, the one that is compared"),
    ("pairs", "pairs of hosts, each of which runs one flow after another: 100"),
    ("think", "the mean pause of a pair before each flow, exponentially distributed: 70ms"),
    ("every", "in place of pairs: the mean interval at which flows begin (Poisson): 50ms"),
    ("flows", "how many flows begin at most: 1000"),
    (
        "tmix",
        "in place of pairs: connection vectors of Tmix to replay: a file, or synth:10 (a synthetic mix of ten connections a second)",
    ),
    ("scale", "what the start times of tmix are multiplied by: 0.5 doubles the load"),
];

/// Whether a setting is for links, and not for hosts.
fn is_of_link(key: &str) -> bool {
    key == "rtt" || LINK_KEYS.iter().any(|(name, _)| *name == key)
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
        ("runs", "") => world.runs = number(text, 1, MOST)?,
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
        (None, Some(new)) => {
            all.push(new(name));
            all.len() - 1
        }
        (None, None) => return Err(format!("no {kind} `{name}`{}", did_you_mean(name, all.iter().map(name_of)))),
    };
    Ok(&mut all[at])
}

fn set_link(link: &mut Link, key: &str, text: &str, base: &Path) -> Result<(), String> {
    match key {
        "between" => {
            let nodes: Vec<&str> = text.split(',').map(str::trim).collect();
            let [from, to] = nodes[..] else {
                return Err(format!("`{text}`: expected two nodes, such as [\"left\", \"right\"]"));
            };
            if from == to || from.is_empty() || to.is_empty() {
                return Err(format!("`{text}`: expected two nodes with different names"));
            }
            link.between = [from, to].map(Into::into);
        }
        "delay" => link.settings.rtt = parse_duration(text)?.saturating_mul(2),
        key if LINK_KEYS.iter().any(|(name, _)| *name == key) => {
            set_setting(&mut link.settings, key, text, base)?;
            // A link has no direction in which the data flows, so what does not say its direction is for both.
            if !text.contains("up:") && !text.contains("down:") {
                let Settings { link, drop, .. } = &mut link.settings;
                if key == "link" {
                    link.up.clone_from(&link.down);
                }
                if key == "drop" {
                    drop.apply_both_ways();
                }
            }
        }
        "rtt" => return Err("a link has `delay`, one way, in place of `rtt`".into()),
        _ => return Err(unknown(key, "link", LINK_KEYS.map(|(name, _)| name).into())),
    }
    Ok(())
}

fn set_workload(one: &mut Workload, key: &str, text: &str, base: &Path) -> Result<(), String> {
    match key {
        "client" => one.client = text.into(),
        "server" => one.server = text.into(),
        "profile" => one.profile = Some(parse_profile(text)?),
        "pairs" => one.pairs = Some(number(text, 1, MOST)?),
        "think" => one.think = parse_duration(text)?,
        "every" => {
            let every = parse_duration(text)?;
            if every.is_zero() {
                return Err(format!("`{text}`: expected an interval above 0"));
            }
            one.every = Some(every);
        }
        "flows" => one.flows = Some(number(text, 1, u64::MAX)?),
        "tmix" => one.tmix = Some(parse_tmix(text, base)?),
        "scale" => {
            let scale = text.parse().ok().filter(|scale| (1e-6..=1e6).contains(scale));
            one.scale = scale.ok_or_else(|| format!("`{text}`: expected a number above 0"))?;
        }
        key if host_settings().any(|known| known == key) => {
            set_setting(&mut one.settings, key, text, base)?;
        }
        key if is_of_link(key) => {
            return Err(format!("`{key}` is a key of links, not of workloads"));
        }
        _ => {
            let known = WORKLOAD_KEYS.map(|(name, _)| name).into_iter();
            return Err(unknown(key, "workload", known.chain(host_settings()).collect()));
        }
    }
    Ok(())
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
        let key = |key: &str| format!("links.{}.{key}", link.name);
        all.push((key("between"), link.between.join(",")));
        all.push((key("delay"), format_duration(link.settings.rtt / 2)));
        let settings = changed(&link.settings, |key| key != "rtt" && is_of_link(key));
        all.extend(settings.map(|(name, value)| (key(name), value)));
    }
    for one in &world.workloads {
        let key = |key: &str| format!("workloads.{}.{key}", one.name);
        all.push((key("client"), one.client.clone()));
        all.push((key("server"), one.server.clone()));
        let optional = [
            ("profile", one.profile.as_ref().map(|profile| profile.name().into())),
            ("pairs", one.pairs.map(|pairs| pairs.to_string())),
            ("think", one.pairs.map(|_| format_duration(one.think))),
            ("every", one.every.map(format_duration)),
            ("flows", one.flows.map(|flows| flows.to_string())),
            ("tmix", one.tmix.as_ref().map(Tmix::to_string)),
            ("scale", (one.scale != 1.0).then(|| one.scale.to_string())),
        ];
        let optional = optional.into_iter();
        all.extend(optional.filter_map(|(name, value)| Some((key(name), value?))));
        let settings = changed(&one.settings, |name| host_settings().any(|known| known == name));
        all.extend(settings.map(|(name, value)| (key(name), value)));
    }
    all
}

/// The settings among `which` that differ from their defaults.
fn changed(settings: &Settings, which: impl Fn(&str) -> bool) -> impl Iterator<Item = (&'static str, String)> {
    let usual = Settings::default();
    let names = settings::all().map(|setting| setting.key);
    let values = names.filter(move |name| which(name)).filter_map(move |name| {
        let value = settings.get(name)?;
        (usual.get(name).as_ref() != Some(&value)).then_some((name, value))
    });
    values.collect::<Vec<_>>().into_iter()
}

impl fmt::Display for Tmix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file, _) => f.write_str(&file.name),
            Self::Synthetic(rate) => write!(f, "synth:{rate}"),
        }
    }
}
