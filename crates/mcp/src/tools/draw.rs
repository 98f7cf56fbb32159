//! `draw_connection`.

use super::{Call, CaptureTool};
use crate::answer::{Answer, Picture};
use crate::arguments::one_of;
use recoup::commands::plot::call::{Drawing, Request, draw};
use recoup_captures::capture::Input;
use recoup_captures::diagram::source::{Choice, Directions};
use recoup_draw::look::Look;
use recoup_draw::render::to_png;
use recoup_support::quantity::parse_any_duration;
use recoup_trace::analyze::Settings;
use recoup_units::{Direction, Instant};
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// The most bytes of a drawing that is made a PNG of.
const MOST_SVG: usize = 8_000_000;

/// What to ask for if a drawing is too large.
const NARROWER: &str = "choose a shorter time with from and to, one direction, or format png";

/// Draws a connection.
pub struct DrawConnection;

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
pub struct Arguments {
    /// Path of the capture, as list_captures gives it
    capture: String,
    /// The connection's number, as the other tools give it
    connection: u32,
    /// Start of the drawing, such as `80ms`, counted from the connection's first packet
    from: Option<String>,
    /// End of the drawing, such as `1.5s`, counted from the connection's first packet
    to: Option<String>,
    /// Whose data is drawn: `client` or `server`. Default: both, as far as they sent any
    sender: Option<String>,
    /// `png`, a picture, or `svg`, a text for a file. Default: `png`
    format: Option<String>,
}

impl CaptureTool for DrawConnection {
    type Arguments = Arguments;
    const NAME: &'static str = "draw_connection";
    const TITLE: &'static str = "Draw one TCP connection";
    const ABOUT: &'static str = "Draws the time–sequence diagram of one TCP connection of a packet capture: segments, ACKs, the receive window, and \
        each retransmission with its trigger and verdict. Call it to see or to show what explain_connection says. A whole connection may be \
        too much for a picture: choose the time of an episode with from and to.";

    fn document() -> Option<JsonObject> {
        None
    }

    fn answer(arguments: Arguments, call: &Call<'_>) -> Result<Answer, String> {
        let Arguments { capture, connection, from, to, sender, format } = arguments;
        let time = |name, text: Option<String>| {
            let time = text.map(|text| parse_any_duration(&text).map_err(|why| format!("{name}: {why}")));
            time.transpose().map(|after| after.map(|after| Instant::ZERO + after))
        };
        let (from, to) = (time("from", from)?, time("to", to)?);
        if from.zip(to).is_some_and(|(from, to)| from >= to) {
            return Err("from, to: no time in between: expected from before to".into());
        }
        let senders = [("client", Direction::Up), ("server", Direction::Down)];
        let sender = sender.map(|name| one_of("sender", &name, &senders)).transpose()?;
        let is_svg = format.map(|name| one_of("format", &name, &[("png", false), ("svg", true)])).transpose()?;
        let file = call.root.capture(&capture)?;
        let settings = Settings::default();
        let request = Request {
            input: Input::Source(&file),
            choice: Choice {
                profile: None,
                flow: None,
                connection: Some(connection.into()),
                directions: sender.map_or(Directions::All, Directions::Only),
            },
            settings: &settings,
            title: None,
            from,
            to,
        };
        let Drawing { diagram, notes, .. } = draw(&request, call.watch).map_err(|e| e.to_string())?;
        let diagram = diagram.map_err(|e| e.to_string())?;
        let seconds = |at: Instant| format!("{:.6} s", at.as_nanos() as f64 / 1e9);
        let shown = diagram.extent().map(|(first, last)| format!(", from {} to {}", seconds(first), seconds(last)));
        let panels: Vec<&str> = diagram.panels.iter().map(|panel| &*panel.title).collect();
        let mut text = format!(
            "{}{} after the connection's first packet. Panels: {}.\n",
            diagram.title,
            shown.unwrap_or_default(),
            panels.join(" | ")
        );
        for note in notes {
            text += &format!("Note: {note}.\n");
        }
        let look = Look::default();
        let svg = diagram.to_svg_as(&look);
        let picture = match is_svg {
            Some(true) => Picture::Svg(svg),
            _ if svg.len() > MOST_SVG => {
                return Err(format!("the connection has too many packets for one picture: {NARROWER}"));
            }
            _ => Picture::Png(to_png(&svg, &look).map_err(|e| e.to_string())?),
        };
        Ok(Answer { text, picture: Some(picture), narrower: NARROWER, ..Answer::default() })
    }
}
