// The line charts over time.

const CHART_HEIGHT = 220;
/** No chart zooms below this, in seconds. */
const SHORTEST_CHART = 1e-3;

/** Draws all charts, which share the range of their x axes. */
function drawCharts(charts) {
  const all = charts.flatMap((chart) => chart.seconds);
  if (all.length === 0) return;
  // Not Math.min(...all): an argument list has a limit.
  const first = all.reduce((a, b) => Math.min(a, b));
  const last = all.reduce((a, b) => Math.max(a, b));
  const range = new SharedRange(first, last, SHORTEST_CHART);
  const holders = [...document.querySelectorAll("[data-chart]")];
  holders[0]?.closest("figure").before(element("p", { class: "help" }, ZOOM_HELP), zoomButtons(range));
  for (const holder of holders) drawChart(holder, charts[Number(holder.dataset.chart)], range);
}

function drawChart(holder, chart, range) {
  const names = chart.series.map((series) => series.name).join(", ");
  holder.setAttribute("tabindex", "0");
  holder.setAttribute("role", "group");
  holder.setAttribute("aria-label", `Line chart: ${chart.yLabel} of ${names}. The arrow keys pan, + and - zoom.`);
  const options = plotOptions(holder.clientWidth, CHART_HEIGHT, chart.xLabel, chart.yLabel);
  options.cursor.sync = { key: "charts" };
  const lines = chart.series.map((series) => series.values);
  options.series = [{}, ...chart.series.map((series, i) => ({
    label: series.name,
    stroke: () => colour(`line${i % 8}`),
    width: 1.5,
    dash: i % 2 === 1 ? [6, 3] : undefined,
    points: {
      size: 5,
      show: (plot, _series, from, to) => to - from < plot.width / 12,
      // A value between two gaps has no line, so it needs a point.
      filter: (_plot, number, shown) => (shown ? null : isolated(lines[number - 1])),
    },
  }))];
  const plot = new uPlot(options, [chart.seconds, ...lines], holder);
  range.add(plot, (min, max) => fitLines(chart.seconds, lines, min, max));
  makeZoomable(plot, range, holder);
  keepFitting(plot, holder);
  holder.after(chartLegend(plot, chart));
}

/** The indices of the values without a neighbour. */
function isolated(values) {
  const indices = [];
  values.forEach((value, i) => {
    if (value != null && values[i - 1] == null && values[i + 1] == null) indices.push(i);
  });
  return indices;
}

/** The y range, from 0, of the lines between two x values. */
function fitLines(seconds, lines, min, max) {
  let highest = 0;
  for (let i = Math.max(lowerBound(seconds, min) - 1, 0); i < seconds.length && seconds[i] <= max; i++) {
    for (const values of lines) highest = Math.max(highest, values[i] ?? 0);
  }
  return [0, highest > 0 ? highest * 1.05 : 1];
}

/** The names of the lines, with the values at the cursor. */
function chartLegend(plot, chart) {
  const entries = chart.series.map((series, i) => {
    const value = element("span", { class: "value" });
    const sample = element("canvas", { width: "48", height: "16", class: "sample", "aria-hidden": "true" });
    const paint = () => paintLineSample(sample, `line${i % 8}`, i % 2 === 1);
    paint();
    onThemeChange(paint);
    return { node: element("span", {}, sample, series.name, value), value };
  });
  const time = element("span", { class: "value" });
  plot.hooks.setCursor = [...(plot.hooks.setCursor ?? []), () => {
    const { idx } = plot.cursor;
    time.textContent = idx == null ? "" : `at ${formatSeconds(chart.seconds[idx])}`;
    entries.forEach(({ value }, i) => {
      const number = idx == null ? null : chart.series[i].values[idx];
      value.textContent = number == null ? "" : ` ${threeDigits(number)}`;
    });
  }];
  return element("p", { class: "legend" }, ...entries.map((entry) => entry.node), time);
}

function paintLineSample(canvas, name, dashed) {
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, 48, 16);
  context.strokeStyle = colour(name);
  context.lineWidth = 3;
  context.setLineDash(dashed ? [12, 6] : []);
  context.beginPath();
  context.moveTo(0, 8);
  context.lineTo(48, 8);
  context.stroke();
}
