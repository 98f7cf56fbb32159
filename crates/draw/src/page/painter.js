// Paints the marks of a diagram on a canvas. Verdicts differ in shape as well as in colour.

/** Retransmissions have at least this height, in pixels of the page, because readers look for them. */
const LEAST_HEIGHT = 7;
const SYMBOL_SIZE = 5;
/** Triggers are written beside retransmissions when no more than this many are visible. */
const MOST_LABELS = 40;

/** Strokes one path through many segments; each is two points. */
function strokeSegments(context, segments, width, name) {
  context.strokeStyle = colour(name);
  context.lineWidth = width;
  context.beginPath();
  for (let i = 0; i < segments.length; i += 4) {
    context.moveTo(segments[i], segments[i + 1]);
    context.lineTo(segments[i + 2], segments[i + 3]);
  }
  context.stroke();
}

/** The symbol of a retransmission, by its verdict, around a point. */
function paintSymbol(context, key, x, y, size) {
  context.strokeStyle = context.fillStyle = colour(key);
  context.beginPath();
  switch (key) {
    case "needed":
      context.moveTo(x, y - size);
      context.lineTo(x + size, y + size * 0.8);
      context.lineTo(x - size, y + size * 0.8);
      context.closePath();
      context.fill();
      break;
    case "spurious":
      context.moveTo(x - size, y - size);
      context.lineTo(x + size, y + size);
      context.moveTo(x - size, y + size);
      context.lineTo(x + size, y - size);
      context.stroke();
      break;
    case "unknowable":
      context.moveTo(x, y - size);
      context.lineTo(x + size, y);
      context.lineTo(x, y + size);
      context.lineTo(x - size, y);
      context.closePath();
      context.fillStyle = colour("background");
      context.fill();
      context.stroke();
      break;
    case "copy":
      context.arc(x, y, size * 0.8, 0, 2 * Math.PI);
      context.fill();
      break;
    default:
      context.rect(x - size * 0.7, y - size * 0.7, size * 1.4, size * 1.4);
      context.fill();
  }
}

/** Paints the marks of a panel into a uPlot. `hidden`: the numbers of the kinds left out. */
class Painter {
  constructor(marks, zeroWindows, hidden) {
    this.marks = marks;
    this.zeroWindows = zeroWindows;
    this.hidden = hidden;
    this.stairs = KINDS.map((kind, number) => (kind.stairs ? this.indicesOf(number) : null));
  }

  indicesOf(number) {
    const indices = [];
    for (let i = 0; i < this.marks.count; i++) if (this.marks.kind[i] === number) indices.push(i);
    return indices;
  }

  paint(plot) {
    const { ctx: context, bbox } = plot;
    const { x, y } = plot.scales;
    const ratio = devicePixelRatio;
    const view = {
      context,
      ratio,
      bbox,
      from: x.min,
      to: x.max,
      x: (at) => bbox.left + ((at - x.min) / (x.max - x.min)) * bbox.width,
      y: (offset) => bbox.top + (1 - (offset - y.min) / (y.max - y.min)) * bbox.height,
    };
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    this.paintZeroWindows(view);
    KINDS.forEach((kind, number) => {
      if (kind.stairs && !this.hidden.has(number)) this.paintStairs(view, number);
    });
    this.paintMarks(view);
    context.restore();
  }

  paintZeroWindows({ context, bbox, x }) {
    context.fillStyle = colour("zero-window");
    for (const [from, to] of this.zeroWindows) {
      const left = x(from);
      context.fillRect(left, bbox.top, Math.max(x(to) - left, 1), bbox.height);
    }
  }

  paintStairs({ context, ratio, from, to, x, y }, number) {
    const indices = this.stairs[number];
    const { at, until, low, high } = this.marks;
    const key = KINDS[number].key;
    context.strokeStyle = colour(key);
    context.lineWidth = 1.5 * ratio;
    context.setLineDash(key === "window" ? [6 * ratio, 3 * ratio] : []);
    context.beginPath();
    // The step that stands when the view begins is the last one before it.
    let first = 0;
    for (let [a, b] = [0, indices.length]; a < b; ) {
      const middle = (a + b) >> 1;
      if (at[indices[middle]] < from) first = a = middle + 1;
      else b = middle;
    }
    first = Math.max(first - 1, 0);
    let level = null;
    for (let k = first; k < indices.length && at[indices[k]] <= to; k++) {
      const i = indices[k];
      if (level == null) context.moveTo(x(at[i]), y(low[i]));
      else {
        context.lineTo(x(at[i]), y(level));
        context.lineTo(x(at[i]), y(low[i]));
      }
      if (until[i] > at[i]) context.lineTo(x(until[i]), y(high[i]));
      level = high[i];
    }
    if (level != null) {
      const last = this.marks.count > 0 ? at[this.marks.count - 1] : to;
      context.lineTo(x(Math.min(to, last)), y(level));
    }
    context.stroke();
    context.setLineDash([]);
  }

  paintMarks(view) {
    const { marks } = this;
    const { x, y, ratio, context } = view;
    const [first, end] = marksBetween(marks, view.from, view.to);
    const lines = KINDS.map(() => []);
    const symbols = [];
    for (let i = first; i < end; i++) {
      const number = marks.kind[i];
      const kind = KINDS[number];
      if (this.hidden.has(number) || kind.stairs) continue;
      const left = x(marks.at[i]);
      let [bottom, top] = [y(marks.low[i]), y(marks.high[i])];
      if (kind.again) {
        const missing = LEAST_HEIGHT * ratio - (bottom - top);
        if (missing > 0) [bottom, top] = [bottom + missing / 2, top - missing / 2];
        symbols.push(i);
      } else if (kind.range) {
        bottom = Math.max(bottom, top + 1.5 * ratio);
      } else if (kind.key === "duplicate") {
        bottom = top + 6 * ratio;
      } else {
        symbols.push(i);
        continue;
      }
      lines[number].push(left, bottom, x(marks.until[i]), top);
      if (kind.key === "data" && bottom - top > 12 * ratio && marks.merged[i] === 1) {
        lines[number].push(left - 2 * ratio, top, left + 2 * ratio, top);
      }
    }
    // Retransmissions come last and so lie above all other marks.
    const order = KINDS.map((_, number) => number).sort((a, b) => Boolean(KINDS[a].again) - Boolean(KINDS[b].again));
    for (const number of order) {
      const { key, again } = KINDS[number];
      const width = again ? 2 : 1.2;
      if (lines[number].length > 0) strokeSegments(context, lines[number], width * ratio, key);
    }
    this.paintSymbols(view, symbols);
  }

  paintSymbols({ context, ratio, x, y }, symbols) {
    const { marks } = this;
    const writes = symbols.length <= MOST_LABELS;
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const i of symbols) {
      const kind = KINDS[marks.kind[i]];
      const left = x(marks.at[i]);
      const middle = (y(marks.low[i]) + y(marks.high[i])) / 2;
      if (kind.again) {
        context.lineWidth = 2 * ratio;
        paintSymbol(context, kind.key, left, middle, SYMBOL_SIZE * ratio);
      }
      const text = kind.again || kind.key === "note" ? marks.texts[i]?.[0] : kind.name;
      if (kind.flag) paintFlag(context, left, middle, 4 * ratio);
      if (text && (writes || !kind.again)) {
        this.write(context, text, kind.again ? kind.key : "control", left, middle, ratio);
      }
    }
  }

  /** Writes beside a symbol, on its right if there is room. The halo keeps it legible over marks. */
  write(context, text, name, x, y, ratio) {
    const { width } = context.measureText(text);
    const gap = (SYMBOL_SIZE + 4) * ratio;
    const edge = context.canvas.width - 14 * ratio;
    const left = x + gap + width <= edge ? x + gap : x - gap - width;
    context.lineWidth = 3 * ratio;
    context.lineJoin = "round";
    context.strokeStyle = colour("background");
    context.strokeText(text, left, y);
    context.fillStyle = colour(name);
    context.fillText(text, left, y);
  }
}

/** The square of a SYN, FIN or RST. */
function paintFlag(context, x, y, size) {
  context.fillStyle = colour("background");
  context.strokeStyle = colour("control");
  context.lineWidth = size * 0.45;
  context.beginPath();
  context.rect(x - size, y - size, 2 * size, 2 * size);
  context.fill();
  context.stroke();
}

/** A sample of a kind for the legend. */
function paintSample(canvas, number) {
  const context = canvas.getContext("2d");
  const { key, stairs, again, flag } = KINDS[number];
  context.clearRect(0, 0, 36, 36);
  if (stairs) {
    context.strokeStyle = colour(key);
    context.lineWidth = 3;
    context.setLineDash(key === "window" ? [8, 5] : []);
    context.beginPath();
    context.moveTo(2, 28);
    context.lineTo(18, 28);
    context.lineTo(18, 8);
    context.lineTo(34, 8);
    context.stroke();
    context.setLineDash([]);
    return;
  }
  if (flag) return paintFlag(context, 18, 18, 8);
  if (key === "note") return undefined;
  const line = key === "duplicate" ? [18, 12, 18, 24] : [18, 2, 18, 34];
  strokeSegments(context, line, key === "sack" ? 5 : again ? 4 : 2.5, key);
  context.lineWidth = 3.5;
  if (again) paintSymbol(context, key, 18, 18, 9);
  return undefined;
}

/** The distance in pixels of the page from a point to a mark. */
function distanceToMark(plot, marks, i, left, top) {
  const x = plot.valToPos(marks.at[i], "x");
  const end = marks.until[i] > marks.at[i] ? plot.valToPos(marks.until[i], "x") : x;
  const dx = left < x ? x - left : Math.max(left - end, 0);
  const [low, high] = [plot.valToPos(marks.low[i], "y"), plot.valToPos(marks.high[i], "y")];
  const dy = top > low ? top - low : Math.max(high - top, 0);
  return Math.hypot(dx, dy);
}
