//! Partitions of a simulated capture find what one analysis finds.

use super::*;
use crate::analysis::{
    AllConnections, AllEpisodes, AllRetransmissions, Summary, Tabular, connections, episodes, retransmissions_in, run,
    write_json,
};
use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_lab::scenario::Scenario;
use recoup_recovery::Profile;
use recoup_sim::Simulation;
use recoup_trace::read::JoinedFiles;
use recoup_units::FlowId;
use std::collections::HashMap;
use std::fs;
use std::sync::OnceLock;
use tempfile::TempDir;

/// The senders of the capture, each on hosts of its own.
const SENDERS: [&str; 5] = ["linux-6", "reno", "windows-xp", "linux-3.17", "rfc6675+rack"];

/// Flows of each sender.
const FLOWS: u64 = 40;

/// A record of a pcap file: its time in ns, and the packet.
type Captured = (u64, Vec<u8>);

/// The flows of all senders, which overlap in time, and the header of their file.
fn captured() -> &'static (Vec<u8>, Vec<Captured>) {
    static CAPTURED: OnceLock<(Vec<u8>, Vec<Captured>)> = OnceLock::new();
    CAPTURED.get_or_init(|| {
        let mut header = Vec::new();
        let mut all = Vec::new();
        for (number, sender) in SENDERS.iter().enumerate() {
            let (head, records) = simulated(sender, number as u8);
            header = head;
            all.extend(records);
        }
        all.sort_by_key(|(at, _)| *at);
        (header, all)
    })
}

/// Flows of one sender. Its servers are three hosts.
fn simulated(sender: &str, number: u8) -> (Vec<u8>, Vec<Captured>) {
    let folder = tempfile::tempdir().unwrap();
    let profile: Profile = sender.parse().unwrap();
    // Reordering makes retransmissions spurious. Some receivers do not report it.
    let scenario = Scenario::load(["fetch", "reordering"][usize::from(number) % 2]).unwrap();
    let settings = &scenario.settings;
    let paths = CapturePaths::new(folder.path(), "flows");
    let mut capture = Capture::create(&paths).unwrap();
    let mut simulation = Simulation::new(&settings.path().unwrap()).unwrap();
    let mut spec = settings.flow(&profile);
    spec.client.dsack = number != 1;
    for flow in 0..FLOWS {
        simulation.run(&spec, u64::from(number), FlowId(flow), &mut capture);
    }
    capture.finish().unwrap();
    let file = fs::read(&paths.server).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 101), "IP packets in ns");
    let mut begun: HashMap<[u8; 12], u64> = HashMap::new();
    let (mut at, mut records) = (24, Vec::new());
    while at < file.len() {
        let length = word(at + 8) as usize;
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        let mut packet = file[at + 16..at + 16 + length].to_vec();
        at += 16 + length;
        // Port 80 is the server's, in either direction.
        let mut ends: [u8; 12] = packet[12..24].try_into().unwrap();
        let from_server = ends[8..10] < ends[10..12];
        if from_server {
            ends = [&ends[4..8], &ends[..4], &ends[10..12], &ends[8..10]].concat().try_into().unwrap();
        }
        let start = *begun.entry(ends).or_insert(time);
        let [client, server] = if from_server { [16, 12] } else { [12, 16] };
        packet[client + 2] = packet[client + 2].wrapping_add(number * 40);
        packet[server + 2] = number;
        packet[server + 3] = ends[9] % 3 + 1;
        let first = 1_700_000_000_000_000_000;
        records.push((first + (start % 1_000_000_000_000) / 5 + (time - start), packet));
    }
    (file[..24].to_vec(), records)
}

fn file(header: &[u8], records: &[Captured]) -> Vec<u8> {
    let mut file = header.to_vec();
    for (at, packet) in records {
        let words = [at / 1_000_000_000, at % 1_000_000_000, packet.len() as u64, packet.len() as u64];
        words.iter().for_each(|word| file.extend((*word as u32).to_le_bytes()));
        file.extend(packet);
    }
    file
}

/// Capture files in a folder.
struct Files {
    folder: TempDir,
    paths: Vec<PathBuf>,
}

impl Files {
    /// Files with these packets.
    fn new(parts: &[&[Captured]]) -> Self {
        let mut files = Self { folder: tempfile::tempdir().unwrap(), paths: Vec::new() };
        parts.iter().for_each(|part| files.add(&file(&captured().0, part)));
        files
    }

    fn add(&mut self, bytes: &[u8]) {
        let path = self.folder.path().join(format!("{}.pcap", self.paths.len()));
        fs::write(&path, bytes).unwrap();
        self.paths.push(path);
    }

    /// The whole capture in 100 files that are cut anywhere.
    fn cut(records: &[Captured]) -> Self {
        let mut parts: Vec<&[Captured]> = Vec::new();
        let (mut rest, mut seed) = (records, 7_u64);
        for left in (1..=100).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let most = 2 * rest.len() / left;
            let count = match left {
                1 => rest.len(),
                _ => (seed >> 33) as usize % most.max(1),
            };
            let (part, later) = rest.split_at(count);
            parts.push(part);
            rest = later;
        }
        Self::new(&parts)
    }

    fn split(&self, partitions: usize, settings: &Settings) -> Vec<SplitFile> {
        let folder = self.folder.path();
        let split = |path: &PathBuf| split(path, folder, partitions, settings).unwrap();
        self.paths.iter().map(split).collect()
    }
}

fn settings() -> Settings {
    Settings { threads: 0, ..Settings::default() }
}

/// Everything that is shown of an analysis.
#[derive(Debug, PartialEq)]
struct Shown {
    text: String,
    notes: Vec<String>,
    counts: String,
}

fn shown<V: Tabular>(analyzed: Analyzed<V>, rows: impl Fn(&Analyzed<V>) -> String) -> Shown {
    let (notes, counts) = (analyzed.notes(), analyzed.counts.clone());
    let mut analyzed = analyzed;
    analyzed.capture = "capture".into();
    let mut json = Vec::new();
    let csv = rows(&analyzed);
    write_json(&[analyzed], &mut json).unwrap();
    Shown { text: csv + &String::from_utf8(json).unwrap(), notes, counts: format!("{counts:?}") }
}

fn one<V: PartitionView>(paths: &[PathBuf], settings: &Settings) -> Analyzed<V> {
    let joined = Joined::open(paths, &JoinedFiles::default());
    run("capture", joined, settings, V::default, |_| true).unwrap()
}

/// The values go through bytes, as between machines. Returns how many partitions were analyzed, pass by pass.
fn partitioned<V: PartitionView>(files: &[SplitFile], settings: &Settings) -> (FinalAnalysis<V>, Vec<usize>) {
    let plan = plan(files, settings).unwrap();
    let plan: CapturePlan = from_bytes(&to_bytes(&plan).unwrap()).unwrap();
    let mut again: Vec<usize> = (0..plan.partitions).collect();
    let (mut analyses, mut passes) = (Vec::new(), Vec::new());
    let mut facts = Arc::new(ForeignFacts::default());
    loop {
        passes.push(again.len());
        for number in again {
            let analysis = analyze_partition::<V>(&plan, number, &facts, settings).unwrap();
            analyses.push(from_bytes(&to_bytes(&analysis).unwrap()).unwrap());
        }
        match settle(&plan, analyses).unwrap() {
            Decision::Final(found) => return (*found, passes),
            Decision::Again { kept, partitions, facts: now } => {
                (analyses, again, facts) = (kept, partitions, Arc::new(now))
            }
        }
    }
}

fn rows_of_retransmissions(analyzed: &Analyzed<AllRetransmissions>) -> String {
    retransmissions_in(&analyzed.counts.files).to_csv(&analyzed.findings.rows)
}

fn rows_of_connections(analyzed: &Analyzed<AllConnections>) -> String {
    connections().to_csv(&analyzed.findings.rows)
}

fn rows_of_episodes(analyzed: &Analyzed<AllEpisodes>) -> String {
    episodes().to_csv(&analyzed.findings.rows)
}

/// Compares all views for each number of partitions. Returns the passes of the last one.
fn compare(files: &Files, counts: &[usize], settings: &Settings) -> Vec<usize> {
    let paths = &files.paths;
    let whole = (
        shown(one(paths, settings), rows_of_retransmissions),
        shown(one(paths, settings), rows_of_connections),
        shown(one::<Summary>(paths, settings), |_| String::new()),
        shown(one(paths, settings), rows_of_episodes),
    );
    let mut passes = Vec::new();
    for &partitions in counts {
        let split = files.split(partitions, settings);
        let (retransmissions, took) = partitioned(&split, settings);
        assert!(!retransmissions.reached_memory_limit);
        passes = took;
        let parts = (
            shown(retransmissions.analyzed, rows_of_retransmissions),
            shown(partitioned(&split, settings).0.analyzed, rows_of_connections),
            shown(partitioned::<Summary>(&split, settings).0.analyzed, |_| String::new()),
            shown(partitioned(&split, settings).0.analyzed, rows_of_episodes),
        );
        for (part, whole) in [(&parts.0, &whole.0), (&parts.1, &whole.1), (&parts.2, &whole.2), (&parts.3, &whole.3)] {
            assert!(part.text == whole.text, "{partitions} partitions: {}", difference(part, whole));
            assert_eq!(part.notes, whole.notes, "{partitions} partitions");
            assert_eq!(part.counts, whole.counts, "{partitions} partitions");
        }
    }
    passes
}

/// The first line that differs.
fn difference(part: &Shown, whole: &Shown) -> String {
    let mut lines = part.text.lines().zip(whole.text.lines());
    let found = lines.find(|(part, whole)| part != whole);
    format!("{found:#?}")
}

#[test]
fn partitions_of_a_hundred_files_find_what_one_analysis_finds() {
    let files = Files::cut(&captured().1);
    let passes = compare(&files, &[1, 3, 8, 16], &settings());
    assert!(passes.len() > 1, "facts about hosts were exchanged: {passes:?}");
}

#[test]
fn without_the_second_pass_rows_differ() {
    let settings = settings();
    let files = Files::new(&[&captured().1]);
    let plan = plan(&files.split(8, &settings), &settings).unwrap();
    let first =
        (0..8).map(|number| analyze_partition::<AllConnections>(&plan, number, &Arc::default(), &settings).unwrap());
    let first: Vec<_> = first.collect();
    let findings = first.iter().flat_map(|analysis| analysis.findings());
    let mut rows: Vec<_> = findings.flat_map(|findings| findings.rows.clone()).collect();
    rows.sort_by_key(|row| *row.frames.start());
    let of_one = one::<AllConnections>(&files.paths, &settings).findings.rows;
    assert_eq!(rows.len(), of_one.len());
    // The numbers of connections are not those of the whole yet.
    for (row, whole) in rows.iter_mut().zip(&of_one) {
        row.id = whole.id;
    }
    let differ = rows.iter().zip(&of_one).filter(|(part, whole)| part != whole);
    let differ = differ.count();
    println!("{differ} of {} connections differ", rows.len());
    assert!(differ > 0, "no host fact of another partition mattered");
    let Decision::Again { partitions, .. } = settle(&plan, first).unwrap() else {
        panic!("the first pass cannot be final");
    };
    assert!(!partitions.is_empty());
}

#[test]
fn timestamps_may_be_out_of_order_and_clocks_set_back() {
    let mut records = captured().1.clone();
    let count = records.len();
    for i in (10..count - 20).step_by(97) {
        records.swap(i, i + 7);
    }
    // Single timestamps are wrong, and the clock is set back by an hour.
    records[count / 3].0 += 86_400_000_000_000;
    records[count / 4].0 -= 4_000_000_000;
    records[count / 2..].iter_mut().for_each(|record| record.0 -= 3_600_000_000_000);
    let files = Files::new(&[&records]);
    compare(&files, &[3, 8], &settings());
}

#[test]
fn files_that_overlap_are_merged_and_their_common_packets_count_once() {
    let records = &captured().1;
    let third = records.len() / 3;
    let files = Files::new(&[&records[..2 * third], &records[third..], &records[..10], &[]]);
    compare(&files, &[1, 8], &settings());
}

#[test]
fn damaged_and_empty_files_are_named() {
    let records = &captured().1;
    let quarter = records.len() / 4;
    let mut files = Files::new(&[&records[..quarter], &records[3 * quarter..], &[]]);
    let mut damaged = file(&captured().0, &records[quarter..2 * quarter]);
    let place = damaged.len() / 2;
    damaged[place..place + 3000].fill(0xff);
    files.add(&damaged);
    let mut cut = file(&captured().0, &records[2 * quarter..3 * quarter]);
    cut.truncate(cut.len() - 11);
    files.add(&cut);
    files.add(b"");
    files.add(b"no capture at all, but a text");
    compare(&files, &[1, 8], &settings());
    let split = files.split(3, &settings());
    let failed: Vec<&str> = split.iter().filter_map(|file| file.failure.as_deref()).collect();
    let joined = Joined::open(&files.paths, &JoinedFiles::default()).failures();
    assert_eq!(failed, joined.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(plan(&split, &settings()).unwrap().failures, failed);
}

#[test]
fn partitions_may_have_no_packets() {
    let records = &captured().1;
    let one_connection = |(_, packet): &&Captured| {
        let mut ends = [&packet[12..16], &packet[16..20]];
        ends.sort_unstable();
        let mut ports = [&packet[20..22], &packet[22..24]];
        ports.sort_unstable();
        let mut first = [&records[0].1[20..22], &records[0].1[22..24]];
        first.sort_unstable();
        ports == first
    };
    let few: Vec<Captured> = records.iter().filter(one_connection).take(40).cloned().collect();
    let files = Files::new(&[&few]);
    let split = files.split(16, &settings());
    assert!(split[0].packets.contains(&0));
    compare(&files, &[16], &settings());
}

#[test]
fn a_damaged_value_is_no_value() {
    let bytes = to_bytes(&(1, "two")).unwrap();
    assert_eq!(from_bytes::<(i32, String)>(&bytes).unwrap(), (1, "two".to_owned()));
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        assert!(from_bytes::<(i32, String)>(&damaged).is_err(), "byte {place}");
    }
}

#[test]
fn a_limit_of_memory_that_one_analysis_reaches_is_reported() {
    let files = Files::new(&[&captured().1]);
    for (most_memory, reached) in [(1 << 12, true), (1 << 30, false)] {
        let settings = Settings { most_memory, ..settings() };
        let split = files.split(3, &settings);
        let (found, _) = partitioned::<Summary>(&split, &settings);
        assert_eq!(found.reached_memory_limit, reached, "{most_memory} bytes");
    }
}
