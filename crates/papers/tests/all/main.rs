//! `recoup paper`: the program `recoup-papers`, run as users run it.

mod documents;
mod ledger;
mod pages;
mod report;

use recoup_testing::{Folder, Outcome, csv_rows};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A folder to run the program in.
fn folder() -> Folder {
    Folder::new(env!("CARGO_BIN_EXE_recoup-papers"))
}

/// Runs the program in a folder of its own.
fn recoup(args: &[&str]) -> Outcome {
    folder().run(args)
}

const FIGURES: [&str; 2] = ["fig1", "fig2"];

/// The figures of the PRR paper, and their panels.
const PRR: [(&str, &[&str]); 3] = [("fig2", &["prr", "linux", "rfc-3517"]), ("fig3", &["prr"]), ("fig4", &["prr"])];

/// The endings of a figure's files.
const ENDINGS: [&str; 5] = ["csv", "json", "pdf", "png", "svg"];

/// The only figure of a JSON document.
fn only(json: &str) -> Value {
    let document: Value = serde_json::from_str(json).expect("a document");
    assert_eq!((&document["schema"], &document["version"]), (&"recoup.paper".into(), &1.into()));
    let figures = document["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 1, "{json}");
    figures[0].clone()
}

/// Checks that no row of a table is wider than a terminal.
fn assert_fits(text: &str) {
    for row in text.lines().filter(|line| line.starts_with('|')) {
        assert!(row.chars().count() <= 160, "{row}");
    }
}

fn tail_loss(args: &[&str]) -> String {
    recoup(&[&["tail-loss"], args].concat()).printed()
}

#[test]
fn named_figures_are_printed_one_after_another() {
    let both = |format: &str| tail_loss(&["fig1", "fig2", "--format", format]);
    let each = FIGURES.map(|figure| tail_loss(&[figure]));
    assert_eq!(both("table"), each.concat());
    assert_eq!(tail_loss(&["fig1", "fig2"]), both("table"));
    for format in ["table", "json", "csv"] {
        assert!(both(format) == both(format), "{format}: twice");
    }
    assert_eq!(csv_rows(&both("csv")).len(), 1 + 56 + 40, "one header");
}

#[test]
fn the_study_of_loss_detection_has_a_figure_and_claims() {
    let args = ["loss-detection", "fig2", "--quick", "--format", "json"];
    let json = recoup(&args).printed();
    let figure = only(&json);
    assert_eq!(figure["paper"], "loss-detection");
    assert_eq!(figure["cells"].as_array().map(Vec::len), Some(4));
    let claims = figure["claims"].as_array().expect("claims");
    assert!(claims.iter().all(|claim| claim["verdict"] == claim["known"]));
}

#[test]
fn wrong_arguments_are_refused() {
    for (args, expected) in [
        (&["--format", "svg"][..], "--format svg: name the one figure"),
        (&["fig1", "--set", "rtt=1ms"], "--set rtt: the cells of the figures set it"),
        (&["--set", "drop=none"], "--set drop: the cells of the figures set it"),
        (&["--set", "ack=quick"], "--set ack: the cells of the figures set it"),
    ] {
        let outcome = recoup(&[&["tail-loss"], args].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{args:?}");
        let expected = format!("recoup: {expected}");
        assert!(outcome.stderr.starts_with(&expected), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}

#[test]
fn each_figure_has_each_format() {
    for (figure, cells) in FIGURES.into_iter().zip([56, 40]) {
        let table = tail_loss(&[figure]);
        assert!(table.starts_with(&format!("tail-loss {figure}: ")), "{table}");
        assert!(table.contains("| verdict ") && table.contains("| holds "), "{table}");
        assert!(table.contains("RTT (ms)"), "units: {table}");

        let json = tail_loss(&[figure, "--format", "json"]);
        let json = only(&json);
        assert_eq!((&json["paper"], &json["figure"]), (&"tail-loss".into(), &figure.into()));
        assert_eq!(json["cells"].as_array().map(Vec::len), Some(cells));
        for claim in json["claims"].as_array().expect("claims") {
            for name in ["id", "section", "statement", "check", "ours"] {
                assert!(claim[name].as_str().is_some_and(|t| !t.is_empty()), "{name}: {claim}");
            }
            assert!(["holds", "fails"].contains(&claim["verdict"].as_str().expect("a verdict")), "{claim}");
            // A claim that does not hold has a reason.
            assert!(claim["verdict"] == "holds" || claim["note"].is_string(), "{claim}");
        }

        let csv = tail_loss(&[figure, "--format", "csv"]);
        let rows = csv_rows(&csv);
        assert_eq!(rows.len(), 1 + cells, "{csv}");
        let column = rows[0].iter().position(|n| *n == "fct_ms").expect("fct_ms");
        for (row, cell) in rows[1..].iter().zip(json["cells"].as_array().expect("cells")) {
            assert_eq!(row[column].parse().ok(), cell["fct_ms"].as_f64(), "{cell}");
        }

        let svg = tail_loss(&[figure, "--format", "svg"]);
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    }
}

#[test]
fn files_have_the_printed_text() {
    let dir = folder();
    let outcome = dir.run(&["tail-loss", "fig1", "fig2", "--out", "figures/here"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, tail_loss(&["fig1", "fig2"]));
    let mut names = vec!["figures".to_owned(), "figures/here".to_owned()];
    names.push("figures/here/ledger.json".into());
    for figure in FIGURES {
        for ending in ENDINGS {
            let name = format!("figures/here/tail-loss-{figure}.{ending}");
            match ending {
                "pdf" => assert!(dir.bytes(&name).starts_with(b"%PDF-"), "{name}"),
                "png" => assert!(dir.bytes(&name).starts_with(b"\x89PNG"), "{name}"),
                _ => assert!(dir.read(&name) == tail_loss(&[figure, "--format", ending]), "{name}"),
            }
            let note = format!("wrote {name}\n");
            assert!(outcome.stderr.contains(&note), "{}", outcome.stderr);
            names.push(name);
        }
    }
    names.sort();
    assert_eq!(dir.files(), names);
    // The files of each figure, and the ledger.
    assert_eq!(outcome.stderr.lines().count(), 2 * 5 + 1);

    // Writing one figure replaces the existing file.
    let again = dir.run(&["tail-loss", "fig2", "--out", "figures/here"]);
    assert_eq!(again.stderr.lines().count(), 5 + 1, "{}", again.stderr);
    assert_eq!(dir.files(), names);
}

/// The status is 1. The figure is printed, and a message names the changed claims.
#[test]
fn a_claim_with_another_verdict_fails_the_check() {
    let outcome = recoup(&["tail-loss", "fig1", "--set", "rate=100kbit"]);
    assert_eq!(outcome.status, Some(1));
    let row = "| FAILS (expected: holds) ";
    assert!(outcome.stdout.contains(row), "{}", outcome.stdout);
    let stderr = &outcome.stderr;
    assert!(
        stderr.starts_with("recoup: claims with another verdict than the expected one: tail-loss fig1 "),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn unwritable_figures_leave_no_files() {
    let dir = folder();
    dir.write("file", "kept");
    fs::create_dir_all(dir.path("folder/tail-loss-fig2.json")).expect("a folder");
    let before = dir.files();
    for (out, named) in
        [("file", "`file`: not a folder"), ("file/below", "`file/below`"), ("folder", "`folder/tail-loss-fig2.json`")]
    {
        let outcome = dir.run(&["tail-loss", "fig1", "fig2", "--out", out]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{out}");
        let line = format!("recoup: cannot write {named}");
        assert!(outcome.stderr.lines().last().is_some_and(|last| last.starts_with(&line)), "{out}: {}", outcome.stderr);
        assert_eq!(dir.files(), before, "{out}");
    }
    assert_eq!(dir.read("file"), "kept");
}

#[test]
fn the_prr_papers_figures_are_time_sequence_diagrams() {
    let prr = |args: &[&str]| recoup(&[&["prr"], args].concat()).printed();
    for (figure, panels) in PRR {
        let table = prr(&[figure]);
        assert!(table.starts_with(&format!("prr {figure}: ")), "{table}");
        for head in ["recovery from (ms after the first write)", "ssthresh (segments)"] {
            assert!(table.contains(head), "{head}\n{table}");
        }
        for scheme in ["PRR", "Linux", "RFC 3517"] {
            for ack in ["delayed", "quick"] {
                let row = format!("| {scheme:<8} | {ack:<7} |");
                assert_eq!(table.matches(&row).count(), 1, "{row}\n{table}");
            }
        }
        let json = only(&prr(&[figure, "--format", "json"]));
        assert_eq!(json["cells"].as_array().map(Vec::len), Some(6));
        for claim in json["claims"].as_array().expect("claims") {
            assert!(claim["verdict"] == "holds" || claim["note"].is_string(), "{claim}");
        }
        let svg = prr(&[figure, "--format", "svg"]);
        assert_eq!(svg.matches(">sequence (kB)<").count(), panels.len());
        let csv = prr(&[figure, "--format", "csv"]);
        assert!(csv_rows(&csv).len() > 6 * 30, "a line a segment");
    }
}

#[test]
fn time_sequence_figures_come_with_files_for_xplot() {
    let dir = folder();
    let outcome = dir.run(&["prr", "fig2", "fig3", "fig4", "properties", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let mut names = vec!["out".to_owned(), "out/ledger.json".to_owned()];
    names.extend(ENDINGS.map(|ending| format!("out/prr-properties.{ending}")));
    for (figure, panels) in PRR {
        names.extend(ENDINGS.map(|ending| format!("out/prr-{figure}.{ending}")));
        for panel in panels {
            let name = format!("out/prr-{figure}-{panel}.xpl");
            let text = dir.read(&name);
            assert!(text.starts_with("timeval unsigned\ntitle\n"), "{name}");
            assert!(text.ends_with("\ngo\n"), "{name}");
            names.push(name);
        }
    }
    names.sort();
    assert_eq!(dir.files(), names);
}

#[test]
fn the_prr_papers_properties_are_a_table_with_counterexamples() {
    let dir = folder();
    let outcome = dir.run(&["prr", "properties", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let table = outcome.stdout;
    assert!(table.starts_with("prr properties: "), "{table}");
    for part in ["largest burst on an ACK (segments)", "| holds ", "| FAILS (expected) "] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    let json = only(&dir.read("out/prr-properties.json"));
    let claims = json["claims"].as_array().expect("claims");
    for claim in claims {
        assert!(claim["verdict"] == "holds" || claim["note"].is_string(), "{claim}");
    }
    assert_eq!(csv_rows(&dir.read("out/prr-properties.csv")).len(), 1 + 49);
    assert!(dir.read("out/prr-properties.svg").starts_with("<svg "));

    // The printed command repeats the counterexample.
    let claim = claims.iter().find(|claim| claim["id"] == "twice-delivered");
    let note = claim.and_then(|claim| claim["note"].as_str()).expect("why");
    let (_, command) = note.split_once("`recoup ").expect("a command");
    let (command, _) = command.split_once(" | grep").expect("a filter");
    let recoup = Path::new(env!("CARGO_BIN_EXE_recoup-papers")).with_file_name("recoup");
    if !recoup.is_file() {
        return recoup_testing::skip("the program recoup is not built");
    }
    let events = Folder::new(recoup).run(&command.split(' ').collect::<Vec<_>>()).printed();
    let (_, at) = note.split_once(" at ").expect("a time");
    let (at, _) = at.split_once(" ms").expect("a time");
    let entered = events
        .lines()
        .find(|line| line.starts_with(&format!("{{\"time_ms\":{at},")) && line.contains("\"to\":\"recovery\""));
    assert!(entered.is_some(), "{note}");
}

#[test]
fn figures_with_different_columns_are_not_printed_as_one_csv() {
    let outcome = recoup(&["prr", "fig2", "properties", "--format", "csv"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""));
    let line = "recoup: --format csv: the figures have different columns: ";
    assert!(outcome.stderr.starts_with(line), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    let both = recoup(&["prr", "fig2", "fig4", "--format", "csv"]).printed();
    let rows = csv_rows(&both);
    assert_eq!(rows.iter().filter(|row| **row == rows[0]).count(), 1);
    for (args, key) in
        [(&["properties", "--set", "reorder=none"][..], "reorder"), (&["fig2", "--set", "ack=quick"], "ack")]
    {
        let outcome = recoup(&[&["prr"], args].concat());
        let line = format!("recoup: --set {key}: the cells of the figures set it");
        assert!(outcome.stderr.starts_with(&line), "{}", outcome.stderr);
    }
}

#[test]
fn the_slp_papers_goodputs_are_computed_and_simulated() {
    let dir = folder();
    let outcome = dir.run(&["slp", "fec", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let table = outcome.stdout;
    assert!(table.starts_with("slp fec: "), "{table}");
    for part in [
        "seed 1; intervals of 99.994 % confidence each, 99.1 % for all 144 together",
        "goodput, paper (unique/sent)",
        "| 16+1 ",
        "\nClosed forms outside the simulated interval, at all loss rates: none of 144\n",
        "| FAILS (expected) ",
        "| no-retransmission ",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    // The text table has six of the nine loss rates.
    assert_eq!(table.matches("| 16+1 ").count(), 6, "{table}");
    assert_fits(&table);
    let json = only(&dir.read("out/slp-fec.json"));
    let cells = json["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 72);
    for claim in json["claims"].as_array().expect("claims") {
        let why = claim["verdict"] == "holds" || claim["note"].is_string();
        assert!(why, "{claim}");
    }

    let csv = dir.read("out/slp-fec.csv");
    let rows = csv_rows(&csv);
    assert_eq!(rows.len(), 1 + cells.len());
    let column = |name| rows[0].iter().position(|column| *column == name);
    let column = |name| column(name).unwrap_or_else(|| panic!("{name}"));
    for (row, cell) in rows[1..].iter().zip(cells) {
        for (name, value) in
            [("p", &cell["p"]), ("alone_low", &cell["alone"]["low"]), ("with_arq_exact", &cell["with_arq"]["exact"])]
        {
            let number: f64 = row[column(name)].parse().expect("a number");
            // Parsing JSON may lose the last digit.
            let same = value.as_f64().is_some_and(|v| (v - number).abs() < 1e-15);
            assert!(same, "{name}: {number}, {value}");
        }
        assert_eq!(row[column("with_arq_agrees")], "true");
    }

    let svg = dir.read("out/slp-fec.svg");
    assert_eq!(svg.matches(">goodput (unique packets/sent)<").count(), 3);
    assert_eq!(svg.matches(">packets lost (%)<").count(), 1);
}

/// Exit status 0: each claim has its expected verdict.
#[test]
fn the_slp_papers_population_has_the_verdicts_that_are_known() {
    let dir = folder();
    let outcome = dir.run(&["slp", "fig1", "table1", "--quick", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stdout);
    for id in ["head-more", "k-means-threshold", "all-shorter-rerun"] {
        assert!(outcome.stdout.contains(id), "{id}");
    }
    let csv = dir.read("out/slp-fig1.csv");
    assert!(csv.starts_with("figure,sender,half,position,retransmissions,"));
    assert_eq!(dir.read("out/slp-table1.csv").lines().count(), 6);
    assert!(dir.read("out/slp-fig1.svg").starts_with("<svg "));
}

#[test]
fn the_slp_papers_simulations_have_a_seed() {
    let csv = |args: &[&str]| recoup(&[&["slp", "fec", "--format", "csv"], args].concat());
    let first = csv(&["--seed", "1"]).printed();
    assert!(first == csv(&[]).printed(), "the scenario's");
    let other = csv(&["--seed", "2"]).printed();
    for (row, other) in csv_rows(&first)[1..].iter().zip(&csv_rows(&other)[1..]) {
        assert_eq!((row[1], other[1]), ("1", "2"));
        // The closed forms do not depend on the seed.
        assert_eq!(row[3..9], other[3..9]);
    }
    let refused = csv(&["--seed", "one"]);
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(2), ""));
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
}

#[test]
fn the_slp_papers_thresholds_are_the_arbitrators() {
    let dir = folder();
    let outcome = dir.run(&["slp", "arbitrator", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let table = outcome.stdout;
    for part in [
        "slp arbitrator: ",
        "| kbit/s at RTO 1000 ms ",
        "| 5880.00 ",
        "| FAILS (expected) | syn-threshold ",
        "| FAILS (expected) | psh-threshold ",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    assert_fits(&table);
    let json = only(&dir.read("out/slp-arbitrator.json"));
    let cells = json["cells"].as_array().expect("cells");
    let of = |size: u64| {
        let is = |cell: &&Value| cell["size"] == size && cell["rto_ms"] == 1000;
        let cell = cells.iter().find(is).expect("a cell");
        cell["threshold_bits_per_second"].as_u64()
    };
    assert_eq!((of(70), of(1500)), (Some(27_440), Some(5_880_000)));
    let csv = dir.read("out/slp-arbitrator.csv");
    assert_eq!(csv_rows(&csv).len(), 1 + cells.len());
    assert!(dir.read("out/slp-arbitrator.svg").contains(">bandwidth (Mbit/s)<"));
}

#[test]
fn slp_and_the_tail_loss_mechanisms_share_one_table() {
    let dir = folder();
    let outcome = dir.run(&["slp", "tails", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let table = outcome.stdout;
    for part in [
        "slp tails: ",
        "\nLost: last of 8 (segments=8 slp.q=tail:1 ack=quick)\n",
        "| FCT, 20 ms | 80 ms ",
        "| withheld, 20 ms | 80 ms | 320 ms |",
        "| linux-3.17+tlpr+slp ",
        "| last-two-of-a-window ",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    assert_eq!(table.matches("\nLost: ").count(), 10, "{table}");
    assert_fits(&table);
    let json = only(&dir.read("out/slp-tails.json"));
    let cells = json["cells"].as_array().expect("cells");
    let of = |lost: &str, profile: &str| {
        let is = |cell: &&Value| {
            (&cell["lost"], &cell["q"]) == (&lost.into(), &"tail:1".into())
                && (&cell["profile"], &cell["ack"]) == (&profile.into(), &"quick".into())
                && cell["rtt_ms"] == 80
        };
        let cell = cells.iter().find(is).expect("a cell");
        (cell["fct_ms"].as_f64(), cell["withheld"].as_u64())
    };
    assert_eq!(of("last of 8", "linux-3.17+slp"), (Some(170.0), Some(0)));
    assert_eq!(of("last of 10", "linux-3.17+slp"), (Some(520.0), Some(1)));
    let csv = dir.read("out/slp-tails.csv");
    assert_eq!(csv_rows(&csv).len(), 1 + cells.len());
    assert!(dir.read("out/slp-tails.svg").contains(">normalised FCT<"));
}

#[test]
fn servers_of_the_prr_paper_take_a_number_of_users_and_parameters() {
    let video = ["prr", "video", "--users", "3", "--format"];
    let printed = |format: &str| recoup(&[&video[..], &[format]].concat()).stdout;
    let figure = only(&printed("json"));
    let title = figure["title"].as_str().expect("a title");
    assert!(title.contains(" 3 users,"), "{title}");
    let cells = figure["cells"].as_array().expect("cells");
    assert!(cells.iter().any(|cell| cell["table"] == "Table 10"));
    let csv = printed("csv");
    assert_eq!(csv, printed("csv"), "twice");
    assert_eq!(csv.lines().count(), 1 + cells.len());
    let of_other_users = recoup(&[&video[..], &["csv", "--parameter", "queue=1"]].concat()).stdout;
    assert!(of_other_users.lines().count() == csv.lines().count() && of_other_users != csv);
    for (args, part) in [
        (["video", "--parameter=queue"], "NAME=VALUE"),
        (["video", "--parameter=quue=3"], "expected one of loss, outage_gap"),
        (["fig2", "--parameter=queue=3"], "nothing is fitted here"),
        (["video", "--users=0"], "0"),
        (["video", "--users=few"], "few"),
        (["vidoe", "--users=3"], "video"),
        (["web", "--set=rtt=80ms"], "rtt"),
    ] {
        let refused = recoup(&[&["prr"], &args[..]].concat());
        assert_eq!(refused.status, Some(2), "{args:?}");
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_prints_the_finished_figures_and_names_the_other() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    const SIGINT: i32 = 2;
    let folder = folder();
    let args = "prr fig2 web fig3 --users 5000000 --format json --out figures";
    let mut child = folder
        .command(&args.split(' ').collect::<Vec<_>>())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The first figure takes milliseconds, the second one minutes.
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().expect("the program's state").is_none());
    let id = child.id().to_string();
    let kill = Command::new("kill").args(["-INT", &id]).status();
    assert!(kill.expect("kill").success());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.signal(), Some(SIGINT), "{output:?}");
    let figure = only(std::str::from_utf8(&output.stdout).expect("UTF-8"));
    assert_eq!(figure["figure"], "fig2");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let note = "interrupted: prr web is not finished; did not begin: prr fig3\n";
    assert!(stderr.ends_with(note), "{stderr}");
    let written = fs::read_dir(folder.path("figures")).expect("the folder");
    let written: Vec<String> =
        written.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    assert!(written.contains(&"prr-fig2.svg".to_string()), "{written:?}");
    assert!(written.iter().all(|name| name.starts_with("prr-fig2") || name == "ledger.json"), "{written:?}");
}

#[test]
fn help_lists_every_option() {
    for (command, parts) in [
        (&[][..], &["Exit status"][..]),
        (&["tail-loss"], &["--out", "--set", "--format", "FAILS (expected: holds)"]),
        (&["prr"], &["--out", "--set", "--format", "properties:", "Exit status"]),
    ] {
        let help = recoup(&[command, &["--help"]].concat()).printed();
        for part in parts {
            assert!(help.contains(part), "{command:?}: {part}\n{help}");
        }
    }
}

#[test]
fn wrong_use_is_one_line() {
    let dir = folder();
    for (args, parts) in [
        (&["tail-loss", "--set", "segmets=9"][..], &["unknown setting `segmets`", "did you mean `segments`?"][..]),
        (&["tail-los"], &["'tail-loss'"]),
        (&["tail-loss", "fig5"], &["fig1, fig2, fig3, fig4"]),
        (&["tail-loss", "--format", "png"], &["'png'"]),
        (&["slp", "fig7", "--scenario", "dumbbell"], &["--scenario"]),
        // A cell loses more segments than the flow has.
        (&["tail-loss", "fig2", "--out", "new", "--set", "segments=3"], &["has only 3 data segments"]),
        (&["tail-loss", "fig2", "--out", "new", "--set", "rtt"], &["expected KEY=VALUE"]),
        (&["document", "tail-los"], &["did you mean `tail-loss`?"]),
    ] {
        dir.refuses(args, parts);
    }
}

#[test]
fn output_that_cannot_be_written() {
    use std::process::Stdio;
    let mut child =
        folder().command(&["tail-loss", "fig1"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let closed = child.wait_with_output().unwrap();
    assert_eq!((closed.status.code(), &*String::from_utf8_lossy(&closed.stderr)), (Some(0), ""));
    if let Ok(full) = fs::File::options().write(true).open("/dev/full") {
        let output = folder().command(&["tail-loss", "fig1"]).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stderr.starts_with(b"recoup: cannot write "), "{output:?}");
    }
}
