// The marks of a picture with their values, which the picture carries as titles and data attributes.
//
// A mark is a box in the picture's own units with lines of text: the series, then a quantity each.

const SVG = "http://www.w3.org/2000/svg";

/** The marks of `svg`. Takes the titles out, so that the browser does not show them beside the tooltip. */
function marksOf(svg) {
  const marks = [];
  for (const title of [...svg.querySelectorAll("g[data-panel] title")]) {
    const of = title.parentNode;
    const panel = of.closest("g[data-panel]");
    const lines = title.textContent.split("\n");
    title.remove();
    if (panel.dataset.panel) lines.splice(1, 0, panel.dataset.panel);
    if (of.dataset.points !== undefined) marks.push(...vertices(of, lines, panel));
    else if (panel.dataset.timeScale !== undefined) marks.push(...shapes(of, lines, panel));
    else marks.push({ ...boxOf(of), lines });
  }
  return marks;
}

function boxOf(node) {
  const { x, y, width, height } = node.getBBox();
  return { left: x, top: y, right: x + width, bottom: y + height };
}

function labelled(label, value) {
  return label ? `${label}: ${value}` : value;
}

/** A mark for each value of a line. A line of steps has another corner between two values. */
function vertices(line, lines, panel) {
  const values = line.dataset.points.split(" ").map((pair) => pair.split(","));
  const corners = line.getAttribute("points").split(" ").map((pair) => pair.split(",").map(Number));
  const every = values.length > 1 && corners.length === 2 * values.length - 1 ? 2 : 1;
  return values.flatMap(([x, y], i) => {
    const corner = corners[i * every];
    if (!corner) return [];
    const [left, top] = corner;
    const quantities = [labelled(panel.dataset.x, x), labelled(panel.dataset.y, y)];
    return [{ left, top, right: left, bottom: top, lines: [...lines, ...quantities] }];
  });
}

/** A mark for each shape of a time–sequence diagram, with the values at its middle. */
function shapes(group, lines, panel) {
  const time = scaleOf(panel.dataset.timeScale);
  const sequence = scaleOf(panel.dataset.sequenceScale);
  // Lines say where data is; the areas beside them are the heads of arrows.
  const path = group.querySelector("path[stroke]") ?? group.querySelector("path");
  if (!path) return [];
  return subpaths(path.getAttribute("d")).flatMap((corners) => {
    // The line of `snd_una` has a mark at each corner; other shapes are one mark.
    const isStairs = corners.length > 2 && path.hasAttribute("stroke");
    const boxes = isStairs ? corners.map((corner) => boxAround([corner])) : [boxAround(corners)];
    return boxes.map((box) => {
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const quantities = [labelled(panel.dataset.x, time(x)), labelled(panel.dataset.y, sequence(y))];
      return { ...box, lines: [...lines, ...quantities] };
    });
  });
}

/** The value at a place, to four digits, from the places and the values of two points of an axis. */
function scaleOf(text) {
  const [from, to, low, high] = text.split(" ").map(Number);
  return (place) => {
    const value = low + ((place - from) / (to - from)) * (high - low);
    return String(Number(value.toPrecision(4)));
  };
}

/** The corners of each part of a path that has only absolute lines. */
function subpaths(data) {
  const parts = [];
  let [x, y] = [0, 0];
  for (const [, command, numbers] of data.matchAll(/([MLHV])([^MLHVZ]*)/g)) {
    const [first, second] = numbers.trim().split(" ").map(Number);
    if (command === "H") x = first;
    else if (command === "V") y = first;
    else [x, y] = [first, second];
    if (command === "M") parts.push([]);
    parts.at(-1).push([x, y]);
  }
  return parts;
}

function boxAround(corners) {
  const xs = corners.map(([x]) => x);
  const ys = corners.map(([, y]) => y);
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
}

/** The mark nearest to a point, within `reach`; of equally near ones the smallest. */
function nearestMark(marks, { x, y }, reach) {
  let best = null;
  let least = [reach, Infinity];
  for (const mark of marks) {
    const outside = (low, value, high) => Math.max(low - value, 0, value - high);
    const distance = Math.hypot(outside(mark.left, x, mark.right), outside(mark.top, y, mark.bottom));
    const size = mark.right - mark.left + mark.bottom - mark.top;
    if (distance > least[0] || (distance === least[0] && size >= least[1])) continue;
    best = mark;
    least = [distance, size];
  }
  return best;
}
