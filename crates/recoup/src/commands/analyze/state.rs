//! `recoup analyze --state`.

use super::Args;
use super::call::{StateFiles, continue_analysis};
use super::views::{draw, prepare_output, print};
use crate::commands::captures::{CaptureBar, end, print_notes, until_interrupted};
use crate::{Failure, console};
use recoup_captures::analysis::{Continued, Tabular};
use recoup_support::output_file::FileLock;
use recoup_trace::analyze::Settings;
use std::slice;

/// Goes on with a state, prints what this run shows, and then replaces the state. Another run that goes on with it at the
/// same time would lose what this one finds, so it is kept out.
pub fn go_on<V: Continued<Shown: Tabular>>(args: &Args, settings: &Settings) -> Result<(), Failure> {
    let replaced = args.state.as_deref().filter(|_| !(args.captures.is_empty() && args.merge_state.is_empty()));
    let lock = replaced.map(FileLock::acquire).transpose()?;
    let mut outputs = args.files();
    let (format, output) = prepare_output(args, &mut outputs)?;
    let files = StateFiles { state: args.state.as_deref(), merged: &args.merge_state };
    let bar = CaptureBar::new(false);
    let (run, interrupted) = until_interrupted(|| continue_analysis::<V>(&args.captures, files, settings, &bar));
    let run = run?;
    for failure in &run.failures {
        console::error(&failure.to_string());
    }
    if let Some(shown) = &run.analyzed {
        print_notes(shown, &[]);
        draw(args, &mut outputs, slice::from_ref(shown))?;
        let mut is_printed = false;
        output.write(|out| {
            print(args, format, slice::from_ref(shown), out)?;
            out.flush()?;
            is_printed = true;
            Ok(())
        })?;
        // A reader that closes the pipe early did not get all rows: the next run gives them out.
        if let Some(state) = run.state.filter(|_| is_printed) {
            state.publish()?;
        }
    }
    drop(lock);
    end(interrupted, !run.failures.is_empty())
}
