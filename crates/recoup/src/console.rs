//! Messages on standard error: errors, notes and progress.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use terminal_size::{Width, terminal_size_of};

/// Whether `--quiet` is given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses notes and progress from here on.
pub fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether `--quiet` is given.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints an error, on one line unless standard error is a terminal.
pub fn error(text: &str) {
    // Text that an error quotes may span lines.
    print(&text.replace(['\n', '\r'], " "));
}

/// Prints why results may be wrong, also with `--quiet`.
pub fn warning(text: impl Display) {
    print(&format!("warning: {text}"));
}

/// Prints what the user should know, unless `--quiet` is given.
pub fn note(text: impl Display) {
    status(format_args!("note: {text}"));
}

/// Prints what the program does or did, unless `--quiet` is given.
pub fn status(text: impl Display) {
    if !is_quiet() {
        print(&text.to_string());
    }
}

/// Where progress bars are drawn: on standard error when it is a terminal, and nowhere with `--quiet`.
pub fn progress_target() -> ProgressDrawTarget {
    match is_quiet() {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr_with_hz(5),
    }
}

/// A bar of flows.
pub fn flows_bar(flows: u64) -> ProgressBar {
    bar(Some(flows), "{prefix}{wide_bar} {human_pos}/{human_len} flows{left}")
}

/// A progress bar, drawn when standard error is a terminal. `{left}` in the template is the time left, once it can be
/// estimated.
pub fn bar(size: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(size, progress_target());
    let left = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let known = state.pos() > 0;
        let _ = known.then(|| write!(to, ", {:#} left", HumanDuration(state.eta())));
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("left", left));
    }
    bar
}

fn print(text: &str) {
    let line = format!("recoup: {text}");
    let width = stderr().is_terminal().then(|| terminal_size_of(stderr()));
    let line = match width.flatten() {
        Some((Width(width), _)) => wrap(&line, width.into()),
        None => line,
    };
    // Where nobody can read it, there is nobody to tell.
    let _ = writeln!(stderr(), "{line}");
}

/// Breaks a line at spaces so that no part is wider than `width` columns, if it can be. All parts but
/// the first are indented.
fn wrap(line: &str, width: usize) -> String {
    const INDENT: &str = "  ";
    let mut wrapped = String::new();
    let mut column = 0;
    for word in line.split(' ') {
        let len = word.chars().count();
        if column > INDENT.len() && column + 1 + len > width {
            wrapped.push('\n');
            wrapped.push_str(INDENT);
            column = INDENT.len();
        } else if !wrapped.is_empty() {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += len;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_at_spaces() {
        for (line, width, wrapped) in [
            ("recoup: note: short", 80, "recoup: note: short"),
            ("recoup: note: a longer one", 15, "recoup: note: a\n  longer one"),
            ("recoup: averyverylongword x", 12, "recoup:\n  averyverylongword\n  x"),
            ("", 10, ""),
        ] {
            assert_eq!(wrap(line, width), wrapped, "{line}");
        }
    }
}
