//! One connection: what it did in the last minute, its findings, and its time–sequence diagram.

use super::data::Data;
use super::diagram::Drawing;
use super::findings;
use super::look::{Look, Scroll};
use crate::recent::Listed;
use crate::shared::Shared;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use recoup_captures::explain::{Protocol, lost_by, sender_text, state_title, wrap_to};
use recoup_captures::wording::{bit_rate, count, duration, percent_of};
use recoup_trace::finding::Connection;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::time::Duration;

/// How often the diagram is drawn anew.
const REDRAW: Duration = Duration::from_secs(1);

/// The times that a diagram can show, in milliseconds.
const SPANS: [u64; 9] = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/// Ten seconds.
const USUAL_SPAN: usize = 6;

/// What of a connection is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Both,
    Text,
    Diagram,
}

/// The connection that is open.
#[derive(Debug)]
pub struct One {
    pub id: u64,
    pub ends: Endpoints,
    /// What the last survey that had it says.
    listed: Option<Listed>,
    connection: Option<Connection>,
    drawing: Option<Drawing>,
    drawn: Option<Instant>,
    /// Whether frames are kept, so that there can be a diagram.
    is_kept: bool,
    span: usize,
    /// The end of the time that is shown; `None`: now.
    until: Option<Instant>,
    shown: Shown,
    scroll: Scroll,
}

impl One {
    pub fn new(id: u64, ends: Endpoints) -> Self {
        Self {
            id,
            ends,
            listed: None,
            connection: None,
            drawing: None,
            drawn: None,
            is_kept: true,
            span: USUAL_SPAN,
            until: None,
            shown: Shown::Both,
            scroll: Scroll::default(),
        }
    }

    /// Takes what is new. What was known of a connection that is no longer listed stays.
    pub fn update(&mut self, data: &Data, shared: &Shared, now: Instant) {
        if let Some(listed) = data.listed(self.id) {
            self.listed = Some(listed.clone());
        }
        if let Some(connection) = data.ranked(self.id) {
            self.connection = Some(connection.clone());
        }
        let is_due = self.drawn.is_none_or(|drawn| now.since(drawn.min(now)) >= REDRAW);
        // Who looks at an earlier time looks at it undisturbed.
        if !is_due || self.until.is_some() {
            return;
        }
        self.drawn = Some(now);
        let kept = shared.kept().clone();
        self.is_kept = kept.is_on();
        let packets = kept.packets_of(self.ends, Instant::ZERO).map(|(_, packet)| packet);
        self.drawing = Drawing::new(self.ends, packets.collect(), &data.rows(self.id));
    }

    fn span(&self) -> Duration {
        Duration::from_millis(SPANS[self.span])
    }

    /// Changes what is shown, if the key is one that does.
    pub fn key(&mut self, key: KeyCode, data: &Data) -> bool {
        let step = u64::try_from(self.span().as_nanos() / 4).unwrap_or(u64::MAX);
        let until = self.until.unwrap_or(data.now);
        match key {
            KeyCode::Char('+' | '=') => self.span = self.span.saturating_sub(1),
            KeyCode::Char('-') => self.span = (self.span + 1).min(SPANS.len() - 1),
            KeyCode::Left => self.until = Some(Instant::from_nanos(until.as_nanos().saturating_sub(step))),
            KeyCode::Right => self.until = Some(until.plus_nanos(step)).filter(|until| *until < data.now),
            KeyCode::Char('d') => {
                self.shown = match self.shown {
                    Shown::Both => Shown::Diagram,
                    Shown::Diagram => Shown::Text,
                    Shown::Text => Shown::Both,
                }
            }
            _ => return self.scroll.key(key),
        }
        true
    }

    pub fn draw(&mut self, data: &Data, look: Look, area: Rect, buffer: &mut Buffer) {
        let [text, diagram] = match self.shown {
            Shown::Text => [area, Rect::default()],
            Shown::Diagram => [Rect::default(), area],
            Shown::Both => Layout::vertical([Constraint::Percentage(45), Constraint::Min(1)]).areas(area),
        };
        if text.height > 0 {
            let lines = self.lines(data, look, text.width);
            self.scroll.draw(&lines, text, buffer, look);
        }
        if diagram.height < 5 {
            return;
        }
        match &self.drawing {
            Some(drawing) => drawing.draw(self.until.unwrap_or(data.now), self.span(), look, diagram, buffer),
            None => {
                let why = match self.is_kept {
                    true => "No diagram: none of its frames are kept.",
                    false => "No diagram: no frames are kept of captures in a folder.",
                };
                buffer.set_stringn(diagram.x, diagram.y, why, diagram.width.into(), look.plain());
            }
        }
    }

    fn lines(&self, data: &Data, look: Look, width: u16) -> Vec<Line<'static>> {
        let columns = usize::from(width);
        let mut lines = vec![Line::styled(format!("Connection {}: {}", self.id, self.ends), look.strong())];
        let mut put = |text: &str, indent| lines.extend(wrap_to(text, indent, columns).into_iter().map(Line::from));
        if data.listed(self.id).is_none() {
            put("It has ended, or was silent for a minute. This is what was known of it last.", 0);
        }
        if let Some(listed) = &self.listed {
            put(&now_text(listed), 2);
        }
        if let Some(connection) = &self.connection {
            last_minute(connection).iter().for_each(|sentence| put(sentence, 2));
        }
        let own: Vec<_> = data.findings.iter().filter(|finding| finding.connection == Some(self.id)).collect();
        if own.is_empty() {
            put("No finding of it is kept.", 0);
        } else {
            lines.push(Line::styled("Findings, the newest first:", look.strong()));
            for finding in own.into_iter().rev() {
                lines.extend(findings::lines([finding], width));
            }
        }
        lines
    }
}

fn now_text(listed: &Listed) -> String {
    let rate = bit_rate((listed.bytes_per_second * 8.0) as u64);
    let limit = listed.limit.map_or(String::new(), |limit| format!(", limited by: {}", state_title(limit)));
    let rtt = listed.rtt.map_or(String::new(), |rtt| format!(", RTT {}", duration(rtt)));
    let again = match listed.retransmissions {
        0 => "no retransmission".into(),
        all => format!("{} ({} spurious)", count(all, "retransmission"), listed.spurious),
    };
    let time = duration(listed.last.since(listed.since.min(listed.last)));
    format!("Its last {time}: {rate}{rtt}{limit}, {again}.")
}

/// Lost time, and what each end sent and what its time went into: the sentences of `recoup explain`.
fn last_minute(connection: &Connection) -> Vec<String> {
    let (lost, all) = (lost_by(connection).total(), connection.duration());
    let mut sentences = vec![match lost.is_zero() {
        true => "It lost no time.".into(),
        false => {
            let share = percent_of(lost, all);
            format!("Losses and delays cost {} of {} ({share}).", duration(lost), duration(all))
        }
    }];
    let ends = [connection.endpoints.src, connection.endpoints.dst];
    let senders = ends.iter().zip(&connection.directions);
    sentences.extend(senders.map(|(sender, direction)| sender_text(*sender, direction, Protocol::Tcp)));
    sentences
}
