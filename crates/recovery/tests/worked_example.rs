//! The worked example in `docs/add-a-mechanism.md` quotes the engine. Each block of code stands word for word in the file
//! that its caption names.

use std::fs;
use std::path::{Path, PathBuf};

/// Stands for lines that a block leaves out.
const LEFT_OUT: &str = "…";

/// The places that a mechanism touches: the page must quote each.
const PLACES: [&str; 9] = [
    "crates/recovery/src/rto.rs",
    "crates/recovery/src/profile.rs",
    "crates/recovery/src/sender/parts.rs",
    "crates/recovery/src/sender/acks.rs",
    "crates/recovery/src/profile/mechanism.rs",
    "crates/recovery/src/profile/describe.rs",
    "crates/recovery/src/sender/tests/timeout.rs",
    "crates/recovery/tests/vectors/cases/timers.rs",
    "crates/script/tests/scripts/rto-restart-acts-below-four-segments.pkt",
];

/// A block of code on the page.
#[derive(Debug, PartialEq)]
struct Block<'a> {
    /// The line of the page at which its code begins.
    line: usize,
    /// The file that its caption names.
    file: &'a str,
    code: Vec<&'a str>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The blocks of a page whose captions name a file: "```rust FILE".
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut all = Vec::new();
    let mut open: Option<Block<'_>> = None;
    let mut is_inside = false;
    for (number, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(caption) if !is_inside => {
                is_inside = true;
                let file = caption.split_once(' ').map(|(_, file)| file.trim());
                open = file.map(|file| Block { line: number + 2, file, code: Vec::new() });
            }
            Some(_) => {
                is_inside = false;
                all.extend(open.take());
            }
            None => {
                if let Some(block) = &mut open {
                    block.code.push(line);
                }
            }
        }
    }
    all
}

/// Why the source has not the lines of a block in their order; `None` if it has.
fn difference(block: &Block<'_>, source: &str) -> Option<String> {
    let lines: Vec<&str> = source.lines().collect();
    let mut from = 0;
    for part in block.code.split(|line| *line == LEFT_OUT) {
        let found = (from..=lines.len().saturating_sub(part.len())).find(|at| lines[*at..].starts_with(part));
        let Some(at) = found else {
            let Block { line, file, .. } = block;
            let first = part.first().unwrap_or(&"");
            return Some(format!("docs/add-a-mechanism.md:{line}: {file} no longer has the lines from `{first}` on"));
        };
        from = at + part.len();
    }
    None
}

#[test]
fn the_page_quotes_the_sources_as_they_are() {
    let page = read("docs/add-a-mechanism.md");
    let blocks = blocks(&page);
    for place in PLACES {
        assert!(blocks.iter().any(|block| block.file == place), "no block of {place}");
    }
    let differences = blocks.iter().filter_map(|block| difference(block, &read(block.file)));
    let differences: Vec<String> = differences.collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Commands that the page runs by name exist.
#[test]
fn the_tests_that_the_page_names_exist() {
    let page = read("docs/add-a-mechanism.md");
    assert!(page.contains("--test worked_example"));
    assert!(read("crates/recovery/src/sender/tests/timeout.rs").contains("fn rto_restart_"));
    assert!(root().join("crates/script/tests/scripts/rto-restart-does-not-act-from-four-segments-on.pkt").is_file());
}

#[test]
fn a_page_that_falls_behind_is_noticed() {
    let page = "text\n```rust a.rs\nlet a = 1;\n…\nlet c = 3;\n```\n```sh\nrun\n```\n";
    let found = blocks(page);
    assert_eq!(found, [Block { line: 3, file: "a.rs", code: vec!["let a = 1;", LEFT_OUT, "let c = 3;"] }]);
    assert_eq!(difference(&found[0], "let a = 1;\nlet b = 2;\nlet c = 3;\n"), None);
    for changed in ["let a = 1;\nlet b = 2;\n", "let c = 3;\nlet a = 1;\n", "let a = 1; // one\nlet c = 3;\n", ""] {
        let why = difference(&found[0], changed).expect("a difference");
        assert!(why.starts_with("docs/add-a-mechanism.md:3: a.rs no longer has the lines from `let "), "{why}");
    }
}
