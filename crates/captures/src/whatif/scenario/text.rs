//! A scenario as the text of its file.

use recoup_support::rounded::significant;
use std::fmt::Write as _;

/// The longest line of a comment, in characters.
const WIDTH: usize = 100;

/// A scenario inferred from a capture. Its text loads as a scenario file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InferredScenario {
    /// Where it comes from, a sentence each.
    pub about_source: Vec<String>,
    /// Its description, in one line.
    pub about: String,
    /// The profiles of the senders, the most frequent first, and why.
    pub profiles: (Vec<String>, String),
    /// How many flows.
    pub flows: u64,
    /// Its settings.
    pub settings: Vec<InferredSetting>,
    /// Properties that a scenario cannot express, a sentence each.
    pub left_out: Vec<String>,
    /// The lost packets of the sender as the setting `drop=trace:FILE` reads them, which are not part of its text: a line
    /// for each connection with a 1 for each lost packet and a 0 for each other one.
    pub loss_trace: String,
    /// Notes on the reading of the capture, which are not part of its text.
    pub notes: Vec<String>,
}

/// A setting of an inferred scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferredSetting {
    /// Its key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// Where the value comes from, and how well it fits.
    pub why: String,
}

impl InferredScenario {
    /// The text of its file.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for sentence in &self.about_source {
            comment(&mut text, sentence);
        }
        let _ = writeln!(text, "\nabout = {}", quoted(&self.about));
        comment(&mut text, &self.profiles.1);
        let profiles: Vec<_> = self.profiles.0.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(text, "profiles = [{}]", profiles.join(", "));
        let _ = writeln!(text, "flows = {}\nseed = 1\n\n[settings]", self.flows);
        for setting in &self.settings {
            comment(&mut text, &setting.why);
            let _ = writeln!(text, "{} = {}", setting.key, quoted(&setting.value));
        }
        if !self.left_out.is_empty() {
            text.push('\n');
        }
        for sentence in &self.left_out {
            comment(&mut text, sentence);
        }
        text
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Adds a comment, broken into lines. Control characters, which TOML does not allow, become spaces.
fn comment(text: &mut String, sentence: &str) {
    let mut len = usize::MAX;
    for word in sentence.split(|c: char| c == ' ' || c.is_control()) {
        let word_len = word.chars().count();
        if len.saturating_add(1 + word_len) > WIDTH {
            if len != usize::MAX {
                text.push('\n');
            }
            text.push('#');
            len = 1;
        }
        let _ = write!(text, " {word}");
        len += 1 + word_len;
    }
    text.push('\n');
}

/// A probability with three significant digits.
pub(super) fn probability(p: f64) -> String {
    significant(p.max(0.0), 3)
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", probability(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_lab::scenario::Scenario;
    use std::path::Path;

    #[test]
    fn numbers_have_three_digits() {
        for (p, expected) in
            [(0.0, "0"), (1.0, "1"), (0.5, "0.5"), (0.019_683, "0.0197"), (0.000_123_4, "0.000123"), (0.999_9, "1")]
        {
            assert_eq!(probability(p), expected);
        }
        assert_eq!(percent(0.0197), "1.97 %");
    }

    #[test]
    fn the_text_loads_whatever_the_capture_is_called() {
        let scenario = InferredScenario {
            loss_trace: String::new(),
            about_source: vec!["a\nb \u{7f} ".to_owned() + &"long ".repeat(50)],
            about: "quotes \" and \\ and \u{1}".into(),
            profiles: (vec!["linux-6".into()], "Because.".into()),
            flows: 7,
            settings: vec![InferredSetting { key: "rtt", value: "40ms".into(), why: "Seen.".into() }],
            left_out: vec!["Nothing.".into()],
            notes: vec![],
        };
        let text = scenario.to_toml();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let read = Scenario::parse("x", "x.toml", &text, Path::new(".")).unwrap();
        assert_eq!((read.about, read.flows), (scenario.about, 7));
        assert_eq!(read.settings.rtt.as_millis(), 40);
    }
}
