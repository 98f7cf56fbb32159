//! `recoup profiles`.

use crate::Failure;
use crate::output::print;
use recoup_recovery::profile::{BASES, Mechanism};

pub fn run() -> Result<(), Failure> {
    let mut text =
        String::from("A profile is BASE or BASE+MECHANISM+MECHANISM, as in linux-3.17+rtor+tlp.\n");
    for (name, mechanisms, source) in BASES {
        text += &format!("\n{name}: {source}\n");
        for setting in mechanisms.describe() {
            text += &format!(
                "  {:<20} {}\n  {:<20}   [{}]\n",
                setting.name, setting.value, "", setting.source
            );
        }
    }
    text += "\nMechanisms, on top of any base:\n";
    for mechanism in Mechanism::ALL {
        text += &format!("  {:<8} {}\n", mechanism.name(), mechanism.about());
    }
    print(&text)
}
