//! Loads a page in headless Chromium, sorts its table and moves through its diagrams.

#[path = "page/sample.rs"]
mod sample;

use recoup_draw::page::{Capture, Column, ColumnKind, MAX_BYTES, Overview, OverviewCell, Page};
use recoup_testing::browser::{Browser, chromium};

/// A browser with `page`; `None` if there is none on this machine, which is reported.
fn open(page: &Page, name: &str) -> Option<Browser> {
    let Some(program) = chromium() else {
        recoup_testing::skip("there is no chromium");
        return None;
    };
    Some(Browser::open(&program, &page.to_html(), name))
}

const SMALL: sample::Size = sample::Size { rows: 120, details: 3, segments: 300 };

/// The cells of a column of the table, from the top.
fn column(browser: &mut Browser, number: usize) -> Vec<String> {
    let cells = format!("document.querySelectorAll('#table tbody tr > :nth-child({number})')");
    let text = browser.evaluate(&format!("[...{cells}].map((c) => c.textContent).join('|')"));
    let text = text.as_str().unwrap_or_default();
    text.split('|').map(str::to_string).collect()
}

/// All pixels of the first diagram's canvas.
const PIXELS: &str = "document.querySelector('.diagram canvas').toDataURL()";

/// The text of the first diagram's tooltip, if it is visible.
const TOOLTIP: &str = "(() => { const tip = document.querySelector('.tooltip'); \
    return tip.hidden ? '' : tip.innerText; })()";

#[test]
fn the_table_sorts_and_filters() {
    let Some(mut browser) = open(&sample::page(SMALL), "table") else {
        return;
    };
    let number = "document.querySelector('#table [data-column=\"0\"]')";
    assert_eq!(column(&mut browser, 1)[..3], ["0", "1", "2"]);
    browser.evaluate(&format!("{number}.click()"));
    assert_eq!(column(&mut browser, 1)[..3], ["119", "118", "117"]);
    let order = format!("{number}.parentElement.getAttribute('aria-sort')");
    assert_eq!(browser.evaluate(&order), "descending");
    // The heading has the focus, so that the keyboard can turn the order round.
    browser.press("Enter");
    assert_eq!(column(&mut browser, 1)[..3], ["0", "1", "2"]);
    assert_eq!(browser.evaluate(&order), "ascending");
    // Numbers begin with the largest.
    browser.evaluate("document.querySelector('#table [data-column=\"8\"]').click()");
    let counts = column(&mut browser, 9);
    let counts: Vec<u32> = counts.iter().map(|text| text.parse().unwrap()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");

    browser.evaluate(
        "(() => { const search = document.querySelector('#table input[type=search]'); \
         search.value = '10.193.3. 10.193.3.45'; search.dispatchEvent(new Event('input')); })()",
    );
    assert_eq!(column(&mut browser, 1), ["45"]);
    let status = browser.evaluate("document.querySelector('#table [role=status]').textContent");
    assert_eq!(status, "1 of 120 connections match, 1 are shown.");
    browser.assert_quiet();
}

#[test]
fn the_diagram_zooms_and_pans_and_explains_its_marks() {
    let Some(mut browser) = open(&sample::page(SMALL), "diagram") else {
        return;
    };
    let all = browser.evaluate(PIXELS);
    let (x, y) = browser.centre_of(".diagram .u-over");
    browser.click(x, y);
    browser.wheel(x, y, -300.0);
    let zoomed = browser.evaluate(PIXELS);
    assert_ne!(zoomed, all, "the wheel zooms");
    browser.drag((x, y), (x - 100.0, y));
    let panned = browser.evaluate(PIXELS);
    assert_ne!(panned, zoomed, "a drag pans");
    browser.press("+");
    assert_ne!(browser.evaluate(PIXELS), panned, "a key zooms");
    browser.move_to(0.0, 0.0);
    browser.press("0");
    browser.settle();
    assert_eq!(browser.evaluate(PIXELS), all, "0 shows everything");

    browser.press("n");
    let tooltip = browser.evaluate(TOOLTIP);
    let tooltip = tooltip.as_str().unwrap_or_default();
    let lines: Vec<&str> = tooltip.lines().collect();
    assert_eq!(lines[0], "needed retransmission", "{tooltip}");
    let frame = lines.iter().find_map(|line| line.strip_prefix("frame "));
    let frame = frame.expect("the tooltip has the frame");
    assert!(lines.contains(&"trigger: rack"), "{tooltip}");
    assert!(lines.iter().any(|line| line.starts_with("reason: ")), "{tooltip}");

    let filter = browser.evaluate("document.querySelector('.retransmissions td code').textContent");
    assert_eq!(filter, format!("frame.number == {frame}"));
    browser.assert_quiet();
}

#[test]
fn links_open_connections_and_the_theme_changes() {
    let Some(mut browser) = open(&sample::page(SMALL), "links") else {
        return;
    };
    let is_open = "document.getElementById('connection-1').open";
    assert_eq!(browser.evaluate(is_open), false);
    browser.evaluate("document.querySelector('a[href=\"#connection-1\"]').click()");
    browser.settle();
    assert_eq!(browser.evaluate(is_open), true);
    let diagrams = "document.querySelectorAll('#connection-1 .diagram canvas').length";
    assert_eq!(browser.evaluate(diagrams), 2, "both directions are drawn");

    let background = "getComputedStyle(document.body).backgroundColor";
    let (before, pixels) = (browser.evaluate(background), browser.evaluate(PIXELS));
    browser.evaluate("document.getElementById('theme').click()");
    browser.settle();
    assert_ne!(browser.evaluate(background), before);
    assert_ne!(browser.evaluate(PIXELS), pixels);
    browser.assert_quiet();
}

#[test]
fn a_few_extreme_values_do_not_flatten_a_chart() {
    let mut page = sample::page(SMALL);
    for (i, value) in [(400, 100.0), (600, 50.0)] {
        page.body.charts[0].series[0].values[i] = Some(value);
    }
    let Some(mut browser) = open(&page, "edge") else {
        return;
    };
    let beyond = "document.querySelector('.chart .beyond').textContent";
    assert_eq!(browser.evaluate(beyond), "▲ 2 intervals are above the axis: 100 at 4.000 s, 50.0 at 6.000 s.");
    let pixels = "document.querySelector('.chart canvas').toDataURL()";
    let usual = browser.evaluate(pixels);
    browser.evaluate("document.querySelector('.chart .legend button').click()");
    browser.settle();
    assert_eq!(browser.evaluate(beyond), "", "all values are shown");
    assert_ne!(browser.evaluate(pixels), usual);
    browser.evaluate("document.querySelector('.chart .legend button').click()");
    browser.settle();
    assert_eq!(browser.evaluate(pixels), usual);
    // A chart without extreme values has no such button.
    let hidden = "[...document.querySelectorAll('.chart .legend button')].map((b) => b.hidden).join()";
    assert_eq!(browser.evaluate(hidden), "false,true,true");
    browser.assert_quiet();
}

#[test]
fn times_count_from_the_first_frame() {
    let page = sample::page(SMALL);
    let Some(mut browser) = open(&page, "clock") else {
        return;
    };
    let first = browser.evaluate("document.querySelector('.retransmissions td.number').textContent");
    let first: f64 = first.as_str().unwrap().parse().unwrap();
    assert!(first > page.body.connections[0].begun.as_secs_f64(), "{first}");
    browser.centre_of(".diagram .u-over");
    browser.click(0.0, 0.0);
    browser.evaluate("document.querySelector('.diagram').focus()");
    browser.press("n");
    let tooltip = browser.evaluate(TOOLTIP);
    assert!(tooltip.as_str().unwrap().contains(&format!("at {first:.6} s")), "{tooltip}");
    browser.assert_quiet();
}

#[test]
fn the_table_of_captures_sorts() {
    let cell = |text: &str, value| OverviewCell { text: text.into(), value };
    let column = |heading: &str, kind| Column { heading: heading.into(), kind, ..Column::default() };
    let page = Page {
        overview: Some(Overview {
            heading: "Captures".into(),
            columns: vec![column("Capture", ColumnKind::Text), column("Lost", ColumnKind::Seconds)],
            rows: [("b", "900 ms", Some(0.9)), ("a", "", None), ("c", "1.20 s", Some(1.2))]
                .map(|(name, text, lost)| vec![cell(name, None), cell(text, lost)])
                .to_vec(),
        }),
        captures: ["b", "a", "c"]
            .map(|name| Capture { name: name.into(), body: sample::page(SMALL).body, ..Capture::default() })
            .map(|mut capture| {
                capture.body.connections.clear();
                capture
            })
            .to_vec(),
        ..Page::default()
    };
    let Some(mut browser) = open(&page, "overview") else {
        return;
    };
    let names = "[...document.querySelectorAll('.overview tbody th')].map((c) => c.textContent).join('')";
    let names_after = |browser: &mut Browser, column: usize| {
        browser.evaluate(&format!("document.querySelectorAll('.overview thead button')[{column}].click()"));
        browser.evaluate(names)
    };
    assert_eq!(names_after(&mut browser, 1), "cba");
    assert_eq!(names_after(&mut browser, 1), "bca", "unknown values come last in both orders");
    assert_eq!(names_after(&mut browser, 0), "abc");
    let charts = "document.querySelectorAll('.capture .chart canvas:not(.sample)').length";
    assert_eq!(browser.evaluate(charts), 9, "each capture has charts of its own");
    browser.assert_quiet();
}

/// The limits that the page promises.
#[test]
fn a_full_page_is_small_and_loads() {
    let page = sample::page(sample::Size { rows: 2500, details: 20, segments: 7000 });
    let size = page.to_html().len();
    assert!(size < MAX_BYTES, "{size} bytes");
    let Some(mut browser) = open(&page, "full") else {
        return;
    };
    let told = browser.evaluate("document.querySelector('#connections > p').textContent");
    assert_eq!(told, "The table has 2,000 of 15,000 connections: those that lost most time.");
    browser.assert_quiet();
}

#[test]
fn text_of_a_capture_stays_text() {
    let hostile = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">";
    let mut page = sample::page(SMALL);
    page.title = hostile.into();
    page.body.sections[1].points[0].text = hostile.into();
    page.body.charts[0].series[0].name = hostile.into();
    page.table.rows[0].cells[1] = hostile.into();
    page.body.connections[0].title = hostile.into();
    page.body.connections[0].directions[0].sender = hostile.into();
    page.body.connections[0].directions[0].panel.title = hostile.into();
    let Some(mut browser) = open(&page, "hostile") else {
        return;
    };
    browser.settle();
    assert_eq!(browser.evaluate("document.title"), hostile);
    assert_eq!(browser.evaluate("document.querySelectorAll('img').length"), 0);
    assert_eq!(column(&mut browser, 2)[0], hostile);
    browser.assert_quiet();
}
