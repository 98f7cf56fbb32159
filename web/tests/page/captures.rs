//! Captures as files in one folder, and the program's pages about them.

use flate2::Compression;
use flate2::write::GzEncoder;
use recoup_captures::capture::{Input, Unwatched};
use recoup_captures::explain::{ExplainedPage, PageRequest, explain_as_page};
use recoup_trace::analyze::Settings;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

const OUTAGE: &[u8] = include_bytes!("../../../crates/trace/tests/field/outage.server.pcap.zst");
const PCAPNG: &[u8] = include_bytes!("../../../fuzz/seeds/capture_reader/sections");

/// The page about a capture as the program makes it, or its error.
pub fn explained(input: Input<'_>) -> Result<String, String> {
    let ExplainedPage { page, failures } =
        explain_as_page(input, PageRequest::default(), &Settings::default(), &Unwatched);
    page.map(|page| page.to_html()).ok_or_else(|| failures[0].to_string())
}

/// The page about a file of [`folder`], by its name, as a browser knows it.
pub fn explained_file(name: &str) -> Result<String, String> {
    folder();
    explained(Input::Each(&[PathBuf::from(name)]))
}

/// A classic capture several times in one file, each time two hours later.
fn repeated(capture: &[u8], times: u32) -> Vec<u8> {
    let (header, records) = capture.split_at(24);
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let mut all = header.to_vec();
    for time in 0..times {
        let mut rest = records;
        while !rest.is_empty() {
            let (record, others) = rest.split_at(16 + number(&rest[8..12]) as usize);
            all.extend((number(&record[..4]) + 7200 * time).to_le_bytes());
            all.extend(&record[4..]);
            rest = others;
        }
    }
    all
}

/// A folder of captures, which is this process's working directory. It stays until the tests end.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let plain = zstd::decode_all(OUTAGE).unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&plain).unwrap();
        let files: [(&str, &[u8]); 8] = [
            ("outage.pcap", &plain),
            ("outage.pcap.gz", &gzip.finish().unwrap()),
            ("outage.pcap.zst", OUTAGE),
            ("two.pcapng", PCAPNG),
            // More than the worker reads at once.
            ("large.pcap", &repeated(&plain, 15)),
            ("notes.txt", b"Remember the milk."),
            ("empty.pcap", b""),
            ("header.pcap", &plain[..24]),
        ];
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        std::env::set_current_dir(folder.path()).unwrap();
        folder
    });
    folder.path()
}
