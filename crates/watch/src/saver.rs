//! Saves the packets around each finding: of its connection, from some time before it until as long after it.

use crate::event::Event;
use crate::kept::Kept;
use recoup_table::utc;
use recoup_trace::finding::ConnectionKey;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::time::Duration;

/// Files that are kept; beyond, the oldest is removed.
const MOST_FILES: usize = 1000;

/// Findings that wait for the packets after them. Beyond, packets of new ones are not saved.
const MOST_WAITING: usize = 1000;

/// Saves packets around findings into a folder.
#[derive(Debug)]
pub struct Saver {
    folder: PathBuf,
    around: Duration,
    waiting: VecDeque<Waiting>,
    /// The connections of those.
    connections: HashSet<ConnectionKey>,
    files: VecDeque<PathBuf>,
}

/// A finding whose packets are saved once those after it have come.
#[derive(Debug)]
struct Waiting {
    at: Instant,
    connection: ConnectionKey,
    ends: Endpoints,
    frame: u64,
}

impl Saver {
    /// Saves the packets within this time of a finding into this folder, which is made if there is none.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(folder: PathBuf, around: Duration) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, around, waiting: VecDeque::new(), connections: HashSet::new(), files: VecDeque::new() })
    }

    /// Something was said.
    pub fn hear(&mut self, event: &Event) {
        // What a retransmission cost is said later: then its packets may be gone.
        let Event::Retransmission { row, .. } = event else {
            return;
        };
        // The packets of a finding are around the next one of its connection as well.
        if self.waiting.len() < MOST_WAITING && self.connections.insert(row.connection_key()) {
            let (connection, ends, frame) = (row.connection_key(), row.endpoints, row.frame);
            self.waiting.push_back(Waiting { at: row.at, connection, ends, frame });
        }
    }

    /// Saves the packets of findings whose time has come by `now`.
    ///
    /// # Errors
    /// When a file cannot be written. It is tried no more.
    pub fn save(&mut self, now: Instant, kept: &Kept) -> io::Result<()> {
        while self.waiting.front().is_some_and(|next| next.at + self.around <= now)
            && let Some(next) = self.waiting.pop_front()
        {
            self.connections.remove(&next.connection);
            self.save_one(&next, kept)?;
        }
        Ok(())
    }

    /// Saves what there is, because no more will come.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn save_rest(&mut self, kept: &Kept) -> io::Result<()> {
        while let Some(next) = self.waiting.pop_front() {
            self.save_one(&next, kept)?;
        }
        Ok(())
    }

    fn save_one(&mut self, finding: &Waiting, kept: &Kept) -> io::Result<()> {
        let around = u64::try_from(self.around.as_nanos()).unwrap_or(u64::MAX);
        let from = Instant::from_nanos(finding.at.as_nanos().saturating_sub(around));
        let time = utc(finding.at).replace(':', "-");
        let path =
            self.folder.join(format!("{time}-connection-{}-frame-{}.pcapng", finding.connection.0, finding.frame));
        let unfinished = path.with_extension("unfinished");
        let written =
            File::create(&unfinished).and_then(|file| kept.save(from, Some(finding.ends), BufWriter::new(file)));
        if let Err(why) = written.and_then(|_| fs::rename(&unfinished, &path)) {
            _ = fs::remove_file(&unfinished);
            return Err(io::Error::new(why.kind(), format!("{}: {why}", path.display())));
        }
        self.files.push_back(path);
        while self.files.len() > MOST_FILES
            && let Some(oldest) = self.files.pop_front()
        {
            // Somebody else may have removed it.
            _ = fs::remove_file(oldest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{begun, connection, ms, open_row};
    use recoup_trace::read::{DeviceFrame, Reader};

    /// An ACK of the server of connection 0.
    fn ack() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1];
        bytes.extend(80_u16.to_be_bytes());
        bytes.extend(30_000_u16.to_be_bytes());
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn packets_before_and_after_a_finding_are_saved() {
        let folder = tempfile::tempdir().unwrap();
        let mut saver = Saver::new(folder.path().join("new"), ms(500)).unwrap();
        let mut kept = Kept::new(10 << 20, Duration::from_secs(60));
        let bytes = ack();
        let mut push = |after: u64| {
            let frame = DeviceFrame {
                at: begun() + ms(after),
                network: Some(0x0800),
                interface: 1,
                outgoing: Some(true),
                data: &bytes,
                on_wire: 40,
            };
            kept.push(&frame);
        };
        [0, 1_400, 1_900, 2_000, 2_499, 9_000].into_iter().for_each(&mut push);
        let row = open_row(&connection(0, 1), 19, ms(2_000));
        saver.hear(&Event::Retransmission { row, decided: false });
        let again = open_row(&connection(0, 1), 20, ms(2_100));
        saver.hear(&Event::Retransmission { row: again, decided: false });
        let files = || fs::read_dir(folder.path().join("new")).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        saver.save(begun() + ms(2_499), &kept).unwrap();
        assert_eq!(files().len(), 0);
        saver.save(begun() + ms(2_500), &kept).unwrap();
        let [file] = &files()[..] else { panic!("one file: {:?}", files()) };
        assert!(file.file_name().to_string_lossy().ends_with("Z-connection-0-frame-19.pcapng"), "{file:?}");
        let mut reader = Reader::open(&file.path()).unwrap();
        let first = reader.next().expect("a packet").at;
        assert_eq!(first, begun() + ms(1_900));
    }
}
