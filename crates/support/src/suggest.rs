//! Suggestions for misspelt words.

/// The longest word that is compared: no known word is half as long.
const LONGEST: usize = 200;

/// `, did you mean `known`?` with the known word most similar to `word`; empty if none is similar.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    if word.len() > LONGEST {
        return String::new();
    }
    let word = word.to_lowercase();
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(&word, &known.to_lowercase());
    known
        .into_iter()
        .map(|known| (similarity(known), known))
        .filter(|(similarity, _)| *similarity >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(String::new(), |(_, known)| format!(", did you mean `{known}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_word_is_suggested() {
        let known = ["tlpr", "tlp", "rtt", "rate", "queue", "segments", "mss"];
        for (word, suggestion) in [
            ("tpl", ", did you mean `tlp`?"),
            ("rtts", ", did you mean `rtt`?"),
            ("segment", ", did you mean `segments`?"),
            ("Rate", ", did you mean `rate`?"),
            ("zzz", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(word, known), suggestion);
        }
    }
}
