//! The arguments of a call, checked against the tool's schema. Errors name the argument, what it is and what was expected, so that a
//! model can correct its call.

use recoup_support::suggest::did_you_mean;
use recoup_units::visible;
use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the arguments.
///
/// # Errors
/// In one line: the first argument that is unknown, missing or of a wrong type.
pub fn read<A: DeserializeOwned>(given: JsonObject, schema: &JsonObject) -> Result<A, String> {
    check(&given, schema)?;
    serde_json::from_value(Value::Object(given)).map_err(|e| e.to_string())
}

/// The schema of a tool's arguments, without what models do not need.
pub fn schema<A: JsonSchema + std::any::Any>() -> JsonObject {
    let mut schema = (*rmcp::handler::server::common::schema_for_type::<A>()).clone();
    for name in ["$schema", "title", "description"] {
        schema.shift_remove(name);
    }
    schema.insert("additionalProperties".into(), Value::Bool(false));
    schema
}

fn check(given: &JsonObject, schema: &JsonObject) -> Result<(), String> {
    let nothing = JsonObject::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    for (name, value) in given {
        let Some(property) = known.get(name) else {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let near = did_you_mean(name, names.iter().copied());
            return Err(format!("unknown argument `{}`: expected {}{near}", visible(name), names.join(", ")));
        };
        let expected = types(property);
        if !expected.is_empty() && !expected.iter().any(|kind| is_of(value, kind)) {
            let expected: Vec<&str> = expected.into_iter().filter(|kind| *kind != "null").collect();
            return Err(format!("{name}: expected {}, found {}", expected.join(" or "), short(value)));
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing = required.into_iter().find(|name| !given.contains_key(*name));
    missing.map_or(Ok(()), |name| {
        let about = known.get(name).and_then(|property| property["description"].as_str()).unwrap_or_default();
        Err(format!("{name} is missing: {about}"))
    })
}

/// The types that a property may have; empty if any.
fn types(property: &Value) -> Vec<&str> {
    match &property["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.as_u64().is_some_and(|n| n <= u64::from(u32::MAX)),
        "number" => value.is_number(),
        "array" => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        _ => value.is_object(),
    }
}

/// A value in an error.
fn short(value: &Value) -> String {
    let text = visible(&value.to_string()).into_owned();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Reads one of several names.
///
/// # Errors
/// Which there are, and the nearest.
pub fn one_of<T: Copy>(argument: &str, text: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let near = did_you_mean(text, names.iter().copied());
        format!("{argument} `{}`: expected {}{near}", visible(text), names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(serde::Deserialize, JsonSchema)]
    #[schemars(crate = "rmcp::schemars")]
    #[expect(dead_code, reason = "only read")]
    struct Arguments {
        /// A file
        capture: String,
        top: Option<u32>,
        r#try: Option<Vec<String>>,
    }

    #[test]
    fn errors_say_what_is_wrong_and_what_was_expected() {
        for (given, error) in [
            (json!({"capture": "a.pcap", "top": 3}), None),
            (json!({"capture": "a.pcap", "top": null, "try": ["+tlp"]}), None),
            (
                json!({"capture": "a.pcap", "tpo": 3}),
                Some("unknown argument `tpo`: expected capture, top, try, did you mean `top`?"),
            ),
            (json!({"top": 3}), Some("capture is missing: A file")),
            (json!({"capture": "a.pcap", "top": "3"}), Some("top: expected integer, found \"3\"")),
            (json!({"capture": "a.pcap", "top": -1}), Some("top: expected integer, found -1")),
            (json!({"capture": ["a.pcap"]}), Some("capture: expected string, found [\"a.pcap\"]")),
            (json!({"capture": "a", "try": [1]}), Some("try: expected array, found [1]")),
        ] {
            let Value::Object(given) = given else { unreachable!() };
            let read = read::<Arguments>(given, &schema::<Arguments>());
            assert_eq!(read.err().as_deref(), error);
        }
    }

    #[test]
    fn names_are_looked_up() {
        let known = [("needed", 1), ("spurious", 2)];
        assert_eq!(one_of("verdict", "spurious", &known), Ok(2));
        let error = one_of("verdict", "spurios", &known).expect_err("unknown");
        assert_eq!(error, "verdict `spurios`: expected needed, spurious, did you mean `spurious`?");
    }
}
