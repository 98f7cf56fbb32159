// The marks of a diagram, as `encoding.rs` writes them.

/** The kinds of marks, in the order of their numbers. `range`: it covers sequence space. */
const KINDS = [
  { key: "data", name: "data", range: true },
  { key: "retransmission", name: "retransmission", range: true, again: true },
  { key: "needed", name: "needed retransmission", range: true, again: true },
  { key: "spurious", name: "spurious retransmission", range: true, again: true },
  { key: "unknowable", name: "retransmission, unknown if needed", range: true, again: true },
  { key: "copy", name: "extra copy", range: true, again: true },
  { key: "una", name: "cumulative ACK", stairs: true },
  { key: "duplicate", name: "duplicate ACK" },
  { key: "sack", name: "SACK block", range: true },
  { key: "window", name: "end of the receive window", stairs: true },
  { key: "note", name: "note" },
  { key: "syn", name: "SYN", flag: true },
  { key: "fin", name: "FIN", flag: true },
  { key: "rst", name: "RST", flag: true },
];

/**
 * Decodes a panel's marks into columns, each with a value for each mark. Times are in seconds since the capture's
 * first frame; the panel's time 0 is `begun` µs after that. `until`, `low` and `high`: see `Item` in `encoding.rs`.
 */
function decodeMarks({ count, bytes, texts }, begun) {
  const encoded = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
  const numbers = () => new Float64Array(count);
  const marks = {
    count,
    kind: new Uint8Array(count),
    at: numbers(),
    until: numbers(),
    low: numbers(),
    high: numbers(),
    frame: numbers(),
    merged: numbers(),
    texts: new Array(count),
    /** The longest time that a mark covers. */
    longest: 0,
  };
  let place = 0;
  // Integers can exceed the 32 bits that JavaScript shifts.
  const unsigned = () => {
    let [value, factor, byte] = [0, 1, 0];
    do {
      byte = encoded[place++];
      value += (byte & 0x7f) * factor;
      factor *= 128;
    } while (byte & 0x80);
    return value;
  };
  const signed = () => {
    const zigzag = unsigned();
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  };
  let [time, frame] = [begun, 0];
  const last = KINDS.map(() => ({ high: 0, length: 0 }));
  for (let i = 0; i < count; i++) {
    const head = encoded[place++];
    const number = head & 0x1f;
    const { range } = KINDS[number];
    time += unsigned();
    if (head & 0x80) frame += signed();
    const low = last[number].high + signed();
    const length = range ? last[number].length + signed() : 0;
    marks.kind[i] = number;
    marks.at[i] = marks.until[i] = time / 1e6;
    marks.low[i] = low;
    marks.high[i] = low + length;
    marks.frame[i] = head & 0x80 ? frame : 0;
    marks.merged[i] = 1;
    if (head & 0x40) marks.texts[i] = texts[unsigned()];
    if (head & 0x20) {
      marks.merged[i] = unsigned();
      marks.until[i] = (time + unsigned()) / 1e6;
      if (!range) marks.high[i] = low + signed();
    }
    marks.longest = Math.max(marks.longest, marks.until[i] - marks.at[i]);
    last[number] = { high: marks.high[i], length };
  }
  return marks;
}

/** The indices of marks that may lie between two times. */
function marksBetween(marks, from, to) {
  return [lowerBound(marks.at, from - marks.longest), lowerBound(marks.at, to + 1e-9)];
}

/** A few lines that describe a mark. */
function describeMark(marks, i) {
  const kind = KINDS[marks.kind[i]];
  const lines = [];
  const many = marks.merged[i] > 1;
  lines.push(many ? `${formatCount(marks.merged[i])} marks: ${kind.name}` : kind.name);
  const [low, high] = [marks.low[i], marks.high[i]].map(formatCount);
  if (kind.range) lines.push(`bytes ${low} to ${high} (${formatCount(marks.high[i] - marks.low[i])})`);
  else lines.push(many && low !== high ? `sequence number ${low} to ${high}` : `sequence number ${low}`);
  const until = many ? ` to ${marks.until[i].toFixed(6)}` : "";
  lines.push(`at ${marks.at[i].toFixed(6)}${until} s`);
  if (marks.frame[i] > 0) lines.push(many ? `from frame ${marks.frame[i]} on` : `frame ${marks.frame[i]}`);
  const [text, reason] = marks.texts[i] ?? [];
  if (text) lines.push(kind.again ? `trigger: ${text}` : text);
  if (reason) lines.push(`reason: ${reason}`);
  return lines;
}
