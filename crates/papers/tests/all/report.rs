//! Loads a report in headless Chromium: zooms its figures, reads their values, filters its ledger, prints it.

mod readers;
mod sample;

use recoup_papers::html::{MAX_ROWS, Report, Verdict};
use recoup_testing::browser::{Browser, chromium};
use serde_json::{Value, json};

/// A browser with a report; `None` if there is none on this machine, which is reported.
fn open(report: &Report, name: &str) -> Option<Browser> {
    let Some(program) = chromium() else {
        recoup_testing::skip("there is no chromium");
        return None;
    };
    Some(Browser::open(&program, &report.to_html(), name))
}

/// One paper with a figure of each kind.
fn small() -> Report {
    sample::report(1, 4, 6)
}

/// As large as the real report.
fn large() -> Report {
    sample::report(4, 7, 9)
}

/// A number that an expression gives.
fn number(browser: &mut Browser, expression: &str) -> f64 {
    let value = browser.evaluate(expression);
    value.as_f64().unwrap_or_else(|| panic!("{expression}: {value}"))
}

/// The part of the first figure that is visible: left, top, width and height.
fn view(browser: &mut Browser) -> [f64; 4] {
    let shown = "document.querySelector('.picture > svg').getAttribute('viewBox')";
    let text = browser.evaluate(shown);
    let numbers = text.as_str().unwrap_or_default().split(' ');
    let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
    numbers.try_into().expect("four numbers")
}

/// The text of the tooltip of a figure, if it is visible.
fn tooltip(browser: &mut Browser, figure: usize) -> Vec<String> {
    let text = browser.evaluate(&format!(
        "(() => {{ const tip = document.querySelectorAll('.figure')[{figure}].querySelector('.tooltip'); \
         return tip.hidden ? '' : tip.innerText; }})()"
    ));
    let text = text.as_str().unwrap_or_default().to_string();
    text.lines().map(str::to_string).collect()
}

/// The addresses of the rows of the ledger that are visible.
fn rows(browser: &mut Browser) -> Vec<String> {
    let text = browser.evaluate(
        "[...document.querySelectorAll('.ledger tbody tr')].filter((row) => row.offsetParent !== null) \
         .map((row) => row.id).join(' ')",
    );
    let text = text.as_str().unwrap_or_default().to_string();
    text.split_whitespace().map(str::to_string).collect()
}

#[test]
fn a_figure_zooms_by_wheel_keys_and_buttons_and_goes_back() {
    let Some(mut browser) = open(&small(), "zoom") else {
        return;
    };
    let whole = view(&mut browser);
    let at = browser.centre_of(".picture");
    browser.wheel(at.0, at.1, -100.0);
    assert_eq!(view(&mut browser), whole, "the wheel alone scrolls");
    let at = browser.centre_of(".picture");
    const CONTROL: u32 = 2;
    browser.wheel_with(CONTROL, at, -300.0);
    let zoomed = view(&mut browser);
    assert!(zoomed[2] < 0.7 * whole[2], "{zoomed:?}");
    let is_near = |a: f64, b: f64| (a - b).abs() < 2.0;
    let middle = zoomed[0] + zoomed[2] / 2.0;
    assert!(is_near(middle, whole[2] / 2.0), "what is under the pointer stays: {zoomed:?}");

    browser.drag(at, (at.0 - 50.0, at.1));
    let panned = view(&mut browser);
    assert!(panned[0] > zoomed[0] + 10.0 && is_near(panned[2], zoomed[2]), "{panned:?}");
    // No further than the figure's edge.
    browser.drag(at, (at.0 + 900.0, at.1));
    assert_eq!(view(&mut browser)[0], 0.0);
    browser.evaluate("document.querySelector('.picture').dispatchEvent(new MouseEvent('dblclick'))");
    assert_eq!(view(&mut browser), whole, "a double click shows everything");

    browser.evaluate("document.querySelector('.picture').focus()");
    browser.press("+");
    assert!(view(&mut browser)[2] < whole[2], "a key zooms");
    browser.press("0");
    assert_eq!(view(&mut browser), whole);
    for (label, is_whole) in [("+", false), ("−", true), ("+", false), ("Reset", true)] {
        browser.evaluate(&format!(
            "[...document.querySelectorAll('.figure .buttons button')] \
             .find((button) => button.textContent === '{label}').click()"
        ));
        assert_eq!(view(&mut browser) == whole, is_whole, "{label}");
    }
    browser.assert_quiet();
}

#[test]
fn two_fingers_zoom_and_a_tap_shows_values() {
    let Some(mut browser) = open(&small(), "touch") else {
        return;
    };
    browser.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": true, "maxTouchPoints": 2 }));
    let whole = view(&mut browser);
    let (x, y) = browser.centre_of(".picture");
    let mut touch = |kind: &str, apart: &[f64]| {
        let point = |(i, by): (usize, &f64)| json!({ "x": x + by, "y": y, "id": i });
        let points: Vec<Value> = apart.iter().enumerate().map(point).collect();
        browser.call("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
    };
    touch("touchStart", &[-40.0]);
    touch("touchStart", &[-40.0, 40.0]);
    touch("touchMove", &[-80.0, 80.0]);
    touch("touchEnd", &[]);
    browser.settle();
    let zoomed = view(&mut browser);
    assert!((zoomed[2] - whole[2] / 2.0).abs() < 10.0, "{zoomed:?}");

    browser.evaluate("document.querySelector('.picture').dispatchEvent(new MouseEvent('dblclick'))");
    let (x, y) = browser.centre_of(".picture g[data-panel] g rect");
    for kind in ["touchStart", "touchEnd"] {
        let points = if kind == "touchStart" { json!([{ "x": x, "y": y }]) } else { json!([]) };
        browser.call("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
    }
    browser.settle();
    assert_eq!(tooltip(&mut browser, 0)[0], "linux-3.17");
    browser.assert_quiet();
}

#[test]
fn the_pointer_shows_the_values_of_marks_of_every_kind() {
    let Some(mut browser) = open(&small(), "values") else {
        return;
    };
    // The second bar of the second group.
    let (x, y) = browser.centre_of(".figure[id$=\"figure/fig1\"] g[data-panel] g:nth-of-type(6) rect");
    browser.move_to(x, y);
    let expected = ["linux-3.17+rtor", "Quick ACKs", "RTT (ms): 40", "Normalised FCT: 0.8571"];
    assert_eq!(tooltip(&mut browser, 0), expected);
    let rings = "document.querySelectorAll('.highlight').length";
    assert_eq!(number(&mut browser, rings), 1.0);
    browser.move_to(0.0, 0.0);
    assert_eq!(tooltip(&mut browser, 0), Vec::<String>::new());
    assert_eq!(number(&mut browser, rings), 0.0);

    // A vertex of the third line: its value is in the middle of the axis.
    let place = browser.evaluate(
        "(() => { const line = document.querySelectorAll('.figure')[1].querySelectorAll('polyline[data-points]')[2]; \
         line.scrollIntoView({ block: 'center' }); const [x, y] = line.getAttribute('points').split(' ')[200].split(','); \
         const { a, d, e, f } = line.getScreenCTM(); return [x * a + e, y * d + f]; })()",
    );
    let coordinate = |i: usize| place[i].as_f64().unwrap();
    browser.move_to(coordinate(0) + 0.5, coordinate(1) + 0.5);
    let expected = ["linux-3.17+tlp", "Web pages", "FCT (ms): 165", "share of the flows: 0.5"];
    assert_eq!(tooltip(&mut browser, 1), expected);

    // Keys go through the marks.
    browser.evaluate("document.querySelectorAll('.picture')[2].focus()");
    browser.press("n");
    let first = tooltip(&mut browser, 2);
    browser.press("n");
    let second = tooltip(&mut browser, 2);
    browser.press("p");
    assert_eq!(tooltip(&mut browser, 2), first);
    assert_ne!(first, second);
    let expected = ["SACK block", "PRR", "time (ms): 152", "sequence (kB): 13.5"];
    assert_eq!(first, expected);

    let (x, y) = browser.centre_of(".figure[id$=\"figure/fig4\"] g[data-panel] g rect");
    browser.move_to(x, y);
    let shown = tooltip(&mut browser, 3);
    let expected = ["below 20 senders", "linux-2.4", "best case (RTTs): 0.2", "reduction (RTTs): 0, up to 0.2"];
    assert_eq!(shown, expected);
    browser.assert_quiet();
}

#[test]
fn the_ledger_filters_sorts_and_copies() {
    let report = large();
    let Some(mut browser) = open(&report, "ledger") else {
        return;
    };
    let all = rows(&mut browser);
    assert_eq!(all.len(), 243);
    let type_in = |browser: &mut Browser, words: &str| {
        browser.evaluate(&format!(
            "(() => {{ const search = document.querySelector('#controls input[type=search]'); \
             search.value = '{words}'; search.dispatchEvent(new Event('input')); }})()"
        ));
    };
    type_in(&mut browser, "probe alone fig2");
    let found = rows(&mut browser);
    assert!(!found.is_empty() && found.len() < 20, "{found:?}");
    assert!(found.iter().all(|id| id.contains("/fig2/")), "{found:?}");
    type_in(&mut browser, "");

    browser.evaluate(
        "(() => { const select = document.querySelector('#controls select'); \
         select.value = 'prr'; select.dispatchEvent(new Event('change')); })()",
    );
    assert_eq!(rows(&mut browser).len(), 63);
    let verdicts = Verdict::ALL.map(|verdict| {
        let count = report.papers[1].experiments.iter().flat_map(|of| &of.claims);
        count.filter(|claim| claim.verdict == verdict).count()
    });
    // Hides what holds.
    browser.evaluate("document.querySelector('#controls button[aria-pressed]').click()");
    assert_eq!(rows(&mut browser).len(), 63 - verdicts[0]);
    let status = browser.evaluate("document.querySelector('#controls [role=status]').textContent");
    assert_eq!(status, format!("{} of 243 claims are shown.", 63 - verdicts[0]));

    // The numbers of the summary lead to their claims.
    browser.evaluate("document.querySelector('#tail-loss a[data-only=fails]').click()");
    browser.settle();
    assert_eq!(rows(&mut browser).len(), verdicts[2]);
    let kinds = "[...new Set([...document.querySelectorAll('.ledger tbody tr')].filter((row) => !row.hidden) \
        .map((row) => `${row.dataset.paper} ${row.dataset.verdict}`))].join()";
    assert_eq!(browser.evaluate(kinds), "tail-loss fails");

    // A link to a row that a filter hides shows it.
    browser.evaluate("location.hash = '#tail-loss/fig1/restart-shorter-0'");
    browser.settle();
    assert_eq!(rows(&mut browser), all);

    browser.evaluate("document.querySelector('.ledger th:nth-child(2) button').click()");
    let sorted = rows(&mut browser);
    assert!(sorted[0].starts_with("loss-detection/fig1/"), "{}", sorted[0]);
    let order = "document.querySelector('.ledger th:nth-child(2)').getAttribute('aria-sort')";
    assert_eq!(browser.evaluate(order), "ascending");

    browser.evaluate(
        "(() => { document.execCommand = () => true; \
         Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } }); \
         document.querySelector('#prr\\\\/fig2\\\\/restart-shorter-1 .command button').click(); })()",
    );
    browser.settle();
    assert_eq!(browser.evaluate("window.copied"), "recoup paper prr fig2 --seed 1");
    browser.assert_quiet();
}

#[test]
fn text_stays_text() {
    let hostile = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">";
    let mut report = small();
    report.title = hostile.into();
    let paper = &mut report.papers[0];
    paper.name = hostile.into();
    paper.sentences[0].says = hostile.into();
    let experiment = &mut paper.experiments[0];
    experiment.about = hostile.into();
    experiment.figures[0].about = hostile.into();
    experiment.claims[0].statement = hostile.into();
    experiment.claims[1].id = hostile.into();
    let Some(mut browser) = open(&report, "hostile") else {
        return;
    };
    browser.settle();
    assert_eq!(browser.evaluate("document.title"), hostile);
    assert_eq!(number(&mut browser, "document.querySelectorAll('img').length"), 0.0);
    browser.assert_quiet();
}

#[test]
fn a_report_of_usual_size_is_small_and_loads() {
    let report = large();
    let size = report.to_html().len();
    assert!(size < 5_000_000, "{size} bytes");
    assert!(report.papers.iter().all(|paper| paper.experiments.len() < MAX_ROWS));
    let Some(mut browser) = open(&report, "size") else {
        return;
    };
    let headline = browser.evaluate("document.querySelector('#summary h2').textContent");
    assert_eq!(headline, "162 of 243 claims hold, 54 fail, 27 are undecided");
    let (x, y) = browser.centre_of("#ledger");
    browser.click(x, y);
    browser.assert_quiet();
}
