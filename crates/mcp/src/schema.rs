//! JSON Schemas of documents. The lists of fields in docs/schemas, which the documents' tests keep true, say what there is; the columns of
//! tables say of which type, and what it means.

use recoup_table::{Columns, Field};
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// Columns of a list in a document: its path, and their documentation.
pub type ColumnsOf = (&'static str, Vec<Field>);

/// The schema of a document. `fields`: its list of fields. Those that begin with a name in `without` are left out: the document may
/// have them all the same, as it may have fields that are new.
pub fn of_document(fields: &str, columns: &[ColumnsOf], without: &[&str], more: &[Field]) -> JsonObject {
    let mut root = Map::new();
    let is_in = |field: &&str| !without.iter().any(|name| field.starts_with(name));
    for field in fields.lines().filter(is_in) {
        insert(&mut root, field, json!({}));
    }
    for (path, columns) in columns {
        for column in columns {
            insert(&mut root, &format!("{path}.{}", column.path), leaf(column));
        }
    }
    for field in more {
        insert(&mut root, &field.path, leaf(field));
    }
    match object(root) {
        Value::Object(mut schema) => {
            // A document is never null.
            schema.insert("type".into(), json!("object"));
            schema
        }
        _ => JsonObject::new(),
    }
}

/// The columns without what they mean, for lists of many columns whose names say it.
pub fn plain<R: 'static>(columns: &Columns<R>) -> Vec<Field> {
    let fields = columns.fields().into_iter();
    fields.map(|field| Field { about: String::new(), unit: "", ..field }).collect()
}

/// The names of a field in the tree, and its schema at the end. `[]` after a name means a list.
fn insert(tree: &mut Map<String, Value>, path: &str, schema: Value) {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    match rest {
        // A list or an object may be empty in one document, and so have no fields.
        None => {
            let known = tree.entry(name.trim_end_matches("[]")).or_insert_with(|| json!({}));
            if known == &json!({}) {
                *known = schema;
            }
        }
        Some(rest) => {
            let (plain, is_list) = match name.strip_suffix("[]") {
                Some(plain) => (plain, true),
                None => (name, false),
            };
            let entry = tree.entry(plain).or_insert_with(|| json!({}));
            if entry.get(INNER).is_none() {
                *entry = json!({ INNER: {}, "list": is_list });
            }
            if let Some(inner) = entry[INNER].as_object_mut() {
                insert(inner, rest, schema);
            }
        }
    }
}

/// Where the fields of an object are while the tree is made. No field has this name.
const INNER: &str = "\0";

/// The tree as a schema.
fn object(tree: Map<String, Value>) -> Value {
    let properties = tree.into_iter().map(|(name, mut node)| {
        let is_list = node["list"] == true;
        let schema = match node.get_mut(INNER).map(Value::take) {
            Some(Value::Object(inner)) if is_list => json!({ "type": ["array", "null"], "items": object(inner) }),
            Some(Value::Object(inner)) => object(inner),
            _ => node,
        };
        (name, schema)
    });
    json!({ "type": ["object", "null"], "properties": properties.collect::<Map<String, Value>>() })
}

/// The schema of a column. Every value may be unknown.
fn leaf(column: &Field) -> Value {
    let kind = match column.kind {
        "text" => "string",
        "integer" => "integer",
        "true/false" => "boolean",
        // A time is in seconds.
        _ => "number",
    };
    let about = match column.unit {
        "" => column.about.clone(),
        unit if column.path.ends_with(&format!("_{unit}")) => column.about.clone(),
        unit => format!("{} ({unit})", column.about),
    };
    match about.as_str() {
        "" => json!({ "type": [kind, "null"] }),
        about => json!({ "type": [kind, "null"], "description": about }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_fields_become_a_schema() {
        let columns = vec![
            Field { path: "frame".into(), kind: "integer", unit: "", about: "its frame".into() },
            Field { path: "lost_ms".into(), kind: "number", unit: "ms", about: "time".into() },
        ];
        let fields = "captures[].capture\ncaptures[].rows\ncaptures[].rows[].frame\nschema\ntotal.x\n";
        let schema = of_document(fields, &[("captures[].rows[]", columns)], &["total"], &[]);
        let expected = json!({
            "type": "object",
            "properties": {
                "captures": {
                    "type": ["array", "null"],
                    "items": {
                        "type": ["object", "null"],
                        "properties": {
                            "capture": {},
                            "rows": {
                                "type": ["array", "null"],
                                "items": {
                                    "type": ["object", "null"],
                                    "properties": {
                                        "frame": { "type": ["integer", "null"], "description": "its frame" },
                                        "lost_ms": { "type": ["number", "null"], "description": "time" },
                                    },
                                },
                            },
                        },
                    },
                },
                "schema": {},
            },
        });
        assert_eq!(Value::Object(schema), expected);
    }
}
