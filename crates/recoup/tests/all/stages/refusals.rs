//! Wrong use and missing permissions give one line and exit status 2.

use crate::stages::{finish, recoup};
use recoup_testing::skip;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

#[test]
fn wrong_use_is_refused_in_one_line() {
    let cases: [(&[&str], &str); 7] = [
        (&["--client=kernel"], "expected beside --on net or --on kernel"),
        (&["--server=recoup"], "expected beside --on net or --on kernel"),
        (&["--on=all", "--client=kernel"], "expected beside --on net or --on kernel"),
        (&["--on=moon"], "moon"),
        (&["--on=net", "--client=bsd"], "bsd"),
        (&["--set=kernel.tlp=perhaps"], "kernel.tlp"),
        (&["--on=all", "--events=events"], "--events"),
    ];
    for (args, about) in cases {
        let args = [&["run", "tail-loss", "--flows=1"], args].concat();
        let outcome = finish(recoup(&args).spawn().expect("recoup runs"));
        assert_eq!(outcome.status, Some(2), "{args:?}: {outcome:?}");
        assert!(outcome.stdout.is_empty(), "{args:?}: {outcome:?}");
        let line = outcome.stderr.strip_prefix("recoup: ").expect("a line");
        assert_eq!(line.lines().count(), 1, "{args:?}: {line}");
        // Missing permissions are reported first.
        let rights = line.starts_with("cannot make a network namespace");
        assert!(rights || line.contains(about), "{args:?}: {line}");
    }
}

#[test]
fn missing_permissions_are_reported() {
    // Copies the program to a folder that every user can access.
    let folder = tempfile::tempdir().expect("a folder");
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), everybody).expect("a folder");
    let program = folder.path().join("recoup");
    std::fs::copy(env!("CARGO_BIN_EXE_recoup"), &program).expect("a copy");
    for stage in ["--on=net", "--on=kernel", "--on=all"] {
        let mut recoup = Command::new(&program);
        recoup.args(["run", "tail-loss", "--flows=1", stage]);
        recoup.current_dir("/").stdin(Stdio::null());
        recoup.stdout(Stdio::piped()).stderr(Stdio::piped());
        recoup.uid(65_534).gid(65_534);
        // Only root can change the user.
        let Ok(child) = recoup.spawn() else {
            return skip("not root");
        };
        let outcome = finish(child);
        // It works if user namespaces are permitted and every user may open the device.
        let may = outcome.status == Some(0);
        let printed: Vec<_> = outcome.stderr.lines().collect();
        let last = printed.last().copied().unwrap_or_default();
        let refused = last.starts_with("recoup: cannot ") && outcome.stdout.is_empty();
        assert!(may || (outcome.status == Some(2) && refused), "{outcome:?}");
    }
}
