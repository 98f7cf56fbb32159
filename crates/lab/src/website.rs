//! Web pages as data: the objects that a browser loads, from a file of ours or from a HAR file.

mod har;
mod site;

use recoup_sim::traffic::web::{Page, PageObject};
use recoup_support::input;
use std::path::Path;
use thiserror::Error;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// The most bytes of a page. The bytes of a connection are counted modulo 2^32.
const LARGEST_PAGE: u64 = 1 << 30;

/// Why a page cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PageError {
    /// The file cannot be read.
    #[error("cannot read the page {file}: {why}")]
    Unreadable {
        /// Its name.
        file: String,
        /// The system's error.
        why: String,
    },
    /// A mistake in the file.
    #[error("{file}:{place}: {why}")]
    Wrong {
        /// The file.
        file: String,
        /// The line, from 1; in JSON also the path of a value: `$.log.entries[3].response`.
        place: String,
        /// The mistake, and the text expected.
        why: String,
    },
}

/// Reads a page from a TOML file of ours.
///
/// ```toml
/// name = "three objects"          # without it, the file's name
///
/// [[objects]]                     # the HTML document comes first
/// size = "24kB"                   # the response with its headers: bytes, or a size with its unit
///
/// [[objects]]
/// size = 1200
/// subdomain = "images"            # without it, the HTML document's
///
/// [[objects]]
/// size = "60KiB"
/// subdomain = "images"
/// ```
///
/// # Errors
/// An unreadable file; what is wrong in it, with the line.
pub fn read_site(path: &Path) -> Result<Page, PageError> {
    let (file, text) = read(path)?;
    parse_site(&file, &text)
}

/// Reads a page from the text of a TOML file of ours. `file` is its name in errors, without its ending the page's name if the
/// text gives none.
///
/// # Errors
/// What is wrong in it, with the line.
pub fn parse_site(file: &str, text: &str) -> Result<Page, PageError> {
    site::parse(file, &name_of(Path::new(file)), text)
}

/// Reads a page from a HAR file (HTTP Archive 1.2), as browsers save it.
///
/// The page is the one of the first entry. Its document is the first entry whose response is HTML. The
/// size of an object is `_transferSize`, or `headersSize + bodySize`, or `content.size`, whichever is known first. Hosts
/// of the URLs are the subdomains. Entries without bytes, such as those served from a cache, and entries that are not
/// fetched by HTTP are left out.
///
/// # Errors
/// An unreadable file; text that is not JSON, with its line; a value that is not as expected, with its path.
pub fn read_har(path: &Path) -> Result<Page, PageError> {
    let (file, text) = read(path)?;
    har::parse(&file, &name_of(path), &text)
}

/// The file's name in errors, and its text.
fn read(path: &Path) -> Result<(String, String), PageError> {
    let file = path.display().to_string();
    match input::read_file(path, LONGEST) {
        Ok(text) => Ok((file, text)),
        Err(e) => Err(PageError::Unreadable { file, why: e.to_string() }),
    }
}

/// The file's name without its ending.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem();
    stem.map_or_else(String::new, |stem| stem.to_string_lossy().into())
}

/// Collects the objects of a page, and numbers their subdomains in the order of their first use.
#[derive(Debug, Default)]
struct Objects {
    objects: Vec<PageObject>,
    subdomains: Vec<String>,
    bytes: u64,
}

impl Objects {
    /// Adds an object.
    ///
    /// # Errors
    /// A page that becomes too large.
    fn add(&mut self, bytes: u64, subdomain: &str) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > LARGEST_PAGE {
            return Err("expected at most 1 GiB in all objects of the page".into());
        }
        let known = self.subdomains.iter().position(|known| known == subdomain);
        let subdomain = known.unwrap_or_else(|| {
            self.subdomains.push(subdomain.into());
            self.subdomains.len() - 1
        });
        self.objects.push(PageObject { bytes, subdomain });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
