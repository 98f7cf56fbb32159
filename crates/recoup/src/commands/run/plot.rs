//! `recoup run --plot`.

use super::Args;
use crate::output::{Format, Output, unknown_ending};
use crate::{Failure, console, interrupt};
use clap::ValueEnum;
use recoup_draw::look::Look;
use recoup_draw::render::{to_pdf, to_png};
use recoup_lab::report::{Plot, PlotKind};
use recoup_support::output_file::Files;

/// The formats of plots.
const FORMATS: &[Format] = &[Format::Svg, Format::Png, Format::Pdf];

/// What a plot shows.
#[derive(Clone, Copy, ValueEnum)]
pub enum Kind {
    /// The share of the flows that take at most a time
    Cdf,
    /// The share of the flows that take longer than a time, on a logarithmic scale
    Ccdf,
    /// Quartiles, 5th and 95th percentile, and mean
    Box,
}

impl From<Kind> for PlotKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Cdf => Self::Cdf,
            Kind::Ccdf => Self::Ccdf,
            Kind::Box => Self::Box,
        }
    }
}

/// The file that a plot goes to.
pub struct PlotFile {
    output: Output,
    format: Format,
    kind: PlotKind,
}

impl PlotFile {
    /// The file of the command line, if it names one. It is created before the run, so that a run is not in vain.
    /// `files` are the command's other files.
    pub fn create(args: &Args, files: &mut Files) -> Result<Option<Self>, Failure> {
        let Some(path) = args.plot.as_deref() else {
            return match args.plot_kind {
                Some(_) => Err(Failure::Wrong("--plot-kind: expected beside --plot".into())),
                None => Ok(None),
            };
        };
        let format = Format::of_file(path).filter(|format| FORMATS.contains(format));
        let format = format.ok_or_else(|| unknown_ending("--plot", path, FORMATS))?;
        Ok(Some(Self {
            output: Output::create(files, "--plot", path)?,
            format,
            kind: args.plot_kind.map_or(PlotKind::default(), Into::into),
        }))
    }

    /// Draws the plot, unless the run was interrupted.
    pub fn write(self, plot: &Plot<'_>) -> Result<(), Failure> {
        let kind = self.kind;
        self.write_svg(|| plot.to_svg(kind))
    }

    /// Writes the picture that `draw` returns, unless the run was interrupted.
    pub fn write_svg(self, draw: impl FnOnce() -> String) -> Result<(), Failure> {
        if interrupt::is_interrupted() {
            console::note("the plot is not written");
            return Ok(());
        }
        let svg = draw();
        let picture = match self.format {
            Format::Png => to_png(&svg, &Look::default())?,
            Format::Pdf => to_pdf(&svg)?,
            _ => svg.into_bytes(),
        };
        self.output.write(|out| out.write_all(&picture))
    }
}
