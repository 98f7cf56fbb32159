//! Helpers for the tests of all charts.

use crate::canvas::Colour;

/// An XML element with its text.
#[derive(Debug)]
pub(super) struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
    pub text: String,
}

impl Element {
    pub fn get(&self, key: &str) -> &str {
        let found = self.attributes.iter().find(|(k, _)| k == key);
        found.map_or("", |(_, value)| value)
    }

    pub fn number(&self, key: &str) -> i32 {
        let number: f64 = self.get(key).parse().unwrap();
        number.round() as i32
    }
}

/// Parses an SVG document and returns the elements inside `<svg>`. Fails on text that is not escaped
/// and on elements that are not closed.
pub(super) fn parse(svg: &str) -> Vec<Element> {
    let unescape = |text: &str| {
        assert!(!text.contains(['<', '>']), "{text}");
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        let text = text.replace("&quot;", "\"").replace("&apos;", "'");
        assert_eq!(text.matches('&').count(), text.matches("&amp;").count(), "{text}");
        text.replace("&amp;", "&")
    };
    let mut open: Vec<String> = Vec::new();
    let mut elements: Vec<Element> = Vec::new();
    for piece in svg.trim().split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag that ends");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            assert_eq!(text.trim(), "");
            continue;
        }
        let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        while let Some((key, tail)) = rest.split_once("=\"") {
            let (value, tail) = tail.split_once('"').expect("a quote that ends");
            attributes.push((key.trim().to_string(), unescape(value)));
            rest = tail;
        }
        if rest.trim() != "/" {
            assert_eq!(rest.trim(), "");
            open.push(name.to_string());
        }
        elements.push(Element { name: name.to_string(), attributes, text: unescape(text.trim_matches('\n')) });
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    assert_eq!(elements.remove(0).name, "svg");
    elements
}

pub(super) fn texts(svg: &str) -> Vec<String> {
    let texts = parse(svg).into_iter().filter(|e| e.name == "text");
    texts.map(|e| e.text).collect()
}

#[test]
fn colours_differ_in_grey() {
    // Luma (ITU-R BT.601), 0 to 255.
    let grey = |Colour(r, g, b)| 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
    for n in 2..=8 {
        let greys: Vec<_> = (0..n).map(|i| grey(Colour::of_series(i, n))).collect();
        for pair in greys.windows(2) {
            assert!(pair[1] - pair[0] > 16.0, "{n} series: {greys:?}");
        }
        // Line colours stay darker; dash patterns distinguish lines as well.
        let greys: Vec<_> = (0..n).map(|i| grey(Colour::of_line(i, n))).collect();
        assert!(greys.is_sorted() && greys[n - 1] < 180.0, "{greys:?}");
    }
}
