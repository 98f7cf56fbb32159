// The charts over time: a step for each interval.

const CHART_HEIGHT = 220;
/** No chart zooms below this, in seconds. */
const SHORTEST_CHART = 1e-3;
/** Intervals that are nearer to each other touch, in seconds. */
const SHORTEST_GAP = 1e-5;
/** Values beyond the axis that are written at its edge, and in the sentence below. */
const MOST_WRITTEN = 3;

/** Draws the charts of a section, which share the range of their x axes. */
function drawCharts(section) {
  const charts = JSON.parse(section.querySelector("script.charts").textContent);
  const times = charts.flatMap((chart) => chart.times);
  if (times.length === 0) return;
  // Not Math.min(...times): an argument list has a limit.
  const first = times.reduce((a, b) => Math.min(a, b));
  const last = times.reduce((a, b) => Math.max(a, b));
  const range = new SharedRange(first, last, SHORTEST_CHART);
  const holders = [...section.querySelectorAll(".plot")];
  holders[0]?.closest("figure").before(element("p", { class: "help" }, ZOOM_HELP), zoomButtons(range));
  holders.forEach((holder, i) => new LineChart(holder, charts[i], range));
}

class LineChart {
  constructor(holder, chart, range) {
    this.chart = chart;
    this.range = range;
    this.begins = chart.times.filter((_, i) => i % 2 === 0);
    this.ends = chart.times.filter((_, i) => i % 2 === 1);
    /** Whether the axis shows all values. */
    this.full = false;
    const names = chart.series.map((series) => series.name).join(", ");
    holder.setAttribute("tabindex", "0");
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", `Line chart: ${chart.yLabel} of ${names}. The arrow keys pan, + and - zoom.`);
    const options = plotOptions(holder.clientWidth, CHART_HEIGHT, chart.xLabel, chart.yLabel);
    options.series = [{}, ...chart.series.map((series, i) => ({
      label: series.name,
      stroke: () => colour(`line${i % 8}`),
      width: 1.5,
      dash: i % 2 === 1 ? [6, 3] : undefined,
      points: { show: false },
    }))];
    options.cursor.points = { show: false };
    options.cursor.sync = { key: "charts" };
    options.hooks = {
      init: [(plot) => (this.plot = plot)],
      draw: [() => this.paintBeyond()],
      setCursor: [() => this.showValues()],
    };
    this.note = element("span", { class: "beyond" });
    this.scale = button("", () => this.toggle(), { hidden: "" });
    const legend = this.legend();
    new uPlot(options, this.steps(), holder);
    holder.after(legend);
    range.add(this.plot, (min, max) => this.fit(min, max));
    makeZoomable(this.plot, range, holder);
    keepFitting(this.plot, holder);
  }

  /** Each interval as a step: its value at both of its ends, and nothing between intervals that do not touch. */
  steps() {
    const { begins, ends, chart } = this;
    const touches = begins.map((begin, i) => i === 0 || begin - ends[i - 1] < SHORTEST_GAP);
    const spread = (of, gap) => begins.flatMap((_, i) => (touches[i] ? of(i) : [gap(i), ...of(i)]));
    const times = spread((i) => [begins[i], ends[i]], (i) => ends[i - 1]);
    const lines = chart.series.map(({ values }) => spread((i) => [values[i], values[i]], () => null));
    return [times, ...lines];
  }

  /** The intervals between two times: the first, and the one after the last. */
  between(min, max) {
    return [lowerBound(this.ends, min), lowerBound(this.begins, max)];
  }

  /** The y range, from 0, of what is between two times. */
  fit(min, max) {
    const [first, end] = this.between(min, max);
    const shown = this.chart.series.map((series) => series.values.slice(first, end).filter((value) => value > 0));
    const highest = shown.map((values) => values.reduce((a, b) => Math.max(a, b), 0));
    const ends = this.full ? highest : shown.map(axisEnd);
    const top = ends.reduce((a, b) => Math.max(a, b), 0);
    const isCut = highest.some((value) => value > top);
    this.scale.hidden = !isCut && !this.full;
    this.scale.textContent = this.full ? "Usual values" : "All values";
    return [0, top > 0 ? top * 1.05 : 1];
  }

  toggle() {
    this.full = !this.full;
    this.range.entry(this.plot).y = null;
    this.range.apply();
    this.scale.hidden = false;
  }

  /** The values above the axis, the highest first. */
  beyond() {
    const { x, y } = this.plot.scales;
    const [first, end] = this.between(x.min, x.max);
    const found = [];
    this.chart.series.forEach(({ values }, series) => {
      for (let i = first; i < end; i++) {
        if (values[i] > y.max) found.push({ series, value: values[i], from: this.begins[i], until: this.ends[i] });
      }
    });
    return found.sort((a, b) => b.value - a.value);
  }

  /** Marks the values above the axis at its edge, writes the highest, and says how many there are. */
  paintBeyond() {
    const { plot } = this;
    const { ctx: context, bbox } = plot;
    const ratio = devicePixelRatio;
    const found = this.beyond();
    const size = 5 * ratio;
    context.save();
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.textBaseline = "top";
    const written = [];
    found.forEach(({ series, value, from, until }, i) => {
      const { min, max } = plot.scales.x;
      const middle = (Math.max(from, min) + Math.min(until, max)) / 2;
      const x = bbox.left + ((middle - min) / (max - min)) * bbox.width;
      context.fillStyle = colour(`line${series % 8}`);
      context.beginPath();
      context.moveTo(x, bbox.top);
      context.lineTo(x + size, bbox.top + 1.6 * size);
      context.lineTo(x - size, bbox.top + 1.6 * size);
      context.closePath();
      context.fill();
      if (i >= MOST_WRITTEN) return;
      const text = threeDigits(value);
      const { width } = context.measureText(text);
      const left = x + 1.5 * size + width <= bbox.left + bbox.width ? x + 1.5 * size : x - 1.5 * size - width;
      if (written.some((other) => left < other + width + size && other < left + width + size)) return;
      written.push(left);
      context.lineWidth = 3 * ratio;
      context.strokeStyle = colour("background");
      context.strokeText(text, left, bbox.top + 2 * ratio);
      context.fillStyle = colour("text");
      context.fillText(text, left, bbox.top + 2 * ratio);
    });
    context.restore();
    this.note.textContent = this.about(found);
  }

  /** A sentence about the values above the axis. */
  about(found) {
    if (found.length === 0) return "";
    const named = found.slice(0, MOST_WRITTEN).map(({ value, from }) => `${threeDigits(value)} at ${formatMoment(from)}`);
    const which = found.length > MOST_WRITTEN ? "the highest " : "";
    const intervals = found.length === 1 ? "1 interval is" : `${formatCount(found.length)} intervals are`;
    return `▲ ${intervals} above the axis: ${which}${named.join(", ")}.`;
  }

  /** The names of the lines, with the values at the cursor, and what is above the axis. */
  legend() {
    this.values = [];
    const entries = this.chart.series.map((series, i) => {
      const value = element("span", { class: "value" });
      this.values.push(value);
      const sample = element("canvas", { width: "48", height: "16", class: "sample", "aria-hidden": "true" });
      const paint = () => paintLineSample(sample, `line${i % 8}`, i % 2 === 1);
      paint();
      onThemeChange(paint);
      return element("span", {}, sample, series.name, value);
    });
    this.time = element("span", { class: "value" });
    return element("p", { class: "legend" }, ...entries, this.time, this.note, this.scale);
  }

  showValues() {
    const { left } = this.plot.cursor;
    const at = left == null || left < 0 ? null : this.plot.posToVal(left, "x");
    const i = at == null ? -1 : lowerBound(this.ends, at);
    const isInside = at != null && i < this.ends.length && this.begins[i] <= at;
    this.time.textContent = isInside ? `from ${formatMoment(this.begins[i])} to ${formatMoment(this.ends[i])}` : "";
    this.chart.series.forEach((series, n) => {
      const value = isInside ? series.values[i] : null;
      this.values[n].textContent = value == null ? "" : ` ${threeDigits(value)}`;
    });
  }
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
