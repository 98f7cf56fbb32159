//! URLs, where they lead, and the file names that they suggest.

use hyper::Uri;
use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;

/// The port of HTTP (RFC 9110 §4.2.1).
const PORT: u16 = 80;

/// Characters beyond ASCII alone are encoded; all others must be as they are sent.
const BEYOND_ASCII: &AsciiSet = &AsciiSet::EMPTY;

/// What there is to get, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
    /// The path and the query, as a request has them.
    pub target: String,
}

impl Url {
    /// Reads a URL. Without a scheme it is taken for one of http.
    ///
    /// # Errors
    /// Any other text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || "expected a URL such as http://192.0.2.1:8080/file".to_owned();
        let with_scheme = match text.contains("://") {
            true => text.to_owned(),
            false => format!("http://{text}"),
        };
        let encoded = utf8_percent_encode(&with_scheme, BEYOND_ASCII).to_string();
        let uri: Uri = encoded.parse().map_err(|e| format!("{e}: {}", expected()))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(format!("no TLS: {}", expected())),
            _ => return Err(expected()),
        }
        let authority = uri.authority().ok_or_else(expected)?;
        if authority.as_str().contains('@') {
            return Err("no user names and passwords: expected http://HOST/PATH".into());
        }
        // `Authority::port` ignores what is no port.
        let rest = authority.as_str().strip_prefix(authority.host()).ok_or_else(expected)?;
        let port = match rest.strip_prefix(':') {
            None => PORT,
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(expected)?,
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains('%') {
            return Err(expected());
        }
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self { host: host.to_ascii_lowercase(), port, target: format!("{slash}{target}") })
    }

    /// The value of `Host`.
    pub fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.port {
            PORT => host,
            port => format!("{host}:{port}"),
        }
    }

    /// Where `Location` leads from here (RFC 3986 §5.2).
    ///
    /// # Errors
    /// If that is no URL of http.
    pub fn join(&self, location: &str) -> Result<Self, String> {
        let location = location.split('#').next().unwrap_or_default();
        let path = self.target.split('?').next().unwrap_or_default();
        let has_scheme = location.split(['/', '?']).next().is_some_and(|first| first.contains(':'));
        if has_scheme {
            return match location.contains("://") {
                true => Self::parse(location),
                false => Err("expected a URL of http".into()),
            };
        }
        if let Some(rest) = location.strip_prefix("//") {
            return Self::parse(&format!("http://{rest}"));
        }
        let target = match location.chars().next() {
            None => self.target.clone(),
            Some('/') => location.to_owned(),
            Some('?') => format!("{path}{location}"),
            Some(_) => format!("{}/{location}", path.rsplit_once('/').map_or("", |(folder, _)| folder)),
        };
        let (path, query) = target.find('?').map_or((target.as_str(), ""), |at| target.split_at(at));
        Self::parse(&format!("http://{}{}{query}", self.authority(), without_dots(path)))
    }

    /// The file name that the last part of the path stands for. `None` for names that are none: empty, `.`, `..`, with a slash
    /// or a control character.
    pub fn file_name(&self) -> Option<OsString> {
        let path = self.target.split('?').next()?;
        let name: Vec<u8> = percent_decode_str(path.rsplit('/').next()?).collect();
        let is_name = !matches!(name.as_slice(), b"" | b"." | b"..");
        let is_plain = name.iter().all(|byte| *byte != b'/' && !byte.is_ascii_control());
        (is_name && is_plain).then(|| OsString::from_vec(name))
    }
}

/// A path without `.` and `..` (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
        if is_last && matches!(segment, "." | "..") {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn urls_are_read() {
        for (text, url) in [
            ("http://a", "http://a/"),
            ("a:8080/b?c=d", "http://a:8080/b?c=d"),
            ("http://A:80/b#c", "http://a/b"),
            ("http://a?b", "http://a/?b"),
            ("http://[::1]:8080/b", "http://[::1]:8080/b"),
            ("http://[::1]/", "http://[::1]/"),
            ("http://a/ä b", ""),
            ("http://a/ä", "http://a/%C3%A4"),
            ("http://a/%2e%2e", "http://a/%2e%2e"),
            ("https://a/", ""),
            ("ftp://a/", ""),
            ("http://", ""),
            ("", ""),
            ("http:///b", ""),
            ("http://a:0/", ""),
            ("http://a:65536/", ""),
            ("http://a:x/", ""),
            ("http://a:/", ""),
            ("http://u:p@a/", ""),
            ("http://ä/", ""),
        ] {
            assert_eq!(Url::parse(text).map(|url| url.to_string()).unwrap_or_default(), url, "{text}");
        }
        assert!(Url::parse("https://a/").expect_err("no TLS").starts_with("no TLS"));
    }

    #[test]
    fn redirects_are_resolved() {
        let from = Url::parse("http://a:81/b/c/d?e").expect("a URL");
        for (location, to) in [
            ("http://x/y", "http://x/y"),
            ("https://x/y", ""),
            ("mailto:x", ""),
            ("//x/y", "http://x/y"),
            ("/y?z", "http://a:81/y?z"),
            ("y", "http://a:81/b/c/y"),
            ("./y", "http://a:81/b/c/y"),
            ("../y/", "http://a:81/b/y/"),
            ("../../../../y", "http://a:81/y"),
            ("..", "http://a:81/b/"),
            ("?z", "http://a:81/b/c/d?z"),
            ("", "http://a:81/b/c/d?e"),
            ("#f", "http://a:81/b/c/d?e"),
            ("y?../z", "http://a:81/b/c/y?../z"),
        ] {
            assert_eq!(from.join(location).map(|url| url.to_string()).unwrap_or_default(), to, "{location}");
        }
    }

    #[test]
    fn names_of_files_lead_nowhere_else() {
        for (text, name) in [
            ("a/b", Some("b")),
            ("a/b/c.tar.gz?d=/e", Some("c.tar.gz")),
            ("a/b%20c", Some("b c")),
            ("a/.b", Some(".b")),
            ("a", None),
            ("a/", None),
            ("a/b/", None),
            ("a/..", None),
            ("a/%2e%2E", None),
            ("a/%2e", None),
            ("a/..%2fb", None),
            ("a/b%00", None),
            ("a/b%0a", None),
            ("a/b%1b", None),
        ] {
            assert_eq!(Url::parse(text).expect("a URL").file_name(), name.map(OsString::from), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_or_none(text in "(http://)?([a/.:?#%\\[\\]@ä]|%2[eEfF]|\\PC){0,16}", location in "[a/.:?#%ä]{0,12}") {
            let Ok(url) = Url::parse(&text) else { return Ok(()) };
            prop_assert_eq!(Url::parse(&url.to_string()), Ok(url.clone()));
            if let Some(name) = url.file_name() {
                let path = std::path::Path::new("/srv/files").join(&name);
                prop_assert_eq!(path.parent(), Some(std::path::Path::new("/srv/files")));
                prop_assert_eq!(path.file_name(), Some(name.as_os_str()));
            }
            let _ = url.join(&location);
        }
    }
}
