//! The child's side: a guest that answers lines on a pipe.

use crate::lines::{Begin, Request, Stepped, VERSION, Wrong};
use crate::{Failed, Guest, Setup};
use recoup_units::Instant;
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, BufRead, Write};

/// Why serving ended before the input did.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The pipe failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The caller or the guest failed. The caller was told.
    #[error(transparent)]
    Failed(#[from] Failed),
}

/// Makes a guest as the first line says, and answers every later line, until the input ends.
///
/// # Errors
/// A line that is not of the protocol, or a guest that cannot be made or fails. The last line says so, too.
pub fn serve<G: Guest + ?Sized>(
    make: impl FnOnce(&Setup) -> Result<Box<G>, Failed>,
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<(), ServeError> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(());
    }
    let mut guest = match begin(&line).and_then(|setup| make(&setup)) {
        Ok(guest) => guest,
        Err(failed) => {
            write(&mut output, &Wrong { error: failed.0.clone() })?;
            return Err(failed.into());
        }
    };
    write(&mut output, guest.about())?;
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        match step(guest.as_mut(), &line) {
            Ok(stepped) => write(&mut output, &stepped)?,
            Err(failed) => {
                write(&mut output, &Wrong { error: failed.0.clone() })?;
                return Err(failed.into());
            }
        }
    }
}

fn begin(line: &str) -> Result<Setup, Failed> {
    let begin: Begin = parse(line)?;
    if begin.version != VERSION {
        return Err(Failed::new(format_args!("version {} of the protocol: expected {VERSION}", begin.version)));
    }
    Ok(begin.into())
}

fn step<G: Guest + ?Sized>(guest: &mut G, line: &str) -> Result<Stepped, Failed> {
    let request: Request = parse(line)?;
    let (mut arrived, mut packets) = (Vec::new(), Vec::new());
    let input = request.input.input(&mut arrived)?;
    let status = guest.step(Instant::from_nanos(request.now), input, &mut packets)?;
    Ok(Stepped::new(status, &packets))
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T, Failed> {
    serde_json::from_str(line).map_err(|error| Failed::new(format_args!("a line of the caller: {error}")))
}

fn write(output: &mut impl Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}
