use super::grid::GAPS;
use super::grid::LOSS;
use super::watch::Watch;
use super::*;
use crate::experiment::Effort;
use recoup_path::DropCause;
use recoup_recovery::{Event, Transmission};
use recoup_sim::{Observer, Packet, Point};
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant, Offset, Segments, Span};
use recoup_wire::{Segment, SeqNumber};
use std::sync::LazyLock;

/// Enough flows for every verdict, but too few for the figure's precision.
const FEW: u64 = 1500;

/// Run once for all tests.
static FIGURE: LazyLock<Figure<CombinedCell>> = LazyLock::new(|| few(FEW));

fn few(flows: u64) -> Figure<CombinedCell> {
    figure(&crate::slp::setup(ID, Effort::Full), flows).unwrap()
}

fn get(load: Load, network: Network, recovery: Recovery, copied: Copied) -> &'static CombinedCell {
    let setup = Setup { load, network, recovery, copied, gap: GAP };
    let found = FIGURE.cells.iter().find(|cell| cell.setup == setup);
    found.expect("a cell of the grid")
}

#[test]
fn verdicts_are_as_expected() {
    let table = to_sheet(FIGURE.clone()).table;
    println!("{table}");
    crate::assert_fits_a_terminal(&table);
    crate::claims::assert_known(NAME, ID, Effort::Full, &FIGURE.claims);
}

/// Compares Gilbert's channel with values computed by hand, and random losses with the setting.
#[test]
fn networks_lose_the_share_they_are_set_to() {
    for (network, distance, expected) in [
        (Network::Random, 1, 0.02),
        (Network::Random, 9, 0.02),
        // Each packet ends the burst with probability 1/3.
        (Network::Bursts3, 0, 1.0),
        (Network::Bursts3, 1, 2.0 / 3.0),
        // The burst lasts, or ends and a new one begins with probability 1/3 · 0.02/0.98.
        (Network::Bursts3, 2, 4.0 / 9.0 + 1.0 / 3.0 * (1.0 / 3.0 * 0.02 / 0.98)),
        (Network::Bursts8, 1, 7.0 / 8.0),
        (Network::Bursts8, 10_000, 0.02),
    ] {
        let lost = network.lost_too(distance);
        let name = network.name();
        assert!((lost - expected).abs() < 1e-12, "{name} {distance}: {lost}");
    }
    for cell in FIGURE.cells.iter().filter(|cell| cell.setup.network == Network::Random) {
        let share = cell.lost as f64 / cell.packets as f64;
        let name = &cell.profile;
        assert!((share - LOSS).abs() < 0.002, "{name}: {share}");
    }
}

/// An original is the first packet with its sequence number, a copy the latest at its event.
#[test]
fn originals_and_copies_are_distinguished() {
    let mut watch = Watch::<true>::default();
    let now = Instant::ZERO;
    let packet = |ordinal, seq, payload_len, syn: bool| {
        let mut segment = Segment { seq: SeqNumber(seq), payload_len, ..Segment::default() };
        if syn {
            segment.flags |= recoup_wire::Flags::SYN;
        }
        Packet::new(FlowId(0), ordinal, segment)
    };
    let copy_of = |start, end| Event::Sent {
        what: Transmission::Copy(Span::new(Offset(start), Offset(end))),
        pipe: Segments::ONE,
        cwnd: Segments::ONE,
    };
    // SYN, its copy, the request, an ACK, the request's copy. SYN, request and the request's copy are lost.
    let (syn, request, ack) = (packet(0, 99, 0, true), packet(2, 100, 300, false), packet(3, 400, 0, false));
    let mut send = |packet: &Packet, lost: bool, event: Option<Event>| {
        watch.on_packet(now, Point::Sent, Direction::Up, packet);
        if let Some(event) = event {
            watch.on_event(now, FlowId(0), Host::Client, &event);
        }
        if lost {
            watch.on_packet(now, Point::Dropped(DropCause::Loss), Direction::Up, packet);
        }
    };
    send(&syn, true, None);
    send(&packet(1, 99, 0, true), false, Some(copy_of(0, 1)));
    send(&request, true, None);
    send(&ack, false, None);
    send(&packet(4, 100, 300, false), true, Some(copy_of(1, 301)));
    watch.end_flow();
    let expected = Pairs { originals_lost: 2, both_lost: 1, distances: [(1, 1), (2, 1)].into() };
    assert_eq!(watch.pairs, expected);
    assert_eq!((watch.packets, watch.lost, watch.firsts, watch.firsts_lost), (5, 3, 1, 1));
}

#[test]
fn the_seed_decides_the_results() {
    let (once, repeated) = (few(40), few(40));
    assert_eq!(once.cells, repeated.cells);
    let mut other = crate::slp::setup(ID, Effort::Full);
    other.base.seed = 2;
    assert_ne!(figure(&other, 40).unwrap().cells, once.cells);
}

/// Flows without SLP have no copies. With the paper's q a flow without loss has three.
#[test]
fn only_slp_copies() {
    for cell in &FIGURE.cells {
        let copies = cell.copies + cell.withheld + cell.pairs.originals_lost;
        assert_eq!(copies > 0, cell.setup.copied != Copied::Nothing, "{:?}", cell.setup);
        assert_eq!(cell.flows, FEW);
    }
    let cell = get(Load::Fetch, Network::Random, Recovery::Nothing, Copied::Paper);
    assert!((2900..=3000).contains(&(cell.copies * 1000 / FEW)), "{}", cell.copies);
}

#[test]
fn differences_compare_the_right_cells() {
    let nothing = get(Load::Short, Network::Random, Recovery::Nothing, Copied::Nothing);
    assert_eq!((nothing.saved_ms.mean, nothing.saved_ms.half), (0.0, 0.0));
    let tlpr = get(Load::Short, Network::Random, Recovery::Tlpr, Copied::Nothing);
    let both = get(Load::Short, Network::Random, Recovery::Tlpr, Copied::Paper);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
    close(both.saved_ms.mean, nothing.fct_ms.mean - both.fct_ms.mean);
    close(both.saved_by_copies_ms.mean, tlpr.fct_ms.mean - both.fct_ms.mean);
    close(both.added_bytes.mean, both.bytes - nothing.bytes);
    close(both.added_by_copies_bytes.mean, both.bytes - tlpr.bytes);
    assert_eq!(tlpr.saved_by_copies_ms.mean, 0.0);
}

/// Each cell has a row under the heading of its load and network.
#[test]
fn every_cell_is_printed_once() {
    let table = to_sheet(FIGURE.clone()).table;
    let title = "(rtt=40ms rate=20Mbit request=300B): 1500 flows per row, seed 1; an FCT counts as 10 s";
    assert!(FIGURE.title.contains(title), "{}", FIGURE.title);
    // Cells with the default gap are in two tables.
    let gaps = GAPS.len() + 1;
    let numbers = &table;
    let rows = |line: &&str| line.starts_with("| ") && !line.contains("copies of");
    let expected = Setup::mechanisms().len() + Network::ALL.len() * gaps;
    assert_eq!(numbers.lines().filter(rows).count(), expected, "{numbers}");
    for heading in [
        "34 kB, losses: bursts of 3\n",
        "8 segments, losses: random\n",
        "8 segments, losses: bursts of 8: copies and their gap (of SRTT), ",
    ] {
        assert_eq!(numbers.matches(&format!("\n{heading}")).count(), 1, "{heading}");
    }
    assert!(!numbers.contains("p99.9") && !numbers.contains("withheld"));
}

#[test]
fn every_cell_is_in_csv_and_json() {
    let sheet = to_sheet(FIGURE.clone());
    let csv = &sheet.csv;
    let cells = Setup::mechanisms().len() + Setup::gaps().len();
    assert_eq!(csv.lines().count(), 1 + cells);
    assert!(csv.lines().all(|line| line.split(',').count() == 29), "{csv}");
    let header = "figure,load,network,recovery,copied,gap,profile,flows,late,fct_ms,fct_ms_half,\
         p99_ms,p999_ms,saved_ms,saved_ms_half,saved_by_copies_ms,\
         saved_by_copies_ms_half,bytes,added_bytes,added_bytes_half,\
         added_by_copies_bytes,added_by_copies_bytes_half,copies,withheld,\
         retransmissions,packets,lost,originals_lost,both_lost";
    assert_eq!(csv.lines().next(), Some(header));
    let json = &sheet.json;
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(cells));
    assert_eq!(json["cells"][2]["copied"], "paper's q");
    assert_eq!(json["first_packets"].as_array().map(Vec::len), Some(cells));
    let next = &json["distances"][0];
    assert_eq!(next["distance"], 1, "{next}");
    assert!(next["originals_lost"].as_u64() > Some(0), "{next}");
    let Picture::Bars(chart) = &FIGURE.picture else {
        panic!("bars");
    };
    let values = chart.panels.iter().flat_map(|panel| &panel.groups);
    assert!(values.clone().all(|group| group.values.iter().all(Option::is_some)));
}
