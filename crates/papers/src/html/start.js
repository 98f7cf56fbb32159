// Puts the parts together.

setUpTheme();
for (const figure of document.querySelectorAll(".figure")) {
  if (figure.querySelector(".picture svg[viewBox]")) new FigureView(figure);
}
const firstFigure = document.querySelector(".beside");
if (firstFigure) {
  const help = matchMedia("(pointer: coarse)").matches
    ? "Tap a mark to read its values. Two fingers zoom a figure, one finger pans it."
    : "Point at a mark to read its values. Ctrl or Shift and the wheel zoom a figure, and so do the buttons and the keys + and −. " +
      "Drag to pan; a double click or 0 shows everything. The keys n and p go through the values.";
  firstFigure.before(element("p", { class: "help" }, help));
}
const ledger = new LedgerTable(document.querySelector("table.ledger"), document.getElementById("controls"));

for (const link of document.querySelectorAll("a[data-only]")) {
  link.addEventListener("click", () => ledger.showOnly(link.dataset.only, link.dataset.of));
}

/** Opens and shows what the address names. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.hidden) ledger.showAll();
  const details = target.closest("details");
  if (details) details.open = true;
  target.scrollIntoView();
}

addEventListener("hashchange", openTarget);
openTarget();

// Paper shows closed parts and the rows that a filter hides.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
  for (const row of ledger.rows) row.hidden = false;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
  ledger.update();
});
