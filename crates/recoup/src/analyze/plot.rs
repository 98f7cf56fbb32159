//! `recoup analyze --plot`.

use super::Args;
use super::progress::CaptureBar;
use crate::output::{Format, Output, format_of_output};
use crate::{Failure, console, interrupt};
use recoup_api::analyze::{Drawing, draw_connection, draw_joined_connection};
use recoup_trace::analyze::Settings;

/// The formats of drawings.
const FORMATS: &[Format] = &[Format::Svg, Format::Xpl];

/// Draws a connection with its findings, as far as the capture was read before an interrupt.
pub fn plot(args: &Args, number: u64, settings: &Settings) -> Result<(), Failure> {
    let one = match args.captures.as_slice() {
        [path] if !args.join => Some(path),
        _ if args.join => None,
        _ => {
            let line = "--plot: expected one capture, or --join";
            return Err(Failure::Wrong(line.into()));
        }
    };
    let format = format_of_output(&args.output, FORMATS, Format::Svg)?;
    let output = Output::create(&args.output)?;
    interrupt::defer();
    let bar = CaptureBar::new(false);
    let drawing = match one {
        Some(path) => draw_connection(path, number, settings, &bar),
        None => draw_joined_connection(&args.captures, number, settings, &bar),
    };
    let interrupted = interrupt::stop_deferring();
    let written = drawing.map_err(Failure::from).and_then(|drawing| {
        let Drawing {
            capture,
            diagram,
            notes,
        } = drawing;
        for note in notes {
            console::note(format_args!("{capture}: {note}"));
        }
        let diagram = diagram?;
        let picture = match format {
            Format::Xpl => diagram.to_xplot(0).unwrap_or_default(),
            _ => diagram.to_svg(),
        };
        output.write(|out| out.write_all(picture.as_bytes()))
    });
    if interrupted {
        if let Err(failure) = &written {
            failure.print();
        }
        interrupt::exit();
    }
    written
}
