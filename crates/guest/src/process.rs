//! A child process that answers each line of JSON with one.

use crate::{Failed, guest::hint, lines::LONGEST};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

/// How long a child may take for an answer. It has a whole process and no clock to wait for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a child may go on after it closed its output.
const PARTING: Duration = Duration::from_secs(1);

/// A child process that speaks JSON lines on its standard input and output. Its standard error is ours.
///
/// It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: ChildStdin,
    /// Its lines, which a thread reads, so that a child that does not answer is noticed.
    lines: Receiver<io::Result<String>>,
    program: String,
    patience: Duration,
}

impl Process {
    /// Starts the command.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: Command) -> Result<Self, Failed> {
        Self::with_patience(command, PATIENCE)
    }

    pub(crate) fn with_patience(mut command: Command, patience: Duration) -> Result<Self, Failed> {
        let program = command.get_program().to_string_lossy().into_owned();
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| {
            Failed::new(match error.kind() {
                ErrorKind::NotFound => format!("`{program}` is not installed"),
                _ => format!("cannot start `{program}`: {error}"),
            })
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failed::new(format_args!("`{program}` has no pipes")));
        };
        let (send, lines) = mpsc::channel();
        let read = move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = String::new();
                let read = (&mut output).take(LONGEST).read_line(&mut line);
                if matches!(read, Ok(0)) || send.send(read.map(|_| line)).is_err() {
                    return;
                }
            }
        };
        let name = "guest".to_owned();
        thread::Builder::new().name(name).spawn(read).map_err(|e| Failed::new(format_args!("start a thread: {e}")))?;
        Ok(Self { child, input, lines, program, patience })
    }

    /// Sends a question, and returns the answer, whose fields are `known`.
    ///
    /// # Errors
    /// When there is no answer, or one of another form, or the child answers with an error (`{"error": "…"}`).
    pub fn ask<T: DeserializeOwned>(&mut self, question: &impl Serialize, known: &[&str]) -> Result<T, Failed> {
        let mut line = serde_json::to_vec(question).map_err(Failed::new)?;
        line.push(b'\n');
        // If it has ended, what it said last tells more than a broken pipe.
        let written = self.input.write_all(&line).and_then(|()| self.input.flush());
        let answer = match self.lines.recv_timeout(self.patience) {
            Ok(Ok(line)) => line,
            Ok(Err(error)) => return Err(self.failed(error)),
            Err(RecvTimeoutError::Timeout) => return Err(self.failed(format!("no answer in {:?}", self.patience))),
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended(written.err())),
        };
        self.parse(&answer, known)
    }

    fn parse<T: DeserializeOwned>(&self, answer: &str, known: &[&str]) -> Result<T, Failed> {
        let found = || -> String { answer.trim_end().chars().take(80).collect() };
        if answer.len() as u64 >= LONGEST && !answer.ends_with('\n') {
            return Err(self.failed(format!("a line of more than {LONGEST} bytes: it begins `{}`", found())));
        }
        let wrong = |error: serde_json::Error| {
            let text = error.to_string();
            let unknown = text.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
            let why = match unknown {
                Some(field) => format!("unknown field `{field}`{}", hint(field, known)),
                None => text,
            };
            self.failed(format!("{why}; expected a line of JSON as in docs/conformance.md, found `{}`", found()))
        };
        let value: Value = serde_json::from_str(answer).map_err(wrong)?;
        match value.get("error") {
            Some(Value::String(error)) => Err(self.failed(error)),
            _ => serde_json::from_value(value).map_err(wrong),
        }
    }

    /// It closed its output.
    fn ended(&mut self, error: Option<io::Error>) -> Failed {
        const TURN: Duration = Duration::from_millis(10);
        let mut waited = Duration::ZERO;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return self.failed(format!("ended without an answer ({status})")),
                Ok(None) if waited < PARTING => thread::sleep(TURN),
                Ok(None) => return self.failed("closed its output without an answer"),
                Err(failed) => return self.failed(error.unwrap_or(failed)),
            }
            waited += TURN;
        }
    }

    /// An error that names the program.
    pub fn failed(&self, why: impl ToString) -> Failed {
        Failed::new(format_args!("`{}`: {}", self.program, why.to_string()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests;
