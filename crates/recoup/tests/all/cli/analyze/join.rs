//! `recoup analyze --join`: several files as one capture.

use super::{SENDER, captured};
use recoup_testing::{Folder, csv_rows};
use std::fs;

/// A folder with a capture, and the same in files of so many frames each. Returns the files, the latest
/// first.
fn in_files(frames: usize) -> (Folder, Vec<String>) {
    let (dir, _) = captured("12");
    let whole = fs::read(dir.path(SENDER)).expect("a capture");
    let mut files = Vec::new();
    let (mut begin, mut at) = (24, 24);
    while at < whole.len() {
        for _ in 0..frames {
            let length = whole.get(at + 8..at + 12).map(|bytes| {
                let length = bytes.try_into().expect("four bytes");
                16 + u32::from_le_bytes(length) as usize
            });
            at += length.unwrap_or(0);
        }
        let name = format!("part{}.pcap", files.len());
        dir.write(&name, [&whole[..24], &whole[begin..at]].concat());
        files.push(name);
        begin = at;
    }
    files.reverse();
    (dir, files)
}

/// Runs `recoup analyze --join` with these files and arguments.
fn joined(dir: &Folder, files: &[String], args: &[&str]) -> crate::cli::Outcome {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    dir.run(&[&["analyze", "--join"], &files[..], args].concat())
}

#[test]
fn joined_files_show_what_the_whole_capture_shows() {
    for frames in [1, 7, 50, 120] {
        let (dir, files) = in_files(frames);
        assert!(files.len() > 1, "{frames}");
        for view in ["--summary", "--connections", "--retransmissions"] {
            let csv = [view, "--format", "csv"];
            let whole = dir.run(&[&["analyze", SENDER][..], &csv].concat());
            let (whole, parts) = (whole.printed(), joined(&dir, &files, &csv).printed());
            let (whole, parts) = (csv_rows(&whole), csv_rows(&parts));
            assert_eq!(whole.len(), parts.len(), "{frames} {view}");
            for (i, (row, of_whole)) in parts.iter().zip(&whole).enumerate() {
                let mut row = row.clone();
                match view {
                    "--retransmissions" if i == 0 => {
                        let names: Vec<&str> = row.drain(1..3).collect();
                        assert_eq!(names, ["file", "file_frame"]);
                    }
                    "--retransmissions" => {
                        let place: Vec<&str> = row.drain(1..3).collect();
                        let frame: usize = row[0].parse().expect("a frame");
                        let file = format!("part{}.pcap", (frame - 1) / frames);
                        let in_file = ((frame - 1) % frames + 1).to_string();
                        assert_eq!(place, [&*file, &*in_file]);
                    }
                    _ => {}
                }
                assert_eq!(&row, of_whole, "{frames} {view}");
            }
        }
        let plotted = dir.run(&["analyze", SENDER, "--plot", "3"]).printed();
        assert_eq!(joined(&dir, &files, &["--plot", "3"]).printed(), plotted);
    }
}

#[test]
fn tables_and_json_say_in_which_file_a_frame_is() {
    let (dir, files) = in_files(100);
    let table = joined(&dir, &files, &["--retransmissions"]).printed();
    assert!(table.contains(" frame in file "), "{table}");
    assert!(table.contains(" in part0.pcap "), "{table}");
    let json = joined(&dir, &files, &["--retransmissions", "--format", "json"]).json();
    let capture = &json["captures"][0];
    let last = files.len() - 1;
    let name = format!("part0.pcap to part{last}.pcap ({} files)", files.len());
    assert_eq!(capture["capture"], name);
    let row = &capture["retransmissions"][0];
    let frame = row["frame"].as_u64().expect("a frame");
    assert_eq!(row["file"], format!("part{}.pcap", (frame - 1) / 100));
    assert_eq!(row["file_frame"], (frame - 1) % 100 + 1);
    let outcome = joined(&dir, &files, &["--figures", "figures"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(fs::read_dir(dir.path("figures")).expect("a folder").count() > 0);
}

#[test]
fn a_note_says_that_captures_continue_each_other() {
    let (dir, files) = in_files(41);
    let notes = |files: &[&String]| {
        let files: Vec<&str> = files.iter().map(|file| file.as_str()).collect();
        let outcome = dir.run(&[&["analyze"], &files[..]].concat());
        assert_eq!(outcome.status, Some(0));
        outcome.stderr
    };
    let all = notes(&files.iter().collect::<Vec<_>>());
    let note = all.lines().find(|line| line.contains(" continues "));
    let note = note.unwrap_or_else(|| panic!("{all}"));
    assert!(note.starts_with("recoup: note: part"), "{note}");
    for part in
        ["1 connection goes on from one to the other; so do ", "; --join analyzes the files of one capture as one"]
    {
        assert!(note.contains(part), "{note}");
    }
    // Files that do not follow each other, and one alone.
    let apart = [&files[0], &files[files.len() - 1]];
    assert!(!notes(&apart).contains("continues"));
    assert!(!notes(&apart[..1]).contains("continues"));
}

#[test]
fn files_that_do_not_belong_are_named() {
    let (dir, mut files) = in_files(100);
    let whole = dir.run(&["analyze", SENDER, "--connections", "--format", "csv"]);
    let copy = fs::read(dir.path(&files[1])).expect("a capture");
    dir.write("copy.pcap", copy);
    dir.write("text.pcap", "some text that is no capture at all");
    files.push("copy.pcap".into());
    files.push("text.pcap".into());
    let outcome = joined(&dir, &files, &["--connections", "--format", "csv"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, whole.stdout);
    for line in [
        format!("recoup: copy.pcap: the same packets as in {}: ", files[1]),
        "recoup: text.pcap: not a capture: ".into(),
        "packets are missing, because these files could not be read: text.pcap".into(),
    ] {
        assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
    }
    // All of the rest is in the whole capture.
    let both = [files[0].clone(), SENDER.into()];
    let outcome = joined(&dir, &both, &["--connections", "--format", "csv"]);
    assert_eq!(outcome.stdout, whole.stdout);
    assert!(outcome.stderr.contains("are in several files and count once"), "{}", outcome.stderr);
}

#[test]
fn a_missing_file_and_standard_input_are_told() {
    let (dir, mut files) = in_files(100);
    let missing = files.remove(files.len() / 2);
    let outcome = joined(&dir, &files, &[]);
    assert_eq!(outcome.status, Some(0));
    assert!(outcome.stderr.contains(": a file may be missing"), "{missing}: {}", outcome.stderr);
    files.push("-".into());
    let outcome = joined(&dir, &files, &[]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("standard input cannot be joined"), "{}", outcome.stderr);
    let outcome = joined(&dir, &["-".into()], &["--plot", "0"]);
    assert_eq!(outcome.status, Some(2));
}
