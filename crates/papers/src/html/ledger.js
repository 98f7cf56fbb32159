// The ledger: filtered by words, paper and verdict, sorted by a column, with commands to copy.

class LedgerTable {
  constructor(table, controls) {
    this.rows = [...table.tBodies[0].rows];
    this.body = table.tBodies[0];
    this.texts = new Map(this.rows.map((row) => [row, `${row.id} ${row.textContent}`.toLowerCase()]));
    this.order = new Map(this.rows.map((row, i) => [row, i]));
    this.words = [];
    this.paper = "";
    this.hidden = new Set();
    this.onlyChanged = false;
    this.sort = null;
    this.status = element("p", { role: "status", class: "help" });
    controls.append(this.makeControls(), this.status);
    this.headings = [...table.tHead.rows[0].cells];
    this.headings.forEach((cell, index) => this.makeSorter(cell, index));
    this.addCopiers();
    this.update();
  }

  makeControls() {
    this.search = element("input", {
      type: "search",
      placeholder: "Words of a claim, a name …",
      oninput: () => {
        this.words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
        this.update();
      },
    });
    const papers = [...new Set(this.rows.map((row) => row.dataset.paper))];
    this.papers = element(
      "select",
      { onchange: () => this.update() },
      element("option", { value: "" }, "all"),
      ...papers.map((paper) => element("option", { value: paper }, paper)),
    );
    const parts = [
      element("label", {}, "Search ", this.search),
      element("label", {}, "Paper ", this.papers),
      element("span", { class: "buttons", role: "group", "aria-label": "Verdicts shown" }, ...this.verdictButtons()),
    ];
    if (this.rows.some((row) => row.querySelector(".was"))) {
      this.changed = element("input", { type: "checkbox", onchange: () => this.update() });
      parts.push(element("label", {}, this.changed, " differs from the committed ledger"));
    }
    return element("div", { class: "controls" }, ...parts);
  }

  /** A button for each verdict that occurs, with its number. It shows or hides the verdict. */
  verdictButtons() {
    const samples = new Map();
    for (const row of this.rows) {
      const known = samples.get(row.dataset.verdict) ?? { badge: row.querySelector(".verdict"), count: 0 };
      known.count += 1;
      samples.set(row.dataset.verdict, known);
    }
    // The order of the bars.
    const order = ["holds", "construction", "fails", "undecided"];
    const inOrder = [...samples].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
    this.verdicts = inOrder.map(([verdict, { badge, count }]) => {
      const toggle = button("", () => this.toggle(verdict), { "aria-pressed": "true", "data-verdict": verdict });
      toggle.append(badge.cloneNode(true), String(count));
      return toggle;
    });
    return this.verdicts;
  }

  toggle(verdict) {
    if (!this.hidden.delete(verdict)) this.hidden.add(verdict);
    this.update();
  }

  makeSorter(cell, index) {
    const name = cell.textContent;
    const sorter = button(name, () => this.sortBy(index));
    // Browsers do not print buttons in headings that they repeat on each page.
    cell.replaceChildren(sorter, element("span", { class: "on-paper" }, name));
    cell.setAttribute("aria-sort", "none");
  }

  /** Sorts by a column; again: the other way round; a third time: the order of the papers. */
  sortBy(index) {
    if (this.sort?.index !== index) this.sort = { index, sign: 1 };
    else if (this.sort.sign === 1) this.sort = { index, sign: -1 };
    else this.sort = null;
    this.headings.forEach((cell, i) => {
      const order = this.sort?.index !== i ? "none" : this.sort.sign === 1 ? "ascending" : "descending";
      cell.setAttribute("aria-sort", order);
      cell.firstChild.textContent = cell.lastChild.textContent + { none: "", ascending: " ▲", descending: " ▼" }[order];
    });
    this.update();
  }

  compare(a, b) {
    const original = this.order.get(a) - this.order.get(b);
    if (!this.sort) return original;
    const text = (row) => row.cells[this.sort.index].textContent;
    return this.sort.sign * text(a).localeCompare(text(b), "en", { numeric: true }) || original;
  }

  matches(row) {
    if (this.hidden.has(row.dataset.verdict)) return false;
    if (this.papers.value && row.dataset.paper !== this.papers.value) return false;
    if (this.changed?.checked && !row.querySelector(".was")) return false;
    return this.words.every((word) => this.texts.get(row).includes(word));
  }

  update() {
    const sorted = [...this.rows].sort((a, b) => this.compare(a, b));
    let shown = 0;
    for (const row of sorted) {
      row.hidden = !this.matches(row);
      shown += row.hidden ? 0 : 1;
    }
    this.body.append(...sorted);
    for (const toggle of this.verdicts) {
      toggle.setAttribute("aria-pressed", String(!this.hidden.has(toggle.dataset.verdict)));
    }
    this.status.textContent = `${formatCount(shown)} of ${formatCount(this.rows.length)} claims are shown.`;
  }

  showAll() {
    this.search.value = this.papers.value = "";
    this.words = [];
    this.hidden.clear();
    if (this.changed) this.changed.checked = false;
    this.update();
  }

  /** Shows the claims with a verdict, of a paper or of all. */
  showOnly(verdict, paper) {
    this.showAll();
    this.papers.value = paper;
    for (const { dataset } of this.verdicts) {
      if (dataset.verdict !== verdict) this.hidden.add(dataset.verdict);
    }
    this.update();
  }

  /** A button behind each command that copies it. */
  addCopiers() {
    for (const row of this.rows) {
      const code = row.querySelector(".command code");
      if (!code) continue;
      const copier = button("Copy", () => copy(code.textContent, copier), { "aria-label": `Copy the command for ${row.id}` });
      code.after(copier);
    }
  }
}
