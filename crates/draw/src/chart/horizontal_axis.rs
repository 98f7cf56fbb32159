//! The x axis of line and point charts: the pixels of its values, and the numbers below a panel.

use super::{
    axis::Axis,
    layout::{LEFT, PanelFrame, RIGHT, WIDTH},
};
use crate::{
    canvas::{Align, Canvas, FOREGROUND, GRID, Style, style},
    text::width,
};

/// The least gap between two numbers below the axis.
const MIN_TICK_GAP: i32 = 12;

const X_TICK: Style = style(12, false, Align::Centre, false);

/// The x axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct HorizontalAxis(pub Axis);

impl HorizontalAxis {
    pub fn pixel(self, x: f64) -> f64 {
        f64::from(LEFT) + self.0.part(x) * f64::from(RIGHT - LEFT)
    }

    /// Draws the numbers below a panel, and a grid line at each.
    pub fn draw_numbers(self, canvas: &Canvas<'_>, frame: &PanelFrame) {
        for (value, text) in self.ticks() {
            let x = self.pixel(value);
            let (top, foot) = (f64::from(frame.top), f64::from(frame.bottom));
            if x > f64::from(frame.left) {
                canvas.fill((x, top), (x + 1.0, foot), GRID);
            }
            canvas.fill((x, foot), (x + 1.0, foot + 5.0), FOREGROUND);
            let inside = f64::from(WIDTH - 2 - width(&text, X_TICK.size) / 2);
            let place = (x.min(inside), foot + 12.0);
            canvas.text(&text, place, X_TICK, FOREGROUND);
        }
    }

    pub fn ticks(self) -> Vec<(f64, String)> {
        self.0.ticks(|ticks| self.have_room(ticks))
    }

    /// Whether neighbouring numbers keep their distance.
    fn have_room(self, ticks: &[(f64, String)]) -> bool {
        let half = |text: &str| width(text, X_TICK.size).div_euclid(2);
        ticks.windows(2).all(|pair| {
            let [(a, left), (b, right)] = pair else {
                return true;
            };
            self.pixel(*b) - self.pixel(*a) >= f64::from(half(left) + half(right) + MIN_TICK_GAP)
        })
    }
}
