// The retransmissions of a connection, each with a command that prints its packet.

const RETRANSMISSIONS_AT_FIRST = 25;
const MORE_RETRANSMISSIONS = 200;
/** A filter for more frames than this is too long for a command line. */
const MOST_FRAMES = 5000;

/** A command with a button that copies it. */
function commandLine(name, command) {
  const copier = button("Copy", () => copy(command, copier), { "aria-label": `Copy: ${name}` });
  return element("p", { class: "command" }, `${name} `, element("code", {}, command), " ", copier);
}

function listRetransmissions(holder, diagrams, { command, filter }) {
  const all = diagrams
    .flatMap((diagram) => diagram.retransmissions().map((i) => ({ diagram, i, at: diagram.marks.at[i] })))
    .sort((a, b) => a.at - b.at);
  holder.append(element("h4", {}, "Packets"), commandLine("All packets:", `${command}'${filter}'`));
  const frames = all.map(({ diagram, i }) => diagram.marks.frame[i]).filter((frame) => frame > 0);
  if (frames.length > 1 && frames.length <= MOST_FRAMES) {
    const set = `${command}'${frameFilter(frames)}'`;
    const copier = button("Copy", () => copy(set, copier), { "aria-label": "Copy: all retransmissions" });
    holder.append(element("p", { class: "command screen" }, `All ${formatCount(frames.length)} retransmissions: one filter `, copier));
  }
  if (all.length === 0) return;
  const body = element("tbody");
  const headings = ["Time (s)", "Frame", "Sender", "First byte", "Bytes", "Trigger", "Verdict", "Reason", "tshark filter"];
  const head = element("thead", {}, element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, text)), element("th", { scope: "col", class: "screen" }, "Diagram")));
  let shown = 0;
  const more = button("Show more", () => show(MORE_RETRANSMISSIONS));
  const show = (count) => {
    body.append(...all.slice(shown, shown + count).map((one) => retransmissionRow(one, command)));
    shown = Math.min(shown + count, all.length);
    more.textContent = `Show more (${formatCount(all.length - shown)} left)`;
    more.hidden = shown === all.length;
  };
  show(RETRANSMISSIONS_AT_FIRST);
  holder.append(
    element("h4", {}, "Retransmissions"),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Retransmissions" }, element("table", {}, head, body)),
    element("p", {}, more),
  );
}

function retransmissionRow({ diagram, i }, command) {
  const { marks } = diagram;
  const { key, name } = KINDS[marks.kind[i]];
  const verdict = { retransmission: "", copy: "extra copy" }[key] ?? (key === "unknowable" ? "unknown" : key);
  const [trigger = "", reason = ""] = marks.texts[i] ?? [];
  const frame = marks.frame[i];
  const filter = frameFilter([frame]);
  const copier = button("Copy", () => copy(`${command}'${filter}'`, copier), { title: `${command}'${filter}'`, "aria-label": `Copy the command for frame ${frame}` });
  const finder = button("Show", () => {
    diagram.zoomTo(i);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    diagram.node.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
  }, { "aria-label": `Show ${name} in the diagram` });
  const number = (text) => element("td", { class: "number" }, text);
  return element(
    "tr",
    {},
    number(marks.at[i].toFixed(6)),
    number(frame > 0 ? String(frame) : ""),
    element("td", {}, diagram.sender),
    number(formatCount(marks.low[i])),
    number(formatCount(marks.high[i] - marks.low[i])),
    element("td", {}, trigger),
    element("td", { class: `verdict ${key}` }, verdict),
    element("td", { class: "reason" }, reason),
    element("td", {}, ...(frame > 0 ? [element("code", {}, filter), " ", copier] : [])),
    element("td", { class: "screen" }, finder),
  );
}
