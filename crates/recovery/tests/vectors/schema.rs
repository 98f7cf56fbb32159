//! Checks a JSON document against a schema, by the keywords of JSON Schema 2020-12 that the schema of the
//! vectors uses. An unknown keyword is an error, so that nothing goes unchecked.

use serde_json::{Map, Value};

/// The parts of `document` that do not fit `schema`.
pub fn misfits(schema: &Value, document: &Value) -> Vec<String> {
    let mut check = Check { root: schema, misfits: Vec::new() };
    check.value(schema, document, "");
    check.misfits
}

struct Check<'a> {
    root: &'a Value,
    misfits: Vec<String>,
}

impl Check<'_> {
    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        let Value::Object(keywords) = schema else {
            return self.note(at, "has no schema");
        };
        for (keyword, rule) in keywords {
            let fits = match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" => true,
                "type" => is_of_type(rule, value),
                "const" => value == rule,
                "enum" => rule.as_array().is_some_and(|all| all.contains(value)),
                "minimum" => !value.is_number() || value.as_u64() >= rule.as_u64(),
                "minLength" => value.as_str().is_none_or(|s| s.len() as u64 >= number(rule)),
                "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= number(rule)),
                "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= number(rule)),
                "minProperties" => value.as_object().is_none_or(|o| o.len() as u64 >= number(rule)),
                "maxProperties" => value.as_object().is_none_or(|o| o.len() as u64 <= number(rule)),
                "required" => !value.is_object() || has_all(rule, value),
                "$ref" => {
                    let pointer = rule.as_str().and_then(|r| r.strip_prefix('#'));
                    let target = pointer.and_then(|pointer| self.root.pointer(pointer));
                    self.value(target.unwrap_or(&Value::Null), value, at);
                    true
                }
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(rule, item, &format!("{at}/{i}"));
                    }
                    true
                }
                "properties" | "additionalProperties" => true, // below
                _ => false,
            };
            if !fits {
                self.note(at, &format!("does not fit \"{keyword}\": {rule}"));
            }
        }
        if let Value::Object(object) = value {
            self.properties(keywords, object, at);
        }
    }

    fn properties(&mut self, keywords: &Map<String, Value>, object: &Map<String, Value>, at: &str) {
        let rest = keywords.get("additionalProperties");
        for (name, value) in object {
            let at = format!("{at}/{name}");
            match (keywords.get("properties").and_then(|p| p.get(name)), rest) {
                (Some(schema), _) => self.value(schema, value, &at),
                (None, Some(Value::Bool(false))) => self.note(&at, "is not in the schema"),
                (None, Some(schema @ Value::Object(_))) => self.value(schema, value, &at),
                (None, _) => {}
            }
        }
    }

    fn note(&mut self, at: &str, what: &str) {
        self.misfits.push(format!("{at} {what}"));
    }
}

fn number(rule: &Value) -> u64 {
    rule.as_u64().expect("a number")
}

fn is_of_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("null") => value.is_null(),
        _ => false,
    };
    rule.as_array().map_or_else(|| is(rule), |all| all.iter().any(is))
}

fn has_all(names: &Value, value: &Value) -> bool {
    let names = names.as_array().into_iter().flatten();
    names.filter_map(Value::as_str).all(|name| value.get(name).is_some())
}
