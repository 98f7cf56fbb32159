//! The files a run writes: captures and event streams.

use super::{Request, RunError};
use recoup_lab::events::EventWriter;
use recoup_lab::pcap::{Capture, CapturePaths, Order};
use recoup_lab::scenario::Scenario;
use recoup_lab::stage::{self, Ends};
use recoup_recovery::Profile;
use recoup_support::output_file::{self, OutputError, OutputFile};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Whether an event stream goes to standard output, at once. A reader that closes it early is no error.
pub(super) fn is_standard_output(events: &Path) -> bool {
    events == Path::new("-")
}

/// Implements [`Request::check_files`].
pub(super) fn check(request: &Request) -> Result<(), RunError> {
    let scenario = &request.scenario;
    let captures = request.pcap.iter().flat_map(|dir| {
        let simulated = scenario.profiles.iter().filter(|_| request.simulate);
        let simulated = simulated.map(|profile| CapturePaths::new(dir, profile.name()));
        let real = request.real.iter();
        simulated.chain(real.flat_map(|ends| real_captures(scenario, *ends, dir)))
    });
    check_outputs(&scenario.profiles, captures, request.events.as_deref(), scenario.files())
}

/// Checks that the files of each profile have a name of their own, and that none of them is an input.
pub(super) fn check_outputs<'a>(
    profiles: &[Profile],
    captures: impl Iterator<Item = CapturePaths>,
    events: Option<&Path>,
    inputs: impl Iterator<Item = &'a Path>,
) -> Result<(), RunError> {
    let captures = captures.flat_map(|paths| [paths.server, paths.client]);
    let captures: Vec<PathBuf> = captures.collect();
    if captures.is_empty() && events.is_none() {
        return Ok(());
    }
    let twice = |(i, p): &(usize, &Profile)| profiles[..*i].contains(p);
    if let Some((_, profile)) = profiles.iter().enumerate().find(twice) {
        return Err(RunError::ProfileTwice(profile.to_string()));
    }
    let mut files = output_file::Files::reading(inputs);
    events.map_or(Ok(()), |events| files.write("--events", events))?;
    captures.iter().try_for_each(|capture| files.write("--pcap", capture))?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn real_captures(scenario: &Scenario, ends: Ends, dir: &Path) -> Vec<CapturePaths> {
    crate::testbeds::capture_paths(scenario, ends, dir)
}

#[cfg(not(target_os = "linux"))]
fn real_captures(_: &Scenario, _: Ends, _: &Path) -> Vec<CapturePaths> {
    vec![]
}

/// The observer that writes a profile's files.
pub(super) type Written<'a> = (Option<&'a mut Capture>, Option<&'a mut EventWriter<EventFile>>);

/// The files of a simulated run. All are begun before the first flow, and get their names after the
/// last, or not at all.
pub(super) struct Files {
    /// One for each profile, or none.
    captures: Vec<Capture>,
    events: Option<EventWriter<EventFile>>,
    /// The event stream's name in errors.
    events_path: PathBuf,
}

impl Files {
    pub(super) fn begin(
        profiles: &[Profile],
        order: Order,
        pcap: Option<&Path>,
        events: Option<PathBuf>,
    ) -> Result<Self, RunError> {
        let file = events.as_deref().map(EventFile::open).transpose()?;
        let paths = pcap.into_iter().flat_map(|dir| {
            let profiles = profiles.iter();
            profiles.map(move |profile| CapturePaths::new(dir, profile.name()))
        });
        let captures = paths.map(|paths| Ok(Capture::create(&paths)?.ordered(order)));
        Ok(Self {
            captures: captures.collect::<Result<_, RunError>>()?,
            events: file.map(|file| EventWriter::new(file, "").ordered(order)),
            events_path: events.unwrap_or_default(),
        })
    }

    /// Runs profile after profile on one core, so that the files have them in order. `run` gets each profile, and the
    /// observer that writes its files.
    pub(super) fn run<T>(
        mut self,
        profiles: &[Profile],
        is_stopped: &dyn Fn() -> bool,
        mut run: impl FnMut(&Profile, &mut Written<'_>) -> Result<T, RunError>,
    ) -> Result<Vec<T>, RunError> {
        let mut results = Vec::new();
        let mut captures = self.captures.iter_mut();
        for profile in profiles {
            if is_stopped() {
                return Ok(results);
            }
            if let Some(events) = &mut self.events {
                events.set_profile(profile.name());
            }
            results.push(run(profile, &mut (captures.next(), self.events.as_mut()))?);
        }
        if !is_stopped() {
            self.finish()?;
        }
        Ok(results)
    }

    fn finish(self) -> Result<(), RunError> {
        self.captures.into_iter().try_for_each(Capture::finish)?;
        let Some(events) = self.events else {
            return Ok(());
        };
        Ok(complete(events.finish(), self.events_path)?)
    }
}

/// The event stream of stages with real packets.
pub(super) struct EventStream {
    file: EventFile,
    /// Its name in errors.
    path: PathBuf,
}

impl EventStream {
    pub(super) fn begin(path: PathBuf) -> Result<Self, OutputError> {
        Ok(Self { file: EventFile::open(&path)?, path })
    }

    pub(super) fn writer(&mut self) -> EventWriter<stage::EventTarget<'_>> {
        EventWriter::new(&mut self.file, "")
    }

    /// Gives the stream its name if all of it was `written`.
    pub(super) fn complete(self, written: io::Result<()>) -> Result<(), OutputError> {
        complete(written.map(|()| self.file), self.path)
    }
}

/// Gives an event stream its name, if all of it was written. A reader that closes a stream early is no
/// error.
fn complete(written: io::Result<EventFile>, path: PathBuf) -> Result<(), OutputError> {
    match written {
        Ok(file) => file.publish(),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(source) => Err(OutputError { path, source }),
    }
}

/// An event stream under way.
pub(super) enum EventFile {
    /// A file, which gets its name once it is whole.
    File(OutputFile),
    StandardOutput(io::Stdout),
}

impl EventFile {
    fn open(path: &Path) -> Result<Self, OutputError> {
        Ok(match is_standard_output(path) {
            true => Self::StandardOutput(io::stdout()),
            false => Self::File(OutputFile::create(path)?),
        })
    }

    fn publish(self) -> Result<(), OutputError> {
        match self {
            Self::File(file) => file.publish(),
            Self::StandardOutput(_) => Ok(()),
        }
    }
}

impl Write for EventFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::StandardOutput(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::StandardOutput(out) => out.flush(),
        }
    }
}
