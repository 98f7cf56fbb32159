use super::*;

fn sizes(page: &Page) -> Vec<(u64, usize)> {
    let objects = page.objects.iter();
    objects.map(|object| (object.bytes, object.subdomain)).collect()
}

#[test]
fn a_site_has_a_name_and_objects() {
    let text = "name = \"three\"\n[[objects]]\nsize = \"24kB\"\n[[objects]]\nsize = 1200\nsubdomain = \"images\"\n\
                [[objects]]\nsize = \"60KiB\"\nsubdomain = \"images\"\n[[objects]]\nsize = 7\n";
    let page = site::parse("x.toml", "x", text).unwrap();
    assert_eq!(page.name, "three");
    assert_eq!(sizes(&page), [(24_000, 0), (1200, 1), (61_440, 1), (7, 0)]);
    let unnamed = site::parse("x.toml", "x", "objects = [{ size = 1 }]").unwrap();
    assert_eq!((unnamed.name.as_str(), sizes(&unnamed)), ("x", vec![(1, 0)]));
}

#[test]
fn what_is_wrong_in_a_site_has_its_line() {
    for (text, expected) in [
        ("", "x.toml:1: no objects: expected [[objects]] with size"),
        ("name = 3\n", "x.toml:1: name: expected text, found 3"),
        ("\nobjects = 4", "x.toml:2: objects: expected [[objects]], found 4"),
        ("objects = [4]", "x.toml:1: objects: expected a table with size, found 4"),
        ("\n[[objects]]\nsubdomain = \"a\"", "x.toml:2: objects: expected a size, found none"),
        (
            "[[objects]]\nsize = 0",
            "x.toml:2: size: expected bytes (1200) or a size (\"24kB\"), at least 1 byte, found 0",
        ),
        ("[[objects]]\nsize = -3", "x.toml:2: size: expected bytes"),
        (
            "[[objects]]\nsize = \"many\"",
            "x.toml:2: size: expected bytes (1200) or a size (\"24kB\"), at least 1 byte, found \"many\"",
        ),
        ("[[objects]]\nsize = 1\nsubdomain = 2", "x.toml:3: subdomain: expected text, found 2"),
        ("[[objects]]\nsize = \"2GB\"", "x.toml:2: expected at most 1 GiB in all objects of the page"),
        ("[[objects]]\nsiez = 1", "x.toml:2: unknown key `siez`: expected size or subdomain"),
        ("nmae = \"x\"", "x.toml:1: unknown key `nmae`: expected name or [[objects]]"),
        ("name = \"x\"\nname", "x.toml:2: "),
    ] {
        let error = site::parse("x.toml", "x", text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// An entry of a HAR file.
fn entry(url: &str, response: &str) -> String {
    format!(r#"{{"request": {{"url": "{url}"}}, "response": {response}}}"#)
}

fn har(entries: &[String]) -> Result<Page, PageError> {
    let text = format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(","));
    har::parse("x.har", "x", &text)
}

const HTML: &str = r#"{"status": 200, "headersSize": 300, "bodySize": 9000, "content": {"mimeType": "text/html"}}"#;

#[test]
fn a_har_file_has_the_document_first_and_hosts_as_subdomains() {
    let page = har(&[
        entry("http://a.example/", r#"{"status": 301, "bodySize": 200, "content": {"mimeType": "text/html"}}"#),
        entry("https://a.example/", HTML),
        entry("https://b.example/x.png", r#"{"_transferSize": 700, "headersSize": 1, "bodySize": 1}"#),
        entry("https://u@b.example/y.png?z", r#"{"headersSize": -1, "bodySize": -1, "content": {"size": 800}}"#),
        entry("https://b.example:444#w", r#"{"headersSize": -1, "bodySize": 900}"#),
        entry("https://a.example/cached", r#"{"_transferSize": 0, "bodySize": 5}"#),
        entry("data:image/png;base64,AAAA", r#"{"bodySize": 5}"#),
    ]);
    let page = page.unwrap();
    let expected = [(9300, 0), (200, 0), (700, 1), (800, 1), (900, 2)];
    assert_eq!(sizes(&page), expected);
}

#[test]
fn only_the_first_page_of_a_har_file_is_read() {
    let with_page = |page: &str, entry: String| entry.replacen('{', &format!(r#"{{"pageref": "{page}", "#), 1);
    let page = har(&[
        with_page("1", entry("http://a/", HTML)),
        with_page("2", entry("http://b/", HTML)),
        with_page("1", entry("http://c/", r#"{"bodySize": 5}"#)),
    ]);
    assert_eq!(sizes(&page.unwrap()), [(9300, 0), (5, 1)]);
}

#[test]
fn what_is_wrong_in_a_har_file_has_its_path() {
    let whole = |text: &str| har::parse("x.har", "x", text);
    for (found, expected) in [
        (whole(""), "x.har:1: expected JSON: EOF while parsing a value"),
        (whole("{\n\"log\": {]}"), "x.har:2: expected JSON: "),
        (whole("[]"), "x.har:$.log: expected an object, found none"),
        (whole(r#"{"log": 3}"#), "x.har:$.log: expected an object, found 3"),
        (whole(r#"{"log": {}}"#), "x.har:$.log.entries: expected an array, found none"),
        (whole(r#"{"log": {"entries": "x"}}"#), "x.har:$.log.entries: expected an array, found \"x\""),
        (
            har(&[]),
            "x.har:$.log.entries: expected an entry with bytes whose response.content.mimeType is HTML, found none",
        ),
        (har(&["7".into()]), "x.har:$.log.entries[0].request: expected an object, found none"),
        (
            har(&[r#"{"request": {"url": null}}"#.into()]),
            "x.har:$.log.entries[0].request.url: expected text, found null",
        ),
        (
            har(&[r#"{"request": {"url": "http://a"}}"#.into()]),
            "x.har:$.log.entries[0].response: expected an object, found none",
        ),
        (
            har(&[entry("http://a", HTML), entry("http://a", r#"{"bodySize": -2}"#)]),
            "x.har:$.log.entries[1].response.bodySize: expected bytes, or -1 where unknown, found -2",
        ),
        (
            har(&[entry("http://a", r#"{"content": {"size": "9"}}"#)]),
            "x.har:$.log.entries[0].response.content.size: expected bytes, or -1 where unknown, found \"9\"",
        ),
        (
            har(&[entry("http://a", HTML), entry("http://a", r#"{"bodySize": 9000000000}"#)]),
            "x.har:$.log.entries[1]: expected at most 1 GiB in all objects of the page",
        ),
    ] {
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn an_unreadable_file_is_named() {
    for read in [read_site, read_har] {
        let error = read(Path::new("no/such.file")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read the page no/such.file: "), "{error}");
    }
}
