use super::*;
use crate::time_window::parse_time;
use std::fs;
use tempfile::TempDir;

fn origin() -> Origin {
    Origin {
        view: "--summary".into(),
        profile: None,
        idle: Duration::from_secs(900),
        filter: None,
        window: TimeWindow::default(),
    }
}

fn write(path: &Path, analysis: u32, parts: &[Vec<String>]) -> Result<(), StateError> {
    let mut state = StateWriter::create(path, analysis, &origin())?;
    for part in parts {
        state.part(part)?;
    }
    Ok(state.complete()?.publish()?)
}

/// A state of two parts in a folder of its own.
fn written() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let long = vec!["text".repeat(1000); 50];
    write(&path, 7, &[long, vec!["second".into()]]).unwrap();
    (dir, path)
}

fn open_error(path: &Path, analysis: u32, origin: &Origin) -> String {
    match StateReader::open(path, analysis, origin) {
        Ok(_) => panic!("{} is accepted", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn parts_are_read_as_they_were_written() {
    let (_dir, path) = written();
    let mut state = StateReader::open(&path, 7, &origin()).unwrap();
    let first: Vec<String> = state.part().unwrap();
    assert_eq!((first.len(), first[49].len()), (50, 4000));
    assert_eq!(state.part::<Vec<String>>().unwrap(), ["second"]);
    let error = state.part::<Vec<String>>().unwrap_err().to_string();
    assert!(error.contains("state file cannot be decoded"), "{error}");
    assert!(fs::metadata(&path).unwrap().len() < 1000, "compressed");
}

#[test]
fn an_earlier_state_is_left_alone_until_the_new_one_is_whole() {
    let (_dir, path) = written();
    let before = fs::read(&path).unwrap();
    let mut state = StateWriter::create(&path, 8, &origin()).unwrap();
    state.part(&1).unwrap();
    drop(state);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn every_cut_and_every_changed_byte_is_found() {
    let (dir, path) = written();
    let whole = fs::read(&path).unwrap();
    let other = dir.path().join("other");
    let error_of = |bytes: &[u8]| {
        fs::write(&other, bytes).unwrap();
        open_error(&other, 7, &origin())
    };
    for at in 0..whole.len() {
        let kind = match at {
            0..8 => "not a state file: expected one that `recoup analyze --state` wrote",
            _ => "state file cut or damaged",
        };
        let mut damaged = whole.clone();
        damaged[at] ^= 0x20;
        for bytes in [&whole[..at], &damaged] {
            let error = error_of(bytes);
            assert!(error.contains(kind), "byte {at}: {error}");
            assert!(!error.contains('\n') && error.contains("other: "), "{error}");
        }
    }
    let longer = [&whole[..], b"x"].concat();
    assert!(error_of(&longer).contains("cut or damaged"));
    for foreign in [&b"\xd4\xc3\xb2\xa1\x02\0\x04\0"[..], b"", b"text"] {
        assert!(error_of(foreign).contains("not a state file"));
    }
    let error = open_error(dir.path(), 7, &origin());
    assert!(error.contains("not a state file"), "{error}");
    let error = open_error(&dir.path().join("none"), 7, &origin());
    assert!(error.contains("none: No such file"), "{error}");
}

#[test]
fn a_state_of_another_version_or_origin_says_what_was_expected() {
    let (_dir, path) = written();
    let error = open_error(&path, 8, &origin());
    let version = env!("CARGO_PKG_VERSION");
    let parts =
        format!("state written by Recoup {version} (format {FORMAT}.7): expected Recoup {version} (format {FORMAT}.8)");
    assert!(error.contains(&parts), "{error}");
    for (expected, part) in [
        (Origin { view: "--connections".into(), ..origin() }, "made with --summary: expected --connections"),
        (Origin { profile: Some("linux-6".into()), ..origin() }, "made with no --profile: expected --profile linux-6"),
        (Origin { idle: Duration::from_millis(1500), ..origin() }, "made with --idle 900s: expected --idle 1500ms"),
        (Origin { filter: Some("port 80".into()), ..origin() }, "made with no --filter: expected --filter 'port 80'"),
        (
            Origin { window: TimeWindow { from: parse_time("5s").ok(), to: None }, ..origin() },
            "made with neither --from nor --to: expected --from 5s",
        ),
    ] {
        let error = open_error(&path, 7, &expected);
        assert!(error.ends_with(part), "{error}");
    }
}

/// The checksum only finds damage. A file that was made to deceive is refused as well, in bounded memory.
#[test]
fn a_forged_state_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    // A list of 2^60 texts.
    let forged = dir.path().join("forged");
    let mut state = StateWriter::create(&forged, 7, &origin()).unwrap();
    state.part(&(1_u64 << 60)).unwrap();
    state.complete().unwrap().publish().unwrap();
    let mut state = StateReader::open(&forged, 7, &origin()).unwrap();
    assert!(state.part::<Vec<String>>().is_err());
}

#[test]
fn a_full_disk_is_named() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let mut state = StateWriter::create(Path::new("/dev/full"), 7, &origin()).unwrap();
    // Bytes that cannot be compressed fill all buffers.
    let mut number = 1_u64;
    let noise = std::iter::repeat_with(|| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        number
    });
    let noise: Vec<u64> = noise.take(100_000).collect();
    let error = state.part(&noise).unwrap_err().to_string();
    assert!(error.starts_with("cannot write `/dev/full`: No space left"), "{error}");
}
