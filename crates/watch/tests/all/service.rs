//! packaging/watch/recoup-watch.service.

use crate::setup::{PROGRAM, has_programs, source};
use recoup_testing::Folder;
use std::process::Command;

#[test]
fn systemd_accepts_the_unit_and_finds_it_confined() {
    if !has_programs(&["systemd-analyze"]) {
        return;
    }
    let folder = Folder::new(PROGRAM);
    let unit = std::fs::read_to_string(source("packaging/watch/recoup-watch.service")).unwrap();
    // The program is where it was built, not where the package has it.
    folder.write("recoup-watch.service", unit.replace("/usr/bin/recoup-watch", PROGRAM));
    let analyze = |args: &[&str]| {
        let output =
            Command::new("systemd-analyze").args(args).arg(folder.path("recoup-watch.service")).output().unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        (output.status.success(), text)
    };
    assert_eq!(analyze(&["verify", "--man=no"]), (true, String::new()));
    // From 0, confined, to 100. CAP_NET_RAW and the network make up most of what is left.
    let (is_confined, text) = analyze(&["security", "--offline=true", "--threshold=20", "--no-pager"]);
    assert!(is_confined, "{text}");
}
