//! The files of a joined capture: what was read of each, and what a user should know of them.

use super::{super::Ending, super::sniff::EMPTY, frame_map::FrameMap, look::FirstPackets};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The most files that are kept. Beyond, the oldest are forgotten.
const MOST_FILES: usize = 1 << 16;

/// Standard input. It is never the same again.
pub(super) const STDIN: &str = "-";

/// Files named in one note.
const MOST_NAMED: usize = 3;

/// A silence between two files that is shorter than this is not reported.
const SHORTEST_GAP: Duration = Duration::from_secs(1);

/// A file of a joined capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedFile {
    /// The name the user gave.
    pub name: String,
    /// Frames read so far, all of them whole.
    pub frames: u64,
    /// When the first and the last of its packets that were read were captured; `None` if it has none.
    pub times: Option<(Instant, Instant)>,
    /// How it ended.
    pub ending: Ending,
    pub(super) first_packets: FirstPackets,
    /// Its size when it was read to its end, in bytes.
    pub(super) size: Option<u64>,
    /// The silence between the packets of all files before it and its own.
    pub(super) gap: Duration,
    /// How long packets of files that began before it and its own alternate.
    pub(super) overlap: Duration,
    /// Its packets that another file had as well.
    pub(super) repeated: u64,
}

/// The files of a joined capture, in the order in which they were read. Empty for a capture that is one
/// file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedFiles {
    pub(super) files: Vec<JoinedFile>,
    /// Files before them that are forgotten. The map counts them.
    forgotten: u32,
    pub(super) map: FrameMap,
    /// The longest silence between two packets of a file.
    pub(super) longest_pause: Duration,
    /// Files that could not be read.
    pub(super) missing: Vec<String>,
}

impl JoinedFiles {
    /// Whether there are none: the capture is one file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files, in the order in which they were read.
    pub fn iter(&self) -> impl Iterator<Item = &JoinedFile> {
        self.files.iter()
    }

    /// The file of a frame of the joined capture, and the frame's number there, from 1. `None` if it
    /// is not known (any more).
    pub fn locate(&self, frame: u64) -> Option<(&JoinedFile, u64)> {
        let (file, frame) = self.map.locate(frame)?;
        let file = file.checked_sub(self.forgotten)?;
        Some((self.files.get(file as usize)?, frame))
    }

    /// A frame for messages, with its place in its file.
    pub fn display(&self, frame: u64) -> String {
        match self.locate(frame) {
            Some((file, in_file)) => format!("{frame} (frame {in_file} of {})", file.name),
            None => frame.to_string(),
        }
    }

    /// The file that begins with these packets, or else, if it had no packets when it was read, the one
    /// of this name.
    pub(super) fn recognize(&self, name: &str, packets: &FirstPackets) -> Option<&JoinedFile> {
        let mut latest_first = self.files.iter().rev();
        latest_first.find(|file| file.is_same(name, packets))
    }

    /// When the latest packet was captured.
    pub(super) fn latest(&self) -> Option<Instant> {
        self.files.iter().filter_map(|file| Some(file.times?.1)).max()
    }

    /// Adds the files that were read after `frames` frames.
    pub(in super::super) fn append(&mut self, later: Self, frames: u64) {
        let mut places = Vec::new();
        for file in later.files {
            let known = self.files.iter_mut().rposition(|known| known.is_same(&file.name, &file.first_packets));
            let place = match known {
                Some(place) => {
                    self.files[place].read_on(file);
                    place
                }
                None => {
                    self.files.push(file);
                    self.files.len() - 1
                }
            };
            places.push(place as u32 + self.forgotten);
        }
        self.map.skip_to(frames);
        let place = |file: u32| places.get(file as usize).copied().unwrap_or(u32::MAX);
        self.map.append(later.map, place);
        self.longest_pause = self.longest_pause.max(later.longest_pause);
        self.missing = later.missing;
        if self.files.len() > MOST_FILES {
            let count = MOST_FILES / 4;
            self.files.drain(..count);
            self.forgotten = self.forgotten.saturating_add(count as u32);
        }
    }

    /// Notes for the user, one line each.
    pub(in super::super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut early = self.files.iter().filter_map(JoinedFile::early_end);
        notes.extend(early.by_ref().take(MOST_NAMED));
        match early.count() {
            0 => {}
            1 => notes.push("1 more file ends early".into()),
            count => notes.push(format!("{count} more files end early")),
        }
        if !self.missing.is_empty() {
            notes.push(format!("packets are missing, because these files could not be read: {}", named(&self.missing)));
        }
        notes.extend(self.gap_note());
        notes.extend(self.overlap_note());
        notes.extend(self.repeat_note());
        notes
    }

    /// Silences between files that are long for this capture, as if a file was missing.
    fn gap_note(&self) -> Option<String> {
        let mut spans: Vec<Duration> = self.files.iter().map(JoinedFile::span).collect();
        spans.sort_unstable();
        let usual_span = spans.get(spans.len() / 2).copied().unwrap_or_default();
        let is_long = |gap: Duration| gap > SHORTEST_GAP && gap > 2 * self.longest_pause && gap > usual_span / 2;
        let pairs = self.files.windows(2).filter(|pair| is_long(pair[1].gap));
        let (count, pair) = (pairs.clone().count(), pairs.max_by_key(|pair| pair[1].gap)?);
        let longest = format!("{:.1} s between {} and {}", pair[1].gap.as_secs_f64(), pair[0].name, pair[1].name);
        let gaps = match count {
            1 => format!("no packets for {longest}"),
            _ => format!("{count} gaps between files, the longest {longest}"),
        };
        let pause = self.longest_pause.as_secs_f64();
        Some(format!("{gaps}; within the files, the longest pause is {pause:.1} s: a file may be missing"))
    }

    fn overlap_note(&self) -> Option<String> {
        let overlapping = self.files.iter().filter(|file| !file.overlap.is_zero());
        let names: Vec<String> = overlapping.clone().map(|file| file.name.clone()).collect();
        let longest = overlapping.map(|file| file.overlap).max()?;
        let longest = longest.as_secs_f64();
        Some(match names.len() {
            1 => {
                format!("{} overlaps the file before it by {longest:.1} s: their packets are merged by time", names[0])
            }
            count => format!(
                "{count} files overlap those before them, by up to {longest:.1} s: their packets are merged by time: {}",
                named(&names)
            ),
        })
    }

    fn repeat_note(&self) -> Option<String> {
        let repeating = self.files.iter().filter(|file| file.repeated > 0);
        let names: Vec<String> = repeating.clone().map(|file| file.name.clone()).collect();
        let packets: u64 = repeating.map(|file| file.repeated).sum();
        (packets > 0).then(|| format!("{packets} packets are in several files and count once: {}", named(&names)))
    }
}

impl JoinedFile {
    /// Whether it is the same capture as a file of another analysis.
    pub fn is_same_capture(&self, other: &Self) -> bool {
        self.frames > 0 && self.first_packets.same_as(&other.first_packets)
    }

    /// Whether it is the file that begins with these packets, or else, if it had none when it was read,
    /// the one of this name.
    fn is_same(&self, name: &str, packets: &FirstPackets) -> bool {
        match self.first_packets.key() {
            Some(_) => self.first_packets.same_as(packets),
            None => self.name == name && name != STDIN,
        }
    }

    /// The file was read further.
    fn read_on(&mut self, later: Self) {
        let begun = self.times.map(|(first, _)| first);
        let times = later.times.map(|(first, last)| (begun.unwrap_or(first), last));
        *self = Self {
            times: times.or(self.times),
            gap: self.gap,
            overlap: self.overlap.max(later.overlap),
            repeated: self.repeated + later.repeated,
            ..later
        };
    }

    /// From its first packet to its last.
    fn span(&self) -> Duration {
        let times = self.times.unwrap_or_default();
        times.1.since(times.0)
    }

    /// Where and why it ends early; `None` if it is whole.
    fn early_end(&self) -> Option<String> {
        let Self { name, frames, .. } = self;
        let (offset, why) = match &self.ending {
            Ending::Whole => return None,
            Ending::Empty => return Some(format!("{name}: {EMPTY}: no packets yet")),
            Ending::Cut { .. } if *frames == 0 => return Some(format!("{name}: no packets yet")),
            Ending::Unreadable { why, .. } if *frames == 0 => {
                return Some(format!("{name} is missing: {why}"));
            }
            Ending::Cut { offset } => (offset, "it ends within a packet".into()),
            Ending::Damaged { offset, what } => (offset, format!("damaged: {what}")),
            Ending::Unreadable { offset, why } => (offset, format!("cannot be read further: {why}")),
        };
        Some(format!("{name}, after its frame {frames}, byte {offset}: {why}"))
    }
}

/// The first names, and how many more there are.
fn named(names: &[String]) -> String {
    let first = &names[..names.len().min(MOST_NAMED)];
    let more = names.len() - first.len();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
