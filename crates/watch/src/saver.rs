//! Saves the packets around each finding: of its connection, from some time before it until as long after it.
//!
//! A thread of its own does that, because it reads all packets of that time. It writes the files of all findings whose time has
//! come in one pass, and those that wait meanwhile in the next.

use crate::event::Event;
use crate::kept::{Kept, Writer};
use recoup_table::utc;
use recoup_trace::finding::ConnectionKey;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Files that are kept; beyond, the oldest is removed.
const MOST_FILES: usize = 1000;

/// Files that are written at a time.
const MOST_AT_ONCE: usize = 100;

/// Findings that wait for the packets after them. Beyond, packets of new ones are not saved.
const MOST_WAITING: usize = 1000;

/// Saves packets around findings into a folder.
#[derive(Debug)]
pub struct Saver {
    around: Duration,
    waiting: VecDeque<Finding>,
    /// The connections of those.
    connections: HashSet<ConnectionKey>,
    /// Takes findings when nothing is being written.
    work: Option<SyncSender<(Vec<Finding>, Kept)>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// A finding whose packets are saved once those after it have come.
#[derive(Debug)]
struct Finding {
    at: Instant,
    connection: ConnectionKey,
    ends: Endpoints,
    frame: u64,
}

impl Saver {
    /// Saves the packets within this time of a finding into this folder, which is made if there is none.
    ///
    /// # Errors
    /// When it cannot be made, or no thread can be started.
    pub fn new(folder: PathBuf, around: Duration) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let (work, given) = sync_channel(0);
        let mut files = Files { folder, around, files: VecDeque::new() };
        let thread = Builder::new().name("saver".into()).spawn(move || files.write_all(&given))?;
        Ok(Self {
            around,
            waiting: VecDeque::new(),
            connections: HashSet::new(),
            work: Some(work),
            thread: Some(thread),
        })
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
            self.waiting.push_back(Finding { at: row.at, connection, ends, frame });
        }
    }

    /// Has the packets of findings saved whose time has come by `now`, unless others are being saved.
    ///
    /// # Errors
    /// When a file could not be written. It is tried no more.
    pub fn save(&mut self, now: Instant, kept: &Kept) -> io::Result<()> {
        let is_due = |finding: &Finding| finding.at + self.around <= now;
        let due = self.waiting.iter().take(MOST_AT_ONCE).take_while(|finding| is_due(finding)).count();
        if due == 0 {
            return Ok(());
        }
        let Some(work) = &self.work else { return Ok(()) };
        let batch: Vec<Finding> = self.waiting.drain(..due).collect();
        match work.try_send((batch, kept.clone())) {
            Ok(()) => {
                // What comes now is not around those any more.
                self.connections = self.waiting.iter().map(|finding| finding.connection).collect();
                Ok(())
            }
            Err(TrySendError::Full((batch, _))) => {
                batch.into_iter().rev().for_each(|finding| self.waiting.push_front(finding));
                Ok(())
            }
            Err(TrySendError::Disconnected(_)) => self.end(),
        }
    }

    /// Saves what there is, because no more will come.
    ///
    /// # Errors
    /// When a file could not be written.
    pub fn save_rest(&mut self, kept: &Kept) -> io::Result<()> {
        let mut rest: Vec<Finding> = take(&mut self.waiting).into();
        while !rest.is_empty()
            && let Some(work) = &self.work
        {
            let batch = rest.drain(..rest.len().min(MOST_AT_ONCE)).collect();
            if work.send((batch, kept.clone())).is_err() {
                break;
            }
        }
        self.end()
    }

    /// Waits until all is written.
    fn end(&mut self) -> io::Result<()> {
        self.work = None;
        let ended = self.thread.take().map(JoinHandle::join);
        ended.map_or(Ok(()), |ended| ended.unwrap_or_else(|_| Err(io::Error::other("its thread has ended"))))
    }
}

/// The files of the folder.
#[derive(Debug)]
struct Files {
    folder: PathBuf,
    around: Duration,
    files: VecDeque<PathBuf>,
}

/// A file that is being written.
struct Unfinished {
    path: PathBuf,
    from: Instant,
    until: Instant,
    writer: Writer<BufWriter<File>>,
}

impl Files {
    fn write_all(&mut self, given: &Receiver<(Vec<Finding>, Kept)>) -> io::Result<()> {
        given.iter().try_for_each(|(findings, kept)| self.write(&findings, &kept))
    }

    /// Writes the packets around these findings, in one pass over all.
    fn write(&mut self, findings: &[Finding], kept: &Kept) -> io::Result<()> {
        let mut by_ends: HashMap<Endpoints, Vec<Unfinished>> = HashMap::new();
        for finding in findings {
            by_ends.entry(finding.ends).or_default().push(self.begin(finding)?);
        }
        let Some(from) = by_ends.values().flatten().map(|file| file.from).min() else { return Ok(()) };
        for (frame, packet) in kept.packets(from) {
            for ends in [packet.endpoints, packet.endpoints.reverse()] {
                let files = by_ends.get_mut(&ends).into_iter().flatten();
                for file in files.filter(|file| (file.from..=file.until).contains(&frame.at)) {
                    file.writer.write(&frame).map_err(|why| named(why, &file.path))?;
                }
            }
        }
        by_ends.into_values().flatten().try_for_each(|file| self.end(file))
    }

    fn begin(&self, finding: &Finding) -> io::Result<Unfinished> {
        let around = u64::try_from(self.around.as_nanos()).unwrap_or(u64::MAX);
        let time = utc(finding.at).replace(':', "-");
        let path =
            self.folder.join(format!("{time}-connection-{}-frame-{}.pcapng", finding.connection.0, finding.frame));
        let file = File::create(path.with_extension("unfinished")).map_err(|why| named(why, &path))?;
        let writer = Writer::begin(BufWriter::new(file))?;
        let from = Instant::from_nanos(finding.at.as_nanos().saturating_sub(around));
        Ok(Unfinished { path, from, until: finding.at + self.around, writer })
    }

    /// Gives a file its name, and removes the oldest if there are too many.
    fn end(&mut self, file: Unfinished) -> io::Result<()> {
        let Unfinished { path, writer, .. } = file;
        let unfinished = path.with_extension("unfinished");
        if let Err(why) = writer.finish().and_then(|_| fs::rename(&unfinished, &path)) {
            _ = fs::remove_file(&unfinished);
            return Err(named(why, &path));
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

fn named(why: io::Error, path: &Path) -> io::Error {
    io::Error::new(why.kind(), format!("{}: {why}", path.display()))
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
        assert_eq!(saver.waiting.len(), 1);
        while !saver.waiting.is_empty() {
            saver.save(begun() + ms(2_500), &kept).unwrap();
        }
        saver.save_rest(&kept).unwrap();
        let [file] = &files()[..] else { panic!("one file: {:?}", files()) };
        assert!(file.file_name().to_string_lossy().ends_with("Z-connection-0-frame-19.pcapng"), "{file:?}");
        let mut reader = Reader::open(&file.path()).unwrap();
        let times: Vec<_> = std::iter::from_fn(|| reader.next().map(|packet| packet.at)).collect();
        assert_eq!(times, [1_900, 2_000, 2_499].map(|after| begun() + ms(after)));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut saver = Saver::new(folder.path().join("new"), ms(500)).unwrap();
        fs::remove_dir(folder.path().join("new")).unwrap();
        let row = open_row(&connection(0, 1), 19, ms(2_000));
        saver.hear(&Event::Retransmission { row, decided: false });
        let why = saver.save_rest(&Kept::default()).unwrap_err().to_string();
        assert!(why.contains("connection-0-frame-19.pcapng: "), "{why}");
    }
}
