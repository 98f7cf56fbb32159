//! The report for readers in the dark, with a phone, with paper, without scripts, with a screen reader.

use super::{large, number, open, rows, small};
use recoup_testing::browser::Browser;
use serde_json::json;

/// The contrast of two colours (WCAG 2.2), from their `rgb(…)` texts.
const CONTRAST: &str = "((a, b) => { const light = (text) => { \
    const [r, g, b] = text.match(/[\\d.]+/g).map((n) => n / 255) \
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)); \
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; }; \
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); })";

#[test]
fn figures_and_verdicts_can_be_read_in_both_themes() {
    let Some(mut browser) = open(&small(), "theme") else {
        return;
    };
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = browser.evaluate(background);
    let least = |browser: &mut Browser, elements: &str, property: &str| {
        number(
            browser,
            &format!(
                "Math.min(...[...document.querySelectorAll('{elements}')].map((of) => \
             {CONTRAST}(getComputedStyle(of).{property}, {background})))"
            ),
        )
    };
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        browser.settle();
        for (elements, property, contrast) in [
            (".picture text[fill=\"#222222\"]", "fill", 7.0),
            (".picture text", "fill", 3.5),
            (".statement, .note, .check", "color", 4.5),
            (".verdict", "color", 4.5),
            (".icon.holds, .icon.fails, .icon.undecided", "color", 3.0),
        ] {
            let found = least(&mut browser, elements, property);
            assert!(found >= contrast, "{scheme}, {elements}: {found}");
        }
    }
    // On a dark ground, lines of data are light.
    let found = least(&mut browser, ".picture g[data-panel] polyline", "stroke");
    assert!(found >= 2.9, "{found}");
    browser.prefer("light");
    assert_eq!(browser.evaluate(background), light);
    browser.evaluate("document.getElementById('theme').click()");
    assert_ne!(browser.evaluate(background), light, "the button changes the theme");
    browser.assert_quiet();
}

/// The elements that reach beyond the right edge of the window, without what scrolls in its own box.
const OVERFLOW: &str = "[...document.querySelectorAll('body *')] \
    .filter((of) => !of.closest('.scroll, .definitions, .picture, .off-screen, .skip, thead')) \
    .filter((of) => of.getBoundingClientRect().right > innerWidth + 1) \
    .map((of) => of.outerHTML.slice(0, 120)).join('\\n')";

#[test]
fn nothing_overflows_on_a_phone() {
    let Some(mut browser) = open(&large(), "phone") else {
        return;
    };
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 360, "height": 800, "deviceScaleFactor": 2, "mobile": true }),
    );
    browser.evaluate("document.querySelectorAll('details').forEach((of) => { of.open = true; })");
    browser.settle();
    assert_eq!(number(&mut browser, "innerWidth"), 360.0);
    assert_eq!(number(&mut browser, "document.documentElement.scrollWidth"), 360.0);
    assert_eq!(browser.evaluate(OVERFLOW), "");

    // An enlarged figure fills the height of an upright screen.
    browser.evaluate(
        "[...document.querySelectorAll('.figure .buttons button')] \
         .find((button) => button.textContent === 'Enlarge').click()",
    );
    browser.settle();
    let shape = "(() => { const { width, height } = document.querySelector('dialog .picture > svg').viewBox.baseVal; \
        return height / width; })()";
    let shape = number(&mut browser, shape);
    assert!(shape > 1.2, "{shape} times as high as wide");
    let share = "(() => { const box = document.querySelector('dialog .picture').getBoundingClientRect(); \
        return box.height / innerHeight; })()";
    assert!(number(&mut browser, share) > 0.7);
    browser.evaluate("document.querySelector('dialog .buttons button:last-child').click()");
    browser.settle();
    assert_eq!(number(&mut browser, "document.querySelectorAll('dialog').length"), 0.0);
    browser.assert_quiet();
}

#[test]
fn paper_has_all_claims_and_no_buttons() {
    let report = large();
    let Some(mut browser) = open(&report, "print") else {
        return;
    };
    // Rows that a filter hides on the screen are printed.
    browser.evaluate("document.querySelector('#controls button[aria-pressed]').click()");
    let answer = browser.call("Page.printToPDF", json!({ "paperWidth": 8.27, "paperHeight": 11.69 }));
    let pdf = answer["data"].as_str().expect("a document");
    let pdf = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, pdf).expect("base64");
    // The PDF lists the page and the place of each row, because links lead there.
    let pdf = String::from_utf8_lossy(&pdf);
    for paper in &report.papers {
        for of in &paper.experiments {
            for claim in &of.claims {
                let place = format!("/{}#2F{}#2F{} [", paper.id, of.name, claim.id);
                assert!(pdf.contains(&place), "{place} is not in the PDF");
            }
        }
    }

    // Measured on the screen: as wide as A4 within its margins.
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 700, "height": 1000, "deviceScaleFactor": 1, "mobile": false }),
    );
    browser.evaluate("dispatchEvent(new Event('beforeprint'))");
    browser.settle();
    assert_eq!(rows(&mut browser).len(), 243);
    let notes = report.papers.iter().flat_map(|paper| &paper.experiments);
    let notes = notes.flat_map(|of| &of.claims).filter(|claim| claim.note.is_some());
    let shown = "[...document.querySelectorAll('.ledger .note')].filter((of) => of.offsetHeight > 0).length";
    assert_eq!(number(&mut browser, shown), notes.count() as f64);
    let visible = "[...document.querySelectorAll('nav, .buttons, .controls, .command button, .tooltip')] \
        .filter((of) => of.offsetHeight > 0).length";
    assert_eq!(number(&mut browser, visible), 0.0);
    assert_eq!(browser.evaluate(OVERFLOW), "");
    let hidden = "[...document.querySelectorAll('.coverage tr')].filter((of) => of.offsetHeight === 0).length";
    assert_eq!(number(&mut browser, hidden), 0.0);
    browser.evaluate("dispatchEvent(new Event('afterprint'))");
    assert!(rows(&mut browser).len() < 243, "the filter is back");
    browser.assert_quiet();
}

#[test]
fn without_scripts_everything_can_be_read() {
    let Some(mut browser) = open(&small(), "reduced") else {
        return;
    };
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.call("Page.reload", json!({}));
    std::thread::sleep(std::time::Duration::from_millis(500));
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": false }));
    let buttons = "[...document.querySelectorAll('button')].filter((of) => of.offsetHeight > 0).length";
    assert_eq!(number(&mut browser, buttons), 0.0);
    assert_eq!(rows(&mut browser).len(), 24);
    // Browsers show titles of marks by themselves.
    let titles = "document.querySelectorAll('.picture title').length";
    assert!(number(&mut browser, titles) > 50.0);
    let open = "(() => { const of = document.querySelector('details.coverage'); \
        of.querySelector('summary').click(); return of.querySelector('table').offsetHeight; })()";
    assert!(number(&mut browser, open) > 100.0);
}

#[test]
fn the_page_has_names_for_readers_who_do_not_see_it() {
    let Some(mut browser) = open(&small(), "names") else {
        return;
    };
    for (what, count) in [
        ("h1", 1.0),
        (".picture > svg[role=\"img\"]:not([aria-label])", 0.0),
        ("th:not([scope])", 0.0),
        ("section:not([aria-labelledby]), article:not([aria-labelledby])", 0.0),
        (".bar:not([aria-label])", 0.0),
        ("html[lang=\"en\"]", 1.0),
    ] {
        let found = number(&mut browser, &format!("document.querySelectorAll('{what}').length"));
        assert_eq!(found, count, "{what}");
    }
    let duplicates = "(() => { const ids = [...document.querySelectorAll('[id]')].map((of) => of.id); \
        return ids.length - new Set(ids).size; })()";
    assert_eq!(number(&mut browser, duplicates), 0.0);
    let dangling = "[...document.querySelectorAll('a[href^=\"#\"]')].filter((of) => \
        !document.getElementById(decodeURIComponent(of.hash.slice(1)))).map((of) => of.hash).join(' ')";
    assert_eq!(browser.evaluate(dangling), "");
    // The focus can be seen.
    browser.evaluate("document.querySelector('.picture').focus()");
    browser.press("n");
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_ne!(browser.evaluate(outline), "none");
    browser.assert_quiet();
}
