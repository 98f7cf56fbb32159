//! docs/stack-migrations.md shows what differs between each program before and after.

use std::{path::Path, process::Command};

const PROGRAMS: [&str; 3] = ["ipstack", "netstack-smoltcp", "tokio-smoltcp"];
const BEGIN: &str = "```diff\n";
const END: &str = "```\n";

/// With RECOUP_UPDATE_MIGRATIONS set, this writes the differences instead of comparing them.
#[test]
fn the_differences_are_those_of_the_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = folder.join("../../docs/stack-migrations.md");
    let written = std::fs::read_to_string(&page).unwrap();
    let mut parts = written.split(BEGIN);
    let mut current = parts.next().unwrap().to_owned();
    for (part, program) in parts.by_ref().zip(PROGRAMS) {
        let (_, rest) = part.split_once(END).unwrap();
        let [before, after] = ["before", "after"].map(|name| format!("{program}/{name}.rs"));
        let diff = Command::new("diff")
            .args(["-u", "--label", &before, "--label", &after, &before, &after])
            .current_dir(folder.join("programs"))
            .output()
            .unwrap();
        assert_eq!(diff.status.code(), Some(1), "{}", String::from_utf8_lossy(&diff.stderr));
        current += &format!("{BEGIN}{}{END}{rest}", String::from_utf8(diff.stdout).unwrap());
    }
    assert_eq!(parts.next(), None, "more blocks than programs");
    assert_eq!(current.matches(BEGIN).count(), PROGRAMS.len(), "a block of each program");
    if std::env::var_os("RECOUP_UPDATE_MIGRATIONS").is_some() {
        return std::fs::write(&page, current).unwrap();
    }
    assert!(written == current, "docs/stack-migrations.md is not current: run this with RECOUP_UPDATE_MIGRATIONS=1");
}
