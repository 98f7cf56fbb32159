//! A capture in parts, analyzed part by part with a state in between, shows what the whole capture shows.

use super::*;
use crate::analysis::{
    AllConnections, AllEpisodes, AllRetransmissions, Change, Changes, Collector, Record, Row, Summary, Tabular, run,
    write_json,
};
use crate::state_file::Origin;
use recoup_lab::run::run_observed;
use recoup_lab::scenario::Scenario;
use recoup_recovery::Event;
use recoup_sim::{Observer, Packet, Point};
use recoup_table::Columns;
use recoup_tcp::flow::Host;
use recoup_trace::read::Reader;
use recoup_units::{Direction, FlowId, Instant};
use recoup_wire::pcap::Writer;
use recoup_wire::{Endpoints, Payload, encode};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version of the analysis in the tests' state files.
const VERSION: u32 = 1;

/// A packet at the server: when, on the wire.
type Captured = (Instant, Vec<u8>);

/// Records the packets of flows that overlap: each begins a while after the one before.
struct Server {
    packets: Vec<Captured>,
    /// Distinguishes the flows of several runs.
    group: u8,
    ids: [u16; 2],
}

/// Between the beginnings of two flows.
const GAP: Duration = Duration::from_millis(170);

impl Observer for Server {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let at_server = match direction {
            Direction::Down => Point::Sent,
            Direction::Up => Point::Arrived,
        };
        if point != at_server {
            return;
        }
        let flow = packet.flow.0;
        let client = [198, 51, 100, (flow % 7) as u8 + 1];
        let port = 1024 + 256 * u16::from(self.group) + flow as u16;
        let up = Endpoints { src: (client, port).into(), dst: ([192, 0, 2, self.group], 80).into() };
        let endpoints = match direction {
            Direction::Up => up,
            Direction::Down => up.reverse(),
        };
        let id = &mut self.ids[direction as usize];
        *id = id.wrapping_add(1);
        let mut bytes = Vec::new();
        encode(&packet.segment, &endpoints, *id, Payload::Fill(0), &mut bytes).unwrap();
        self.packets.push((now + GAP * flow as u32, bytes));
    }

    fn on_event(&mut self, _: Instant, _: FlowId, _: Host, _: &Event) {}
}

/// The packets of some hundred connections with losses both ways, ordered by time.
fn packets() -> Vec<Captured> {
    let mut all = Vec::new();
    for (group, profile) in (0..).zip(["linux-6", "linux-3.17", "reno"]) {
        let mut scenario = Scenario::load("prr").unwrap();
        (scenario.flows, scenario.seed) = (40, group);
        for (key, value) in [("segments", "220"), ("drop", "bernoulli:0.03,up:bernoulli:0.1"), ("rtt", "60ms")] {
            scenario.set(key, value).unwrap();
        }
        let mut server = Server { packets: Vec::new(), group: group as u8, ids: [0; 2] };
        run_observed(&scenario, &profile.parse().unwrap(), &mut server, |_| ()).unwrap();
        all.append(&mut server.packets);
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

fn capture(packets: &[Captured]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Duration::from_secs(1_000_000)).unwrap();
    for (at, packet) in packets {
        writer.write(*at, packet).unwrap();
    }
    writer.finish().unwrap()
}

fn settings() -> Settings {
    Settings {
        threads: 0,
        // Some connections end while others go on.
        idle: Duration::from_secs(3),
        ..Settings::default()
    }
}

/// A state file in a folder of its own.
struct StateFile {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl StateFile {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        Self { _dir: dir, path }
    }

    fn origin<V: Continued>() -> Origin {
        Origin {
            view: V::ARGUMENT.into(),
            profile: None,
            idle: settings().idle,
            filter: None,
            window: settings().window,
        }
    }

    fn open<V: Continued>(path: &Path) -> StateReader {
        StateReader::open(path, VERSION, &Self::origin::<V>()).unwrap()
    }

    fn load<V: Continued>(path: &Path) -> Continuation<V> {
        let file = path.exists().then(|| Self::open::<V>(path));
        Continuation::load(file, Vec::new(), &settings()).unwrap()
    }

    /// Goes on with the state, in these packets.
    fn run<V: Continued>(&self, packets: &[Captured]) -> Analyzed<V::Shown> {
        let bytes = capture(packets);
        let mut analysis = Self::load::<V>(&self.path);
        analysis.read(Reader::new("x", &bytes[..]).unwrap(), |_| true).unwrap();
        let state = StateWriter::create(&self.path, VERSION, &Self::origin::<V>()).unwrap();
        let (shown, file) = analysis.finish("x", Some(state)).unwrap();
        file.unwrap().publish().unwrap();
        shown
    }
}

fn whole<V: Collector + Default>(packets: &[Captured]) -> Analyzed<V> {
    let bytes = capture(packets);
    let reader = Reader::new("x", &bytes[..]).unwrap();
    run("x", reader, &settings(), V::default, |_| true).unwrap()
}

/// The packets, cut at these places, in thousandths.
fn cut<'a>(packets: &'a [Captured], at: &[usize]) -> Vec<&'a [Captured]> {
    let places = at.iter().map(|at| packets.len() * at / 1000);
    let places: Vec<usize> = std::iter::once(0).chain(places).chain([packets.len()]).collect();
    places.windows(2).map(|ends| &packets[ends[0]..ends[1]]).collect()
}

/// A row's cells.
fn cells<R: 'static>(columns: &Columns<R>, row: &R) -> Vec<u8> {
    let mut cells = Vec::new();
    columns.cells()(row, &mut cells);
    cells
}

/// Keeps the latest record of every key.
fn fold<R: Row + Debug>(latest: &mut BTreeMap<R::Key, Vec<u8>>, records: Vec<Record<R>>) {
    for Record { change, key, row } in records {
        let row = row.map(|row| cells(&R::columns(), &row));
        let before = match row {
            Some(row) => latest.insert(key, row),
            None => latest.remove(&key),
        };
        assert_eq!(before.is_none(), change == Change::New, "{key:?} {change:?}");
    }
}

const CUTS: [&[usize]; 6] = [
    &[500],
    &[300, 301, 302, 700],
    &[100, 200, 300, 400, 500, 600, 700, 800, 900],
    &[999],
    &[0, 450],
    &[600, 600, 650, 1000],
];

/// Checks all cuts: the records of all runs are the rows of the whole. `may_vanish`: rows of open connections may be
/// withdrawn.
fn check_rows<V, R>(may_vanish: bool, rows: fn(V) -> Vec<R>)
where
    R: Row + Debug,
    V: Continued<Shown = Changes<R>>,
{
    let packets = packets();
    let columns = R::columns();
    let expected = whole::<V>(&packets);
    let notes = expected.notes();
    let expected = rows(expected.findings);
    assert!(expected.len() > 100, "{}", expected.len());
    let expected: BTreeMap<R::Key, Vec<u8>> = expected.iter().map(|row| (row.key(), cells(&columns, row))).collect();
    for at in CUTS {
        let state = StateFile::new();
        let mut latest = BTreeMap::new();
        let mut changes = BTreeMap::new();
        let mut last = None;
        for part in cut(&packets, at) {
            let shown = state.run::<V>(part);
            last = Some(shown.notes());
            for record in &shown.findings.records {
                *changes.entry(record.change.name()).or_insert(0) += 1;
            }
            fold(&mut latest, shown.findings.records);
        }
        for (key, row) in &expected {
            let found = latest.get(key).map(|row| String::from_utf8_lossy(row));
            assert_eq!(found.as_deref(), Some(&*String::from_utf8_lossy(row)), "{key:?} {at:?}");
        }
        assert_eq!(latest.len(), expected.len(), "{at:?}");
        assert_eq!(last, Some(notes.clone()), "{at:?}");
        assert!(may_vanish || changes.get("new") == Some(&expected.len()), "{changes:?} {at:?}");
        // Nothing changes without another packet.
        let again = StateFile::load::<V>(&state.path);
        let (shown, _) = again.finish("x", None).unwrap();
        assert_eq!(shown.findings.records.len(), 0, "{:?}", shown.findings.records);
    }
}

#[test]
fn the_latest_records_of_all_runs_are_the_retransmissions_of_the_whole() {
    check_rows::<AllRetransmissions, _>(false, |view| view.rows);
}

#[test]
fn the_latest_records_of_all_runs_are_the_connections_of_the_whole() {
    check_rows::<AllConnections, _>(false, |view| view.rows);
}

#[test]
fn the_latest_records_of_all_runs_are_the_episodes_of_the_whole() {
    check_rows::<AllEpisodes, _>(true, |view| view.rows);
}

fn json<V: Tabular>(analyzed: Analyzed<V>) -> String {
    let mut out = Vec::new();
    write_json(&[analyzed], &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_last_summary_is_that_of_the_whole() {
    let packets = packets();
    let expected = json(whole::<Summary>(&packets));
    for at in CUTS {
        let state = StateFile::new();
        let shown = cut(&packets, at).into_iter().map(|part| state.run::<Summary>(part));
        let last = shown.reduce(|_, last| last).unwrap();
        assert_eq!(json(last), expected, "{at:?}");
        // A state alone shows the same.
        let (shown, _) = StateFile::load::<Summary>(&state.path).finish("x", None).unwrap();
        assert_eq!(json(shown), expected, "{at:?}");
    }
}

/// Until a capture ends, the summary counts what is open as a capture that ends there does.
#[test]
fn every_summary_is_that_of_the_packets_so_far() {
    let packets = packets();
    let state = StateFile::new();
    let mut read = 0;
    for part in cut(&packets, &[250, 500, 750]) {
        read += part.len();
        let shown = json(state.run::<Summary>(part));
        assert_eq!(shown, json(whole::<Summary>(&packets[..read])));
    }
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let packets = packets();
    let bytes = capture(&packets);
    let mut analysis = Continuation::<Summary>::load(None, Vec::new(), &settings()).unwrap();
    let mut calls = 0;
    let reader = Reader::new("x", &bytes[..]).unwrap();
    let watch = |_: &Reader<'_>| {
        calls += 1;
        calls < 2
    };
    analysis.read(reader, watch).unwrap();
    let read = analysis.counts().frames as usize;
    assert!(read > 0 && read < packets.len(), "{read}");
    let state = StateFile::new();
    let origin = StateFile::origin::<Summary>();
    let file = StateWriter::create(&state.path, VERSION, &origin).unwrap();
    let (shown, file) = analysis.finish("x", Some(file)).unwrap();
    assert!(shown.interrupted);
    file.unwrap().publish().unwrap();
    let shown = state.run::<Summary>(&packets[read..]);
    assert_eq!(json(shown), json(whole::<Summary>(&packets)));
}

#[test]
fn a_state_of_something_else_is_refused() {
    let state = StateFile::new();
    let origin = StateFile::origin::<Summary>();
    let mut file = StateWriter::create(&state.path, VERSION, &origin).unwrap();
    file.part(&"not an analysis").unwrap();
    file.complete().unwrap().publish().unwrap();
    let file = StateFile::open::<Summary>(&state.path);
    let Err(error) = Continuation::<Summary>::load(Some(file), Vec::new(), &settings()) else {
        panic!("accepted");
    };
    let line = error.to_string();
    assert!(line.contains("state file cannot be decoded"), "{line}");
}
