//! The log of `recoup guard copies`: copies of segments that it sends beside the kernel, as JSON lines.
//!
//! ```text
//! {"schema":"recoup.guard.log","version":1}
//! {"event":"decided","at":…,"kind":"tail","act":"sent","src":…,"dst":…,"seq":…,"len":…,"bytes":…}
//! {"event":"settled","at":…,…,"outcome":"repaired","saved_ns":…}
//! ```
//!
//! Only decisions whose `act` is `sent` are packets. `settled` has the values of its decision and says what became of it. A last
//! line without an end is left out: the guard is writing it, or was killed.
//!
//! | module | contents |
//! | --- | --- |
//! | `entry` | the lines, as the guard writes them |
//! | `lines` | reads them, also of a log that grows |

mod entry;
mod lines;

pub use entry::{Act, Decided, Entry, Kind, LoggedCopy, Outcome, SCHEMA, Settled};
pub use lines::{LogError, LogLines};

use recoup_trace::read::SentCopy;
use recoup_units::visible;
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;

/// Reads logs: the copies that were sent, ordered by log.
///
/// # Errors
/// A log that cannot be read, or a line that is no entry.
pub fn read_logs<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<SentCopy>, LogError> {
    let mut all = Copies::default();
    paths.iter().try_for_each(|path| read_log(path.as_ref(), &mut all))?;
    Ok(all.copies)
}

fn read_log(path: &Path, all: &mut Copies) -> Result<(), LogError> {
    let name = visible(&path.to_string_lossy()).into_owned();
    let unreadable = |why| LogError::Unreadable { file: name.clone(), why };
    let mut lines = LogLines::new(&name);
    let mut file = File::open(path).map_err(unreadable)?;
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return lines.check_begun(),
            Ok(count) => lines.read(&piece[..count], |entry| all.add(&entry))?,
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(unreadable(why)),
        }
    }
}

/// Copies, and which of them are not settled.
#[derive(Debug, Default)]
struct Copies {
    copies: Vec<SentCopy>,
    open: HashMap<LoggedCopy, usize>,
}

impl Copies {
    fn add(&mut self, entry: &Entry) {
        match entry {
            Entry::Decided(decided) if decided.copy.act == Act::Sent => {
                self.open.insert(decided.copy, self.copies.len());
                self.copies.push(decided.copy.sent());
            }
            Entry::Settled(settled) => {
                if let Some(place) = self.open.remove(&settled.copy) {
                    self.copies[place].may_have_repaired = settled.outcome.may_have_repaired();
                }
            }
            Entry::Decided(_) | Entry::Other => {}
        }
    }
}

#[cfg(test)]
mod tests;
