//! Answers of the tools, and what the server says of them.

use crate::session::{Session, folder, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recoup_testing::{Fields, check_fields};
use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::{Value, json};

const CAPTURE: &str = "demo.pcap.zst";

/// Calls of every tool that answers with a document.
fn calls() -> [(&'static str, Value); 9] {
    [
        ("list_captures", json!({})),
        ("explain_capture", json!({ "capture": CAPTURE })),
        ("explain_capture", json!({ "capture": CAPTURE, "by": "server", "top": 10, "from": "1s" })),
        ("explain_connection", json!({ "capture": CAPTURE, "connection": 13 })),
        ("list_retransmissions", json!({ "capture": CAPTURE })),
        ("list_retransmissions", json!({ "capture": CAPTURE, "limit": 0 })),
        ("list_retransmissions", json!({ "capture": CAPTURE, "connection": 13, "trigger": "rto", "offset": 1 })),
        ("what_would_help", json!({ "capture": CAPTURE })),
        ("what_would_help", json!({ "capture": CAPTURE, "try": ["+tlpr", "congestion-control=bbr"] })),
    ]
}

#[test]
fn the_server_says_what_it_is_and_what_its_tools_do() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    let server = session.running.peer_info().expect("a server");
    assert_eq!(server.server_info.as_ref().map(|info| &*info.name), Some("recoup"));
    assert!(server.instructions.as_deref().is_some_and(|text| text.contains("Begin with explain_capture")));
    let tools = session.tools();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let expected = [
        "list_captures",
        "explain_capture",
        "explain_connection",
        "list_retransmissions",
        "what_would_help",
        "draw_connection",
    ];
    assert_eq!(names, expected);
    for tool in &tools {
        assert!(tool.description.as_ref().is_some_and(|about| about.len() > 100), "{}", tool.name);
        let hints = tool.annotations.as_ref().expect("annotations");
        assert_eq!((hints.read_only_hint, hints.open_world_hint), (Some(true), Some(false)), "{}", tool.name);
        let input = &tool.input_schema;
        assert_eq!((&input["type"], &input["additionalProperties"]), (&json!("object"), &json!(false)));
        for (name, argument) in input["properties"].as_object().expect("arguments") {
            assert!(argument["description"].is_string(), "{} {name}", tool.name);
        }
        assert_eq!(tool.output_schema.is_some(), tool.name != "draw_connection");
    }
    // What a model has in its context all the time.
    let size = serde_json::to_string(&tools).expect("JSON").len();
    assert!(size < 40_000, "{size} bytes");
}

#[test]
fn answers_are_documents_of_the_announced_schemas() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    let tools = session.tools();
    for (name, arguments) in calls() {
        let (_, document) = session.answer(name, arguments.clone());
        let tool = tools.iter().find(|tool| tool.name == name).expect("a tool");
        let schema = Value::Object((**tool.output_schema.as_ref().expect("a schema")).clone());
        let mut errors = Vec::new();
        validate(&document, &schema, "", &mut errors);
        assert!(errors.is_empty(), "{name} {arguments}: {errors:?}");
        assert!(document["schema"].as_str().is_some_and(|schema| schema.starts_with("recoup.")));
    }
}

/// Validates a document against its schema, which has these keywords alone. Fields that the schema does not name are errors, too: it
/// allows them, because later versions may have more, but it is to name all that there are.
fn validate(value: &Value, schema: &Value, path: &str, errors: &mut Vec<String>) {
    let keywords = schema.as_object().expect("a schema");
    for (keyword, of) in keywords {
        match (&**keyword, value) {
            ("type", _) => {
                let kinds: Vec<&str> = match of {
                    Value::String(kind) => vec![kind],
                    kinds => kinds.as_array().expect("types").iter().filter_map(Value::as_str).collect(),
                };
                let is_of = |kind: &&str| match *kind {
                    "null" => value.is_null(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    kind => panic!("no type {kind}"),
                };
                if !kinds.iter().any(is_of) {
                    errors.push(format!("{path}: expected {of}, found {value}"));
                }
            }
            ("properties", Value::Object(fields)) => {
                for (name, field) in fields {
                    let path = format!("{path}.{name}");
                    match of.get(name) {
                        Some(schema) => validate(field, schema, &path, errors),
                        None => errors.push(format!("{path}: not announced")),
                    }
                }
            }
            ("items", Value::Array(items)) => {
                items.iter().enumerate().for_each(|(i, item)| validate(item, of, &format!("{path}[{i}]"), errors));
            }
            ("properties" | "items" | "description", _) => {}
            (keyword, _) => panic!("{path}: unknown keyword {keyword}"),
        }
    }
}

/// The check itself finds what is wrong.
#[test]
fn documents_that_do_not_fit_are_noticed() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": ["integer", "null"] }, "rows": { "items": { "type": "object" } } } });
    for (document, wrong) in [
        (json!({ "n": 1, "rows": [{}] }), 0),
        (json!({ "n": null, "rows": null }), 0),
        (json!({ "n": "1" }), 1),
        (json!({ "n": 1.5, "rows": [{}, 1, 2] }), 3),
        (json!({ "other": 1 }), 1),
        (json!([]), 1),
    ] {
        let mut errors = Vec::new();
        validate(&document, &schema, "", &mut errors);
        assert_eq!(errors.len(), wrong, "{errors:?}");
    }
}

/// A document of the server alone.
#[test]
fn a_list_of_captures_has_the_fields_of_its_version() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    check_fields(&session.answer("list_captures", json!({})).1, "", Fields::new());
}

#[test]
fn captures_are_listed_below_the_root() {
    let folder = folder();
    std::fs::create_dir_all(folder.path("monday/early")).expect("a folder");
    folder.write("monday/early/b.pcap", "x");
    folder.write("monday/a.pcapng.gz", "xy");
    folder.write("monday/notes.txt", "xy");
    let session = Session::start(&folder, &[]);
    let paths = |arguments: Value| {
        let (text, document) = session.answer("list_captures", arguments);
        let files = document["files"].as_array().expect("files").clone();
        let paths: Vec<String> = files.iter().map(|file| file["path"].as_str().expect("a path").to_owned()).collect();
        assert!(paths.iter().all(|path| text.contains(path)), "{text}");
        (paths, document["file_count"].clone(), text)
    };
    let (all, count, _) = paths(json!({}));
    assert_eq!(
        (&*all, count),
        (&["demo.pcap.zst", "monday/a.pcapng.gz", "monday/early/b.pcap"].map(String::from)[..], json!(3))
    );
    assert_eq!(paths(json!({ "folder": "monday/early/" })).0, ["monday/early/b.pcap"]);
    let (first, count, text) = paths(json!({ "folder": "monday", "limit": 1 }));
    assert_eq!((&*first, count), (&["monday/a.pcapng.gz".to_owned()][..], json!(2)));
    assert!(text.contains("(1 more files: ask for a folder, or a larger limit)"), "{text}");
    assert_eq!(paths(json!({ "limit": 0 })).1, json!(3));
}

#[test]
fn a_capture_is_explained() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    let (text, document) = session.answer("explain_capture", json!({ "capture": CAPTURE }));
    let capture = &document["captures"][0];
    assert_eq!(capture["capture"], CAPTURE);
    assert!(text.contains(capture["finding"].as_str().expect("a finding")), "{text}");
    let ranked = capture["ranked"].as_array().expect("causes");
    assert!(ranked.len() > 3 && ranked[0]["lost_ms"].as_f64() > ranked[1]["lost_ms"].as_f64());
    assert_eq!(capture["connections"].as_array().map(Vec::len), Some(3));
    assert!(text.contains("explain_connection with connection"), "{text}");
    // A part of it.
    let (_, part) = session.answer("explain_capture", json!({ "capture": CAPTURE, "filter": "port 1", "top": 1 }));
    assert_eq!(part["captures"][0]["connection_count"], 0);
    // Groups.
    let (text, by) = session.answer("explain_capture", json!({ "capture": CAPTURE, "by": "server" }));
    assert_eq!(by["captures"][0]["groups"][0]["by"], "server");
    assert!(text.contains("server"), "{text}");
}

#[test]
fn a_connection_is_explained() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    let (text, document) = session.answer("explain_connection", json!({ "capture": CAPTURE, "connection": 13 }));
    assert_eq!((&document["connection"], &document["capture"]), (&json!(13), &json!(CAPTURE)));
    assert!(document["episodes"].as_array().is_some_and(|episodes| !episodes.is_empty()));
    assert!(text.starts_with("Connection 13, "), "{text}");
}

#[test]
fn retransmissions_are_chosen_counted_and_listed_by_page() {
    let folder = folder();
    let session = Session::start(&folder, &["--max-answer", "1MB"]);
    let list = |mut arguments: Value| {
        arguments["capture"] = json!(CAPTURE);
        let (text, document) = session.answer("list_retransmissions", arguments);
        let capture = &document["captures"][0];
        let rows = capture["retransmissions"].as_array().expect("rows").clone();
        (rows, capture["matching"].as_u64().expect("a number"), capture["all"].as_u64().expect("a number"), text)
    };
    let (rows, matching, all, text) = list(json!({ "limit": 1000 }));
    assert_eq!((rows.len() as u64, matching), (all, all));
    assert!(all > 50, "{all}");
    assert!(text.starts_with(&format!("{all} of {all} retransmissions match; 1 to {all} are listed.")), "{text}");
    // Pages are parts of the whole.
    let (page, matching, ..) = list(json!({ "limit": 7, "offset": 5 }));
    assert_eq!((&page[..], matching), (&rows[5..12], all));
    let (page, matching, _, text) = list(json!({ "offset": 100_000 }));
    assert_eq!((page.len(), matching), (0, all));
    assert!(text.contains("none is listed"), "{text}");
    // Each choice has the rows that the others lack.
    for (argument, field) in
        [("trigger", "trigger"), ("verdict", "verdict"), ("cause", "cause"), ("connection", "connection")]
    {
        let some =
            rows.iter().find(|row| !row[field].to_string().contains('|') && !row[field].is_null()).expect("a row");
        let expected: Vec<&Value> = rows.iter().filter(|row| has(&row[field], &some[field])).collect();
        let mut arguments = json!({ "limit": 1000 });
        arguments[argument] = some[field].clone();
        let (chosen, matching, ..) = list(arguments);
        assert_eq!(chosen.iter().collect::<Vec<_>>(), expected, "{argument}");
        assert!(matching > 0 && matching < all, "{argument}");
    }
    // Times count from the first segment, and the end is excluded.
    let time = |row: &Value| row["since_start_s"].as_f64().expect("a time");
    let (chosen, ..) = list(json!({ "from": "1s", "to": "2s", "limit": 1000 }));
    let expected: Vec<&Value> = rows.iter().filter(|row| (1.0..2.0).contains(&time(row))).collect();
    assert!(!expected.is_empty());
    assert_eq!(chosen.iter().collect::<Vec<_>>(), expected);
}

/// Whether a trigger, which may be two, or another field has this value.
fn has(field: &Value, value: &Value) -> bool {
    match (field.as_str(), value.as_str()) {
        (Some(field), Some(value)) => field.split('|').any(|one| one == value),
        _ => field == value,
    }
}

/// A capture that was written since is analyzed anew.
#[test]
fn a_kept_analysis_is_of_the_file_as_it_is() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    let count = || {
        session.answer("list_retransmissions", json!({ "capture": CAPTURE, "limit": 0 })).1["captures"][0]["all"]
            .clone()
    };
    let first = count();
    assert_eq!(count(), first);
    // Cut off, it has fewer.
    folder.write(CAPTURE, &crate::session::DEMO[..30_000]);
    let cut = count();
    assert!(cut.as_u64() < first.as_u64(), "{cut} {first}");
}

#[test]
fn what_would_help_is_said() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    let (text, document) = session.answer("what_would_help", json!({ "capture": CAPTURE, "try": ["+tlpr"] }));
    let capture = &document["captures"][0];
    assert_eq!(capture["results"][0]["mechanism"], "+tlpr");
    assert!(capture["rerun"].as_u64() > Some(10), "{}", capture["rerun"]);
    assert!(text.contains("+tlpr"), "{text}");
    // A sample has those that had trouble; all others can be asked for.
    let arguments = json!({ "capture": CAPTURE, "try": ["+tlpr"], "all_connections": true });
    let (_, all) = session.answer("what_would_help", arguments);
    assert!(all["captures"][0]["rerun"].as_u64() > capture["rerun"].as_u64());
}

#[test]
fn a_connection_is_drawn() {
    let folder = folder();
    let session = Session::start(&folder, &[]);
    let draw = |mut arguments: Value| {
        arguments["capture"] = json!(CAPTURE);
        arguments["connection"] = json!(13);
        let result = session.call("draw_connection", arguments).expect("an answer");
        assert_eq!(result.is_error, Some(false), "{}", text(&result));
        (text(&result), result.content[1].clone())
    };
    let (about, picture) = draw(json!({}));
    let ContentBlock::Image(image) = picture else { panic!("an image: {picture:?}") };
    let bytes = STANDARD.decode(&image.data).expect("base64");
    assert!(image.mime_type == "image/png" && bytes.starts_with(b"\x89PNG"));
    assert!(about.contains("onnection 13") && about.contains(" | "), "two panels: {about}");
    let (about, picture) = draw(json!({ "format": "svg", "from": "900ms", "to": "1.2s", "sender": "server" }));
    let ContentBlock::Resource(resource) = picture else { panic!("a resource: {picture:?}") };
    let ResourceContents::TextResourceContents { mime_type, text, .. } = &resource.resource else { panic!("a text") };
    assert_eq!(mime_type.as_deref(), Some("image/svg+xml"));
    assert!(text.starts_with("<svg") || text.starts_with("<?xml"), "{}", &text[..60]);
    assert!(!about.contains(" | "), "one panel: {about}");
}
