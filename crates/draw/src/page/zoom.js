// Zooming and panning of plots that share their x axis, by wheel, drag, touch and keyboard.

/** The x range of several plots. Each plot fits its y axis to it, unless the reader moved that too. */
class SharedRange {
  /** `smallest`: the shortest range that a reader can zoom to. */
  constructor(min, max, smallest) {
    this.full = [min, max > min ? max : min + smallest];
    [this.min, this.max] = this.full;
    this.smallest = smallest;
    this.plots = [];
  }

  /** Adds a uPlot. `fit(min, max)`: the y range of what it shows in an x range. */
  add(plot, fit) {
    this.plots.push({ plot, fit, y: null });
    this.apply();
  }

  set(min, max) {
    const [first, last] = this.full;
    const width = Math.min(Math.max(max - min, this.smallest), last - first);
    const centred = (min + max - width) / 2;
    this.min = Math.min(Math.max(centred, first), last - width);
    this.max = this.min + width;
    this.apply();
  }

  apply() {
    for (const { plot, fit, y } of this.plots) {
      const [low, high] = y ?? fit(this.min, this.max);
      plot.batch(() => {
        plot.setScale("x", { min: this.min, max: this.max });
        plot.setScale("y", { min: low, max: high });
      });
    }
  }

  /** Makes the range `factor` times as wide; what is at `centre` stays there. */
  zoom(factor, centre = (this.min + this.max) / 2) {
    const width = Math.min((this.max - this.min) * factor, this.full[1] - this.full[0]);
    const share = (centre - this.min) / (this.max - this.min);
    this.set(centre - width * share, centre + width * (1 - share));
  }

  /** Moves the range by a share of its width. */
  pan(share) {
    const by = share * (this.max - this.min);
    this.set(this.min + by, this.max + by);
  }

  entry(plot) {
    return this.plots.find((entry) => entry.plot === plot);
  }

  setY(plot, low, high) {
    if (high > low) this.entry(plot).y = [low, high];
    this.apply();
  }

  zoomY(plot, factor, centre) {
    const { min, max } = plot.scales.y;
    this.setY(plot, centre - (centre - min) * factor, centre + (max - centre) * factor);
  }

  panY(plot, share) {
    const { min, max } = plot.scales.y;
    const by = share * (max - min);
    this.setY(plot, min + by, max + by);
  }

  /** All y axes fit what is visible again. */
  fitAll() {
    for (const entry of this.plots) entry.y = null;
  }

  reset() {
    this.fitAll();
    this.set(...this.full);
  }
}

const KEY_FACTOR = 1.25;
/** A notch of most wheels is 100 pixels, and zooms by about a fifth. */
const WHEEL_EXPONENT = 0.002;
const MOST_WHEEL_PIXELS = 300;
const PIXELS_PER_LINE = 20;
const PAN_SHARE = 0.15;
/** A drag moves the y axis too once it went this far up or down, in pixels. */
const VERTICAL_START = 12;

/** Lets the reader zoom and pan `plot`, which is a member of `range`. `holder` takes the focus. */
function makeZoomable(plot, range, holder) {
  const over = plot.over;
  const pointers = new Map();
  let drag = null;

  const position = (event) => {
    const box = over.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  over.addEventListener("wheel", (event) => {
    // Without the focus or a key, the wheel scrolls the page.
    const zooms = event.ctrlKey || event.metaKey || event.shiftKey || holder.contains(document.activeElement);
    if (!zooms) return;
    event.preventDefault();
    const { x, y } = position(event);
    const inPixels = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : PIXELS_PER_LINE;
    const amount = (event.deltaY || event.deltaX) * inPixels;
    const factor = Math.exp(WHEEL_EXPONENT * Math.max(-MOST_WHEEL_PIXELS, Math.min(amount, MOST_WHEEL_PIXELS)));
    if (event.shiftKey) range.zoomY(plot, factor, plot.posToVal(y, "y"));
    else range.zoom(factor, plot.posToVal(x, "x"));
  }, { passive: false });

  over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    holder.focus({ preventScroll: true });
    over.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, position(event));
    drag = {
      start: position(event),
      box: event.shiftKey,
      vertical: false,
      touch: event.pointerType === "touch",
      x: [range.min, range.max],
      y: [plot.scales.y.min, plot.scales.y.max],
      pinch: pinchOf(pointers),
    };
  });

  over.addEventListener("pointermove", (event) => {
    if (!drag || !pointers.has(event.pointerId)) return;
    pointers.set(event.pointerId, position(event));
    if (drag.pinch) pinchTo(pinchOf(pointers));
    else if (drag.box) selectTo(position(event));
    else panTo(position(event));
  });

  const end = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    if (drag?.box && event.type === "pointerup") zoomToBox(position(event));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    drag = null;
  };
  over.addEventListener("pointerup", end);
  over.addEventListener("pointercancel", end);
  over.addEventListener("dblclick", () => range.reset());

  function panTo({ x, y }) {
    const [dx, dy] = [x - drag.start.x, y - drag.start.y];
    if (!drag.touch && Math.abs(dy) > VERTICAL_START) drag.vertical = true;
    const perPixel = (drag.x[1] - drag.x[0]) / over.clientWidth;
    if (drag.vertical) {
      const by = (dy * (drag.y[1] - drag.y[0])) / over.clientHeight;
      range.entry(plot).y = [drag.y[0] + by, drag.y[1] + by];
    }
    range.set(drag.x[0] - dx * perPixel, drag.x[1] - dx * perPixel);
  }

  function pinchTo(pinch) {
    const width = drag.x[1] - drag.x[0];
    const anchor = drag.x[0] + (drag.pinch.centre / over.clientWidth) * width;
    const scaled = (width * drag.pinch.distance) / Math.max(pinch.distance, 1);
    const left = anchor - (pinch.centre / over.clientWidth) * scaled;
    range.set(left, left + scaled);
  }

  function boxTo({ x, y }) {
    const clampX = Math.min(Math.max(x, 0), over.clientWidth);
    const clampY = Math.min(Math.max(y, 0), over.clientHeight);
    const [left, right] = [drag.start.x, clampX].sort((a, b) => a - b);
    const [top, bottom] = [drag.start.y, clampY].sort((a, b) => a - b);
    return { left, top, width: right - left, height: bottom - top };
  }

  function selectTo(point) {
    plot.setSelect(boxTo(point), false);
  }

  function zoomToBox(point) {
    const { left, top, width, height } = boxTo(point);
    if (width < 4 || height < 4) return;
    const value = (at, scale) => plot.posToVal(at, scale);
    range.entry(plot).y = [value(top + height, "y"), value(top, "y")];
    range.set(value(left, "x"), value(left + width, "x"));
  }

  holder.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = {
      ArrowLeft: () => range.pan(-PAN_SHARE),
      ArrowRight: () => range.pan(PAN_SHARE),
      ArrowUp: () => range.panY(plot, PAN_SHARE),
      ArrowDown: () => range.panY(plot, -PAN_SHARE),
      "+": () => range.zoom(1 / KEY_FACTOR),
      "=": () => range.zoom(1 / KEY_FACTOR),
      "-": () => range.zoom(KEY_FACTOR),
      0: () => range.reset(),
      Home: () => range.reset(),
    }[event.key];
    if (!action || event.target !== holder) return;
    event.preventDefault();
    action();
  });
}

/** The distance and the centre of two touching fingers; `null` unless there are two. */
function pinchOf(pointers) {
  if (pointers.size !== 2) return null;
  const [a, b] = [...pointers.values()];
  return { distance: Math.abs(a.x - b.x), centre: (a.x + b.x) / 2 };
}

/** Buttons for readers without wheel or keyboard. */
function zoomButtons(range) {
  const named = (label, name, action) => button(label, action, { "aria-label": name, title: name });
  return element(
    "div",
    { class: "buttons", role: "group", "aria-label": "Zoom" },
    named("−", "Zoom out", () => range.zoom(2)),
    named("+", "Zoom in", () => range.zoom(0.5)),
    named("◀", "Earlier", () => range.pan(-0.5)),
    named("▶", "Later", () => range.pan(0.5)),
    named("Reset", "Show everything", () => range.reset()),
  );
}

const ZOOM_HELP =
  "Click a plot first. Then the wheel zooms into time, Shift and the wheel into the y axis. Drag to pan; " +
  "Shift and drag zooms to a box. Keys: arrows pan, + and − zoom, 0 shows everything. " +
  "Touch: one finger pans, two fingers zoom.";

/** What all plots have in common. `size` is that of the canvas. */
function plotOptions(width, height, xLabel, yLabel) {
  const axis = (label, more) => ({
    label,
    stroke: () => colour("text"),
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    grid: { stroke: () => colour("grid"), width: 1 },
    ticks: { stroke: () => colour("grid"), width: 1, size: 5 },
    ...more,
  });
  return {
    width,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false, setScale: false }, y: false },
    scales: { x: { time: false, auto: false }, y: { auto: false } },
    axes: [
      axis(xLabel, { size: 34, space: labelSpace, labelSize: 20, values: (_, splits, _axis, _space, step) => splits.map((value) => value.toFixed(decimalsOf(step))) }),
      axis(yLabel, { size: 52, labelSize: 20, values: (_, splits, _axis, _space, step) => axisLabels(splits, step) }),
    ],
  };
}

/** Between labels of the x axis there is room for the longest of them, in pixels. */
function labelSpace(plot, _axis, min, max, width) {
  // The first guess decides how many labels there are, and so how many decimals they have.
  const step = ((max - min) * LEAST_LABEL_SPACE) / Math.max(width, 1);
  const decimals = Math.max(Math.ceil(-Math.log10(step)), 0);
  const characters = Math.max(max, 1).toFixed(decimals).length;
  return Math.max(LEAST_LABEL_SPACE, (characters + 2) * LABEL_CHARACTER);
}

const LEAST_LABEL_SPACE = 50;
/** The width of a digit in the font of the labels, in pixels. */
const LABEL_CHARACTER = 7;

/** The width of plots on paper, in pixels: A4 and Letter have more within their margins. */
const PAPER_WIDTH = 680;

/** Keeps the width of `plot` that of its `holder`, and its colours those of the theme. */
function keepFitting(plot, holder) {
  const fit = () => {
    const width = printing ? PAPER_WIDTH : holder.clientWidth;
    if (width > 0 && width !== plot.width) plot.setSize({ width, height: plot.height });
  };
  new ResizeObserver(fit).observe(holder);
  onThemeChange(() => {
    fit();
    plot.redraw(false, true);
  });
}
