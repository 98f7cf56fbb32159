//! Parts common to the programs `recoup` and `recoup-papers`: arguments, errors and exit statuses.

use crate::console;
use clap::error::ErrorKind;
use clap::{ColorChoice, CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::io::{self, Write};

/// Options of every command.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputArgs {
    /// Print no notes and no progress
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print help without colours, as with the environment variable NO_COLOR
    #[arg(long, global = true)]
    no_color: bool,
}

impl OutputArgs {
    /// Whether colours are welcome: without `--no-color`, and without NO_COLOR (no-color.org: set and not empty).
    pub fn takes_colors(self) -> bool {
        !self.no_color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Suppresses notes and progress if asked to.
    pub fn apply(self) {
        if self.quiet {
            console::set_quiet();
        }
    }
}

/// Why the program stops with a failure.
#[derive(Debug)]
pub enum Failure {
    /// A check failed: exit status 1. The report says which.
    CheckFailed,
    /// Wrong use or bad input: exit status 2, and this error.
    Wrong(String),
    /// Bad input: exit status 2. The error was printed when it was found.
    Reported,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Wrong(error.to_string())
    }
}

impl Failure {
    /// Prints the error.
    pub fn print(&self) {
        if let Self::Wrong(line) = self {
            console::error(line);
        }
    }

    /// Prints the error and returns the exit status.
    pub fn exit(self) -> u8 {
        self.print();
        match self {
            Self::CheckFailed => 1,
            Self::Wrong(_) | Self::Reported => 2,
        }
    }
}

/// Parses the arguments, the program's name first. Colours follow the terminal, NO_COLOR and `--no-color`.
///
/// # Errors
/// The exit status, once the help or the error is printed.
pub fn parse<C: CommandFactory + FromArgMatches>(arguments: impl IntoIterator<Item = OsString>) -> Result<C, u8> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut options = arguments.iter().take_while(|argument| *argument != "--");
    let colors = match options.any(|argument| argument == "--no-color") {
        true => ColorChoice::Never,
        false => ColorChoice::Auto,
    };
    let matches = C::command().color(colors).try_get_matches_from(arguments);
    match matches.and_then(|matches| C::from_arg_matches(&matches)) {
        Ok(arguments) => Ok(arguments),
        Err(e) if e.use_stderr() && e.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            console::error(&one_line(&e.to_string()));
            Err(2)
        }
        Err(help) => Err(print_help(&help)),
    }
}

/// Prints help or the version, with colours where standard output takes them, and returns the exit status.
fn print_help(help: &clap::Error) -> u8 {
    // Without arguments, help is an error: it goes to standard error.
    if help.use_stderr() {
        let _ = help.print();
        return 2;
    }
    match help.print().and_then(|()| io::stdout().flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Failure::Wrong(format!("cannot write to standard output: {e}")).exit()
        }
        _ => 0,
    }
}

/// Clap's error, without its usage and help lines.
fn one_line(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let lines: Vec<&str> = lines.map(|line| line.trim_start_matches("error: ")).collect();
    lines.join("; ").replace("found:;", "found:").replace(":; ", ": ")
}
