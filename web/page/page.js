// Takes a capture, has a worker explain it, and shows the report.

const byId = (id) => document.getElementById(id);
const sections = ["start", "work", "report"].map(byId);

/** The compiled program, once it is asked for. */
let program;

/** What is being explained, or the report that is shown. */
let worker, frame, report;

function load() {
  program ??= WebAssembly.compileStreaming(fetch("recoup_bg.wasm"));
  return program;
}

/** Shows one of the sections, and moves the focus to `focused`. */
function show(id, focused) {
  for (const section of sections) section.hidden = section.id !== id;
  document.body.classList.toggle("reporting", id === "report");
  focused.focus();
}

function announce(text) {
  byId("status").textContent = text;
}

/** Back to the beginning. `why`: a sentence about what went wrong, if anything did. */
function begin(why) {
  worker?.terminate();
  frame?.remove();
  worker = frame = report = undefined;
  byId("error").hidden = !why;
  byId("error").textContent = why ?? "";
  byId("file").value = "";
  announce("");
  document.title = "Recoup: explain a capture";
  show("start", why ? byId("file") : byId("demo"));
}

/** Explains a file, or the demo if there is none. */
async function explain(file) {
  const name = file?.name ?? "demo";
  begin();
  byId("work-title").textContent = `Explaining ${name}`;
  byId("detail").textContent = "Starting";
  byId("progress").removeAttribute("value");
  show("work", byId("work-title"));
  const mine = (worker = new Worker("worker.js", { type: "module" }));
  const stop = (why) => {
    if (worker === mine) begin(why);
  };
  mine.onmessage = ({ data }) => {
    if (worker !== mine) return;
    if (data.html !== undefined) finish(name, data);
    else if (data.error !== undefined) stop(data.error);
    else follow(data, file?.size ?? 0);
  };
  mine.onerror = (event) => stop(`The analysis cannot run in this browser: ${event.message || "its script does not load"}.`);
  try {
    mine.postMessage({ program: await load(), file });
  } catch (error) {
    program = undefined;
    stop(`The program does not load: ${error.message}. Reload the page.`);
  }
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);

/** Shows how far the analysis is. */
function follow({ reading, bytes, rerun, of }, size) {
  let phase, part, amount;
  if (rerun !== undefined) {
    phase = "Running connections again, to see what would have helped";
    part = 0.8 + (0.2 * rerun) / of;
    amount = `${rerun} of ${of}`;
  } else {
    phase = reading === 1 ? "Reading" : "Reading a second time, for diagrams and advice";
    const share = size > 0 ? bytes / size : 0;
    part = reading === 1 ? 0.5 * share : 0.5 + 0.3 * share;
    amount = `${megabytes(bytes)} of ${megabytes(size)} MB`;
  }
  const progress = byId("progress");
  progress.value = Math.max(progress.value, Math.min(part, 1));
  byId("detail").textContent = `${phase}: ${amount}`;
  // Numbers would keep a screen reader talking.
  if (byId("status").textContent !== phase) announce(phase);
}

function finish(name, { html, memory }) {
  worker.terminate();
  worker = undefined;
  report = { name, html };
  byId("report-title").textContent = name;
  byId("report").dataset.memory = memory;
  document.title = `Recoup: ${name}`;
  frame = document.createElement("iframe");
  frame.title = `Report on ${name}`;
  frame.setAttribute("sandbox", "allow-scripts");
  frame.allow = "clipboard-write *";
  frame.src = "report.html";
  byId("report").append(frame);
  show("report", byId("report-title"));
  announce("The report is ready.");
}

/** The frame asks for its report. */
addEventListener("message", ({ source, data }) => {
  if (frame && source === frame.contentWindow && data === "ready") source.postMessage(report.html, "*");
});

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([report.html], { type: "text/html" }));
  link.download = `${report.name}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function take(files) {
  if (files.length > 1) begin("One capture at a time: drop one file.");
  else if (files.length === 1) explain(files[0]);
}

byId("demo").addEventListener("click", () => explain());
byId("file").addEventListener("change", (event) => take([...event.target.files]));
byId("cancel").addEventListener("click", () => begin());
byId("another").addEventListener("click", () => begin());
byId("save").addEventListener("click", save);

// A capture may be dropped anywhere, at any time.
const dragging = (is) => (event) => {
  event.preventDefault();
  document.body.classList.toggle("dragging", is);
};
addEventListener("dragover", dragging(true));
addEventListener("dragleave", dragging(false));
addEventListener("drop", (event) => {
  dragging(false)(event);
  take([...event.dataTransfer.files]);
});

// So that it is there when a capture comes. If it does not load, the capture that comes says so.
load().catch(() => (program = undefined));
