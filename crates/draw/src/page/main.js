// Puts the parts together.

const table = JSON.parse(document.getElementById("data").textContent);

/** Draws a connection when it is opened for the first time. */
function setUpConnection(details) {
  let drawn = false;
  details.addEventListener("toggle", () => {
    if (!details.open || drawn) return;
    drawn = true;
    const data = JSON.parse(details.querySelector("script").textContent);
    const name = details.querySelector("summary").textContent;
    const diagrams = drawDiagrams(details.querySelector(".diagrams"), data, name);
    listRetransmissions(details.querySelector(".retransmissions"), diagrams, data);
  });
}

/** Opens the connection that the address names. */
function openTarget() {
  const target = document.querySelector("details.connection:target");
  if (!target) return;
  target.open = true;
  target.scrollIntoView();
}

setUpTheme();
document.querySelectorAll("section.rates").forEach(drawCharts);
document.querySelectorAll("table.overview").forEach(makeSortable);
const tableHolder = document.getElementById("table");
if (tableHolder) new ConnectionTable(tableHolder, table);
const connections = [...document.querySelectorAll("details.connection")];
connections.forEach(setUpConnection);
if (connections.length > 0) {
  const help = `${ZOOM_HELP} n and p go to the next and the previous retransmission.`;
  connections[0].before(element("p", { class: "help" }, help));
  // Of several captures none is opened unasked.
  if (!document.querySelector("section.capture")) connections[0].open = true;
}
addEventListener("hashchange", openTarget);
// A link to the connection that the address names already changes nothing there.
addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#connection-"]');
  if (link && link.hash === location.hash) openTarget();
});
openTarget();
