//! Recoup in a browser: explains a capture that a page holds, in the page that `recoup explain -o` writes.
//!
//! ```text
//! page/page.js ─► page/worker.js ─► explain ─► recoup_captures::explain::explain_as_page
//!                      ▲               │
//!                      └──── Host ◄────┘  bytes of the file, progress
//! ```
//!
//! Everything runs in one thread, that of the worker. There is no unsafe code in this folder but what wasm-bindgen's
//! macros write.

use recoup_captures::capture::{CaptureSource, Input, Progress};
use recoup_captures::explain::{PageRequest, explain_as_page};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{OpenedInput, ReadError};
use recoup_units::visible;
use std::fmt;
use std::io::{self, Read};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The worker: it holds the file, and passes on how far the analysis is.
    #[derive(Clone)]
    pub type Host;

    /// Copies the file's bytes from `offset` on into `into`. Returns how many; 0 at the end.
    #[wasm_bindgen(method, catch)]
    fn read(this: &Host, offset: f64, into: &mut [u8]) -> Result<u32, JsValue>;

    /// This many bytes were read. A second reading begins at 0 again.
    #[wasm_bindgen(method, js_name = bytesRead)]
    fn bytes_read(this: &Host, bytes: f64);

    /// Of the connections that are run again, this many are done, of this many.
    #[wasm_bindgen(method)]
    fn rerun(this: &Host, done: f64, all: f64);

    /// The analysis ends by a defect.
    #[wasm_bindgen(method)]
    fn panicked(this: &Host, message: &str);
}

/// The page about the host's file, which messages call `name`.
///
/// # Errors
/// Why the file cannot be read, in one line.
#[wasm_bindgen]
pub fn explain(host: Host, name: String) -> Result<String, String> {
    let name = visible(&name).into_owned();
    page(&host, Input::Source(&HostFile { host: host.clone(), name }))
}

/// The page about the capture that is built in.
///
/// # Errors
/// None but a defect.
#[wasm_bindgen]
pub fn demo(host: Host) -> Result<String, String> {
    page(&host, Input::Demo)
}

fn page(host: &Host, input: Input<'_>) -> Result<String, String> {
    let told = host.clone();
    std::panic::set_hook(Box::new(move |panic| told.panicked(&panic.to_string())));
    let settings = Settings { threads: 0, ..Settings::default() };
    let explained = explain_as_page(input, PageRequest::default(), &settings, &HostProgress(host.clone()));
    let failure = || explained.failures.iter().map(ToString::to_string).collect();
    explained.page.as_ref().map(|page| page.to_html()).ok_or_else(failure)
}

/// The host's file.
struct HostFile {
    host: Host,
    name: String,
}

impl fmt::Debug for HostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostFile").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CaptureSource for HostFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self) -> Result<OpenedInput<'_>, ReadError> {
        OpenedInput::new(&self.name, HostReader { host: &self.host, offset: 0 })
    }
}

/// Reads the host's file.
struct HostReader<'a> {
    host: &'a Host,
    offset: u64,
}

impl Read for HostReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.host.read(self.offset as f64, buffer);
        let read = read.map_err(|why| io::Error::other(why.as_string().unwrap_or_default()))?;
        self.offset += u64::from(read);
        Ok(read as usize)
    }
}

/// Passes the progress on to the host. To cancel, the page ends the worker.
struct HostProgress(Host);

impl Progress for HostProgress {
    fn capture_begins(&self, _: &str, _: Option<u64>) {}

    fn bytes_read(&self, bytes: u64) {
        self.0.bytes_read(bytes as f64);
    }

    fn rerun(&self, done: u64, all: u64) {
        self.0.rerun(done as f64, all as f64);
    }

    fn capture_ends(&self) {}
}
