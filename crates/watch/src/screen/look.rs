//! Styles with and without colours, and texts that scroll. Nothing is told by colour alone: what is red also has a mark or a word.

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

/// How text looks.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether there are colours.
    pub colors: bool,
}

impl Look {
    pub fn plain(self) -> Style {
        Style::new()
    }

    /// Headings, and what matters.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What helps to read, such as rules and keys.
    pub fn faint(self) -> Style {
        self.colored(Style::new(), Color::DarkGray)
    }

    /// What is wrong.
    pub fn alarm(self) -> Style {
        self.colored(self.strong(), Color::Red)
    }

    /// What keys act on.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// This colour, where there are colours.
    pub fn color(self, color: Color) -> Color {
        if self.colors { color } else { Color::Reset }
    }

    fn colored(self, style: Style, color: Color) -> Style {
        if self.colors { style.fg(color) } else { style }
    }
}

/// A text of more lines than fit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scroll {
    /// The first line that is shown.
    top: usize,
    /// Lines that were shown last, of how many.
    shown: usize,
    all: usize,
}

impl Scroll {
    /// Shows the last lines when drawn next.
    pub fn show_end(&mut self) {
        self.top = usize::MAX;
    }

    /// Moves, if the key is one that moves.
    pub fn key(&mut self, key: KeyCode) -> bool {
        let page = self.shown.saturating_sub(1).max(1);
        let last = self.all.saturating_sub(self.shown);
        let top = self.top.min(last);
        self.top = match key {
            KeyCode::Up => top.saturating_sub(1),
            KeyCode::Down => top + 1,
            KeyCode::PageUp => top.saturating_sub(page),
            KeyCode::PageDown => top + page,
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => return false,
        }
        .min(last);
        true
    }

    /// Draws the lines that are in view. If there are more, the last row says which are shown.
    pub fn draw(&mut self, lines: &[Line<'_>], area: Rect, buffer: &mut Buffer, look: Look) {
        let height = usize::from(area.height);
        self.all = lines.len();
        self.shown = if self.all > height { height.saturating_sub(1) } else { height };
        self.top = self.top.min(self.all.saturating_sub(self.shown));
        let rows = area.rows();
        for (row, line) in rows.zip(lines.iter().skip(self.top).take(self.shown)) {
            buffer.set_line(row.x, row.y, line, row.width);
        }
        if self.all > height && height > 0 {
            let last = self.top + self.shown;
            let text = format!("lines {} to {last} of {}: arrows, PageUp and PageDown scroll", self.top + 1, self.all);
            let width = usize::from(area.width);
            buffer.set_stringn(area.x, area.bottom() - 1, fit(&text, width), width, look.faint());
        }
    }
}

/// A text in this many columns: the end of a longer one is replaced by `…`.
pub fn fit(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) if width == 0 => String::new(),
        Some(_) => {
            let mut cut: String = text.chars().take(width - 1).collect();
            cut.push('…');
            cut
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_too_long_end_in_dots() {
        assert_eq!([fit("long", 4), fit("longer", 4), fit("long", 0)], ["long", "lon…", ""]);
    }

    #[test]
    fn keys_scroll_as_far_as_there_are_lines() {
        let lines: Vec<Line<'_>> = (1..=30).map(|n| Line::from(n.to_string())).collect();
        let area = Rect::new(0, 0, 60, 11);
        let mut buffer = Buffer::empty(area);
        let mut scroll = Scroll::default();
        let look = Look { colors: false };
        let mut shown = |scroll: &mut Scroll| {
            buffer.reset();
            scroll.draw(&lines, area, &mut buffer, look);
            buffer.content()[..2].iter().map(|cell| cell.symbol()).collect::<String>()
        };
        assert_eq!(shown(&mut scroll), "1 ");
        for (key, first) in [
            (KeyCode::Down, "2 "),
            (KeyCode::PageDown, "11"),
            (KeyCode::PageDown, "20"),
            (KeyCode::PageDown, "21"),
            (KeyCode::Up, "20"),
            (KeyCode::Home, "1 "),
            (KeyCode::Up, "1 "),
            (KeyCode::End, "21"),
        ] {
            assert!(scroll.key(key));
            assert_eq!(shown(&mut scroll), first, "{key:?}");
        }
        assert!(!scroll.key(KeyCode::Enter));
    }
}
