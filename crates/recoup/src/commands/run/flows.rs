//! `recoup run --flows-out`.

use super::Args;
use crate::row_sink::RowSink;
use crate::{Failure, console, interrupt};
use recoup_lab::flows::{FlowRow, FlowSink, InOrder, SCHEMA, columns};
use recoup_support::output_file::Files;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The option.
const OPTION: &str = "--flows-out";

/// The file of flows, if the command line names one. Clones are the same file.
#[derive(Clone, Debug)]
pub struct FlowsFile(Option<Arc<Writer>>);

/// Writes rows in the order of their tasks.
struct Writer(Mutex<Option<Rows>>);

struct Rows {
    order: InOrder<Vec<FlowRow>>,
    file: RowSink<FlowRow>,
}

impl FlowsFile {
    /// The file of the command line, if it names one. It is created before the run, so that a run is not in vain.
    /// `files` are the command's other files, `swept` the keys of a sweep.
    pub fn create<'a>(
        args: &Args,
        files: &mut Files,
        swept: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Failure> {
        let Some(path) = args.flows_out.as_deref() else {
            return Ok(Self(None));
        };
        if !args.on.real().is_empty() {
            let line = format!("{OPTION}: expected beside --on sim: flows over real packets have no rows");
            return Err(Failure::Wrong(line));
        }
        let file = RowSink::create(columns(swept), SCHEMA, false, files, (OPTION, path))?;
        let rows = Rows { order: InOrder::default(), file };
        Ok(Self(Some(Arc::new(Writer(Mutex::new(Some(rows)))))))
    }

    /// What takes the rows of the run.
    pub fn sink(&self) -> Option<Arc<dyn FlowSink>> {
        Some(self.0.clone()? as Arc<dyn FlowSink>)
    }

    /// Completes the file, unless the run was interrupted.
    pub fn finish(self) -> Result<(), Failure> {
        let Some(writer) = self.0 else {
            return Ok(());
        };
        let rows = writer.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match rows {
            Some(_) if interrupt::is_interrupted() => {
                console::note("the file of flows is not written");
                Ok(())
            }
            Some(rows) => rows.file.finish(),
            None => Ok(()),
        }
    }
}

impl FlowSink for Writer {
    fn add(&self, task: u64, rows: Vec<FlowRow>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Rows { order, file }) = &mut *state {
            let Ok(()) = order.add(task, rows, |rows| {
                file.write("", rows.into_iter());
                Ok::<(), Infallible>(())
            });
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}
