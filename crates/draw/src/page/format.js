// Numbers and axis labels, colours for the canvas, and Wireshark's filters.

function formatSeconds(value) {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 0.9995e-3) return `${threeDigits(value * 1e6)} µs`;
  if (size < 0.9995) return `${threeDigits(value * 1e3)} ms`;
  return `${threeDigits(value)} s`;
}

/** A moment, in seconds since the capture's first frame. */
function formatMoment(value) {
  return `${value.toFixed(3)} s`;
}

function formatBytes(value) {
  for (const [factor, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (Math.abs(value) >= 0.9995 * factor) return `${threeDigits(value / factor)} ${unit}`;
  }
  return `${Math.round(value)} B`;
}

function formatShare(value) {
  const percent = value * 100;
  if (percent === 0) return "0 %";
  return percent < 0.01 ? "< 0.01 %" : `${percent.toFixed(percent < 9.95 ? 2 : 1)} %`;
}

/** The decimals that show multiples of `step` exactly: 4 for 0.0025. */
function decimalsOf(step) {
  let decimals = 0;
  for (let scaled = step; decimals < 12 && Math.abs(scaled - Math.round(scaled)) > 1e-6 * scaled; scaled *= 10) {
    decimals += 1;
  }
  return decimals;
}

/** Axis labels for `values` that are `step` apart, with a prefix that suits the largest of them. */
function axisLabels(values, step) {
  const largest = Math.max(...values.map(Math.abs));
  const [factor, prefix] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([f]) => largest >= f) ?? [1, ""];
  const decimals = decimalsOf(step / factor);
  return values.map((value) => (value / factor).toFixed(decimals) + (value === 0 ? "" : prefix));
}

// The style sheet defines the colours. An element that is never shown computes them for the canvas.
const colourProbe = element("span", { hidden: "" });
document.body.append(colourProbe);
const colourCache = new Map();
onThemeChange(() => colourCache.clear());

/** The colour that the style sheet calls `--name`, in the present theme. */
function colour(name) {
  if (!colourCache.has(name)) {
    colourProbe.style.color = `var(--${name})`;
    colourCache.set(name, getComputedStyle(colourProbe).color);
  }
  return colourCache.get(name);
}

/** The display filter for these frames. */
function frameFilter(frames) {
  return frames.length === 1 ? `frame.number == ${frames[0]}` : `frame.number in {${frames.join(",")}}`;
}

/** The first index in the ascending `values` whose value is at least `bound`. */
function lowerBound(values, bound) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
