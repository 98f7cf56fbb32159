//! The terminal view of `recoup watch`: what the watcher shares, shown while it happens.
//!
//! ```text
//! Watcher (a thread) ─► Shared ─► Screen::update (4 times a second) ─► Screen::draw
//!                                                     keys ─► Screen::key ─┘
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `terminal` | takes the terminal, gives it back, and the loop in between |
//! | `look` | styles with and without colours, and texts that scroll |
//! | `data` | copies of what the watcher shares: rates, the last survey, findings |
//! | `overview` | the last minute, as `recoup explain` says it |
//! | `connections` | the table of open connections |
//! | `findings` | findings as they come |
//! | `one`, `diagram` | one connection: its text and its time–sequence diagram |
//! | `save` | the dialog that saves frames |
//! | `keys` | what keys do, and the help |

mod connections;
mod data;
mod diagram;
mod findings;
mod keys;
mod look;
mod one;
mod overview;
mod save;
mod terminal;

pub use look::Look;
pub use terminal::show;

use crate::shared::Shared;
use connections::Connections;
use data::Data;
use findings::FindingsView;
use look::{Scroll, fit};
use one::One;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use recoup_captures::wording::{bit_rate, count, grouped};
use recoup_table::utc;
use recoup_units::{Instant, visible};
use save::SaveDialog;
use std::sync::Arc;

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Overview,
    Connections,
    Findings,
    /// The connection that is open.
    One,
}

/// The least terminal that shows anything useful.
const LEAST: (u16, u16) = (40, 10);

/// What is on the screen.
pub struct Screen {
    shared: Arc<Shared>,
    look: Look,
    view: View,
    data: Data,
    overview: Scroll,
    connections: Connections,
    findings: FindingsView,
    one: Option<One>,
    dialog: Option<SaveDialog>,
    help: Option<Scroll>,
    /// What became of the last command, until the next key.
    message: Option<String>,
}

impl Screen {
    pub fn new(shared: Arc<Shared>, look: Look) -> Self {
        Self {
            shared,
            look,
            view: View::Overview,
            data: Data::default(),
            overview: Scroll::default(),
            connections: Connections::default(),
            findings: FindingsView::default(),
            one: None,
            dialog: None,
            help: None,
            message: None,
        }
    }

    /// Takes what is new, at this time since 1970.
    pub fn update(&mut self, now: Instant) {
        self.data.update(&self.shared, now);
        if self.view == View::One
            && let Some(one) = &mut self.one
        {
            one.update(&self.data, &self.shared, now);
        }
    }

    /// Draws all of it.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        if area.width < LEAST.0 || area.height < LEAST.1 {
            let text = format!("recoup watch needs {} × {} characters", LEAST.0, LEAST.1);
            buffer.set_stringn(area.x, area.y, text, area.width.into(), self.look.plain());
            return;
        }
        let parts = [Constraint::Length(3), Constraint::Min(1), Constraint::Length(1)];
        let [head, body, foot] = Layout::vertical(parts).areas(area);
        self.draw_head(head, buffer);
        self.draw_foot(foot, buffer);
        if let Some(scroll) = &mut self.help {
            scroll.draw(&keys::help(self.look, body.width), body, buffer, self.look);
            return;
        }
        match self.view {
            View::Overview => {
                let lines = overview::lines(&self.data, self.look, body.width);
                self.overview.draw(&lines, body, buffer, self.look);
            }
            View::Connections => self.connections.draw(&self.data, self.look, body, buffer),
            View::Findings => self.findings.draw(&self.data, self.look, body, buffer),
            View::One => {
                if let Some(one) = &mut self.one {
                    one.draw(&self.data, self.look, body, buffer);
                }
            }
        }
        if let Some(dialog) = &self.dialog {
            dialog.draw(self.look, body, buffer);
        }
    }

    fn draw_head(&self, area: Rect, buffer: &mut Buffer) {
        let width = usize::from(area.width);
        let views =
            [(View::Overview, "1 Overview"), (View::Connections, "2 Connections"), (View::Findings, "3 Findings")];
        let mut tabs = Vec::new();
        let mut used = 0;
        for (view, name) in views {
            let is_shown = view == self.view || (view == View::Connections && self.view == View::One);
            let text = if is_shown { format!("[{name}]") } else { format!(" {name} ") };
            used += text.chars().count();
            tabs.push(Span::styled(text, if is_shown { self.look.strong() } else { self.look.plain() }));
        }
        let clock = utc(self.data.now).get(11..19).map_or(String::new(), |time| format!("{time} UTC"));
        let name = format!("recoup watch {}", visible(&self.data.name));
        let left = width.saturating_sub(used + 2);
        let name = fit(&name, left);
        let gap = width.saturating_sub(name.chars().count() + used + 2);
        let mut spans = vec![Span::styled(name, self.look.strong()), Span::raw("  ")];
        spans.extend(tabs);
        if gap > clock.len() {
            spans.push(Span::raw(format!("{clock:>gap$}")));
        }
        buffer.set_line(area.x, area.y, &Line::from(spans), area.width);
        self.draw_rates(Rect { y: area.y + 1, height: 1, ..area }, buffer);
        let rule = Rect { y: area.y + 2, height: 1, ..area };
        match &self.data.ended {
            None => buffer.set_string(rule.x, rule.y, "─".repeat(width), self.look.faint()),
            Some(why) => {
                let text = format!("! Watching has ended: {}. q ends the program.", visible(why));
                buffer.set_stringn(rule.x, rule.y, fit(&text, width), width, self.look.alarm());
            }
        }
    }

    /// The rates of the last seconds, as many as there is room for.
    fn draw_rates(&self, area: Rect, buffer: &mut Buffer) {
        let rates = self.data.rates();
        let mut parts = Vec::new();
        let dropped = self.data.dropped;
        if dropped > 0 {
            let now = if rates.is_dropping { ", and more now" } else { "" };
            parts.push((format!("! {} dropped by the kernel{now}", count(dropped, "frame")), self.look.alarm()));
        }
        let plain = self.look.plain();
        parts.push((format!("{} packets/s", rate(rates.packets)), plain));
        parts.push((bit_rate((rates.bytes * 8.0) as u64), plain));
        let style = if rates.retransmissions > 0.0 { self.look.strong() } else { plain };
        parts.push((format!("{} retransmissions/s", rate(rates.retransmissions)), style));
        parts.push((format!("{} open", grouped(self.data.open)), plain));
        if dropped == 0 {
            parts.push(("kernel drops 0".into(), plain));
        }
        let mut x = area.x;
        for (text, style) in parts {
            let len = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
            if x.saturating_add(len) > area.right() {
                break;
            }
            buffer.set_string(x, area.y, text, style);
            x = x.saturating_add(len + 2);
        }
    }

    fn draw_foot(&self, area: Rect, buffer: &mut Buffer) {
        let width = usize::from(area.width);
        let text = match (&self.message, self.connections.typed()) {
            (Some(message), _) => fit(message, width),
            (None, Some(typed)) if self.view == View::Connections => {
                fit(&format!("/{typed}_  Enter filters, Esc shows all"), width)
            }
            _ => keys::line(self, width),
        };
        buffer.set_stringn(area.x, area.y, text, width, self.look.faint());
    }
}

/// A rate: whole numbers from 10 on.
fn rate(per_second: f64) -> String {
    match per_second {
        _ if per_second <= 0.0 => "0".into(),
        _ if per_second < 0.1 => format!("{per_second:.2}"),
        _ if per_second < 9.95 => format!("{per_second:.1}"),
        _ => grouped(per_second.round() as u64),
    }
}

#[cfg(test)]
mod tests;
