//! JSON documents: each carries its schema's name and version, and no field vanishes without a new
//! version.
//!
//! The fields of each document are listed in `docs/schemas`, a file for each version. With
//! `RECOUP_UPDATE_SCHEMAS` set, new fields are added to these files; a field is never taken out.

use crate::cli::drill::SERVER;
use crate::cli::{Folder, recoup};
use recoup_lab::report;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The fields of a document: names joined by dots, `[]` after the name of a list.
type Fields = BTreeSet<String>;

/// Adds the fields of `value`. What is below a `null` or an empty list is unknown.
fn collect(value: &Value, path: &str, fields: &mut Fields) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                collect(value, &path, fields);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let path = format!("{path}[]");
            items.iter().for_each(|item| collect(item, &path, fields));
        }
        _ => {
            fields.insert(path.to_owned());
        }
    }
}

/// Whether a listed field is in the document, or unknown in it: below something that is `null` or empty.
fn is_there(field: &str, fields: &Fields) -> bool {
    let parents = field.char_indices().filter(|(_, c)| matches!(c, '.' | '['));
    fields.contains(field) || parents.into_iter().any(|(end, _)| fields.contains(&field[..end]))
}

/// Compares the fields of a document with those listed for its version; `part` names one of several
/// documents of one schema that differ in their fields.
fn check(document: &Value, part: &str, more: Fields) {
    let schema = document["schema"].as_str().expect("a schema");
    let version = document["version"].as_u64().expect("a version");
    let mut fields = more;
    collect(document, "", &mut fields);
    let name = format!("{schema}{part}.v{version}.txt");
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/schemas", &name].iter().collect();
    let listed = fs::read_to_string(&file).unwrap_or_default();
    let listed: Fields = listed.lines().map(String::from).collect();
    let vanished: Vec<_> = listed.iter().filter(|f| !is_there(f, &fields)).collect();
    assert!(vanished.is_empty(), "{name}: raise the version, for these fields are gone: {vanished:?}");
    let known = |field: &&String| listed.contains(*field) || !is_leaf(field, &fields, &listed);
    let new: Vec<_> = fields.iter().filter(|field| !known(field)).collect();
    if !new.is_empty() && std::env::var_os("RECOUP_UPDATE_SCHEMAS").is_some() {
        let all: Fields = listed.into_iter().chain(new.into_iter().cloned()).collect();
        let text: String = all.iter().map(|field| format!("{field}\n")).collect();
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, text).expect("a file");
        return;
    }
    assert!(new.is_empty(), "{name}: not listed: {new:?}; run the test with RECOUP_UPDATE_SCHEMAS=1");
}

/// Whether a field is a value, not something `null` whose fields are listed or known.
fn is_leaf(field: &str, fields: &Fields, listed: &Fields) -> bool {
    let below = |other: &String| {
        let rest = other.strip_prefix(field);
        rest.is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    !fields.iter().chain(listed).any(below)
}

/// A folder with captures of lossy flows.
fn captured() -> Folder {
    let folder = Folder::new();
    let args = "run tail-loss --profile linux-3.17 --flows 20 --seed 3 --pcap caps \
        --set segments=60 --set drop=bernoulli:0.05,up:bernoulli:0.02";
    folder.recoup(&args.split_whitespace().collect::<Vec<_>>()).printed();
    folder
}

#[test]
fn a_study_of_losses_has_the_fields_of_its_version() {
    let folder = Folder::new();
    // SYNs are lost, and connections close.
    let args = "run fetch --profile linux-3.17 --flows 60 --seed 7 --pcap caps --set close=true \
        --set drop=bernoulli:0.06,up:bernoulli:0.06";
    folder.recoup(&args.split_whitespace().collect::<Vec<_>>()).printed();
    let args = "analyze --study=slp caps/linux-3.17-receiver.pcap --format json";
    let outcome = folder.recoup(&args.split_whitespace().collect::<Vec<_>>());
    let document: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let study = &document["captures"][0]["study"];
    assert_ne!(study["syn_losses"]["completed"], 0);
    assert_ne!(study["with_position"], 0);
    check(&document, "", Fields::new());
}

#[test]
fn an_explanation_has_the_fields_of_its_version() {
    let document = Folder::new().recoup(&["explain", "--demo", "--format", "json"]);
    check(&document.json(), "", Fields::new());
}

#[test]
fn a_run_has_the_fields_of_its_version() {
    let args = "run tail-loss --flows 60 --set segments=150 --set drop=bernoulli:0.05 \
        --profile linux-6+slp --format json";
    let document = Folder::new().recoup(&args.split_whitespace().collect::<Vec<_>>()).json();
    assert_eq!(document["schema"], "recoup.run");
    // What only real packets have is in the list of columns.
    let columns = report::columns().fields();
    let columns = columns.iter().map(|field| format!("results[].{}", field.path));
    check(&document, "", columns.collect());
}

#[test]
fn a_world_has_the_fields_of_its_version() {
    let args = "-q run dumbbell --set duration=1s --set links.bottleneck.rate=20Mbit \
        --profile linux-6+slp --format json";
    let document = Folder::new().recoup(&args.split_whitespace().collect::<Vec<_>>()).json();
    assert_eq!(document["schema"], "recoup.world");
    let columns = report::columns().fields();
    let columns = columns.iter().map(|field| format!("results[].workloads[].{}", field.path));
    check(&document, "", columns.collect());
}

#[test]
fn sweeps_have_the_fields_of_their_versions() {
    let swept = [
        ("recoup.sweep", "results[]", "tail-loss --flows 60 --sweep segments=100,150"),
        (
            "recoup.world_sweep",
            "results[].workloads[]",
            "dumbbell --set duration=1s --sweep links.bottleneck.rate=20Mbit,30Mbit",
        ),
    ];
    for (schema, rows, args) in swept {
        let args = format!("-q run {args} --profile linux-6+slp --format json");
        let document = recoup(&args.split_whitespace().collect::<Vec<_>>()).json();
        assert_eq!(document["schema"], schema);
        let columns = report::columns().fields();
        let columns = columns.iter().map(|field| format!("cells[].{rows}.{}", field.path));
        check(&document, "", columns.collect());
    }
}

#[test]
fn analyses_have_the_fields_of_their_versions() {
    let folder = captured();
    for view in ["summary", "connections", "retransmissions"] {
        let view = format!("--{view}");
        let capture = "caps/linux-3.17-sender.pcap";
        let outcome = folder.recoup(&["analyze", capture, &view, "--format", "json"]);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let document = serde_json::from_str(&outcome.stdout).expect("JSON");
        check(&document, "", Fields::new());
        // With a state, rows are records; the summary is the same document.
        let args = ["analyze", "--state", &view[2..], capture, &view, "--format", "json"];
        let document = folder.recoup(&args).json();
        check(&document, "", Fields::new());
    }
    let args = "analyze --join caps/linux-3.17-sender.pcap --retransmissions --format json";
    let args: Vec<&str> = args.split_whitespace().collect();
    check(&folder.recoup(&args).json(), ".joined", Fields::new());
}

#[test]
fn reruns_have_the_fields_of_their_version() {
    let folder = captured();
    let capture = "caps/linux-3.17-sender.pcap";
    let args = ["whatif", capture, "--try", "+tlp", "--try", "+slp", "--connections", "--format", "json"];
    check(&folder.recoup(&args).json(), "", Fields::new());
}

#[test]
fn a_study_of_parameters_has_the_fields_of_its_version() {
    let folder = captured();
    let args = "whatif caps/linux-3.17-sender.pcap --study --dupthresh 2,4 --connections --format json";
    let args: Vec<&str> = args.split_whitespace().collect();
    check(&folder.recoup(&args).json(), "", Fields::new());
}

#[test]
fn drills_have_the_fields_of_their_version() {
    let folder = Folder::new();
    folder.write("wrong.pkt", SERVER.replace("listen", "lisen"));
    let fails = SERVER.replace("+.3 >", "+.25 >") + "`echo a note`\n";
    folder.write("fails.pkt", fails);
    let args = ["drill", "wrong.pkt", "fails.pkt", "--trace", "--format", "json"];
    let outcome = folder.recoup(&args);
    let document = serde_json::from_str(&outcome.stdout).expect("JSON");
    check(&document, "", Fields::new());
}

#[test]
fn a_figure_of_a_paper_has_the_fields_of_its_version() {
    for (paper, figure) in [("slp", "arbitrator"), ("prr", "fig2"), ("tail-loss", "fig2")] {
        let document = Folder::new().recoup(&["paper", paper, figure, "--format", "json"]).json();
        check(&document, &format!(".{paper}-{figure}"), Fields::new());
    }
}

#[test]
fn a_ledger_has_the_fields_of_its_version() {
    let folder = Folder::new();
    let outcome = folder.recoup(&["paper", "slp", "arbitrator", "--out", "out"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let document = serde_json::from_str(&folder.read("out/ledger.json")).expect("JSON");
    check(&document, "", Fields::new());
}

/// The check itself finds what vanished and what is new.
#[test]
fn fields_are_compared_by_their_whole_names() {
    let mut fields = Fields::new();
    let document = serde_json::json!({"a": {"b": 1, "c": null}, "d": [{"e": 1}, {"f": 2}], "g": []});
    collect(&document, "", &mut fields);
    let names: Vec<_> = fields.iter().map(String::as_str).collect();
    assert_eq!(names, ["a.b", "a.c", "d[].e", "d[].f", "g"]);
    for (field, there) in [
        ("a.b", true),
        ("a.c.x", true),
        ("d[].e", true),
        ("g[].h", true),
        ("a.bb", false),
        ("a.x", false),
        ("d[].x", false),
    ] {
        assert_eq!(is_there(field, &fields), there, "{field}");
    }
}
