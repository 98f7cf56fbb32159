//! `recoup analyze --plot`, which is short for `recoup plot --connection`.

use super::Args;
use crate::Failure;
use crate::commands::plot::call::Request;
use crate::commands::plot::{self, FORMATS};
use crate::output::{Format, format_of_output};
use recoup_captures::capture::Input;
use recoup_captures::diagram::source::{Choice, Directions};
use recoup_draw::look::Look;
use recoup_trace::analyze::Settings;

/// Draws a connection with its findings.
pub fn plot(args: &Args, number: u64, settings: &Settings) -> Result<(), Failure> {
    let input = match args.captures.as_slice() {
        files if args.join => Input::Joined(files),
        path @ [_] => Input::Each(path),
        _ => {
            let line = "--plot: expected one capture, or --join";
            return Err(Failure::Wrong(line.into()));
        }
    };
    let format = format_of_output(&args.output, FORMATS, Format::Svg)?;
    let directions = match format {
        Format::Xpl => Directions::Main,
        _ => Directions::All,
    };
    let request = Request {
        input,
        choice: Choice { connection: Some(number), directions, ..Choice::default() },
        settings,
        title: None,
        from: None,
        to: None,
    };
    plot::plot(&request, format, &Look::default(), &mut args.files(), &args.output)
}
