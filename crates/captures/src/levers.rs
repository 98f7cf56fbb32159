//! What an operator can change that affects how soon TCP transfers end. `catalogue.toml` has the levers.

use recoup_support::suggest::did_you_mean;
use serde::Deserialize;
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

    /// All that is known of it.
    pub fn describe(&self) -> String {
        let mut text = format!("{}: {}\n{}\n\n", self.name, self.heading(), self.changes);
        let values = self.values.join(", ");
        let tried = match self.tried {
            true => "set and read back on Linux 6.18",
            false => "documentation alone",
        };
        let lines = [
            ("values", Some(&*values)),
            ("default", self.default.as_deref()),
            ("reaches", self.reaches.as_deref()),
            ("set", Some(&*self.set)),
            ("show", Some(&*self.show)),
            ("cost", Some(&*self.cost)),
            ("in a capture", Some(&*self.visible)),
            ("source", Some(&*self.source)),
            ("evidence", Some(tried)),
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
    let mut text = String::from(
        "What an operator can change that affects how soon TCP transfers end. `recoup profiles --levers NAME` says all of one.\n",
    );
    for (end, heading) in End::ALL {
        _ = write!(text, "\n{heading}:\n");
        for lever in levers().iter().filter(|lever| lever.end == end) {
            _ = write!(text, "\n{}: {}\n  {}\n  {}\n", lever.name, lever.heading(), lever.changes, lever.set);
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
    fn one_is_found_by_its_name() {
        let text = Lever::named("rto-min-sysctl").unwrap().describe();
        assert!(text.contains("net.ipv4.tcp_rto_min_us"), "{text}");
        assert!(text.starts_with("rto-min-sysctl: Linux since 6.11, host, root\n"), "{text}");
        let error = Lever::named("rto-min-sysctll").unwrap_err();
        assert!(error.contains("did you mean `rto-min-sysctl`?"), "{error}");
    }
}
