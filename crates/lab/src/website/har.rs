//! Pages in HAR files.
//!
//! Source: Odvarko, "HTTP Archive 1.2" (softwareishard.com/blog/har-12-spec). `_transferSize` is Chrome's addition: the
//! bytes that came over the network.

use super::{Objects, PageError};
use recoup_sim::traffic::web::Page;
use serde_json::Value;

/// An entry that was fetched.
struct Entry<'a> {
    bytes: u64,
    host: &'a str,
    is_html: bool,
    path: String,
}

/// Reads a page. `name` is its name in reports.
pub(super) fn parse(file: &str, name: &str, text: &str) -> Result<Page, PageError> {
    let wrong = |(place, why): (String, String)| PageError::Wrong { file: file.into(), place, why };
    let document: Value = serde_json::from_str(text).map_err(|e| {
        // The message ends with its place, which stands before it already.
        let message = e.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        wrong((e.line().to_string(), format!("expected JSON: {message}")))
    })?;
    let entries = entries(&document).map_err(wrong)?;
    let document = entries.iter().position(|entry| entry.is_html);
    let document = document.ok_or_else(|| {
        let why = "expected an entry with bytes whose response.content.mimeType is HTML, found none";
        wrong(("$.log.entries".into(), why.into()))
    })?;
    let mut objects = Objects::default();
    let others = entries.iter().enumerate();
    let others = others.filter(|(i, _)| *i != document).map(|(_, entry)| entry);
    for entry in std::iter::once(&entries[document]).chain(others) {
        let added = objects.add(entry.bytes, entry.host);
        added.map_err(|why| wrong((entry.path.clone(), why)))?;
    }
    Ok(Page { name: name.into(), objects: objects.objects })
}

/// The entries of the first page that were fetched over the network; or the path of a value, and what is wrong with it.
fn entries(document: &Value) -> Result<Vec<Entry<'_>>, (String, String)> {
    let log = member(document, "$", "log", "an object", Value::is_object)?;
    let all = member(log, "$.log", "entries", "an array", Value::is_array)?;
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    let page = all.first().and_then(|entry| entry["pageref"].as_str());
    let mut entries = Vec::new();
    for (i, entry) in all.iter().enumerate() {
        let path = format!("$.log.entries[{i}]");
        if page.is_some() && entry["pageref"].as_str() != page {
            continue;
        }
        let request = member(entry, &path, "request", "an object", Value::is_object)?;
        let of_request = format!("{path}.request");
        let url = member(request, &of_request, "url", "text", Value::is_string)?;
        let url = url.as_str().unwrap_or_default();
        let response = member(entry, &path, "response", "an object", Value::is_object)?;
        let bytes = size(response, &format!("{path}.response"))?;
        let Some(host) = host(url).filter(|_| bytes > 0) else {
            continue;
        };
        let kind = response["content"]["mimeType"].as_str();
        let is_redirect = matches!(response["status"].as_u64(), Some(300..400));
        entries.push(Entry {
            bytes,
            host,
            is_html: !is_redirect && kind.is_some_and(|kind| kind.contains("html")),
            path,
        });
    }
    Ok(entries)
}

/// The bytes that a response had on the network; 0 if none are known.
fn size(response: &Value, path: &str) -> Result<u64, (String, String)> {
    let known = |holder: &Value, path: &str, key: &str| -> Result<Option<u64>, (String, String)> {
        match &holder[key] {
            Value::Null => Ok(None),
            // -1 means that it is not known.
            value => match value.as_i64().filter(|bytes| *bytes >= -1) {
                Some(bytes) => Ok(u64::try_from(bytes).ok()),
                None => Err((
                    format!("{path}.{key}"),
                    format!("expected bytes, or -1 where unknown, found {}", shown(value)),
                )),
            },
        }
    };
    let transfer = known(response, path, "_transferSize")?;
    let headers = known(response, path, "headersSize")?;
    let body = known(response, path, "bodySize")?;
    let content = format!("{path}.content");
    let content = known(&response["content"], &content, "size")?;
    let both = headers.zip(body).map(|(headers, body)| headers.saturating_add(body));
    Ok(transfer.or(both).or(body).or(content).unwrap_or(0))
}

/// The host of an HTTP URL, with its port; `None` for other URLs.
fn host(url: &str) -> Option<&str> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| url.strip_prefix(scheme))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then_some(host)
}

/// A member of an object that is as expected.
fn member<'a>(
    holder: &'a Value,
    path: &str,
    key: &str,
    expected: &str,
    is_expected: impl Fn(&Value) -> bool,
) -> Result<&'a Value, (String, String)> {
    match holder.get(key) {
        Some(value) if is_expected(value) => Ok(value),
        found => {
            let found = found.map_or("none".into(), shown);
            Err((format!("{path}.{key}"), format!("expected {expected}, found {found}")))
        }
    }
}

/// A value as errors show it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
        Value::String(text) => format!("\"{}\"", text.chars().take(40).collect::<String>()),
        other => other.to_string(),
    }
}
