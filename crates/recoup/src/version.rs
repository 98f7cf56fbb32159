//! The text of `recoup --version`: the facts that a report of a bug needs.

use recoup_lab::stage::Stage;
use std::sync::LazyLock;

/// The version, then a line for each fact of the build that is known.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(text);
    &TEXT
}

fn text() -> String {
    let mut text = env!("CARGO_PKG_VERSION").to_owned();
    for (name, value) in [
        ("commit", env!("RECOUP_COMMIT").to_owned()),
        ("target", env!("RECOUP_TARGET").to_owned()),
        ("compiler", env!("RECOUP_RUSTC").to_owned()),
        ("optimization level", env!("RECOUP_OPTIMIZATION").to_owned()),
        ("stages (recoup run --on)", stages()),
    ] {
        if !value.is_empty() {
            text += &format!("\n{name}: {value}");
        }
    }
    text
}

/// The stages that this build has. Real packets need Linux.
fn stages() -> String {
    let has_real_packets = cfg!(target_os = "linux");
    let stages = Stage::ALL.iter().filter(|stage| has_real_packets || **stage == Stage::Sim);
    let names: Vec<_> = stages.map(|stage| stage.name()).collect();
    names.join(", ")
}
