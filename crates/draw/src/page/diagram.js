// A time–sequence diagram: one direction of a connection.

const DIAGRAM_HEIGHT = 340;
/** No diagram zooms below this, in seconds. */
const SHORTEST_DIAGRAM = 20e-6;
/** A pointer this near to a mark, in pixels, shows the mark's tooltip. */
const REACH = 12;
/** Retransmissions win over marks that are nearer by this much. */
const PREFERENCE = 5;
/** Between a mark and its tooltip, in pixels. */
const TOOLTIP_GAP = 14;
const TIME_LABEL = "Seconds since the capture's first frame";
/** Empty space before the first and after the last mark, as a share of the time between them. */
const TIME_MARGIN = 0.025;

class Diagram {
  constructor(panel, marks, zeroWindows, range, name) {
    this.marks = marks;
    this.sender = panel.sender;
    this.zeroWindows = zeroWindows;
    this.range = range;
    this.hidden = new Set();
    this.present = KINDS.map(() => 0);
    for (let i = 0; i < marks.count; i++) this.present[marks.kind[i]] += marks.merged[i];
    this.painter = new Painter(marks, zeroWindows, this.hidden);
    this.selected = -1;
    this.holder = element("div", {
      class: "plot diagram",
      tabindex: "0",
      role: "group",
      "aria-label": `Time–sequence diagram of ${name}. The arrow keys pan, + and - zoom, n and p go to the next and the previous retransmission.`,
    });
    this.tooltip = element("div", { class: "tooltip", role: "status", hidden: "" });
    this.node = element("figure", { class: "direction" }, element("figcaption", {}, element("h4", {}, panel.title)), this.legend(), this.holder);
  }

  /** Creates the plot. The diagram must be on the page already, because its width counts. */
  start() {
    const options = plotOptions(this.holder.clientWidth, DIAGRAM_HEIGHT, TIME_LABEL, "Sequence number (bytes)");
    options.series = [{}, { points: { show: false } }];
    options.hooks = { draw: [(plot) => this.draw(plot)] };
    options.cursor.points = { show: false };
    this.plot = new uPlot(options, [this.range.full, [null, null]], this.holder);
    this.plot.over.append(this.tooltip);
    this.range.add(this.plot, (min, max) => this.fit(min, max));
    makeZoomable(this.plot, this.range, this.holder);
    keepFitting(this.plot, this.holder);
    this.watchPointer();
    this.holder.addEventListener("keydown", (event) => {
      if (event.target !== this.holder || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "n") this.step(1);
      else if (event.key === "p") this.step(-1);
      else if (event.key === "Escape") this.hideTooltip();
    });
  }

  draw(plot) {
    this.painter.paint(plot);
    if (this.selected >= 0) this.placeTooltip();
  }

  /** The y range of the visible marks. Windows and notes do not stretch it. */
  fit(min, max) {
    const { marks } = this;
    const [first, end] = marksBetween(marks, min, max);
    let [low, high] = [Infinity, -Infinity];
    for (let i = first; i < end; i++) {
      if (["window", "note"].includes(KINDS[marks.kind[i]].key) || this.hidden.has(marks.kind[i])) continue;
      low = Math.min(low, marks.low[i], marks.high[i]);
      high = Math.max(high, marks.low[i], marks.high[i]);
    }
    if (low > high) return [this.plot?.scales.y.min ?? 0, this.plot?.scales.y.max ?? 1];
    const margin = Math.max((high - low) * 0.06, 10);
    return [low - margin, high + margin];
  }

  /** The kinds of marks in the diagram, as buttons that hide and show them. */
  legend() {
    const buttons = KINDS.map((kind, number) => {
      if (this.present[number] === 0) return null;
      const sample = element("canvas", { width: "36", height: "36", class: "mark", "aria-hidden": "true" });
      const paint = () => paintSample(sample, number);
      paint();
      onThemeChange(paint);
      const toggle = button("", () => {
        if (!this.hidden.delete(number)) this.hidden.add(number);
        toggle.setAttribute("aria-pressed", String(!this.hidden.has(number)));
        this.range.apply();
        this.plot.redraw(false, false);
      }, { "aria-pressed": "true", class: "kind" });
      toggle.append(sample, `${kind.name} (${formatCount(this.present[number])})`);
      return toggle;
    }).filter(Boolean);
    if (this.zeroWindows.length > 0) {
      buttons.push(element("span", { class: "zero" }, "zero window"));
    }
    return element("div", { class: "legend", role: "group", "aria-label": "Marks shown" }, ...buttons);
  }

  watchPointer() {
    const { over } = this.plot;
    const find = (event) => {
      const box = over.getBoundingClientRect();
      this.showNearest(event.clientX - box.left, event.clientY - box.top);
    };
    over.addEventListener("pointermove", (event) => {
      if (event.buttons === 0) find(event);
    });
    over.addEventListener("click", find);
    over.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.hideTooltip();
    });
  }

  showNearest(left, top) {
    const { marks, plot } = this;
    const [from, to] = [plot.posToVal(left - REACH, "x"), plot.posToVal(left + REACH, "x")];
    const [first, end] = marksBetween(marks, from, to);
    let [best, nearest] = [-1, REACH];
    for (let i = first; i < end; i++) {
      const kind = KINDS[marks.kind[i]];
      if (this.hidden.has(marks.kind[i])) continue;
      const distance = distanceToMark(plot, marks, i, left, top) - (kind.again ? PREFERENCE : 0);
      if (distance < nearest) [best, nearest] = [i, distance];
    }
    if (best >= 0) this.select(best);
    else this.showZeroWindow(left, top);
  }

  /** Explains the shaded time at a point, if it is shaded. */
  showZeroWindow(left, top) {
    const at = this.plot.posToVal(left, "x");
    const found = this.zeroWindows.find(([from, to]) => from <= at && at <= to);
    this.hideTooltip();
    if (!found) return;
    const [from, to] = found;
    const lines = ["zero window", `from ${from.toFixed(6)} to ${to.toFixed(6)} s (${formatSeconds(to - from)})`];
    this.fillTooltip(lines);
    this.putTooltip(left, top);
  }

  select(i) {
    if (i !== this.selected) {
      this.selected = i;
      this.fillTooltip(describeMark(this.marks, i));
    }
    this.placeTooltip();
  }

  fillTooltip(lines) {
    this.tooltip.replaceChildren(...lines.map((line, i) => element(i === 0 ? "strong" : "span", {}, line)));
  }

  hideTooltip() {
    this.selected = -1;
    this.tooltip.hidden = true;
  }

  /** Puts the tooltip beside the selected mark. */
  placeTooltip() {
    const { plot, marks, selected: i } = this;
    this.putTooltip(plot.valToPos(marks.at[i], "x"), plot.valToPos((marks.low[i] + marks.high[i]) / 2, "y"));
  }

  /** Puts the tooltip beside a point, inside the plot. */
  putTooltip(x, y) {
    const { plot, tooltip } = this;
    tooltip.hidden = x < -1 || x > plot.over.clientWidth + 1;
    if (tooltip.hidden) return;
    const { offsetWidth: width, offsetHeight: height } = tooltip;
    const { clientWidth: room, clientHeight: depth } = plot.over;
    const within = (value, most) => Math.min(Math.max(value, 0), Math.max(most, 0));
    let [left, top] = [x + TOOLTIP_GAP, within(y - height / 2, depth - height)];
    if (left + width > room) left = x - TOOLTIP_GAP - width;
    if (left < 0) {
      // There is no room on either side: on narrow screens the tooltip goes below or above the point.
      left = within(x - width / 2, room - width);
      top = y + TOOLTIP_GAP + height <= depth ? y + TOOLTIP_GAP : y - TOOLTIP_GAP - height;
    }
    tooltip.style.transform = `translate(${left}px, ${top}px)`;
  }

  /** The marks that readers step through. */
  retransmissions() {
    const found = [];
    for (let i = 0; i < this.marks.count; i++) if (KINDS[this.marks.kind[i]].again) found.push(i);
    return found;
  }

  /** Selects the next (1) or the previous (-1) retransmission. */
  step(direction) {
    const all = this.retransmissions();
    if (all.length === 0) return;
    const inView = all.findIndex((i) => this.marks.at[i] >= this.range.min);
    const current = all.indexOf(this.selected);
    const next = current >= 0 ? current + direction : Math.max(inView, 0);
    this.reveal(all[Math.min(Math.max(next, 0), all.length - 1)]);
  }

  /** Selects a mark, and moves or zooms the view so that it can be seen. */
  reveal(i) {
    const at = this.marks.at[i];
    const width = this.range.max - this.range.min;
    const { min, max } = this.plot.scales.y;
    if (this.marks.low[i] < min || this.marks.high[i] > max) this.range.fitAll();
    if (at < this.range.min || at > this.range.max) this.range.set(at - width / 2, at + width / 2);
    else this.range.apply();
    this.select(i);
  }

  /** Zooms to a mark. */
  zoomTo(i) {
    const at = this.marks.at[i];
    const [first, last] = this.range.full;
    const width = Math.min(last - first, Math.max((last - first) / 50, SHORTEST_DIAGRAM * 10));
    this.range.fitAll();
    this.range.set(at - width / 2, at + width / 2);
    this.select(i);
  }
}

/** The diagrams of a connection, which share the time axis. `begun`: see `decodeMarks`. */
function drawDiagrams(holder, { panels, begun }, name) {
  const marks = panels.map((panel) => decodeMarks(panel.marks, begun));
  const closed = panels.map((panel) => panel.zeroWindows.map((times) => times.map((time) => (begun + time) / 1e6)));
  const filled = marks.filter((of) => of.count > 0);
  if (filled.length === 0) return [];
  const first = Math.min(...filled.map((of) => of.at[0]));
  const last = Math.max(...filled.map((of) => of.until.reduce((a, b) => Math.max(a, b))));
  const margin = Math.max((last - first) * TIME_MARGIN, SHORTEST_DIAGRAM);
  const range = new SharedRange(first - margin, last + margin, SHORTEST_DIAGRAM);
  const diagrams = panels.map((panel, i) => new Diagram(panel, marks[i], closed[i], range, `${name}, ${panel.title}`));
  const shown = diagrams.filter((diagram) => diagram.marks.count > 0);
  holder.append(zoomButtons(range));
  for (const diagram of shown) {
    holder.append(diagram.node);
    diagram.start();
  }
  return shown;
}
