//! `recoup profiles`.

use crate::Failure;
use crate::output::print;
use recoup_recovery::profile::{BASES, Mechanism, Setting};

pub fn run() -> Result<(), Failure> {
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
        let changed = with
            .describe()
            .into_iter()
            .filter(|s| s.name == mechanism.setting());
        text.extend(changed.map(|setting| lines(&setting)));
    }
    print(&text)
}

fn lines(setting: &Setting) -> String {
    let Setting {
        name,
        value,
        source,
    } = setting;
    format!("  {name:<20} {value}\n  {:<20}   [{source}]\n", "")
}
