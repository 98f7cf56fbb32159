//! JSON documents: each carries its schema's name and version, and no field vanishes without a new
//! version.
//!
//! The fields of each document are listed in `docs/schemas`, a file for each version. With
//! `RECOUP_UPDATE_SCHEMAS` set, new fields are added to these files; a field is never taken out.

use crate::cli::drill::SERVER;
use crate::cli::drill_stack::{SILENT, is_installed};
use crate::cli::{folder, recoup};
use recoup_lab::report;
use recoup_testing::{Fields, Folder, check_fields, collect_fields, is_there};
use serde_json::Value;

/// A folder with captures of lossy flows.
fn captured() -> Folder {
    let folder = folder();
    let args = "run tail-loss --profile linux-3.17 --flows 20 --seed 3 --pcap caps \
        --set segments=60 --set drop=bernoulli:0.05,up:bernoulli:0.02";
    folder.run(&args.split_whitespace().collect::<Vec<_>>()).printed();
    folder
}

#[test]
fn a_study_of_losses_has_the_fields_of_its_version() {
    let folder = folder();
    // SYNs are lost, and connections close.
    let args = "run fetch --profile linux-3.17 --flows 60 --seed 7 --pcap caps --set close=true \
        --set drop=bernoulli:0.06,up:bernoulli:0.06";
    folder.run(&args.split_whitespace().collect::<Vec<_>>()).printed();
    let args = "analyze --study=slp caps/linux-3.17-receiver.pcap --format json";
    let outcome = folder.run(&args.split_whitespace().collect::<Vec<_>>());
    let document: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let study = &document["captures"][0]["study"];
    assert_ne!(study["syn_losses"]["completed"], 0);
    assert_ne!(study["with_position"], 0);
    check_fields(&document, "", Fields::new());
}

#[test]
fn an_explanation_has_the_fields_of_its_version() {
    // Only several captures have a total, whose rows of captures come first.
    let captures = captured();
    let both = ["explain", "caps/linux-3.17-sender.pcap", "caps/linux-3.17-receiver.pcap", "--format", "json"];
    let mut fields = Fields::new();
    collect_fields(&captures.run(&both).json(), "", &mut fields);
    let document = folder().run(&["explain", "--demo", "--format", "json", "--by", "server"]);
    check_fields(&document.json(), "", fields);
}

#[test]
fn an_explained_connection_has_the_fields_of_its_version() {
    let document = folder().run(&["explain", "--demo", "--format", "json", "--connection", "13"]);
    check_fields(&document.json(), "", Fields::new());
}

#[test]
fn a_run_has_the_fields_of_its_version() {
    let args = "run tail-loss --flows 60 --set segments=150 --set drop=bernoulli:0.05 \
        --profile linux-6+slp --format json";
    let document = folder().run(&args.split_whitespace().collect::<Vec<_>>()).json();
    assert_eq!(document["schema"], "recoup.run");
    // What only real packets have is in the list of columns.
    let columns = report::columns().fields();
    let columns = columns.iter().map(|field| format!("results[].{}", field.path));
    check_fields(&document, "", columns.collect());
}

#[test]
fn a_world_has_the_fields_of_its_version() {
    let args = "-q run dumbbell --set duration=1s --set links.bottleneck.rate=20Mbit \
        --profile linux-6+slp --format json";
    let document = folder().run(&args.split_whitespace().collect::<Vec<_>>()).json();
    assert_eq!(document["schema"], "recoup.world");
    let columns = report::columns().fields();
    let columns = columns.iter().map(|field| format!("results[].workloads[].{}", field.path));
    check_fields(&document, "", columns.collect());
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
        check_fields(&document, "", columns.collect());
    }
}

#[test]
fn analyses_have_the_fields_of_their_versions() {
    let folder = captured();
    for view in ["summary", "connections", "episodes", "retransmissions"] {
        let view = format!("--{view}");
        let capture = "caps/linux-3.17-sender.pcap";
        let outcome = folder.run(&["analyze", capture, &view, "--format", "json"]);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let document = serde_json::from_str(&outcome.stdout).expect("JSON");
        check_fields(&document, "", Fields::new());
        // With a state, rows are records; the summary is the same document.
        let args = ["analyze", "--state", &view[2..], capture, &view, "--format", "json"];
        let document = folder.run(&args).json();
        check_fields(&document, "", Fields::new());
    }
    let args = "analyze --join caps/linux-3.17-sender.pcap --retransmissions --format json";
    let args: Vec<&str> = args.split_whitespace().collect();
    check_fields(&folder.run(&args).json(), ".joined", Fields::new());
}

#[test]
fn reruns_have_the_fields_of_their_version() {
    let folder = captured();
    let capture = "caps/linux-3.17-sender.pcap";
    let args = ["whatif", capture, "--try", "+tlp", "--try", "+slp", "--connections", "--format", "json"];
    check_fields(&folder.run(&args).json(), "", Fields::new());
}

#[test]
fn a_comparison_has_the_fields_of_its_version() {
    let folder = captured();
    let capture = "caps/linux-3.17-sender.pcap";
    let args = ["compare", capture, capture, "--try", "+tlp", "--format", "json"];
    check_fields(&folder.run(&args).json(), "", Fields::new());
}

#[test]
fn a_study_of_parameters_has_the_fields_of_its_version() {
    let folder = captured();
    let args = "whatif caps/linux-3.17-sender.pcap --study --dupthresh 2,4 --connections --format json";
    let args: Vec<&str> = args.split_whitespace().collect();
    check_fields(&folder.run(&args).json(), "", Fields::new());
}

#[test]
fn drills_have_the_fields_of_their_version() {
    let folder = folder();
    folder.write("wrong.pkt", SERVER.replace("listen", "lisen"));
    let fails = SERVER.replace("+.3 >", "+.25 >") + "`echo a note`\n";
    folder.write("fails.pkt", fails);
    let args = ["drill", "wrong.pkt", "fails.pkt", "--trace", "--format", "json"];
    let outcome = folder.run(&args);
    let mut document: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    // Against another stack there are more: here one that answers nothing.
    if is_installed("python3") {
        let args = ["drill", "--stack", SILENT, "--format", "json", "rto-doubles-after-each-timeout", "fails.pkt"];
        let outcome = folder.run(&args);
        let guests: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        let scripts = document["scripts"].as_array_mut().expect("a list");
        scripts.extend(guests["scripts"].as_array().cloned().unwrap_or_default());
    }
    check_fields(&document, "", Fields::new());
}

/// The check itself finds what vanished and what is new.
#[test]
fn fields_are_compared_by_their_whole_names() {
    let mut fields = Fields::new();
    let document = serde_json::json!({"a": {"b": 1, "c": null}, "d": [{"e": 1}, {"f": 2}], "g": []});
    collect_fields(&document, "", &mut fields);
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
