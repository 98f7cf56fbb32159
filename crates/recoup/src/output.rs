//! The destination and the format of results.

use crate::Failure;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use recoup_support::output_file::{Files, OutputFile};
pub use recoup_table::Format;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Reads `--format` of a command that takes these formats.
pub fn format_parser(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let value = |format: &Format| PossibleValue::new(format.name()).help(format.about());
    let named = |name: String| {
        let mut formats = formats.iter();
        let found = formats.find(|format| format.name() == name);
        found.copied().ok_or("expected one of the possible values")
    };
    PossibleValuesParser::new(formats.iter().map(value)).try_map(named)
}

/// The format that `--format` names, or else the ending of the output file ([`format_of_output`]).
pub fn format_or_ending(
    format: Option<Format>,
    output: &Path,
    formats: &[Format],
    usual: Format,
) -> Result<Format, Failure> {
    format.map_or_else(|| format_of_output(output, formats, usual), Ok)
}

/// The format that the ending of an output file stands for; `usual` for standard output (`-`), for
/// a name without an ending, and for a device or pipe.
pub fn format_of_output(output: &Path, formats: &[Format], usual: Format) -> Result<Format, Failure> {
    if output.extension().is_none() {
        return Ok(usual);
    }
    let is_special = || output.metadata().is_ok_and(|m| !m.is_file());
    match Format::of_file(output).filter(|format| formats.contains(format)) {
        Some(format) => Ok(format),
        None if is_special() => Ok(usual),
        None => Err(unknown_ending("--output", output, formats)),
    }
}

/// The error for the output file of an option whose ending stands for none of these formats.
pub fn unknown_ending(option: &str, output: &Path, formats: &[Format]) -> Failure {
    let endings = formats.iter().map(|format| format!(".{}", format.ending()));
    let endings: Vec<String> = endings.collect();
    let endings = match endings.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("{} or {last}", others.join(", "))
        }
        _ => endings.join(""),
    };
    Failure::Wrong(format!("{option} {}: expected a name that ends in {endings}", output.display()))
}

/// Checks that a terminal gets no binary data.
pub fn check_terminal(format: Format) -> Result<(), Failure> {
    match format.is_binary() && io::stdout().is_terminal() {
        true => Err(Failure::Wrong(format!(
            "--format {}: not for a terminal: expected --output FILE, or a pipe",
            format.name()
        ))),
        false => Ok(()),
    }
}

/// Prints to standard output. A reader that closes the pipe early is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    Output::standard().write(|out| out.write_all(text.as_bytes()))
}

/// The option that names the destination of results.
pub const OUTPUT: &str = "--output";

/// The destination of results, under way.
pub enum Output {
    /// Standard output.
    StandardOutput(BufWriter<io::Stdout>),
    /// A file, which gets its name when it is finished.
    File(BufWriter<OutputFile>),
}

impl Output {
    /// Standard output.
    fn standard() -> Self {
        Self::StandardOutput(BufWriter::new(io::stdout()))
    }

    /// Standard output for `-`, or else a file, which `option` names. `files` are the command's other files.
    ///
    /// # Errors
    /// A file that cannot be made, or that is among the other files.
    pub fn create(files: &mut Files, option: &str, path: &Path) -> Result<Self, Failure> {
        Ok(match path == Path::new("-") {
            true => Self::standard(),
            false => Self::File(BufWriter::new(create_file(files, option, path)?)),
        })
    }

    /// Writes all of the output.
    ///
    /// # Errors
    /// Output that cannot be written. A reader that closes the pipe early is no error.
    pub fn write(mut self, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<(), Failure> {
        let written = write(&mut self);
        self.finish(written)
    }

    /// Completes the output, unless `written` is an error.
    pub fn finish(self, written: io::Result<()>) -> Result<(), Failure> {
        match self {
            Self::StandardOutput(mut out) => match written.and_then(|()| out.flush()) {
                Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                    Err(Failure::Wrong(format!("cannot write to standard output: {e}")))
                }
                _ => Ok(()),
            },
            Self::File(out) => {
                let name = out.get_ref().target().display().to_string();
                let written = written.and_then(|()| Ok(out.into_inner()?));
                let file = written.map_err(|e| cannot_write(&name, &e))?;
                Ok(file.publish()?)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::StandardOutput(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::StandardOutput(out) => out.flush(),
            Self::File(out) => out.flush(),
        }
    }
}

/// Begins a file, which `option` names. `files` are the command's other files.
///
/// # Errors
/// A file that cannot be made, or that is among the other files.
pub fn create_file(files: &mut Files, option: &str, path: &Path) -> Result<OutputFile, Failure> {
    files.write(option, path)?;
    Ok(OutputFile::create(path)?)
}

/// A file that could not be written.
pub fn cannot_write(file: &str, error: &io::Error) -> Failure {
    Failure::Wrong(format!("cannot write `{file}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_an_output_file_names_its_format() {
        const FORMATS: [Format; 2] = [Format::Table, Format::Json];
        for (output, format) in [
            ("-", Some(Format::Table)),
            ("report", Some(Format::Table)),
            ("a.b/report.JSON", Some(Format::Json)),
            ("report.txt", Some(Format::Table)),
            ("report.jsn", None),
            ("report.csv", None),
        ] {
            let found = format_of_output(Path::new(output), &FORMATS, Format::Table);
            assert_eq!(found.ok(), format, "{output}");
        }
    }
}
