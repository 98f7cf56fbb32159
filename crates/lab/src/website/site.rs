//! Pages in TOML.

use super::{Objects, PageError};
use recoup_sim::traffic::web::Page;
use recoup_support::suggest::did_you_mean;
use recoup_units::parse_bytes;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A text, and what errors call its file.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn wrong(&self, span: &Range<usize>, why: impl Into<String>) -> PageError {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        PageError::Wrong { file: self.file.into(), place: line.to_string(), why: why.into() }
    }

    fn unknown(&self, key: &Spanned<std::borrow::Cow<'_, str>>, known: &[&str]) -> PageError {
        let name = key.get_ref();
        let why = format!(
            "unknown key `{name}`: expected {}{}",
            known.join(" or "),
            did_you_mean(name, known.iter().copied())
        );
        self.wrong(&key.span(), why)
    }
}

/// Reads a page. `name` is its name if the text gives none.
pub(super) fn parse(file: &str, name: &str, text: &str) -> Result<Page, PageError> {
    let source = Source { file, text };
    let table = DeTable::parse(text).map_err(|e| {
        let end = text.len()..text.len();
        let why = e.message().replace('\n', ", ");
        source.wrong(&e.span().unwrap_or(end), why)
    })?;
    let (mut name, mut objects) = (name.to_string(), Objects::default());
    for (key, value) in table.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("name", DeValue::String(text)) => name = text.to_string(),
            ("name", other) => {
                let why = format!("name: expected text, found {}", kind(other));
                return Err(source.wrong(&value.span(), why));
            }
            ("objects", DeValue::Array(items)) => {
                for item in items {
                    read_object(&source, item, &mut objects)?;
                }
            }
            ("objects", other) => {
                let why = format!("objects: expected [[objects]], found {}", kind(other));
                return Err(source.wrong(&value.span(), why));
            }
            _ => return Err(source.unknown(key, &["name", "[[objects]]"])),
        }
    }
    if objects.objects.is_empty() {
        let why = "no objects: expected [[objects]] with size, the HTML document first";
        return Err(source.wrong(&(0..0), why));
    }
    let objects = objects.objects;
    Ok(Page { name, objects })
}

/// Reads an object.
fn read_object(source: &Source<'_>, item: &Spanned<DeValue<'_>>, objects: &mut Objects) -> Result<(), PageError> {
    let DeValue::Table(table) = item.get_ref() else {
        let why = format!("objects: expected a table with size, found {}", kind(item.get_ref()));
        return Err(source.wrong(&item.span(), why));
    };
    // The HTML document's subdomain is the first one.
    let usual = objects.subdomains.first().cloned();
    let (mut size, mut subdomain) = (None, usual.unwrap_or_default());
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("size", found) => {
                let bytes = bytes(found).filter(|bytes| *bytes > 0).ok_or_else(|| {
                    let why = format!(
                        "size: expected bytes (1200) or a size (\"24kB\"), at least 1 byte, found {}",
                        kind(found)
                    );
                    source.wrong(&value.span(), why)
                })?;
                size = Some((bytes, value.span()));
            }
            ("subdomain", DeValue::String(text)) => subdomain = text.to_string(),
            ("subdomain", other) => {
                let why = format!("subdomain: expected text, found {}", kind(other));
                return Err(source.wrong(&value.span(), why));
            }
            _ => return Err(source.unknown(key, &["size", "subdomain"])),
        }
    }
    let Some((bytes, span)) = size else {
        return Err(source.wrong(&item.span(), "objects: expected a size, found none"));
    };
    let added = objects.add(bytes, &subdomain);
    added.map_err(|why| source.wrong(&span, why))
}

/// A number of bytes; `None` for other values.
fn bytes(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(number) => number.to_string().parse().ok(),
        DeValue::String(text) => parse_bytes(text),
        _ => None,
    }
}

/// A value as errors show it.
fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.to_string(),
        other => other.type_str().into(),
    }
}
