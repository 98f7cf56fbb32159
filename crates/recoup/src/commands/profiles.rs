//! `recoup profiles`, and the levers of operators.

use crate::Failure;
use crate::output::print;
use recoup_captures::levers::{self, Lever};
use recoup_recovery::Profile;
use recoup_recovery::profile::{BASES, Mechanism, Setting};
use recoup_support::profile::parse_profile;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show one profile, such as linux-6 or linux-3.17+tlp, or with --levers one lever or
    /// system, such as linux [default: all]
    #[arg(value_name = "PROFILE")]
    profile: Option<String>,
    /// What an operator can change that affects how soon transfers end: settings of senders, receivers, paths and
    /// applications, with the commands that set and show them
    #[arg(long)]
    levers: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.profile {
        None if args.levers => print(&levers::list()),
        Some(name) if args.levers => print(&match levers::list_of(name) {
            Some(list) => list,
            None => Lever::named(name).map_err(Failure::Wrong)?.describe(),
        }),
        None => print(&list()),
        Some(text) => print(&show(&parse_profile(text).map_err(Failure::Wrong)?)),
    }
}

/// One profile with the value and source of each of its settings.
fn show(profile: &Profile) -> String {
    let name = profile.name();
    let base = name.split('+').next().unwrap_or_default();
    let base = BASES.iter().find(|(known, ..)| *known == base);
    let mut text = match base {
        Some((base, _, source)) if *base == name => format!("{name}: {source}\n"),
        Some((base, _, source)) => format!("{name}\n\n{base}: {source}\n"),
        None => format!("{name}\n"),
    };
    for added in name.split('+').skip(1) {
        let mechanism = Mechanism::ALL.iter().find(|m| m.name() == added);
        text.extend(mechanism.map(|m| format!("+{added}: {}\n", m.about())));
    }
    if name.contains('+') {
        text.push('\n');
    }
    text.extend(profile.mechanisms().describe().iter().map(lines));
    text
}

fn list() -> String {
    let mut text = String::from(
        "A profile is BASE or BASE+MECHANISM+MECHANISM, as in linux-3.17+rtor+tlp. Of two mechanisms of the\n\
         same setting, such as +tlp and +notlp, the last one wins.\n",
    );
    for (name, mechanisms, source) in BASES {
        text += &format!("\n{name}: {source}\n");
        text.extend(mechanisms.describe().iter().map(lines));
    }
    text += "\nMechanisms, on top of any base:\n";
    for mechanism in Mechanism::ALL {
        text += &format!("\n+{}: {}\n", mechanism.name(), mechanism.about());
        let mut with = BASES[0].1;
        mechanism.apply(&mut with);
        let changed = with.describe().into_iter().filter(|s| s.name == mechanism.setting());
        text.extend(changed.map(|setting| lines(&setting)));
    }
    text
}

/// A setting of a profile with its value and source.
fn lines(setting: &Setting) -> String {
    let Setting { name, value, source, .. } = setting;
    format!("  {name:<20} {value}\n  {:<20}   [{source}]\n", "")
}
