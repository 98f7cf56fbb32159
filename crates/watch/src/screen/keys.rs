//! What keys do, and the help.

use super::connections::Asked;
use super::look::{Look, Scroll, fit};
use super::one::One;
use super::save::{Answer, SaveDialog};
use super::{Screen, View};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;
use recoup_captures::explain::wrap_to;

/// Keys and what they do.
const HELP: [(&str, &str); 22] = [
    ("1 2 3", "overview, connections, findings; Tab: the next one"),
    ("s", "save the latest frames as pcapng, of the open connection or of all"),
    ("?", "this help; ? or Esc leaves it"),
    ("q, Ctrl-C", "end the program"),
    ("arrows", "move or scroll; also PageUp, PageDown, Home and End"),
    ("", ""),
    ("Connections", ""),
    ("Enter", "open the chosen connection; Esc goes back"),
    ("/", "show only connections with a text in their addresses, ports or limit; Esc shows all"),
    ("l", "sort by time lost"),
    ("b", "sort by rate (bit/s)"),
    ("r", "sort by retransmissions"),
    ("t", "sort by round-trip time"),
    ("", ""),
    ("One connection", ""),
    ("+ -", "show less or more time in the diagram"),
    ("left right", "move the diagram in time"),
    ("d", "diagram and text, diagram alone, text alone"),
    ("", ""),
    ("Findings", ""),
    ("p, space", "pause, or go on; scrolling up pauses"),
    ("End", "go on with the newest"),
];

const EXPLAINED: &str = "Rates are means of the last five seconds. All else is of the last minute, or since the start, and is surveyed \
     every two seconds or less often. “Limited by” is what the sender with most data spent most of its time in. Time lost is what \
     losses and delays cost, as in `recoup explain`.";

/// The help.
pub fn help(look: Look, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (keys, text) in HELP {
        match text {
            "" => lines.push(Line::styled(keys, look.strong())),
            _ => lines.extend(wrap_to(&format!("  {keys:<12}{text}"), 14, width.into()).into_iter().map(Line::from)),
        }
    }
    lines.push(Line::default());
    lines.extend(wrap_to(EXPLAINED, 0, width.into()).into_iter().map(Line::from));
    lines
}

/// The most useful keys, as many as fit.
pub fn line(screen: &Screen, width: usize) -> String {
    let keys: &[&str] = match screen.view {
        _ if screen.dialog.is_some() => &["Enter next", "Esc cancel"],
        _ if screen.help.is_some() => &["? back", "q quit"],
        View::Overview => &["? help", "q quit", "Tab next view", "s save frames", "arrows scroll"],
        View::Connections => {
            &["? help", "q quit", "Enter opens", "/ filter", "sort: l lost, b rate, r retr., t RTT", "s save"]
        }
        View::Findings if screen.findings.is_paused() => {
            &["PAUSED", "p goes on", "? help", "q quit", "arrows scroll", "s save"]
        }
        View::Findings => &["? help", "q quit", "p pauses", "arrows scroll", "s save frames"],
        View::One => &["? help", "q quit", "Esc back", "+ - time", "d diagram or text", "arrows", "s save its frames"],
    };
    let mut text = String::new();
    for key in keys {
        let gap = if text.is_empty() { "" } else { "  " };
        if text.chars().count() + gap.len() + key.chars().count() <= width {
            text.push_str(gap);
            text.push_str(key);
        }
    }
    fit(&text, width)
}

impl Screen {
    /// Does what a key asks for. Returns whether the program goes on.
    pub fn key(&mut self, event: KeyEvent) -> bool {
        let key = event.code;
        if event.modifiers.contains(KeyModifiers::CONTROL) {
            return key != KeyCode::Char('c');
        }
        self.message = None;
        if self.dialog.is_some() {
            self.dialog_key(key);
            return true;
        }
        if let Some(scroll) = &mut self.help {
            if !scroll.key(key) {
                self.help = None;
            }
            return key != KeyCode::Char('q');
        }
        if self.view_key(key) {
            return true;
        }
        match key {
            KeyCode::Char('q') => return false,
            KeyCode::Char('?' | 'h') => self.help = Some(Scroll::default()),
            KeyCode::Char('s') => self.ask_what_to_save(),
            KeyCode::Char('1') => self.view = View::Overview,
            KeyCode::Char('2') => self.view = View::Connections,
            KeyCode::Char('3') => self.view = View::Findings,
            KeyCode::Tab => {
                self.view = match self.view {
                    View::Overview => View::Connections,
                    View::Connections | View::One => View::Findings,
                    View::Findings => View::Overview,
                }
            }
            KeyCode::Esc | KeyCode::Backspace if self.view == View::One => self.view = View::Connections,
            _ => {}
        }
        true
    }

    /// A key of the view. Returns whether it is one.
    fn view_key(&mut self, key: KeyCode) -> bool {
        match self.view {
            View::Overview => self.overview.key(key),
            View::Findings => self.findings.key(key, &self.data),
            View::One => self.one.as_mut().is_some_and(|one| one.key(key, &self.data)),
            View::Connections => match self.connections.key(key, &self.data) {
                Asked::Other => false,
                Asked::Done => true,
                Asked::Open(id) => {
                    self.open(id);
                    true
                }
            },
        }
    }

    fn open(&mut self, id: u64) {
        if let Some(ends) = self.data.listed(id).map(|listed| listed.endpoints) {
            let mut one = One::new(id, ends);
            one.update(&self.data, &self.shared, self.data.now);
            (self.one, self.view) = (Some(one), View::One);
        }
    }

    fn ask_what_to_save(&mut self) {
        let kept = self.shared.kept().clone();
        if !kept.is_on() {
            self.message = Some("Nothing to save: frames are kept of interfaces, not of captures in a folder".into());
            return;
        }
        let ends = self.one.as_ref().filter(|_| self.view == View::One).map(|one| one.ends);
        self.dialog = Some(SaveDialog::new(ends, &kept, self.data.now));
    }

    fn dialog_key(&mut self, key: KeyCode) {
        let Some(dialog) = &mut self.dialog else { return };
        match dialog.key(key) {
            Answer::Goes => return,
            Answer::Cancelled => {}
            Answer::Save => {
                let kept = self.shared.kept().clone();
                self.message = Some(dialog.save(&kept, self.data.now));
            }
        }
        self.dialog = None;
    }
}
