//! The time–sequence diagram of a connection, from the frames that are kept.

use super::look::{Look, fit};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Span as TextSpan;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Context, Line};
use recoup_captures::diagram::draw_connections;
use recoup_captures::diagram::source::Directions;
use recoup_captures::wording::{bytes, duration};
use recoup_draw::sequence::{Mark, MarkKind, Necessity};
use recoup_trace::finding::{CapturePoint, Closing, Connection, Direction, Opening, Retransmission};
use recoup_trace::read::{CapturedPacket, Counts, PacketSource, ReadError};
use recoup_units::{Instant, Span};
use recoup_wire::{Endpoints, SeqNumber};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Columns left of the diagram, for sequence numbers.
const LEFT: u16 = 9;

/// What the marks mean.
const LEGEND: &str = "⣿ sent  · acknowledged  retransmitted: R needed, S spurious, ? not known";

/// The marks of one direction.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Who sent the data.
    sender: Option<SocketAddr>,
    marks: Vec<Mark>,
    /// The time of the first packet, from which marks count.
    begun: Instant,
}

/// Packets that were read before.
struct Packets {
    packets: std::vec::IntoIter<CapturedPacket>,
    given_out: Option<CapturedPacket>,
    counts: Counts,
}

impl PacketSource for Packets {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        self.given_out = self.packets.next();
        self.given_out.as_ref()
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn taken(&self) -> u64 {
        0
    }

    fn size(&self) -> Option<u64> {
        None
    }

    fn name(&self) -> &str {
        "the latest frames"
    }

    fn stop(self) -> Result<Counts, ReadError> {
        Ok(self.counts)
    }
}

impl Drawing {
    /// Draws the direction with more retransmissions, or else with more data. `None` without packets.
    pub fn new(ends: Endpoints, packets: Vec<CapturedPacket>, rows: &[Retransmission]) -> Option<Self> {
        let begun = packets.iter().map(|packet| packet.at).min()?;
        let connection = connection(ends, &packets, rows);
        // The kept frames are numbered apart from those of the analysis. Time and sequence number say which are the same.
        let place = |at: Instant, src: SocketAddr, seq: SeqNumber| (at, src, seq.0);
        let known: HashMap<_, _> =
            packets.iter().map(|p| (place(p.at, p.endpoints.src, p.segment.seq), p.frame)).collect();
        let frame = |row: &Retransmission| known.get(&place(row.at, row.endpoints.src, row.seq)).copied();
        let rows = rows.iter().filter_map(|row| Some(Retransmission { frame: frame(row)?, ..*row })).collect();
        let source = Packets { packets: packets.into_iter(), given_out: None, counts: Counts::default() };
        let drawn = draw_connections(source, &[(connection, rows)], Directions::Main, usize::MAX, |_| true).pop()?;
        let marks = drawn.panels.into_iter().next()?.marks;
        Some(Self { sender: drawn.senders.first().copied(), marks, begun })
    }

    /// Draws the marks of the time that ends at `until`.
    pub fn draw(&self, until: Instant, span: Duration, look: Look, area: Rect, buffer: &mut Buffer) {
        let parts = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(2)];
        let [title, middle, foot] = Layout::vertical(parts).areas(area);
        let width = usize::from(area.width);
        let sender = self.sender.map_or(String::new(), |sender| format!(" of {sender}"));
        let text = format!("Data{sender}, {} (+ - zoom, left right move)", duration(span));
        buffer.set_stringn(title.x, title.y, fit(&text, width), width, look.strong());
        let [left, canvas] = Layout::horizontal([Constraint::Length(LEFT), Constraint::Min(1)]).areas(middle);
        let x = self.seconds(until);
        let from = x - span.as_secs_f64();
        let Some((low, high)) = self.range(from, x) else {
            buffer.set_stringn(canvas.x, canvas.y, "No data in this time.", canvas.width.into(), look.plain());
            return;
        };
        for (y, level) in [(left.y, high), (left.bottom() - 1, low)] {
            let text = bytes((level - low) as u64);
            buffer.set_stringn(left.x, y, format!("{text:>8}"), usize::from(LEFT - 1), look.faint());
        }
        self.canvas([from, x], [low, high], look).render(canvas, buffer);
        let ago = duration(span);
        let columns = usize::from(canvas.width).saturating_sub(ago.chars().count() + 4);
        let end = self.end(until);
        buffer.set_stringn(canvas.x, foot.y, format!("{ago} ago{end:>columns$}"), canvas.width.into(), look.faint());
        buffer.set_stringn(foot.x, foot.y + 1, fit(LEGEND, width), width, look.faint());
    }

    /// The end of the time shown, in words.
    fn end(&self, until: Instant) -> String {
        recoup_table::utc(until).get(11..19).map_or(String::new(), |time| format!("{time} UTC"))
    }

    /// Seconds since the first packet; negative before it.
    fn seconds(&self, at: Instant) -> f64 {
        match at >= self.begun {
            true => at.since(self.begun).as_secs_f64(),
            false => -self.begun.since(at).as_secs_f64(),
        }
    }

    fn canvas(&self, x: [f64; 2], y: [f64; 2], look: Look) -> Canvas<'_, impl Fn(&mut Context<'_>) + '_> {
        Canvas::default().x_bounds(x).y_bounds(y).paint(move |context| {
            context.marker(Marker::Custom('·'));
            self.acknowledged(context, x, look);
            context.layer();
            context.marker(Marker::Braille);
            for mark in &self.marks {
                if let MarkKind::Sent(span) = &mark.kind {
                    let at = seconds(mark);
                    let [y1, y2] = [span.start.0, span.end.0].map(|offset| offset as f64);
                    context.draw(&Line { x1: at, y1, x2: at, y2, color: look.color(Color::White) });
                }
            }
            context.layer();
            // Spurious ones come last, so that they are seen.
            for wanted in ["?", "R", "S"] {
                for mark in &self.marks {
                    if let Some((span, letter)) = retransmitted(&mark.kind).filter(|(_, letter)| *letter == wanted) {
                        let middle = (span.start.0 + span.end.0) as f64 / 2.0;
                        let style = Style::new().fg(look.color(if letter == "S" { Color::Blue } else { Color::Red }));
                        context.print(seconds(mark), middle, TextSpan::styled(letter, style));
                    }
                }
            }
        })
    }

    /// The stairs of acknowledged data.
    fn acknowledged(&self, context: &mut Context<'_>, x: [f64; 2], look: Look) {
        let color = look.color(Color::Green);
        let mut last: Option<(f64, f64)> = None;
        for mark in &self.marks {
            let MarkKind::Acked(offset) = mark.kind else { continue };
            let (at, level) = (seconds(mark), offset.0 as f64);
            if let Some((then, before)) = last {
                context.draw(&Line { x1: then, y1: before, x2: at, y2: before, color });
                context.draw(&Line { x1: at, y1: before, x2: at, y2: level, color });
            }
            last = Some((at, level));
        }
        if let Some((at, level)) = last {
            context.draw(&Line { x1: at, y1: level, x2: x[1].max(at), y2: level, color });
        }
    }

    /// The sequence numbers from `from` to `until`: the lowest and the highest.
    fn range(&self, from: f64, until: f64) -> Option<(f64, f64)> {
        let mut range: Option<(u64, u64)> = None;
        for mark in self.marks.iter().filter(|mark| (from..=until).contains(&seconds(mark))) {
            let (low, high) = match &mark.kind {
                MarkKind::Sent(span) => (span.start.0, span.end.0),
                MarkKind::Acked(offset) => (offset.0, offset.0),
                kind => match retransmitted(kind) {
                    Some((span, _)) => (span.start.0, span.end.0),
                    None => continue,
                },
            };
            range = Some(range.map_or((low, high), |(least, most)| (least.min(low), most.max(high))));
        }
        range.map(|(low, high)| (low as f64, high.max(low + 1) as f64))
    }
}

fn seconds(mark: &Mark) -> f64 {
    mark.at.as_nanos() as f64 / 1e9
}

/// A retransmission and its letter.
fn retransmitted(kind: &MarkKind) -> Option<(Span, &'static str)> {
    match kind {
        MarkKind::Explained { span, necessity, .. } => {
            let letter = match necessity {
                Necessity::Needed => "R",
                Necessity::Spurious => "S",
                Necessity::Unknowable => "?",
            };
            Some((*span, letter))
        }
        MarkKind::Retransmitted(span, _) | MarkKind::ExtraCopy(span) => Some((*span, "?")),
        _ => None,
    }
}

/// The connection as far as a diagram needs it.
fn connection(ends: Endpoints, packets: &[CapturedPacket], rows: &[Retransmission]) -> Connection {
    let mut directions = [Direction::default(), Direction::default()];
    let side = |src: SocketAddr| usize::from(src != ends.src);
    for packet in packets {
        directions[side(packet.endpoints.src)].bytes += u64::from(packet.segment.payload_len);
    }
    for row in rows {
        directions[side(row.endpoints.src)].retransmissions.add(row.triggers, row.verdict);
    }
    let at = packets.first().map_or(Instant::ZERO, |packet| packet.at);
    Connection {
        id: 0,
        endpoints: ends,
        opening: Opening::MidConnection,
        closing: Closing::CaptureEnd,
        frames: 0..=u64::MAX,
        begun: at,
        ended: packets.last().map_or(at, |packet| packet.at),
        packets: packets.len() as u64,
        handshake_rtt: None,
        sack: None,
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions,
    }
}
