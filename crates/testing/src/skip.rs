//! Skips tests that need what this machine does not have, and reports them in one closing line:
//!
//! ```text
//! skipped 12 tests of testbed: cannot open /dev/net/tun: No such file or directory
//! ```
//!
//! The test harness captures what a passing test prints, and runs no code after its last test. So the
//! line comes from a small shell script beside it, which reads the reasons from a pipe and prints when
//! the test program ends. With `RECOUP_REQUIRE_TOOLS` set, tests fail instead.

use std::{
    fmt::Display,
    io::Write,
    process::{ChildStdin, Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// Counts the lines it reads by their text and prints the counts at the end of its input. The argument
/// is the name of the test program.
const SUMMARY: &str = r#"sort | uniq -c | while read -r count reason; do
    tests=tests; [ "$count" = 1 ] && tests=test
    echo "skipped $count $tests of $0: $reason"
done >&2"#;

/// The script's input, once a test was skipped. It closes as the program ends.
static REASONS: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Reports that the calling test is skipped, and why. The test returns after it.
///
/// # Panics
/// When `RECOUP_REQUIRE_TOOLS` is set: no test may be skipped then.
pub fn skip(why: impl Display) {
    let required = std::env::var_os("RECOUP_REQUIRE_TOOLS").is_some();
    assert!(!required, "{why}, and RECOUP_REQUIRE_TOOLS is set");
    let line = why.to_string().replace('\n', " ");
    let mut reasons = REASONS.lock().unwrap_or_else(PoisonError::into_inner);
    if reasons.is_none() {
        *reasons = summary(&program());
    }
    let written = reasons.as_mut().is_some_and(|to| writeln!(to, "{line}").is_ok());
    if !written {
        eprintln!("skipped: {line}");
    }
}

/// Starts the script; its input.
fn summary(program: &str) -> Option<ChildStdin> {
    let script = Command::new("sh").args(["-c", SUMMARY, program]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    script.ok()?.stdin
}

/// The test program's name, without the hash that cargo adds.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    match name.rsplit_once('-') {
        Some((name, _)) => name.to_owned(),
        None => name.into_owned(),
    }
}
