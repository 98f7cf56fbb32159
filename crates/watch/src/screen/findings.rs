//! Findings as they come, the newest last.

use super::data::{Data, Finding};
use super::look::{Look, Scroll};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::text::Line;
use recoup_captures::explain::wrap_to;
use recoup_table::utc;

/// The list of findings. While it pauses, it stays as it is.
#[derive(Debug, Default)]
pub struct FindingsView {
    paused: Option<Vec<Finding>>,
    scroll: Scroll,
}

impl FindingsView {
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Moves or pauses, if the key is one that does.
    pub fn key(&mut self, key: KeyCode, data: &Data) -> bool {
        match key {
            KeyCode::Char(' ' | 'p') if self.is_paused() => self.go_on(),
            KeyCode::Char(' ' | 'p') => self.pause(data),
            KeyCode::End => self.go_on(),
            KeyCode::Up | KeyCode::PageUp | KeyCode::Home => {
                self.pause(data);
                return self.scroll.key(key);
            }
            _ => return self.scroll.key(key),
        }
        true
    }

    fn pause(&mut self, data: &Data) {
        self.paused.get_or_insert_with(|| data.findings.iter().cloned().collect());
    }

    fn go_on(&mut self) {
        self.paused = None;
    }

    pub fn draw(&mut self, data: &Data, look: Look, area: Rect, buffer: &mut Buffer) {
        let findings: Vec<&Finding> = match &self.paused {
            Some(paused) => paused.iter().collect(),
            None => data.findings.iter().collect(),
        };
        if findings.is_empty() {
            let text = "No finding yet: no retransmission, and no connection that lost time.";
            buffer.set_stringn(area.x, area.y, text, area.width.into(), look.plain());
            return;
        }
        if self.paused.is_none() {
            self.scroll.show_end();
        }
        self.scroll.draw(&lines(findings, area.width), area, buffer, look);
    }
}

/// Findings with their times, wrapped.
pub fn lines<'a>(findings: impl IntoIterator<Item = &'a Finding>, width: u16) -> Vec<Line<'static>> {
    let lines = findings.into_iter().flat_map(|finding| {
        let time = utc(finding.at);
        let time = time.get(11..23).unwrap_or(&time);
        wrap_to(&format!("{time} {}", finding.text), 4, width.into())
    });
    lines.map(Line::from).collect()
}
