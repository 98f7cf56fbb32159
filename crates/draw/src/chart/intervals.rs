//! Interval charts: values with an interval each, at places along the x axis that have names. Each series is a line.
//!
//! The places stand at equal distances in the order given, unless they stand for numbers. The series stand a little beside each
//! other, so that their intervals do not cover one another.

use super::{
    ChartPainter, Scale,
    axis::Axis,
    bars::{GroupColumns, GroupLabels, draw_dash},
    describe,
    layout::{ChartLayout, Content, PanelFrame, SWATCH},
    lines::{DASHES, PLOT_HEIGHT, SAMPLE, THICKNESS},
    to_svg,
};
use crate::{
    canvas::{Canvas, Colour, Point},
    text::four_digits,
};

/// Half the side of a value's square.
const HALF: f64 = 3.5;
/// Half the width of the end of an interval.
const CAP: f64 = 4.0;
/// The part of the distance between two places over which the series stand, and the most pixels between two series.
const SPREAD: f64 = 0.4;
const WIDEST_STEP: f64 = 14.0;
/// The least pixels between the names of two places.
const LABEL_GAP: i32 = 8;

/// A chart of values with intervals.
///
/// ```
/// use recoup_draw::chart::{IntervalChart, IntervalPanel, IntervalValue, Scale};
///
/// let chart = IntervalChart {
///     title: "Mean flow completion time".into(),
///     x_label: "rtt".into(),
///     y_label: "FCT mean (ms)".into(),
///     scale: Scale::Linear,
///     places: vec!["20ms".into(), "80ms".into()],
///     positions: vec![20.0, 80.0],
///     series: vec!["linux-6".into()],
///     panels: vec![IntervalPanel {
///         title: String::new(),
///         values: vec![vec![
///             Some(IntervalValue { value: 60.0, interval: Some((50.0, 72.0)) }),
///             Some(IntervalValue { value: 240.0, interval: None }),
///         ]],
///     }],
/// };
/// assert!(chart.to_svg().starts_with("<svg "));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalChart {
    /// Title above all panels; empty: no title.
    pub title: String,
    /// What distinguishes the places, below the last panel.
    pub x_label: String,
    /// The quantity on the y axis with its unit, beside each panel.
    pub y_label: String,
    /// The scale of the y axis.
    pub scale: Scale,
    /// The names of the places, from left to right.
    pub places: Vec<String>,
    /// The numbers that the places stand for, ascending: their distances are those of the places, as far as the names
    /// have room. Empty: all places are equally far apart.
    pub positions: Vec<f64>,
    /// The names of the series, for the legend. A chart with one series has no legend.
    pub series: Vec<String>,
    /// From top to bottom.
    pub panels: Vec<IntervalPanel>,
}

/// One set of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalPanel {
    /// Title above the axes; empty: no title.
    pub title: String,
    /// For each series the value at each place. A value that is `None`, or that the scale does not show, is drawn as
    /// a dash and interrupts the line.
    pub values: Vec<Vec<Option<IntervalValue>>>,
}

/// A value and its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalValue {
    /// The value.
    pub value: f64,
    /// The ends of its interval, low and high, if it has one.
    pub interval: Option<(f64, f64)>,
}

impl IntervalValue {
    fn numbers(self) -> impl Iterator<Item = f64> {
        let ends = self.interval.into_iter().flat_map(|(low, high)| [low, high]);
        std::iter::once(self.value).chain(ends)
    }
}

impl IntervalChart {
    /// The chart as an SVG document, 900 px wide. All panels share their scales.
    pub fn to_svg(&self) -> String {
        let panels = self.panels.iter();
        let values = panels.flat_map(|panel| &panel.values).flatten();
        let numbers = values.filter_map(|value| self.shown(value)).flat_map(IntervalValue::numbers);
        let labels = GroupLabels::of(std::iter::once(self.places.iter().map(String::as_str).collect()));
        let layout = ChartLayout::of(Content {
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            series: &self.series,
            swatch: SAMPLE,
            panels: self.panels.iter().map(|panel| &*panel.title).collect(),
            axis: self.scale.axis(numbers),
            plot_height: PLOT_HEIGHT,
            headroom: 8,
            foot: labels.height,
        });
        to_svg(&layout, &IntervalPainter { chart: self, labels })
    }

    /// The value, if it can be drawn.
    fn shown(&self, value: &Option<IntervalValue>) -> Option<IntervalValue> {
        value.filter(|value| value.numbers().all(|number| self.scale.shows(number)))
    }
}

struct IntervalPainter<'a> {
    chart: &'a IntervalChart,
    labels: GroupLabels,
}

impl ChartPainter for IntervalPainter<'_> {
    fn draw_legend_sample(&self, canvas: &Canvas<'_>, i: usize, (x, y): (i32, i32)) {
        let (left, y) = (f64::from(x), f64::from(y + SWATCH / 2));
        let ends = [(left, y), (left + f64::from(SAMPLE), y)];
        canvas.dashed_line(&ends, THICKNESS, DASHES[i % DASHES.len()], self.colour(i));
        self.draw_square(canvas, i, (left + f64::from(SAMPLE) / 2.0, y));
    }

    fn draw_panel(&self, canvas: &Canvas<'_>, i: usize, frame: &PanelFrame, axis: &Axis) {
        let columns = Columns::of(self.chart, frame);
        for (place, label) in self.chart.places.iter().enumerate().filter(|(place, _)| self.labels.shows(*place)) {
            self.labels.draw(canvas, label, columns.middles[place], frame);
        }
        let lines = self.chart.panels[i].values.iter().take(self.chart.series.len()).enumerate();
        for (series, values) in lines {
            let x = |place: usize| f64::from(columns.middles[place]) + self.beside(series, columns.least_distance);
            let y = |value: f64| frame.exact_y(axis.part(value));
            let drawn: Vec<Option<IntervalValue>> = values.iter().map(|value| self.chart.shown(value)).collect();
            let corners: Vec<Option<Point>> =
                drawn.iter().enumerate().map(|(place, value)| Some((x(place), y((*value)?.value)))).collect();
            for part in corners.split(Option::is_none).filter(|part| part.len() > 1) {
                let part: Vec<Point> = part.iter().flatten().copied().collect();
                canvas.dashed_line(&part, THICKNESS, DASHES[series % DASHES.len()], self.colour(series));
            }
            for (place, value) in drawn.iter().enumerate().take(self.chart.places.len()) {
                match value {
                    Some(value) => self.draw_value(canvas, (series, place), *value, x(place), y),
                    None => draw_dash(canvas, x(place).round() as i32, frame),
                }
            }
        }
    }
}

/// Where the places stand.
struct Columns {
    /// The pixel in the middle of each place.
    middles: Vec<i32>,
    least_distance: f64,
}

impl Columns {
    fn of(chart: &IntervalChart, frame: &PanelFrame) -> Self {
        let count = chart.places.len();
        let equal = GroupColumns::of(frame, count);
        let by_number = (chart.positions.len() == count).then(|| Self::by_number(chart, frame, equal.each)).flatten();
        by_number.unwrap_or_else(|| Self {
            middles: (0..count).map(|place| equal.centre(place)).collect(),
            least_distance: equal.each,
        })
    }

    /// `None` if names would touch. The ends keep half of the `each` pixels that a place has otherwise.
    fn by_number(chart: &IntervalChart, frame: &PanelFrame, each: f64) -> Option<Self> {
        let (first, last) = (chart.positions.first()?, chart.positions.last()?);
        let (left, right) = (f64::from(frame.left) + each / 2.0, f64::from(frame.right) - each / 2.0);
        let pixel = |number: &f64| left + (number - first) / (last - first) * (right - left);
        let middles: Vec<f64> = chart.positions.iter().map(pixel).collect();
        let distances = middles.windows(2).map(|pair| pair[1] - pair[0]);
        let least_distance = distances.fold(f64::INFINITY, f64::min);
        let longest = chart.places.iter().map(|place| GroupLabels::width(place)).max()?;
        let have_room = least_distance.is_finite() && least_distance >= f64::from(longest + LABEL_GAP);
        let middles = middles.iter().map(|x| x.round() as i32).collect();
        have_room.then_some(Self { middles, least_distance })
    }
}

impl IntervalPainter<'_> {
    fn colour(&self, series: usize) -> Colour {
        Colour::of_line(series, self.chart.series.len())
    }

    /// How far right of the middle of a place a series stands, where `each` is the distance between places.
    fn beside(&self, series: usize, each: f64) -> f64 {
        let series_count = self.chart.series.len() as f64;
        let step = (each * SPREAD / series_count).min(WIDEST_STEP);
        (series as f64 - (series_count - 1.0) / 2.0) * step
    }

    fn draw_square(&self, canvas: &Canvas<'_>, series: usize, (x, y): Point) {
        canvas.fill((x - HALF, y - HALF), (x + HALF, y + HALF), self.colour(series));
    }

    fn draw_value(
        &self,
        canvas: &Canvas<'_>,
        (series, place): (usize, usize),
        value: IntervalValue,
        x: f64,
        y: impl Fn(f64) -> f64,
    ) {
        let chart = self.chart;
        let mut text = four_digits(value.value);
        if let Some((low, high)) = value.interval {
            text = format!("{text} [{}, {}]", four_digits(low), four_digits(high));
        }
        let quantities = [(&*chart.x_label, &*chart.places[place]), (&chart.y_label, &text)];
        canvas.described(&describe(&chart.series[series], &quantities), || {
            if let Some((low, high)) = value.interval {
                canvas.line([(x, y(low)), (x, y(high))], THICKNESS, self.colour(series));
                for end in [y(low), y(high)] {
                    canvas.line([(x - CAP, end), (x + CAP, end)], THICKNESS, self.colour(series));
                }
            }
            self.draw_square(canvas, series, (x, y(value.value)));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: f64, low: f64, high: f64) -> Option<IntervalValue> {
        Some(IntervalValue { value, interval: Some((low, high)) })
    }

    fn chart(values: Vec<Vec<Option<IntervalValue>>>) -> IntervalChart {
        IntervalChart {
            title: "FCT".into(),
            x_label: "rtt".into(),
            y_label: "FCT mean (ms)".into(),
            places: ["20ms", "80ms", "none"].map(String::from).into(),
            series: ["a", "b"].map(String::from).into(),
            panels: vec![IntervalPanel { title: "drop=tail:1".into(), values }],
            ..IntervalChart::default()
        }
    }

    #[test]
    fn each_value_has_its_interval_and_a_missing_one_is_a_dash() {
        let a = vec![value(50.0, 40.0, 60.0), value(100.0, 100.0, 100.0), value(20.0, 10.0, 30.0)];
        let b = vec![value(40.0, 30.0, 50.0), None, Some(IntervalValue { value: 30.0, interval: None })];
        let svg = chart(vec![a, b]).to_svg();
        for text in ["20ms", "80ms", "drop=tail:1", "FCT mean (ms): 50 [40, 60]", "FCT mean (ms): 30<", "rtt: none"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert_eq!(svg.matches('–').count(), 1, "{svg}");
        // A line for series a, and for b none, because its values are not neighbours; one each in the legend.
        assert_eq!(svg.matches("stroke-dasharray").count(), 1, "{svg}");
    }

    #[test]
    fn places_are_as_far_apart_as_their_numbers_where_names_have_room() {
        let frame = PanelFrame { title: Vec::new(), left: 100, right: 700, top: 0, bottom: 100, height: 100 };
        let middles = |positions: &[f64]| {
            let chart = IntervalChart { positions: positions.into(), ..chart(Vec::new()) };
            Columns::of(&chart, &frame).middles
        };
        let equal = [200, 400, 600];
        assert_eq!(middles(&[]), equal);
        assert_eq!(middles(&[1.0, 2.0, 3.0]), equal);
        assert_eq!(middles(&[1.0, 2.0, 5.0]), [200, 300, 600]);
        for without_room in [[1.0, 1.01, 5.0], [1.0, 1.0, 1.0], [3.0, 2.0, 1.0], [1.0, f64::NAN, 2.0]] {
            assert_eq!(middles(&without_room), equal, "{without_room:?}");
        }
    }

    #[test]
    fn the_y_axis_covers_the_intervals() {
        let svg = chart(vec![vec![value(50.0, 40.0, 990.0)]]).to_svg();
        assert!(svg.contains(">1000<"), "{svg}");
    }

    #[test]
    fn what_the_scale_does_not_show_is_a_dash() {
        for wrong in [f64::NAN, f64::INFINITY, -1.0] {
            let svg = chart(vec![vec![value(50.0, 40.0, wrong)]]).to_svg();
            assert_eq!(svg.matches('–').count(), 1, "{wrong}");
        }
    }
}
