//! `list_captures`.

use super::{Call, CaptureTool, value};
use crate::answer::Answer;
use crate::root::Listed;
use crate::schema;
use recoup_table::{Columns, Field, Layout, Schema, table_of_texts, utc};
use recoup_units::Instant;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The document's name and version.
const SCHEMA: Schema = Schema { name: "recoup.captures", version: 1 };

/// Files that are listed, if the caller does not say how many.
const LISTED: u32 = 100;

/// Lists captures.
pub struct ListCaptures;

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
pub struct Arguments {
    /// Only files in this folder and below it, relative to the root. Default: all
    folder: Option<String>,
    /// How many files are listed, the first by path. Default: 100
    limit: Option<u32>,
}

fn columns() -> Columns<Listed> {
    Columns::<Listed>::new()
        .column("path", "", "path relative to the root: the argument `capture` of the other tools", |file| {
            file.path.clone()
        })
        .column("bytes", "bytes", "size", |file| file.bytes)
        .column("modified", "s", "when it was last written: seconds since 1970", modified)
}

fn modified(file: &Listed) -> Option<Instant> {
    let since = file.modified?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok().map(Instant::from_nanos)
}

impl CaptureTool for ListCaptures {
    type Arguments = Arguments;
    const NAME: &'static str = "list_captures";
    const TITLE: &'static str = "List packet captures";
    const ABOUT: &'static str = "Lists the packet captures (pcap, pcapng, also compressed by gzip or zstd) that the other tools can read, by \
        the endings of their names. Call it when you do not know the path of a capture.";

    fn document() -> Option<JsonObject> {
        let count =
            Field { path: "file_count".into(), kind: "integer", unit: "", about: "files found, listed or not".into() };
        Some(schema::of_document("schema\nversion\n", &[("files[]", columns().fields())], &[], &[count]))
    }

    fn answer(arguments: Arguments, call: &Call<'_>) -> Result<Answer, String> {
        let Arguments { folder, limit } = arguments;
        let folder = folder.unwrap_or_default();
        let listing = call.root.captures(Path::new(folder.trim_end_matches('/')))?;
        let count = listing.files.len();
        let most = usize::try_from(limit.unwrap_or(LISTED)).unwrap_or(usize::MAX);
        let files = &listing.files[..count.min(most)];
        let mut text = match count {
            0 => "There is no file whose name ends like a capture's (.pcap, .pcapng or .cap, also with .gz or .zst).\n"
                .to_owned(),
            _ => {
                let rows = files.iter().map(|file| {
                    let modified = modified(file).map_or_else(String::new, utc);
                    vec![file.path.clone(), modified, file.bytes.to_string()]
                });
                format!("{}\n", table_of_texts(&["path", "modified", "bytes"], 2, rows))
            }
        };
        if files.len() < count {
            text += &format!("({} more files: ask for a folder, or a larger limit)\n", count - files.len());
        }
        if listing.is_cut {
            text += "(Not every folder was looked through, because there are too many files: ask for a folder.)\n";
        }
        let columns = columns();
        let mut out = Vec::new();
        let body = json!({ "file_count": count, "files": serde_json::to_value(columns.to_json(files)).map_err(|e| e.to_string())? });
        let document = value(SCHEMA.write(&body, Layout::Indented, &mut out), &out)?;
        Ok(Answer { text, document: Some(document), narrower: "ask for a folder", ..Answer::default() })
    }
}
