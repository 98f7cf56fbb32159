//! The table of open connections: ends, rate, what limits them, round trip, retransmissions and lost time, all of the last minute.

use super::data::Data;
use super::look::{Look, fit};
use crate::recent::Listed;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::style::Style;
use recoup_captures::explain::state_title;
use recoup_captures::wording::{bit_rate, count, duration, grouped};
use std::cmp::Reverse;
use std::time::Duration;

/// From this width on, a connection is one line; below, it is two.
const WIDE: u16 = 110;

/// The order of connections: what is largest comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Lost,
    Rate,
    Retransmissions,
    RoundTrip,
}

impl Order {
    fn name(self) -> &'static str {
        match self {
            Self::Lost => "time lost",
            Self::Rate => "rate",
            Self::Retransmissions => "retransmissions",
            Self::RoundTrip => "RTT",
        }
    }

    fn sort(self, listed: &mut [&Listed]) {
        match self {
            Self::Lost => listed.sort_by_key(|one| Reverse(one.lost)),
            Self::Rate => listed.sort_by(|a, b| b.bytes_per_second.total_cmp(&a.bytes_per_second)),
            Self::Retransmissions => listed.sort_by_key(|one| Reverse(one.retransmissions)),
            Self::RoundTrip => listed.sort_by_key(|one| Reverse(one.rtt)),
        }
    }
}

/// The table.
#[derive(Debug, Default)]
pub struct Connections {
    order: Order,
    filter: String,
    /// Whether keys go into the filter.
    is_typing: bool,
    /// The number of the connection that keys act on.
    chosen: Option<u64>,
    /// The first connection that is shown, and how many are.
    top: usize,
    shown: usize,
}

/// What a key asks for beyond the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: the key is not one of the table.
    Other,
    /// Nothing more.
    Done,
    /// The connection of this number.
    Open(u64),
}

impl Connections {
    /// The filter while it is typed.
    pub fn typed(&self) -> Option<&str> {
        self.is_typing.then_some(self.filter.as_str())
    }

    /// The connections that the filter leaves, in order.
    fn rows<'a>(&self, data: &'a Data) -> Vec<&'a Listed> {
        let all = data.survey.as_ref().map_or(&[][..], |(survey, _)| &survey.listed);
        let wanted = |one: &&Listed| {
            let limit = one.limit.map_or("", state_title);
            self.filter.is_empty() || one.endpoints.to_string().contains(&self.filter) || limit.contains(&self.filter)
        };
        let mut rows: Vec<&Listed> = all.iter().filter(wanted).collect();
        self.order.sort(&mut rows);
        rows
    }

    /// The place of the chosen connection; the first one if that is gone.
    fn place(&self, rows: &[&Listed]) -> usize {
        rows.iter().position(|one| Some(one.id) == self.chosen).unwrap_or(0)
    }

    pub fn key(&mut self, key: KeyCode, data: &Data) -> Asked {
        if self.is_typing {
            self.type_key(key);
            return Asked::Done;
        }
        let rows = self.rows(data);
        let place = self.place(&rows);
        let page = self.shown.max(1);
        let last = rows.len().saturating_sub(1);
        let to = match key {
            KeyCode::Up => place.saturating_sub(1),
            KeyCode::Down => place + 1,
            KeyCode::PageUp => place.saturating_sub(page),
            KeyCode::PageDown => place + page,
            KeyCode::Home => 0,
            KeyCode::End => last,
            KeyCode::Enter => return rows.get(place).map_or(Asked::Done, |one| Asked::Open(one.id)),
            KeyCode::Char('/') => {
                self.is_typing = true;
                return Asked::Done;
            }
            KeyCode::Esc if !self.filter.is_empty() => {
                self.filter.clear();
                return Asked::Done;
            }
            KeyCode::Char(letter) => return self.order_key(letter),
            _ => return Asked::Other,
        };
        self.chosen = rows.get(to.min(last)).map(|one| one.id);
        Asked::Done
    }

    fn order_key(&mut self, letter: char) -> Asked {
        self.order = match letter {
            'l' => Order::Lost,
            'b' => Order::Rate,
            'r' => Order::Retransmissions,
            't' => Order::RoundTrip,
            _ => return Asked::Other,
        };
        (self.chosen, self.top) = (None, 0);
        Asked::Done
    }

    fn type_key(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(letter) => self.filter.push(letter),
            _ => {}
        }
        (self.chosen, self.top) = (None, 0);
    }

    pub fn draw(&mut self, data: &Data, look: Look, area: Rect, buffer: &mut Buffer) {
        let width = usize::from(area.width);
        let rows = self.rows(data);
        let each = if area.width >= WIDE { 1 } else { 2 };
        self.shown = usize::from(area.height.saturating_sub(2)) / each;
        let place = self.place(&rows);
        self.top = self.top.min(place).max((place + 1).saturating_sub(self.shown));
        let mut line = Lines { buffer, area, next: area.y };
        line.put(&fit(&self.title(data, rows.len()), width), look.plain());
        if rows.is_empty() {
            return;
        }
        line.put(&header(width, each == 1), look.strong());
        for (i, one) in rows.iter().enumerate().skip(self.top).take(self.shown) {
            let is_chosen = i == place;
            let mark = if is_chosen { '>' } else { ' ' };
            let style = if is_chosen { look.chosen() } else { look.plain() };
            match each {
                1 => line.put(&wide(mark, one, width), style),
                _ => {
                    let [first, second] = narrow(mark, one, width);
                    line.put(&first, style);
                    line.put(&second, look.plain());
                }
            }
        }
    }

    fn title(&self, data: &Data, rows: usize) -> String {
        let active = data.survey.as_ref().map_or(0, |(survey, _)| survey.active);
        let mut title = format!("{} active in the last minute", count(active, "open connection"));
        if !self.filter.is_empty() {
            title += &format!("; {} with “{}”", grouped(rows as u64), self.filter);
        } else if (rows as u64) < active {
            title += &format!("; {} listed", grouped(rows as u64));
        }
        if rows > self.shown {
            title += &format!("; from {} on", grouped(self.top as u64 + 1));
        }
        title + &format!("; by {}", self.order.name())
    }
}

/// Lines one below the other.
struct Lines<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    next: u16,
}

impl Lines<'_> {
    fn put(&mut self, text: &str, style: Style) {
        if self.next < self.area.bottom() {
            let width = usize::from(self.area.width);
            self.buffer.set_stringn(self.area.x, self.next, format!("{text:<width$}"), width, style);
            self.next += 1;
        }
    }
}

fn header(width: usize, is_wide: bool) -> String {
    match is_wide {
        true => {
            let left = width.saturating_sub(WIDE_COLUMNS + 2);
            let [rate, limit, rtt] = ["Rate", "Limited by", "RTT"];
            format!(
                "  {:<left$}{rate:>12}  {limit:<17}{rtt:>9}{:>17}{:>11}",
                "Connection", "Retransmissions", "Time lost"
            )
        }
        false => {
            let left = width.saturating_sub(NARROW_COLUMNS + 2);
            format!("  {:<left$}{:>17}{:>11}", "Connection", "Retransmissions", "Time lost")
        }
    }
}

/// The columns after the connection's ends.
const WIDE_COLUMNS: usize = 12 + 2 + 17 + 9 + 17 + 11;
const NARROW_COLUMNS: usize = 17 + 11;

fn ends(one: &Listed, width: usize) -> String {
    fit(&format!("#{} {}", one.id, one.endpoints), width)
}

fn lost(one: &Listed) -> String {
    if one.lost.is_zero() { "-".into() } else { duration(one.lost) }
}

fn retransmissions(one: &Listed) -> String {
    match (one.retransmissions, one.spurious) {
        (0, _) => "-".into(),
        (all, 0) => grouped(all),
        (all, spurious) => format!("{} ({} spur.)", grouped(all), grouped(spurious)),
    }
}

fn rate(one: &Listed) -> String {
    bit_rate((one.bytes_per_second * 8.0) as u64)
}

fn wide(mark: char, one: &Listed, width: usize) -> String {
    let left = width.saturating_sub(WIDE_COLUMNS + 2);
    let limit = one.limit.map_or("-", state_title);
    let rtt = one.rtt.map_or("-".into(), duration);
    format!(
        "{mark} {:<left$}{:>12}  {limit:<17}{rtt:>9}{:>17}{:>11}",
        ends(one, left),
        rate(one),
        retransmissions(one),
        lost(one)
    )
}

fn narrow(mark: char, one: &Listed, width: usize) -> [String; 2] {
    let left = width.saturating_sub(NARROW_COLUMNS + 2);
    let limit = one.limit.map_or(String::new(), |limit| format!(", limited by: {}", state_title(limit)));
    let rtt = one.rtt.map_or(String::new(), |rtt: Duration| format!(", RTT {}", duration(rtt)));
    [
        format!("{mark} {:<left$}{:>17}{:>11}", ends(one, left), retransmissions(one), lost(one)),
        fit(&format!("      {}{rtt}{limit}", rate(one)), width),
    ]
}
