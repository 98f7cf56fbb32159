//! Splits the shell lines of scripts into commands and words. No shell runs.

use crate::{error::Place, script::Command};

/// Splits the text between backquotes; `start` is the place of the first backquote.
pub(crate) fn split(text: &str, start: Place) -> Vec<Command> {
    let mut commands = Vec::new();
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut line = start.line;
    let mut place = start;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let end_of_command = match c {
            '\\' => match chars.next() {
                Some('\n') => {
                    line += 1;
                    words.extend(word.take());
                    false
                }
                Some(escaped) => {
                    word.get_or_insert_default().push(escaped);
                    false
                }
                None => false,
            },
            '"' | '\'' => {
                let text = word.get_or_insert_default();
                for quoted in chars.by_ref().take_while(|&q| q != c) {
                    line += usize::from(quoted == '\n');
                    text.push(quoted);
                }
                false
            }
            '#' if word.is_none() => {
                while chars.next_if(|&c| c != '\n').is_some() {}
                false
            }
            '\n' | ';' | '&' | '|' => true,
            _ if c.is_whitespace() => {
                words.extend(word.take());
                false
            }
            _ => {
                if words.is_empty() && word.is_none() {
                    place = Place { line, ..start };
                }
                word.get_or_insert_default().push(c);
                false
            }
        };
        line += usize::from(c == '\n');
        if end_of_command {
            words.extend(word.take());
            if !words.is_empty() {
                let words = std::mem::take(&mut words);
                commands.push(Command { place, words });
            }
        }
    }
    words.extend(word);
    if !words.is_empty() {
        commands.push(Command { place, words });
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_lines_are_split_into_commands_and_words() {
        let text = "../common/defaults.sh # usual\n\
                    sysctl -q net.ipv4.tcp_wmem=\"4096 50000 4194304\" \\\n  a=1; tc qdisc\n\nip route && x";
        let commands = split(text, Place { line: 3, column: 1 });
        let got: Vec<_> = commands.iter().map(|c| (c.place.line, c.words.join("·"))).collect();
        let expected = [
            (3, "../common/defaults.sh"),
            (4, "sysctl·-q·net.ipv4.tcp_wmem=4096 50000 4194304·a=1"),
            (5, "tc·qdisc"),
            (7, "ip·route"),
            (7, "x"),
        ];
        assert_eq!(got, expected.map(|(line, words)| (line, words.to_string())));
    }
}
