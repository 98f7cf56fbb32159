//! The answer of a tool: a short text, a document, perhaps a picture. Text and document are cut to a bound together.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recoup_units::visible;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most bytes of a raster picture.
const MOST_PICTURE: usize = 1_000_000;

/// The name of the list, in a document, of what was left out of it.
pub const LEFT_OUT: &str = "left_out";

/// The answer of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// For reading.
    pub text: String,
    /// For programs, and for what the text leaves out.
    pub document: Option<Value>,
    /// A drawing.
    pub picture: Option<Picture>,
    /// What to ask for if the answer had to be cut.
    pub narrower: &'static str,
}

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// A PNG.
    Png(Vec<u8>),
    /// An SVG document.
    Svg(String),
}

impl Answer {
    /// The answer in the protocol, in at most `most` bytes of text and document.
    ///
    /// # Errors
    /// In one line: what is still too large after everything was left out that can be.
    pub fn into_result(self, most: usize) -> Result<CallToolResult, String> {
        let Self { mut text, document, picture, narrower } = self;
        // The document needs room, too.
        cut_text(&mut text, if document.is_some() { most / 2 } else { most }, narrower);
        let mut blocks = Vec::new();
        let mut structured = None;
        if let Some(mut document) = document {
            let left_out = shrink(&mut document, most.saturating_sub(text.len() + NOTE));
            if !left_out.is_empty() {
                text += &note(&left_out, most, narrower);
                document[LEFT_OUT] = list(&left_out);
            }
            if size(&document) + text.len() > most {
                return Err(format!("the answer has more than {most} bytes, the bound of --max-answer: {narrower}"));
            }
            structured = Some(document);
        }
        blocks.push(ContentBlock::text(text));
        blocks.extend(picture.map(|picture| picture.into_block(most, narrower)).transpose()?);
        let mut result = CallToolResult::success(blocks);
        result.structured_content = structured;
        Ok(result)
    }
}

impl Picture {
    fn into_block(self, most: usize, narrower: &str) -> Result<ContentBlock, String> {
        let (size, most) = match &self {
            Self::Png(bytes) => (bytes.len(), MOST_PICTURE),
            Self::Svg(text) => (text.len(), most),
        };
        if size > most {
            return Err(format!("the drawing has {size} bytes, and at most {most} are sent: {narrower}"));
        }
        Ok(match self {
            Self::Png(bytes) => ContentBlock::image(STANDARD.encode(bytes), "image/png"),
            Self::Svg(text) => ContentBlock::resource(
                ResourceContents::text(text, "recoup:drawing.svg").with_mime_type("image/svg+xml"),
            ),
        })
    }
}

/// An error that the model can read, on one line.
pub fn error(line: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(visible(line))])
}

/// Bytes that the notes on what was left out may take.
const NOTE: usize = 1_000;

/// Lists whose cuts a note names.
const NAMED: usize = 5;

/// Cuts a text at the end of a line, and says so.
fn cut_text(text: &mut String, most: usize, narrower: &str) {
    if text.len() <= most {
        return;
    }
    let all = text.lines().count();
    let room = most.saturating_sub(NOTE.min(most / 4));
    let end = text.bytes().take(room).rposition(|byte| byte == b'\n').map_or(0, |line| line + 1);
    text.truncate(end);
    let left_out = all - text.lines().count();
    *text += &format!("({left_out} more lines are left out: {narrower})\n");
}

/// By the path of a list: how many items it has, and how many it had.
type LeftOut = BTreeMap<String, (usize, usize)>;

/// Shortens the largest lists of a document, from their ends, until it has at most `most` bytes or no list has two items.
fn shrink(document: &mut Value, most: usize) -> LeftOut {
    let mut left_out = LeftOut::new();
    let mut now = size(document);
    while now > most {
        let mut largest = None;
        find_largest(document, "", &mut largest);
        let Some((bytes, path)) = largest else {
            break;
        };
        let Some(items) = document.pointer_mut(&path).and_then(Value::as_array_mut) else {
            break;
        };
        let all = items.len();
        // What is over the bound, or else half of the list.
        let kept = (all.saturating_sub(all * (now - most) / bytes.max(1))).clamp(all / 2, all - 1).max(1);
        items.truncate(kept);
        left_out.entry(path).or_insert((kept, all)).0 = kept;
        now = size(document);
    }
    left_out
}

/// Finds the list with most bytes of those with two items or more, by its JSON pointer. Returns the bytes of the value.
fn find_largest(value: &Value, path: &str, largest: &mut Option<(usize, String)>) -> usize {
    match value {
        Value::Array(items) => {
            let inner =
                items.iter().enumerate().map(|(i, item)| 1 + find_largest(item, &format!("{path}/{i}"), largest));
            let bytes = 2 + inner.sum::<usize>();
            // Of a list and one inside it, the inner one goes first if it is most of the outer one.
            let is_larger = |(most, _): &(usize, String)| bytes > most * 3 / 2;
            if items.len() > 1 && largest.as_ref().is_none_or(is_larger) {
                *largest = Some((bytes, path.to_owned()));
            }
            bytes
        }
        Value::Object(fields) => {
            let inner = fields.iter().map(|(name, field)| {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                name.len() + 4 + find_largest(field, &format!("{path}/{escaped}"), largest)
            });
            2 + inner.sum::<usize>()
        }
        other => size(other),
    }
}

/// The bytes of a value as JSON.
fn size(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// The cuts, those of most items first.
fn by_items(left_out: &LeftOut) -> Vec<(String, usize, usize)> {
    let field = |path: &str| path.trim_start_matches('/').replace('/', ".");
    let mut cuts: Vec<_> = left_out.iter().map(|(path, (kept, all))| (field(path), *kept, *all)).collect();
    cuts.sort_by_key(|(_, kept, all)| std::cmp::Reverse(all - kept));
    cuts
}

fn note(left_out: &LeftOut, most: usize, narrower: &str) -> String {
    let cuts = by_items(left_out);
    let named = cuts.iter().take(NAMED).map(|(field, kept, all)| format!("{} of {all} in {field}", all - kept));
    let named = named.collect::<Vec<_>>().join("; ");
    let others = match cuts.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!("; and of {n} more lists"),
    };
    format!("\nLeft out of the document, which has at most {most} bytes: {named}{others}. To see them: {narrower}.\n")
}

fn list(left_out: &LeftOut) -> Value {
    let cuts = by_items(left_out);
    cuts.iter().take(NAMED).map(|(field, kept, all)| json!({ "field": field, "kept": kept, "of": all })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: usize, lines: usize) -> Answer {
        let rows: Vec<Value> = (0..rows).map(|i| json!({ "frame": i, "trigger": "fast" })).collect();
        Answer {
            text: "a line of text\n".repeat(lines),
            document: Some(json!({ "schema": "x", "captures": [{ "rows": rows, "notes": ["a", "b"] }] })),
            picture: None,
            narrower: "ask for less",
        }
    }

    fn parts(result: &CallToolResult) -> (String, Value) {
        let text = result.content[0].as_text().expect("a text").text.clone();
        (text, result.structured_content.clone().expect("a document"))
    }

    #[test]
    fn an_answer_that_fits_stays_as_it_is() {
        let whole = answer(10, 3);
        let (text, document) = parts(&whole.clone().into_result(10_000).expect("fits"));
        assert_eq!((text, Some(document)), (whole.text, whole.document));
    }

    #[test]
    fn what_is_too_large_is_cut_and_says_so() {
        for (rows, lines) in [(1_000, 3), (3, 1_000), (1_000, 1_000), (100_000, 0)] {
            for most in [4_000, 20_000] {
                let (text, document) = parts(&answer(rows, lines).into_result(most).expect("fits"));
                assert!(text.len() + size(&document) <= most, "{rows} rows, {lines} lines, {most}");
                assert_eq!(text.contains("more lines are left out: ask for less"), lines > 100);
                let kept = document["captures"][0]["rows"].as_array().expect("rows").len();
                assert!(kept > 0);
                if rows > 3 {
                    let said = format!(
                        "Left out of the document, which has at most {most} bytes: {} of {rows} in captures.0.rows",
                        rows - kept
                    );
                    assert!(text.contains(&said), "{text}");
                    assert_eq!(document[LEFT_OUT][0], json!({ "field": "captures.0.rows", "kept": kept, "of": rows }));
                    // Not much more than needed.
                    assert!(text.len() + size(&document) > most / 3, "{most}: {}", size(&document));
                }
                assert_eq!(document["captures"][0]["notes"], json!(["a", "b"]));
            }
        }
    }

    #[test]
    fn what_cannot_be_cut_is_an_error() {
        let document = json!({ "text": "x".repeat(10_000) });
        let large = Answer { document: Some(document), narrower: "ask for less", ..Answer::default() };
        let error = large.into_result(5_000).expect_err("too large");
        assert_eq!(error, "the answer has more than 5000 bytes, the bound of --max-answer: ask for less");
        let drawing =
            Answer { picture: Some(Picture::Svg("x".repeat(9_000))), narrower: "ask for less", ..Answer::default() };
        let error = drawing.into_result(5_000).expect_err("too large");
        assert_eq!(error, "the drawing has 9000 bytes, and at most 5000 are sent: ask for less");
    }
}
