//! What an operator can change that affects how soon TCP transfers end. `catalogue.toml` has the levers.

mod effect;

pub(crate) use effect::set_least_rto;
use effect::{Change, Effect, Unit};
use recoup_recovery::Mechanisms;
use recoup_support::suggest::did_you_mean;
use recoup_whatif::Trial;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

/// The system that has the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum System {
    Linux,
    FreeBsd,
    Windows,
    /// Every system's, or none's.
    Any,
}

impl System {
    fn name(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::FreeBsd => "FreeBSD",
            Self::Windows => "Windows",
            Self::Any => "any system",
        }
    }

    /// The beginning of the names of its profiles.
    fn profile_prefix(self) -> &'static str {
        match self {
            Self::Linux => "linux-",
            Self::FreeBsd => "freebsd-",
            Self::Windows => "windows-",
            Self::Any => "",
        }
    }
}

/// Where the change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum End {
    Sender,
    Receiver,
    Path,
    Application,
}

impl End {
    const ALL: [(Self, &str); 4] = [
        (Self::Sender, "At the sender"),
        (Self::Receiver, "At the receiver"),
        (Self::Application, "In the application"),
        (Self::Path, "On the path"),
    ];
}

/// One thing that an operator can change.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lever {
    name: String,
    system: System,
    end: End,
    /// What the setting applies to: host, route, listener, socket, path or application.
    scope: String,
    changes: String,
    /// Values that are worth a try.
    values: Vec<String>,
    default: Option<String>,
    /// The version from which on it acts. After "about", the exact number is not confirmed.
    since: Option<String>,
    /// The last version in which it acts; `None`: it still does.
    until: Option<String>,
    /// Which connections a change reaches.
    reaches: Option<String>,
    /// The command or call that sets it, and the one that shows it.
    set: String,
    show: String,
    /// Whether that needs root.
    root: bool,
    /// What it may cost.
    cost: String,
    /// How a capture shows it.
    visible: String,
    source: String,
    /// Set and read back on Linux 6.18. The others come from their documentation alone.
    tried: bool,
    /// What its values change in a rerun, if reruns can show it.
    effect: Option<Effect>,
    /// The unit of its values, which are numbers.
    unit: Option<Unit>,
    /// Values that are tried unless the user names others.
    #[serde(default)]
    offers: Vec<String>,
    /// The beginnings of the profile names of senders that are offered it; by default those of its system.
    #[serde(default)]
    offered_to: Vec<String>,
    /// What a capture must show for it to matter.
    needs: Option<Need>,
}

/// What a capture must show for a lever to matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Retransmissions, or time lost.
    Losses,
    /// Spurious retransmissions.
    Spurious,
    /// Lost SYNs or SYN-ACKs.
    LostHandshakes,
    /// Time spent waiting for the receiver's window.
    ReceiverWindow,
}

impl Need {
    /// Why a lever cannot matter where the capture does not show this.
    pub const fn why_not(self) -> &'static str {
        match self {
            Self::Losses => "no sender retransmitted or lost time",
            Self::Spurious => "no retransmission was spurious",
            Self::LostHandshakes => "no SYN or SYN-ACK was lost",
            Self::ReceiverWindow => "senders waited less than 5 % of the time for the receiver's window",
        }
    }
}

/// A value of a lever, to try in reruns.
#[derive(Clone, Debug)]
pub struct LeverValue {
    /// As on the command line: `tail-loss-probe=3`.
    name: String,
    lever: &'static Lever,
    value: String,
    change: Change,
}

impl PartialEq for LeverValue {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for LeverValue {}

impl LeverValue {
    /// Reads `LEVER=VALUE`.
    ///
    /// # Errors
    /// One line: an unknown lever, a value that it does not take, or a lever that no rerun can show.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let lever = Lever::named(name.trim())?;
        let Some(effect) = &lever.effect else {
            return Err(format!("a capture does not show what the lever `{}` would change", lever.name));
        };
        let Some(value) = value else {
            let such_as = lever.offers.first().or(lever.values.first()).map_or("", String::as_str);
            return Err(format!("the lever `{name}` needs a value, such as {name}={such_as}"));
        };
        let change = effect.change(lever, value.trim())?;
        Ok(Self { name: format!("{}={}", lever.name, value.trim()), lever, value: value.trim().into(), change })
    }

    /// As on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is tried at a sender that has the mechanisms of `base` today.
    pub fn on(&self, base: &Mechanisms) -> Trial {
        self.change.on(base)
    }

    /// The command that sets it.
    pub fn command(&self) -> String {
        self.lever.set.replace("{value}", &self.value)
    }

    /// Whether a sender of this profile has the lever.
    pub fn is_offered_to(&self, profile: &str) -> bool {
        self.lever.is_offered_to(profile)
    }

    /// Whether it changes only connections that lost something.
    pub fn needs_losses(&self) -> bool {
        matches!(self.lever.needs, Some(Need::Losses | Need::Spurious | Need::LostHandshakes))
    }

    /// Whether the receiver of the data would have to set it.
    pub fn is_at_receiver(&self) -> bool {
        self.lever.end == End::Receiver
    }

    /// Where it is set: at the sender, the receiver, on the path or in the application.
    pub fn place(&self) -> String {
        let place = End::ALL.iter().find(|(end, _)| *end == self.lever.end).map_or("", |(_, place)| place);
        match self.lever.end {
            End::Receiver => format!("{place}, if it runs {}", self.lever.system.name()),
            End::Sender | End::Path | End::Application => place.into(),
        }
    }
}

/// The levers that senders of these profiles have, as far as the capture shows what they need; and the names of those that cannot
/// matter, by what is missing.
pub(crate) fn offered(
    profiles: &[&str],
    shows: impl Fn(Need) -> bool,
) -> (Vec<LeverValue>, BTreeMap<Need, Vec<&'static str>>) {
    let (mut offers, mut without) = (Vec::new(), BTreeMap::<Need, Vec<&str>>::new());
    for lever in levers().iter().filter(|lever| !lever.offers.is_empty()) {
        if !profiles.iter().any(|profile| lever.is_offered_to(profile)) {
            continue;
        }
        match lever.needs.filter(|need| !shows(*need)) {
            Some(need) => without.entry(need).or_default().push(&lever.name),
            None => {
                let values = lever.offers.iter();
                offers.extend(values.filter_map(|value| LeverValue::parse(&format!("{}={value}", lever.name)).ok()));
            }
        }
    }
    (offers, without)
}

#[derive(Deserialize)]
struct Catalogue {
    lever: Vec<Lever>,
}

static LEVERS: LazyLock<Vec<Lever>> = LazyLock::new(|| {
    // A test reads it, so an error cannot reach a user.
    toml::from_str(include_str!("levers/catalogue.toml")).map(|all: Catalogue| all.lever).unwrap_or_default()
});

/// All levers.
pub fn levers() -> &'static [Lever] {
    &LEVERS
}

/// What commands that change a route need to know.
const ROUTE: &str = "DEST is the route as `ip route` lists it (default, or 198.51.100.0/24). The command replaces the whole route: keep all else that `ip route show DEST` prints, such as dev, src and metric.";

impl Lever {
    /// The lever of this name.
    ///
    /// # Errors
    /// One line with the most similar name, or with all names.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        levers().iter().find(|lever| lever.name == name).ok_or_else(|| {
            let suggestion = did_you_mean(name, levers().iter().map(|lever| &*lever.name));
            format!("unknown lever `{name}`{suggestion} (`recoup profiles --levers` lists them)")
        })
    }

    /// Where it is set, and since when it acts: `Linux since 6.11, host, root`.
    fn heading(&self) -> String {
        let since = self.since.as_deref().map(|since| match self.system {
            System::Linux => format!(" since {since}"),
            _ => format!(", since {since}"),
        });
        let until = self.until.as_deref().map(|until| format!(", until {until}"));
        let root = if self.root { ", root" } else { "" };
        let [since, until] = [since, until].map(Option::unwrap_or_default);
        format!("{}{since}{until}, {}{root}", self.system.name(), self.scope)
    }

    /// Whether a sender of this profile has it. What acts at the receiver or on the path does not depend on the sender.
    fn is_offered_to(&self, profile: &str) -> bool {
        match (self.end, self.offered_to.as_slice()) {
            (End::Sender, []) => profile.starts_with(self.system.profile_prefix()),
            (End::Sender, some) => some.iter().any(|prefix| profile.starts_with(prefix)),
            (End::Receiver | End::Path | End::Application, _) => true,
        }
    }

    /// How `recoup whatif` tries it.
    fn in_reruns(&self) -> String {
        let such_as = self.offers.first().or(self.values.first());
        match (&self.effect, such_as) {
            (Some(_), Some(value)) if value.contains(' ') => format!("--try \"{}={value}\"", self.name),
            (Some(_), Some(value)) => format!("--try {}={value}", self.name),
            _ => "not tried: a capture does not show what it would change".into(),
        }
    }

    /// All that is known of it.
    pub fn describe(&self) -> String {
        let mut text = format!("{}: {}\n{}\n\n", self.name, self.heading(), self.changes);
        let values = self.values.join(", ");
        let tried = match self.tried {
            true => "set and read back on Linux 6.18",
            false => "documentation alone",
        };
        let (set, in_reruns) = (self.set.replace("{value}", "VALUE"), self.in_reruns());
        let takes_route = self.set.contains("DEST via GATEWAY");
        let lines = [
            ("values", Some(&*values)),
            ("default", self.default.as_deref()),
            ("reaches", self.reaches.as_deref()),
            ("set", Some(&*set)),
            ("", takes_route.then_some(ROUTE)),
            ("show", Some(&*self.show)),
            ("cost", Some(&*self.cost)),
            ("in a capture", Some(&*self.visible)),
            ("source", Some(&*self.source)),
            ("evidence", Some(tried)),
            ("whatif", Some(&*in_reruns)),
        ];
        for (what, value) in lines {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                _ = writeln!(text, "  {what:<13} {value}");
            }
        }
        text
    }
}

/// All levers by where they are set, each with what it changes and the command that sets it.
pub fn list() -> String {
    listed(|_| true)
}

/// The levers of one system, and those of any; `None` if no system has this name.
pub fn list_of(system: &str) -> Option<String> {
    let mut systems = [System::Linux, System::FreeBsd, System::Windows].into_iter();
    let system = systems.find(|known| known.name().eq_ignore_ascii_case(system))?;
    Some(listed(|lever| [system, System::Any].contains(&lever.system)))
}

fn listed(is_listed: impl Fn(&Lever) -> bool) -> String {
    let mut text = String::from(
        "What an operator can change that affects how soon TCP transfers end. `recoup profiles --levers NAME` says all of one,\n\
         and `recoup profiles --levers linux` lists those of one system.\n",
    );
    for (end, heading) in End::ALL {
        let levers: Vec<&Lever> = levers().iter().filter(|lever| lever.end == end && is_listed(lever)).collect();
        if !levers.is_empty() {
            _ = write!(text, "\n{heading}:\n");
        }
        for lever in levers {
            _ = write!(
                text,
                "\n{}: {}\n  {}\n  {}\n",
                lever.name,
                lever.heading(),
                lever.changes,
                lever.set.replace("{value}", "VALUE")
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_read_and_its_names_are_unique() {
        let all: Catalogue = toml::from_str(include_str!("levers/catalogue.toml")).unwrap();
        assert_eq!(all.lever.len(), levers().len());
        let mut names: Vec<&str> = levers().iter().map(|lever| &*lever.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let list = list();
        for lever in levers() {
            assert!(list.contains(&format!("\n{}: ", lever.name)), "{}", lever.name);
            let texts = [&lever.changes, &lever.set, &lever.show, &lever.cost, &lever.visible, &lever.source];
            assert!(texts.iter().all(|text| !text.trim().is_empty() && !text.contains('\n')), "{}", lever.name);
            assert!(!lever.values.is_empty(), "{}", lever.name);
        }
    }

    #[test]
    fn a_sysctl_is_shown_by_the_name_under_which_it_is_set() {
        for lever in levers() {
            let Some(set) = lever.set.strip_prefix("sysctl -w ") else {
                continue;
            };
            let name = set.trim_start_matches('"').split(['=', ' ']).next().unwrap();
            assert!(lever.show.contains(name), "{}: {} and {}", lever.name, lever.set, lever.show);
        }
    }

    #[test]
    fn what_reruns_try_is_what_the_command_sets() {
        for lever in levers().iter().filter(|lever| lever.effect.is_some()) {
            assert!(lever.set.contains("{value}"), "{}: {}", lever.name, lever.set);
        }
    }

    #[test]
    fn a_value_that_is_offered_can_be_tried() {
        for lever in levers() {
            for value in &lever.offers {
                let name = format!("{}={value}", lever.name);
                let read = LeverValue::parse(&name);
                assert!(
                    read.is_ok_and(|read| read.command().contains(value) || lever.end == End::Application),
                    "{name}"
                );
            }
        }
        let (offers, without) = offered(&["linux-6"], |need| need == Need::Losses);
        let names: Vec<&str> = offers.iter().map(LeverValue::name).collect();
        assert!(names.contains(&"congestion-control=bbr") && names.contains(&"rto-min-route=50ms"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("freebsd") || name.starts_with("kernel")), "{names:?}");
        assert_eq!(without[&Need::LostHandshakes], ["syn-timeout-bpf"]);
    }

    #[test]
    fn a_lever_changes_what_it_says() {
        let base = Mechanisms::LINUX_6;
        let tried = |name: &str| LeverValue::parse(name).unwrap().on(&base);
        assert_eq!(tried("tail-loss-probe=0").mechanisms.probe, None);
        assert_eq!(tried("tail-loss-probe=3"), Trial::of(base));
        assert_eq!(tried("rto-min-sysctl=50000").mechanisms.rto.min_variance.as_millis(), 50);
        assert_eq!(tried("rto-min-route=50ms"), tried("rto-min-sysctl=50000"));
        assert_eq!(tried("syn-timeout-bpf=75").mechanisms.rto.initial.as_millis(), 300);
        assert_eq!(tried("initial-window=20").initial_window.map(|window| window.0), Some(20));
        assert_eq!(tried("reordering=10").mechanisms.detection.dupthresh.0, 10);
        assert!(!tried("sack=0").mechanisms.sack && !tried("timestamps=0").timestamps);
        assert!(tried("receive-buffer=4096 131072 67108864").wide_window);
        for (wrong, error) in [
            ("tail-loss-probe=2", "expected 3 or 0"),
            ("tail-loss-prob=3", "unknown lever `tail-loss-prob`, did you mean `tail-loss-probe`?"),
            ("initial-window", "the lever `initial-window` needs a value, such as initial-window=20"),
            ("initial-window=0", "expected a number of segments"),
            ("rto-min-sysctl=50ms", "expected a number of microseconds, such as 200000"),
            ("receive-buffer=potatoes", "expected three ascending numbers of bytes"),
            ("congestion-control=vegas", "expected bbr or cubic or reno"),
            ("autocorking=0", "a capture does not show what the lever `autocorking` would change"),
        ] {
            let found = LeverValue::parse(wrong).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
    }

    #[test]
    fn one_system_has_its_own_levers_and_those_of_any() {
        let linux = list_of("linux").unwrap();
        assert!(linux.contains("\nrto-min-sysctl: ") && !linux.contains("\nfreebsd-"), "{linux}");
        assert!(list_of("FreeBSD").unwrap().contains("\nfreebsd-min-rto: "));
        assert_eq!(list_of("plan9"), None);
    }

    #[test]
    fn one_is_found_by_its_name() {
        let text = Lever::named("rto-min-sysctl").unwrap().describe();
        assert!(text.contains("net.ipv4.tcp_rto_min_us"), "{text}");
        assert!(text.starts_with("rto-min-sysctl: Linux since 6.11, host, root\n"), "{text}");
        let error = Lever::named("rto-min-sysctll").unwrap_err();
        assert!(error.contains("did you mean `rto-min-sysctl`?"), "{error}");
    }
}
