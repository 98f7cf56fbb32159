//! `recoup generate`, and what the program says about its build.

use crate::cli::{folder, recoup};

#[test]
fn every_command_has_a_manual_page_and_completions() {
    let dir = folder();
    assert_eq!(dir.run(&["generate", "usr"]).printed(), "");
    let page = dir.read("usr/share/man/man1/recoup.1");
    assert!(page.contains("\n.TH recoup 1 \" \" \"recoup "), "{page}");
    // The commands that the first page names have pages, and each of them names its options.
    let names: Vec<_> =
        page.split("recoup\\-").skip(1).filter_map(|rest| rest.split_once("(1)").map(|(name, _)| name)).collect();
    assert!(names.len() > 8, "{page}");
    let completions = dir.read("usr/share/bash-completion/completions/recoup");
    for name in names {
        let page = dir.read(&format!("usr/share/man/man1/recoup-{name}.1"));
        assert!(page.contains("\\-\\-quiet"), "{name}: {page}");
        assert!(completions.contains(&format!("recoup,{name})")), "{name}");
    }
    let page = dir.read("usr/share/man/man1/recoup-scenario-show.1");
    assert!(page.contains("recoup scenario show"), "{page}");
    for file in ["zsh/site-functions/_recoup", "fish/vendor_completions.d/recoup.fish"] {
        let completions = dir.read(&format!("usr/share/{file}"));
        assert!(completions.contains("no-color"), "{file}");
    }
    assert!(dir.read("usr/lib/wireshark/plugins/recoup.lua").contains("register_postdissector"));
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let dir = folder();
    dir.write("usr", "a file");
    let outcome = dir.run(&["generate", "usr"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("usr/share"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

#[test]
fn the_long_version_describes_the_build() {
    let first = format!("recoup {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(recoup(&["-V"]).printed(), first);
    let version = recoup(&["--version"]).printed();
    assert!(version.starts_with(&first), "{version}");
    let value = |name: &str| {
        let line = version.lines().find_map(|l| l.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} {version}")).trim()
    };
    assert!(value("compiler:").starts_with("rustc 1."), "{version}");
    assert!(value("target:").contains(std::env::consts::ARCH), "{version}");
    let stages = match cfg!(target_os = "linux") {
        true => "sim, net, kernel",
        false => "sim",
    };
    assert_eq!(value("stages (recoup run --on):"), stages);
    // A package made of this tree names its commit, and so does a checkout; an archive names none.
    if let Some(commit) = version.lines().find_map(|l| l.strip_prefix("commit: ")) {
        let sha = commit.split(' ').next().unwrap_or_default();
        assert!(sha.len() >= 40 && sha.bytes().all(|b| b.is_ascii_hexdigit()), "{version}");
    }
}
