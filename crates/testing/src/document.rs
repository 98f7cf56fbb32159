//! JSON documents: each carries its schema's name and version, and no field vanishes without a new version.
//!
//! The fields of each document are listed in `docs/schemas`, a file for each version. With `RECOUP_UPDATE_SCHEMAS` set, new
//! fields are added to these files; a field is never taken out.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The fields of a document: names joined by dots, `[]` after the name of a list.
pub type Fields = BTreeSet<String>;

/// Adds the fields of `value`. What is below a `null` or an empty list is unknown.
pub fn collect_fields(value: &Value, path: &str, fields: &mut Fields) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                collect_fields(value, &path, fields);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let path = format!("{path}[]");
            items.iter().for_each(|item| collect_fields(item, &path, fields));
        }
        _ => {
            fields.insert(path.to_owned());
        }
    }
}

/// Whether a listed field is in the document, or unknown in it: below something that is `null` or empty.
pub fn is_there(field: &str, fields: &Fields) -> bool {
    let parents = field.char_indices().filter(|(_, c)| matches!(c, '.' | '['));
    fields.contains(field) || parents.into_iter().any(|(end, _)| fields.contains(&field[..end]))
}

/// Compares the fields of a document with those listed for its version; `part` names one of several
/// documents of one schema that differ in their fields.
pub fn check_fields(document: &Value, part: &str, more: Fields) {
    let schema = document["schema"].as_str().expect("a schema");
    let version = document["version"].as_u64().expect("a version");
    let mut fields = more;
    collect_fields(document, "", &mut fields);
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
