//! Runs the built page in headless Chromium, and compares its reports with those that the program makes.

#[path = "page/captures.rs"]
mod captures;
#[path = "page/site.rs"]
mod site;

use captures::{explained, explained_file, folder};
use recoup_captures::capture::Input;
use recoup_testing::browser::{Browser, chromium};
use recoup_testing::skip;
use serde_json::json;
use site::Site;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The page in a browser.
struct Visit {
    browser: Browser,
    downloads: TempDir,
    _site: Site,
}

/// A report, or an error, is there.
const IS_DONE: &str = "document.getElementById('work').hidden";

impl Visit {
    /// `None` if something is missing on this machine, which is reported.
    fn begin(name: &str, arguments: &[&str]) -> Option<Self> {
        let begun = chromium()
            .ok_or_else(|| "there is no chromium".to_owned())
            .and_then(|program| Ok((program, Site::start()?)));
        let (program, site) = begun.map_err(skip).ok()?;
        let mut browser = Browser::visit(&program, &site.address, &format!("web-{name}"), arguments);
        let downloads = tempfile::tempdir().unwrap();
        let behaviour = json!({ "behavior": "allow", "downloadPath": downloads.path() });
        browser.call("Browser.setDownloadBehavior", behaviour);
        Some(Self { browser, downloads, _site: site })
    }

    fn click(&mut self, id: &str) {
        let (x, y) = self.browser.centre_of(&format!("#{id}"));
        self.browser.click(x, y);
    }

    fn text(&mut self, id: &str) -> String {
        let text = self.browser.evaluate(&format!("document.getElementById('{id}').innerText"));
        text.as_str().unwrap().to_owned()
    }

    /// Chooses a file, and waits until it is explained or refused.
    fn choose(&mut self, path: &Path) {
        self.browser.choose_files("#file", &[path]);
        self.browser.wait_until(IS_DONE);
    }

    /// The report that is shown, as the page saves it.
    fn save(&mut self, name: &str) -> String {
        let file = self.downloads.path().join(format!("{name}.html"));
        self.click("save");
        let end = Instant::now() + Duration::from_secs(20);
        while !file.exists() {
            assert!(Instant::now() < end, "{} is not there", file.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        std::fs::read_to_string(file).unwrap()
    }

    /// The document is as wide as the window.
    fn assert_no_sideways_scrolling(&mut self) {
        let beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(self.browser.evaluate(beyond), 0);
    }
}

/// Fails with the first place where texts differ.
fn assert_same(found: &str, expected: &str) {
    let mut both = found.lines().zip(expected.lines()).enumerate();
    if let Some((line, (found, expected))) = both.find(|(_, (found, expected))| found != expected) {
        let at = found.bytes().zip(expected.bytes()).position(|(a, b)| a != b).unwrap_or_default();
        let near = |text: &str| text.chars().skip(at.saturating_sub(80)).take(160).collect::<String>();
        panic!("line {line}:\n{}\nexpected:\n{}", near(found), near(expected));
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn the_demo_is_explained_by_keyboard_alone() {
    let Some(mut visit) = Visit::begin("demo", &[]) else {
        return;
    };
    visit.browser.press("Tab");
    assert_eq!(visit.browser.evaluate("document.activeElement.id"), "demo");
    visit.browser.press("Enter");
    visit.browser.wait_until("document.querySelector('iframe') !== null");
    visit.browser.wait_until(IS_DONE);
    assert_eq!(visit.text("report-title"), "demo");
    assert_eq!(visit.browser.evaluate("document.activeElement.id"), "report-title");
    assert_eq!(visit.text("status"), "The report is ready.");
    let end = Instant::now() + Duration::from_secs(20);
    while visit.browser.evaluate_in_frame("document.title") != "Recoup: demo" {
        assert!(Instant::now() < end, "the frame has no report");
        std::thread::sleep(Duration::from_millis(20));
    }
    let causes = visit.browser.evaluate_in_frame("document.querySelectorAll('ol > li').length");
    assert!(causes.as_u64() > Some(2), "{causes} ranked causes");
    // Its script ran: the table and the charts are there.
    let drawn = "document.querySelectorAll('#table tbody tr').length * document.querySelectorAll('canvas').length";
    assert!(visit.browser.evaluate_in_frame(drawn).as_u64() > Some(0));
    assert_same(&visit.save("demo"), &explained(Input::Demo).unwrap());
    visit.click("another");
    assert_eq!(visit.browser.evaluate("document.getElementById('start').hidden"), false);
    visit.browser.assert_quiet();
}

#[test]
fn captures_are_explained_as_the_program_explains_them() {
    let Some(mut visit) = Visit::begin("captures", &[]) else {
        return;
    };
    for name in ["outage.pcap", "outage.pcap.gz", "outage.pcap.zst", "two.pcapng", "large.pcap"] {
        visit.choose(&folder().join(name));
        assert_eq!(visit.text("report-title"), name, "{}", visit.text("error"));
        assert_same(&visit.save(name), &explained_file(name).unwrap());
        visit.click("another");
    }
    visit.browser.assert_quiet();
}

#[test]
fn what_is_no_capture_is_refused_in_the_programs_words() {
    let Some(mut visit) = Visit::begin("refused", &[]) else {
        return;
    };
    for name in ["notes.txt", "empty.pcap"] {
        visit.choose(&folder().join(name));
        assert_eq!(visit.text("error"), explained_file(name).unwrap_err());
        assert_eq!(visit.browser.evaluate("document.activeElement.id"), "file");
    }
    // A capture without a packet is explained.
    visit.choose(&folder().join("header.pcap"));
    assert_same(&visit.save("header.pcap"), &explained_file("header.pcap").unwrap());
    let dropped = |files: &str| {
        format!(
            "(() => {{ const all = new DataTransfer(); for (const name of [{files}]) all.items.add(new File(['x'], name)); \
             document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer: all, bubbles: true }})); }})()"
        )
    };
    visit.browser.evaluate(&dropped("'a', 'b'"));
    assert_eq!(visit.text("error"), "One capture at a time: drop one file.");
    visit.browser.evaluate(&dropped("'a'"));
    visit.browser.wait_until("document.getElementById('error').innerText.startsWith('a: ')");
    visit.browser.assert_quiet();
}

#[test]
fn an_analysis_can_be_cancelled() {
    let Some(mut visit) = Visit::begin("cancel", &[]) else {
        return;
    };
    visit.browser.choose_files("#file", &[&folder().join("large.pcap")]);
    visit.browser.evaluate("document.getElementById('cancel').click()");
    assert_eq!(visit.text("error"), "");
    assert_eq!(visit.browser.evaluate("document.activeElement.id"), "demo");
    visit.choose(&folder().join("outage.pcap"));
    assert_eq!(visit.text("report-title"), "outage.pcap");
    visit.browser.assert_quiet();
}

#[test]
fn too_little_memory_is_said() {
    // 64 KiB each.
    let Some(mut visit) = Visit::begin("memory", &["--js-flags=--wasm-max-mem-pages=160"]) else {
        return;
    };
    visit.choose(&folder().join("large.pcap"));
    let error = visit.text("error");
    assert!(error.starts_with("The browser has too little memory"), "{error}");
    visit.browser.assert_quiet();
}

#[test]
fn it_suits_dark_rooms_and_phones() {
    let Some(mut visit) = Visit::begin("phone", &[]) else {
        return;
    };
    let background = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(visit.browser.evaluate(background), "rgb(255, 255, 255)");
    visit.browser.prefer("dark");
    assert_eq!(visit.browser.evaluate(background), "rgb(20, 23, 26)");
    visit.browser.resize(360, 740);
    visit.assert_no_sideways_scrolling();
    visit.choose(&folder().join("notes.txt"));
    visit.assert_no_sideways_scrolling();
    visit.click("demo");
    visit.browser.wait_until("document.querySelector('iframe') !== null");
    visit.browser.wait_until(IS_DONE);
    visit.assert_no_sideways_scrolling();
    let seen = visit.browser.evaluate("document.querySelector('iframe').clientHeight");
    assert!(seen.as_u64() > Some(600), "the report is {seen} pixels high");
    visit.browser.assert_quiet();
}

#[test]
fn nothing_can_be_sent() {
    let Some(mut visit) = Visit::begin("policy", &[]) else {
        return;
    };
    let refused = "new Promise((done) => { \
        document.addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective)); \
        fetch('https://example.org/').catch(() => {}); })";
    assert_eq!(visit.browser.evaluate(refused), "connect-src");
    // A worker has the policy that came with its script.
    let policy = "fetch('worker.js').then((answer) => answer.headers.get('content-security-policy'))";
    let policy = visit.browser.evaluate(policy);
    assert!(policy.as_str().unwrap().contains("connect-src 'self';"), "{policy}");
}

/// Prints how long a capture takes in the browser, and with how much memory: the tests' own, or another one (docs/web.md).
#[test]
fn measure() {
    let own = folder().join("large.pcap");
    let path = std::env::var_os("RECOUP_WEB_CAPTURE").map_or(own, PathBuf::from);
    let Some(mut visit) = Visit::begin("measure", &[]) else {
        return;
    };
    let begin = Instant::now();
    visit.browser.choose_files("#file", &[&path]);
    while visit.browser.evaluate(IS_DONE) != true {
        std::thread::sleep(Duration::from_millis(100));
    }
    let took = begin.elapsed();
    assert_eq!(visit.text("error"), "");
    let memory = visit.browser.evaluate("document.getElementById('report').dataset.memory / 1e6");
    assert!(memory.as_f64() > Some(0.0), "{memory}");
    println!("{:.1} s, {memory} MB", took.as_secs_f64());
}
