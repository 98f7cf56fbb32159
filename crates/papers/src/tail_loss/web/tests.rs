use super::*;
use crate::assert_fits_a_terminal;
use crate::claims::{
    ClaimVerdict::{self, Fails, Holds, Undecided},
    assert_known,
};
use crate::experiment::Effort;
use crate::tail_loss::tests::setup_of;

/// The cells of the paper's sites.
fn cells(downloads: usize, threads: usize) -> Vec<WebCell> {
    run(&setup_of(ID), &sites::pages().unwrap(), downloads, threads).unwrap()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    assert_eq!(cells(2, 1), cells(2, 2));
}

/// Downloads of three sites with these mean OCTs in ms, each 10 ms more than the one before it, and these spurious
/// retransmissions of a million segments.
fn made_up(oct: impl Fn(u64, Mechanism, u64) -> f64, spurious: [u64; 4]) -> Vec<WebCell> {
    let mut cells = Vec::new();
    for rtt_ms in RTTS {
        for page in 0..3 {
            for mechanism in MECHANISMS {
                let download = |n: u64| Download {
                    oct_ms: None,
                    selected_ms: std::array::from_fn(|_| vec![oct(rtt_ms, mechanism, n) + 10.0 * n as f64]),
                    segments_sent: 25_000,
                    spurious: if n == 0 { spurious[mechanism as usize] } else { 0 },
                    packets: 1000,
                    lost: 15,
                };
                cells.push(WebCell {
                    page,
                    site: sites::SITES[page].0.into(),
                    rtt_ms,
                    mechanism,
                    downloads: (0..40).map(download).collect(),
                });
            }
        }
    }
    cells
}

/// Mean OCTs as the paper has them.
fn as_in_the_paper(rtt_ms: u64, mechanism: Mechanism, _: u64) -> f64 {
    match (rtt_ms, mechanism) {
        (10, Mechanism::Baseline) => 1000.0,
        (10, Mechanism::Rtor) => 800.0,
        (10, _) => 300.0,
        (_, Mechanism::Baseline) => 830.0,
        (_, Mechanism::Rtor) => 700.0,
        (_, Mechanism::Tlp) => 760.0,
        (_, Mechanism::Tlpr | Mechanism::TlprFull) => 650.0,
    }
}

const SPURIOUS: [u64; 4] = [48, 59, 1800, 2100];

const NEWSPAPER: [&str; 3] = ["web-newspaper-rtor", "web-newspaper-tlp", "web-newspaper-baseline"];

fn verdict(cells: &[WebCell], id: &str) -> ClaimVerdict {
    let claims = claims::all(cells).unwrap();
    claims.iter().find(|claim| claim.id == id).expect("a claim").verdict
}

#[test]
fn the_papers_results_confirm_every_claim() {
    // The made-up downloads have no other objects, and not the paper's shares below 1 s.
    let is_left_out = |id: &str| id == "web-selection-shows-more" || NEWSPAPER.contains(&id);
    let claims = claims::all(&made_up(as_in_the_paper, SPURIOUS)).unwrap();
    for claim in claims.iter().filter(|claim| !is_left_out(claim.id)) {
        assert_eq!(claim.verdict, Holds, "{}: {}", claim.id, claim.ours);
    }
}

#[test]
fn each_claim_about_oct_is_refuted_by_a_change_of_one_mechanism() {
    use Mechanism::{Baseline, Rtor, Tlp, Tlpr};
    // A change of the mean OCTs of one mechanism at one RTT, in ms.
    for (id, rtt, mechanism, change) in [
        ("web-10ms-better", 10, Rtor, 300.0),
        ("web-10ms-better", 10, Tlp, 800.0),
        ("web-10ms-probes", 10, Tlpr, 600.0),
        ("web-10ms-probes", 10, Rtor, -600.0),
        ("web-10ms-halved", 10, Baseline, -500.0),
        ("web-160ms-tlpr", 160, Tlpr, 60.0),
        ("web-160ms-tlpr", 160, Baseline, -200.0),
        ("web-160ms-rtor", 160, Rtor, 70.0),
        ("web-newspaper-1s", 160, Rtor, 200.0),
        ("web-newspaper-1s", 160, Tlp, 200.0),
    ] {
        let changed = |rtt_ms, one, n| {
            let is_changed = rtt_ms == rtt && one == mechanism;
            as_in_the_paper(rtt_ms, one, n) + if is_changed { change } else { 0.0 }
        };
        let cells = made_up(changed, SPURIOUS);
        assert_eq!(verdict(&cells, id), Fails, "{id}: {mechanism:?} {change}");
        if id != "web-newspaper-1s" {
            let by_loss = format!("{id}-by-loss");
            assert_eq!(verdict(&cells, &by_loss), Fails, "{by_loss}");
        }
    }
}

#[test]
fn each_claim_about_spurious_retransmissions_is_refuted_by_another_count() {
    for (id, spurious) in [
        ("web-spurious-probes", [48, 200, 1800, 2100]),
        ("web-spurious-probes", [200, 59, 1800, 2100]),
        ("web-spurious-order", [60, 59, 1800, 2100]),
        ("web-spurious-order", [48, 59, 2200, 2100]),
        ("web-spurious-tlpr", [48, 59, 1800, 5000]),
        ("web-spurious-rtor", [48, 180, 1800, 2100]),
    ] {
        let cells = made_up(as_in_the_paper, spurious);
        assert_eq!(verdict(&cells, id), Fails, "{id}: {spurious:?}");
    }
}

#[test]
fn what_varies_more_than_it_differs_is_undecided() {
    // TLP is 60 ms slower than RTOR on average, but by turns 940 ms faster and 1060 ms slower.
    let by_turns = |rtt_ms, one, n: u64| {
        let turn = if n.is_multiple_of(2) { 1000.0 } else { -1000.0 };
        as_in_the_paper(rtt_ms, one, n) + if one == Mechanism::Tlp { turn } else { 0.0 }
    };
    let cells = made_up(by_turns, SPURIOUS);
    assert_eq!(verdict(&cells, "web-160ms-rtor"), Undecided);
}

/// A cell whose downloads have these values under the paper's selection.
fn cell(values: impl IntoIterator<Item = Option<f64>>) -> WebCell {
    let download = |value: Option<f64>| Download {
        oct_ms: None,
        selected_ms: [value.into_iter().collect(), vec![], vec![], vec![]],
        segments_sent: 0,
        spurious: 0,
        packets: 0,
        lost: 0,
    };
    WebCell {
        page: 0,
        site: String::new(),
        rtt_ms: 10,
        mechanism: Mechanism::Baseline,
        downloads: values.into_iter().map(download).collect(),
    }
}

#[test]
fn equal_seeds_make_the_interval_of_a_difference_narrow() {
    let values = |plus: f64| (0..100).map(move |n| Some(f64::from(n * n % 101) + plus));
    let first = Selection::Object;
    let paired = difference(&cell(values(5.0)), &cell(values(0.0)), first, |oct| oct);
    assert!((paired.mean - 5.0).abs() < 1e-9 && paired.half < 1e-9, "{paired:?}");
    // Without pairs, the half widths of both means add up as independent ones do.
    let reversed: Vec<_> = values(0.0).rev().collect();
    let unpaired = difference(&cell(values(5.0)), &cell(reversed), first, |oct| oct);
    let one = Estimate::of((0..100).map(|n| f64::from(n * n % 101)));
    assert!(unpaired.half > 0.5 * one.half, "{unpaired:?}");
    // No mean counts downloads that are not selected.
    let half = values(5.0).enumerate().map(|(n, value)| value.filter(|_| n % 2 == 0));
    let taken: Vec<f64> = values(5.0).step_by(2).flatten().collect();
    let mean = taken.iter().sum::<f64>() / taken.len() as f64;
    let difference_of_means = difference(&cell(half), &cell([Some(0.0); 100]), first, |oct| oct);
    let alone = Estimate::of(taken.into_iter());
    assert!((difference_of_means.mean - mean).abs() < 1e-9);
    assert!((difference_of_means.half / alone.half - 1.0).abs() < 0.02);
    let few = cell((0..100).map(|n| (n < 19).then_some(1.0)));
    assert!(difference(&few, &few, first, |oct| oct).half.is_infinite());
}

/// A page of one object of this many segments.
fn page_of(segments: u64) -> Page {
    let bytes = segments * 1448;
    let objects = vec![recoup_sim::traffic::web::PageObject { bytes, subdomain: 0 }];
    let name = "page".into();
    Page { name, objects }
}

/// The testbed of a cell at 10 ms.
fn testbed(setup: &Setup, mechanism: Mechanism) -> Testbed {
    Testbed::new(setup, &setup.fitted(FIT.name), 10, mechanism).unwrap()
}

/// A download of a page whose data segment number `lost`, from 1, is lost once.
fn lossy(page: &Page, lost: &str, mechanism: Mechanism) -> Download {
    let mut setup = setup_of(ID);
    setup.base.settings.set("drop", lost, Path::new("")).unwrap();
    testbed(&setup, mechanism).download(page, 1).unwrap()
}

#[test]
fn a_loss_among_the_last_four_segments_selects_a_download() {
    for (lost, selected) in [("none", false), ("data:1", false), ("data:4", false), ("data:5", true), ("data:8", true)]
    {
        let download = lossy(&page_of(8), lost, Mechanism::Baseline);
        for selection in Selection::ALL {
            let octs = download.selected(selection);
            let expected: Vec<f64> = download.oct_ms.filter(|_| selected).into_iter().collect();
            assert_eq!(octs, expected, "{lost}: {selection:?}");
        }
        assert_eq!((download.segments_sent, download.spurious), (8 + 1 + u64::from(lost != "none"), 0));
    }
}

#[test]
fn an_object_counts_alone_and_a_connection_with_all_its_objects() {
    // The document, then one object on the same connection: the ninth segment is the document's, the tenth the object's.
    let mut page = page_of(9);
    page.objects.push(recoup_sim::traffic::web::PageObject { bytes: 1448, subdomain: 0 });
    let download = lossy(&page, "data:10", Mechanism::Baseline);
    let all = download.oct_ms.expect("both arrived");
    let [object] = download.selected(Selection::Object) else { panic!("one object") };
    assert!(*object > 200.0 && *object > all, "{object} {all}");
    assert_eq!(download.selected(Selection::Connection), [all]);
}

#[test]
fn an_object_takes_as_long_as_its_segments_on_the_link_and_two_round_trips() {
    // A SYN and a SYN-ACK of 60 bytes, a request of 352 bytes, which is the handshake's last ACK, too, and eight segments
    // of 1500 bytes at 10 Mbit/s.
    let download = lossy(&page_of(8), "none", Mechanism::Baseline);
    let headers = (60.0 + 60.0 + 352.0) * 8.0 / 1e4;
    let expected = 20.0 + headers + 8.0 * 1500.0 * 8.0 / 1e4;
    let oct = download.oct_ms.expect("it arrived");
    assert!((oct - expected).abs() < 1e-6, "{oct} {expected}");
}

#[test]
fn a_probe_is_faster_than_a_timeout_when_the_last_segment_is_lost() {
    let oct = |mechanism| lossy(&page_of(8), "data:8", mechanism).oct_ms.expect("it arrived");
    let [baseline, _, tlp, _] = MECHANISMS.map(oct);
    assert!(tlp < baseline, "{tlp} {baseline}");
}

#[test]
fn own_pages_have_no_claims_of_the_paper() {
    let mut setup = setup_of(ID);
    setup.pages = crate::experiment::Pages { own: Some(vec![page_of(3), page_of(9)]), downloads: Some(5) };
    let figure = figure(&setup).unwrap();
    assert!(figure.claims.is_empty());
    assert_eq!(figure.cells.len(), 2 * 3 * 4);
    assert!(figure.cells.iter().all(|cell| cell.downloads.len() == 5));
    let panels: Vec<_> = figure.cells.iter().filter_map(|cell| cell.panel(2)).collect();
    assert_eq!(panels.iter().collect::<String>(), "aaaabbbbccccddddeeeeffff");
    assert_fits_a_terminal(&sheet(&setup).unwrap().table);
}

#[test]
fn the_channel_loses_1_5_percent_and_settings_change_it() {
    let setup = setup_of(ID);
    let lost = |setup: &Setup| {
        let testbed = testbed(setup, Mechanism::Baseline);
        testbed.topology.links[1].hops.clone()
    };
    let recoup_path::HopSpec::Loss(loss) = lost(&setup)[0] else { panic!("expected a loss first") };
    let recoup_path::LossKind::GilbertElliott(channel) = loss.kind else {
        panic!("expected a Gilbert-Elliott channel")
    };
    assert!((channel.share_bad() - 0.015).abs() < 1e-6);
    let mut changed = setup.clone();
    changed.base.settings.set("drop", "bernoulli:0.5", Path::new("")).unwrap();
    assert_ne!(lost(&setup)[0], lost(&changed)[0]);
    assert_eq!(lost(&setup)[1..], lost(&changed)[1..]);
}

#[test]
fn verdicts_are_as_expected() {
    let figure = figure(&setup_of(ID)).unwrap();
    assert_known(NAME, ID, Effort::Quick, &figure.claims);
}
