//! Answers that replace each other on a terminal.

use crate::interrupt;
use console::Term;
use recoup_captures::capture::Progress;
use std::io::Write;

/// Standard output, where each answer takes the place of the one before if it is a terminal.
pub struct Screen {
    terminal: Option<Term>,
    /// Lines of the terminal that the last answer takes up.
    shown: usize,
}

impl Screen {
    pub fn new() -> Self {
        Self { terminal: Some(Term::stdout()).filter(Term::is_term), shown: 0 }
    }

    /// How many lines an answer may have, so that it can be replaced; `None`: any number.
    pub fn most_lines(&self) -> Option<usize> {
        // One line stays for the cursor, and one for the heading.
        self.terminal.as_ref().map(|terminal| usize::from(terminal.size().0).saturating_sub(2).max(1))
    }

    /// Shows an answer. An output that takes no more is noticed at the end.
    pub fn show(&mut self, text: &str) {
        self.clear();
        let text = format!("So far (Ctrl-C ends):\n{text}");
        let Some(terminal) = &self.terminal else {
            _ = writeln!(std::io::stdout(), "{text}");
            return;
        };
        let (height, width) = terminal.size();
        let [height, width] = [height, width].map(|size| usize::from(size).max(1));
        let rows = |line: &str| line.chars().count().div_ceil(width).max(1);
        // Lines that are longer than the terminal is wide take several of its lines.
        let mut lines: Vec<&str> = text.lines().collect();
        while lines.iter().map(|line| rows(line)).sum::<usize>() >= height && lines.len() > 1 {
            lines.pop();
        }
        self.shown = lines.iter().map(|line| rows(line)).sum();
        _ = terminal.write_line(&lines.join("\n"));
    }

    /// Removes the last answer from the terminal.
    pub fn clear(&mut self) {
        if let Some(terminal) = &self.terminal {
            _ = terminal.clear_last_lines(std::mem::take(&mut self.shown));
        }
    }
}

/// Reading that an interrupt ends, without a bar: the answers show how far it is.
pub struct Interruptible;

impl Progress for Interruptible {
    fn capture_begins(&self, _name: &str, _size: Option<u64>) {}

    fn bytes_read(&self, _bytes: u64) {}

    fn capture_ends(&self) {}

    fn is_stopped(&self) -> bool {
        interrupt::is_interrupted()
    }
}
