//! Programs in C and C++ are compiled against the header, linked with the static library, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The static library, as `cargo build` makes it.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // This program is at TARGET/PROFILE/deps/NAME.
        let program = std::env::current_exe().unwrap();
        let target = program.ancestors().nth(3).unwrap();
        let output = Command::new(env!("CARGO"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--quiet", "--frozen", "--lib", "--profile=test"])
            .args(["--message-format=json", "--target-dir"])
            .arg(target)
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "the library does not build");
        let messages = String::from_utf8(output.stdout).unwrap();
        let files = messages.lines().flat_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            let files = message["filenames"].as_array().cloned();
            files.unwrap_or_default()
        });
        files
            .filter_map(|file| file.as_str().map(PathBuf::from))
            .find(|file| file.ends_with("librecoup_recovery_c.a"))
            .expect("cargo built no static library")
    })
}

fn exists(compiler: &str) -> bool {
    let run = Command::new(compiler).arg("--version").output();
    run.is_ok_and(|run| run.status.success())
}

/// Compiles `source`, links it with the library, and returns the program.
fn compiled(compiler: &str, options: &[&str], source: &str, folder: &Path) -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("program");
    let run = Command::new(compiler)
        .args(WARNINGS)
        .args(options)
        .args(["-O1", "-I"])
        .arg(home.join("include"))
        .arg(home.join(source))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{source}: {errors}");
    program
}

/// The output of a program.
fn printed(program: &Path, arguments: &[&str]) -> String {
    let run = Command::new(program).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(run.stdout).unwrap()
}

/// The number after `name` in what the example printed.
fn number(printed: &str, name: &str) -> u64 {
    let (_, rest) = printed.split_once(name).expect(name);
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap().parse().expect(name)
}

#[test]
fn the_example_in_c_transfers_everything() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("cc", &["-std=c11"], "examples/transfer.c", folder.path());
    for (lost_per_thousand, seed) in [("0", "1"), ("20", "1"), ("20", "2"), ("100", "3")] {
        let printed = printed(&program, &[lost_per_thousand, seed]);
        println!("{printed}");
        assert!(printed.contains("5000 of 5000 chunks"), "{printed}");
        let dropped = number(&printed, "dropped by the link: ");
        let lost = number(&printed, "declared lost: ");
        assert_eq!(dropped > 0, lost_per_thousand != "0", "{printed}");
        assert!(lost_per_thousand == "0" || lost > 0, "{printed}");
    }
}

#[test]
fn a_program_in_cpp_uses_the_header() {
    if !exists("c++") {
        return recoup_testing::skip("there is no C++ compiler");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("c++", &["-std=c++17"], "tests/stream.cpp", folder.path());
    printed(&program, &[]);
}
