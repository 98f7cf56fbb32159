//! Profiles by name, with a suggestion for names that are not known.

use crate::suggest::did_you_mean;
use recoup_recovery::Profile;
use recoup_recovery::profile::{Mechanism, ProfileError};

/// Words that people use for profiles, and the profile each one means.
const PROFILE_SYNONYMS: [(&str, &str); 20] = [
    ("rack-tlp", "linux-6"),
    ("racktlp", "linux-6"),
    ("rack_tlp", "linux-6"),
    ("rack", "linux-6"),
    ("rfc8985", "linux-6"),
    ("rfc9937", "linux-6+prrsafe"),
    ("linux", "linux-6"),
    ("modern", "linux-6"),
    ("tail-loss-probe", "linux-3.17+tlp"),
    ("rto-restart", "linux-3.17+rtor"),
    ("rfc7765", "linux-3.17+rtorrfc"),
    ("rfc6937", "linux-3.17+prr"),
    ("prr", "linux-3.17+prr"),
    ("sack", "rfc6675"),
    ("rfc3517", "rfc6675"),
    ("newreno", "reno"),
    ("rfc6582", "reno"),
    ("windows", "windows-xp"),
    ("freebsd", "freebsd-5"),
    ("solaris", "solaris-10"),
];

/// Words that people use for mechanisms, and the mechanisms each one means.
const MECHANISM_SYNONYMS: [(&str, &str); 13] = [
    ("rack-tlp", "rack+tlprfc"),
    ("racktlp", "rack+tlprfc"),
    ("tail-loss-probe", "tlp"),
    ("tlp-restart", "tlpr"),
    ("rto-restart", "rtor"),
    ("rfc7765", "rtorrfc"),
    ("early-retransmit", "er"),
    ("rfc5827", "er"),
    ("rfc6937", "prr"),
    ("rfc9937", "prrsafe"),
    ("limited-transmit", "lt"),
    ("rate-halving", "halving"),
    ("newreno", "nosack"),
];

/// Reads a profile, `BASE` or `BASE+MECHANISM+…`.
///
/// # Errors
/// An unknown word. The error names the word it stands for or resembles; failing that, all known words.
pub fn parse_profile(text: &str) -> Result<Profile, String> {
    text.parse().map_err(|e: ProfileError| {
        let (word, known) = e.unknown();
        let suggestion = match synonym(&e) {
            Some(meant) => format!(", did you mean `{meant}`?"),
            None => did_you_mean(word, known.iter().copied()),
        };
        match suggestion.is_empty() {
            true => e.to_string(),
            false => format!("unknown {} '{word}'{suggestion}", e.kind()),
        }
    })
}

/// The profile or mechanism that an unknown word stands for.
fn synonym(error: &ProfileError) -> Option<String> {
    let find = |synonyms: &[(&str, &str)], word: &str| {
        let word = word.to_lowercase();
        let found = synonyms.iter().find(|(synonym, _)| *synonym == word);
        found.map(|(_, meant)| (*meant).to_owned())
    };
    match error {
        ProfileError::UnknownBase(word) => find(&PROFILE_SYNONYMS, word).or_else(|| {
            let is_mechanism = Mechanism::ALL.iter().any(|m| m.name() == word);
            is_mechanism.then(|| format!("linux-3.17+{word}"))
        }),
        ProfileError::UnknownMechanism(word) => find(&MECHANISM_SYNONYMS, word),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_mean_profiles_that_exist() {
        for (word, meant) in PROFILE_SYNONYMS {
            assert!(word.parse::<Profile>().is_err(), "{word}");
            assert!(parse_profile(meant).is_ok(), "{meant}");
        }
        for (word, meant) in MECHANISM_SYNONYMS {
            assert!(format!("reno+{word}").parse::<Profile>().is_err(), "{word}");
            assert!(parse_profile(&format!("reno+{meant}")).is_ok(), "{meant}");
        }
    }

    #[test]
    fn an_unknown_word_is_answered_by_the_word_that_is_meant() {
        for (text, error) in [
            ("rack-tlp", "unknown profile 'rack-tlp', did you mean `linux-6`?"),
            ("RACK", "unknown profile 'RACK', did you mean `linux-6`?"),
            ("tlpr", "unknown profile 'tlpr', did you mean `linux-3.17+tlpr`?"),
            ("linux-3.71", "unknown profile 'linux-3.71', did you mean `linux-3.17`?"),
            ("linux-6+rto-restart", "unknown mechanism 'rto-restart', did you mean `rtor`?"),
        ] {
            assert_eq!(parse_profile(text).unwrap_err(), error);
        }
        let error = parse_profile("zzz").unwrap_err();
        assert!(error.starts_with("unknown profile 'zzz', expected one of: linux-3.17"));
    }
}
