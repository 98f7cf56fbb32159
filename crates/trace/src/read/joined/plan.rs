//! Decides which files are read, and in which order.

use super::{
    super::ReadError,
    MOST_LATE,
    files::{JoinedFiles, STDIN},
    look::Beginning,
    part::CapturePart,
};
use recoup_units::Instant;
use std::{
    cmp::Ordering,
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
};

/// A file that is yet to be read.
#[derive(Debug)]
pub(super) struct PlannedFile {
    pub path: PathBuf,
    pub name: String,
    pub beginning: Beginning,
    /// When its first packet that is to be read was captured; `None` if it has no packets.
    pub begins: Option<Instant>,
    /// Frames that an earlier run read.
    pub read_before: u64,
}

/// The files that are to be read, and those that are not.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In the order in which they are to be read.
    pub files: VecDeque<PlannedFile>,
    /// Why the others are not read.
    pub failures: Vec<ReadError>,
    /// Of those, the files whose packets are missing.
    pub missing: Vec<String>,
}

impl Plan {
    /// Looks at all files. `before` are the files that earlier runs read.
    pub fn of<R: CapturePart>(paths: &[PathBuf], before: &JoinedFiles) -> Self {
        let mut plan = Self::default();
        if let [path] = paths
            && path.as_os_str() == STDIN
        {
            plan.files.push_back(PlannedFile {
                path: path.clone(),
                name: STDIN.into(),
                beginning: Beginning::default(),
                begins: None,
                read_before: 0,
            });
            return plan;
        }
        let mut files: Vec<PlannedFile> = Vec::new();
        let mut by_first_packet: HashMap<u64, Vec<usize>> = HashMap::new();
        for path in paths {
            match look::<R>(path, before) {
                Ok(None) => {}
                Ok(Some(file)) => {
                    let packets = &file.beginning.packets;
                    let key = packets.key();
                    let alike = key.and_then(|key| by_first_packet.get(&key));
                    let mut alike = alike.into_iter().flatten().map(|place| &files[*place]);
                    if let Some(same) = alike.find(|other| other.beginning.packets.same_as(packets)) {
                        plan.failures.push(ReadError::Repeated { file: file.name, other: same.name.clone() });
                        continue;
                    }
                    if let Some(key) = key {
                        by_first_packet.entry(key).or_default().push(files.len());
                    }
                    files.push(file);
                }
                Err(error) => {
                    if !matches!(error, ReadError::Early { .. }) {
                        plan.missing.push(R::name_of(path));
                    }
                    plan.failures.push(error);
                }
            }
        }
        plan.files = in_order(files).into();
        plan
    }
}

/// Looks at a file; `None` if an earlier run read all of it.
fn look<R: CapturePart>(path: &Path, before: &JoinedFiles) -> Result<Option<PlannedFile>, ReadError> {
    let (name, beginning) = R::look(path)?;
    let mut begins = beginning.at;
    let mut read_before = 0;
    if let Some(known) = before.recognize(&name, &beginning.packets) {
        if known.size == Some(beginning.size) {
            return Ok(None);
        }
        read_before = known.frames;
        begins = known.times.map(|(_, last)| last).or(begins);
    } else if let (Some(begins), Some(until)) = (begins, before.latest())
        && until.nanos_since(begins) > MOST_LATE
    {
        let by = until.since(begins);
        return Err(ReadError::Early { file: name, by });
    }
    Ok(Some(PlannedFile { path: path.to_owned(), name, beginning, begins, read_before }))
}

/// Sorts files by the times of their first packets, and by their names where those are equal. A file
/// without packets stays behind the one that was given before it.
fn in_order(files: Vec<PlannedFile>) -> Vec<PlannedFile> {
    let mut before = Instant::ZERO;
    let mut keyed = Vec::with_capacity(files.len());
    for file in files {
        before = file.begins.unwrap_or(before);
        keyed.push((before, file));
    }
    keyed.sort_by(|(at, file), (other_at, other)| at.cmp(other_at).then_with(|| by_number(&file.name, &other.name)));
    keyed.into_iter().map(|(_, file)| file).collect()
}

/// Compares names, and numbers in them by value: `day.pcap9` is before `day.pcap10`.
fn by_number(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let digits = |text: &[u8]| text.iter().take_while(|c| c.is_ascii_digit()).count();
        let (in_a, in_b) = (digits(a), digits(b));
        if in_a > 0 && in_b > 0 {
            let ((number_a, rest_a), (number_b, rest_b)) = (a.split_at(in_a), b.split_at(in_b));
            match by_value(number_a, number_b) {
                Ordering::Equal => (a, b) = (rest_a, rest_b),
                other => return other,
            }
            continue;
        }
        match (a.split_first(), b.split_first()) {
            (Some((x, rest_a)), Some((y, rest_b))) if x == y => (a, b) = (rest_a, rest_b),
            _ => return a.cmp(b),
        }
    }
}

/// Compares numbers of any length, written in digits.
fn by_value(a: &[u8], b: &[u8]) -> Ordering {
    let [a, b] = [a, b].map(|number| {
        let zeros = number.iter().take_while(|digit| **digit == b'0').count();
        &number[zeros..]
    });
    (a.len(), a).cmp(&(b.len(), b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_compared_by_value() {
        for (a, b, expected) in [
            ("a10", "a9", Ordering::Greater),
            ("a09", "a10", Ordering::Less),
            ("a1b", "a01c", Ordering::Less),
            ("a", "a1", Ordering::Less),
            ("b1", "a2", Ordering::Greater),
            ("day.pcap", "day.pcap", Ordering::Equal),
        ] {
            assert_eq!(by_number(a, b), expected, "{a} {b}");
        }
    }
}
