use super::*;

fn write_file(target: &Path, text: &str) -> Result<(), OutputError> {
    let mut file = OutputFile::create(target)?;
    file.write_all(text.as_bytes()).map_err(|source| OutputError { path: target.into(), source })?;
    file.publish()
}

#[test]
fn a_file_is_there_whole_or_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    write_file(&path, "old").unwrap();
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"half").unwrap();
    drop(file);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    write_file(&path, "new").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_is_named() {
    let error = write_file(Path::new("/nonexistent/dir/file"), "").unwrap_err().to_string();
    assert!(error.starts_with("cannot write `/nonexistent/dir/file`: "), "{error}");
    let error = create_folder(Path::new("/dev/null")).unwrap_err();
    assert_eq!(error.to_string(), "cannot write `/dev/null`: not a folder");
    write_file(Path::new("/dev/null"), "gone").unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn temporary_files_are_known_while_they_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let known = || unfinished().iter().filter(|p| p.starts_with(dir.path())).count();
    let path = dir.path().join("x");
    let [kept, dropped] = [0, 1].map(|_| OutputFile::create(&path).unwrap());
    assert_eq!(known(), 2);
    drop(dropped);
    assert_eq!(known(), 1);
    kept.publish().unwrap();
    assert_eq!(known(), 0);
}

#[cfg(unix)]
#[test]
fn a_file_that_a_killed_run_left_is_removed_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let [stale, other] = [".recoup-x1y2z3.tmp", "recoup-notes.tmp"].map(|n| dir.path().join(n));
    std::fs::write(&stale, "half").unwrap();
    std::fs::write(&other, "kept").unwrap();
    let first = OutputFile::create(&dir.path().join("first")).unwrap();
    assert!(!stale.exists() && other.exists());
    // A file that is being written is not stale.
    let second = OutputFile::create(&dir.path().join("second")).unwrap();
    first.publish().unwrap();
    second.publish().unwrap();
    let mut names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["first", "recoup-notes.tmp", "second"]);
}

#[cfg(unix)]
#[test]
fn a_new_file_takes_the_place_of_the_old_one() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let [file, link, other, dangling] = ["file", "link", "folder/other", "dangling"].map(|name| dir.path().join(name));
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for secret in [0o600, 0o640, 0o604] {
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(secret)).unwrap();
        write_file(&file, "new").unwrap();
        assert_eq!((mode(&file), std::fs::read_to_string(&file).unwrap().as_str()), (secret, "new"));
    }
    symlink("file", &link).unwrap();
    write_file(&link, "newer").unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "newer");
    // The temporary file is in the folder of the file, not of the link.
    symlink("folder/other", &dangling).unwrap();
    let under_way = OutputFile::create(&dangling).unwrap();
    assert_eq!(std::fs::read_dir(dir.path().join("folder")).unwrap().count(), 1);
    under_way.publish().unwrap();
    assert!(other.is_file());
    symlink("loop", dir.path().join("loop")).unwrap();
    let error = write_file(&dir.path().join("loop"), "").unwrap_err().to_string();
    assert!(error.ends_with("loop`: expected at most 40 symbolic links"), "{error}");
}
