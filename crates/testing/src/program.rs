//! Programs that run in folders of their own.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// An empty folder to run the program in.
#[derive(Debug)]
pub struct Folder {
    dir: TempDir,
    program: PathBuf,
}

/// The result of a run of the program.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status; `None` if a signal ended the program.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A program. On Linux it starts with the default action for each signal, also where the tests run in the background of a
/// shell, which ignores SIGINT there.
pub fn command(program: impl AsRef<Path>) -> Command {
    let program = program.as_ref();
    match cfg!(target_os = "linux") {
        true => {
            let mut command = Command::new("env");
            command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(program);
            command
        }
        false => Command::new(program),
    }
}

impl Folder {
    /// An empty folder for `program`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { dir: tempfile::tempdir().expect("a folder"), program: program.into() }
    }

    /// The folder's path.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file");
    }

    /// A file of the folder as text.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// A file of the folder.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// All files and subfolders, sorted.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.dir.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let name = path.strip_prefix(self.dir.path()).expect("inside");
                found.push(name.display().to_string());
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// The program with these arguments, in this folder (see [`command`]).
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = command(&self.program);
        command.args(args).current_dir(&self.dir);
        command
    }

    /// Runs the program.
    pub fn run(&self, args: &[&str]) -> Outcome {
        self.run_reading(args, "")
    }

    /// Runs the program, which must refuse its arguments: exit status 2, one line on standard error with all of `parts`,
    /// nothing on standard output, and no file changed.
    pub fn refuses(&self, args: &[&str], parts: &[&str]) {
        let before = self.files();
        let outcome = self.run(args);
        let stderr = &outcome.stderr;
        assert_eq!(outcome.status, Some(2), "{args:?}: {stderr}");
        assert_eq!(outcome.stdout, "", "{args:?}");
        let is_line = stderr.starts_with("recoup: ") && stderr.ends_with('\n') && stderr.lines().count() == 1;
        assert!(is_line, "{args:?}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{args:?}: {part} not in: {stderr}");
        }
        assert_eq!(self.files(), before, "{args:?}");
    }

    /// Runs the program with `input` on standard input.
    pub fn run_reading(&self, args: &[&str], input: &str) -> Outcome {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // Writing fails if the program rejects its arguments without reading.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("the program ends");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Outcome { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Outcome {
    /// The standard output of a successful run without notes.
    pub fn printed(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    /// The standard output of a successful run without notes, as JSON.
    pub fn json(self) -> Value {
        let text = self.printed();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

/// The cells of a CSV file. None of them contains a comma or a quote.
pub fn csv_rows(text: &str) -> Vec<Vec<&str>> {
    let rows: Vec<Vec<_>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert!(rows.iter().all(|r| r.len() == rows[0].len()), "{text}");
    rows
}
