// The table of connections: sorted, filtered, with the columns that the reader wants.

const ROWS_AT_FIRST = 25;
const MORE_ROWS = 200;
/** The connection's id, its filter and the frames of its retransmissions stand before the cells. */
const FIRST_CELL = 3;

const FORMATS = {
  text: String,
  category: String,
  count: formatCount,
  bytes: formatBytes,
  seconds: formatSeconds,
  moment: (value) => value.toFixed(3),
  share: formatShare,
};

class ConnectionTable {
  constructor(holder, { columns, rows }) {
    this.columns = columns;
    this.rows = rows;
    this.sort = null;
    this.words = [];
    this.categories = new Map();
    this.bounds = { column: -1, min: -Infinity, max: Infinity };
    this.limit = ROWS_AT_FIRST;
    this.chosen = null;
    this.head = element("thead");
    this.body = element("tbody");
    this.status = element("p", { role: "status" });
    this.more = button("Show more rows", () => this.show(this.limit + MORE_ROWS));
    this.all = button("Show all", () => this.show(Infinity));
    const table = element("table", { class: "connections" }, this.head, this.body);
    holder.append(
      this.controls(),
      this.columnChoice(),
      this.status,
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Connections" }, table),
      element("p", { class: "buttons" }, this.more, " ", this.all),
    );
    this.wide = matchMedia("(min-width: 45rem)");
    this.wide.addEventListener("change", () => this.update());
    this.update();
  }

  isNumber(index) {
    return !["text", "category"].includes(this.columns[index].kind);
  }

  isShown(index) {
    if (this.chosen) return this.chosen.has(index);
    const { importance } = this.columns[index];
    return importance === "high" || (importance === "medium" && this.wide.matches);
  }

  controls() {
    const search = element("input", {
      type: "search",
      placeholder: "Address, port, cause …",
      oninput: () => {
        this.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        this.filterChanged();
      },
    });
    const parts = [element("label", {}, "Search ", search)];
    this.columns.forEach((column, index) => {
      if (column.kind === "category") parts.push(this.categoryChoice(column, index));
    });
    parts.push(this.boundsChoice());
    return element("div", { class: "controls" }, ...parts);
  }

  categoryChoice(column, index) {
    const values = new Set(this.rows.map((row) => row[FIRST_CELL + index]).filter((value) => value != null));
    const options = [...values].sort().map((value) => element("option", { value }, value));
    const select = element("select", {
      onchange: () => {
        this.categories.set(index, select.value);
        this.filterChanged();
      },
    }, element("option", { value: "" }, "any"), ...options);
    return element("label", {}, `${column.heading} `, select);
  }

  boundsChoice() {
    const numbers = this.columns.map((_, index) => index).filter((index) => this.isNumber(index));
    const options = numbers.map((index) => element("option", { value: index }, this.headingWithUnit(index)));
    const select = element("select", { "aria-label": "Column with limits" }, element("option", { value: -1 }, "a column"), ...options);
    const input = (name) => element("input", { type: "number", step: "any", "aria-label": name, placeholder: name });
    const [min, max] = [input("from"), input("to")];
    const changed = () => {
      const column = Number(select.value);
      const factor = column >= 0 && this.columns[column].kind === "share" ? 0.01 : 1;
      const bound = (of, otherwise) => (of.value === "" ? otherwise : Number(of.value) * factor);
      this.bounds = { column, min: bound(min, -Infinity), max: bound(max, Infinity) };
      this.filterChanged();
    };
    for (const control of [select, min, max]) control.addEventListener("input", changed);
    return element("span", { class: "limits" }, "Limits of ", select, min, max);
  }

  /** The heading with the unit in which limits are typed. */
  headingWithUnit(index) {
    const { heading, kind } = this.columns[index];
    const unit = { bytes: " (bytes)", seconds: " (s)", moment: " (s)", share: " (%)" }[kind] ?? "";
    return heading + unit;
  }

  columnChoice() {
    const boxes = this.columns.map((column, index) => {
      const box = element("input", {
        type: "checkbox",
        onchange: () => {
          this.chosen ??= new Set(this.columns.map((_, i) => i).filter((i) => this.isShown(i)));
          if (box.checked) this.chosen.add(index);
          else this.chosen.delete(index);
          this.update();
        },
      });
      return { box, node: element("label", { title: column.about }, box, ` ${column.heading}`) };
    });
    const details = element("details", { class: "columns" }, element("summary", {}, "Columns"), ...boxes.map((entry) => entry.node));
    details.addEventListener("toggle", () => {
      boxes.forEach(({ box }, index) => (box.checked = this.isShown(index)));
    });
    return details;
  }

  filterChanged() {
    this.limit = ROWS_AT_FIRST;
    this.update();
  }

  show(limit) {
    this.limit = limit;
    this.update();
  }

  /** Sorts by a column; the same column again turns the order round. Numbers begin with the largest. */
  sortBy(index) {
    const descending = this.sort?.index === index ? !this.sort.descending : this.isNumber(index);
    this.sort = { index, descending };
    this.update();
    this.head.querySelector(`[data-column="${index}"]`).focus();
  }

  matches(row) {
    const cells = row.slice(FIRST_CELL);
    for (const [index, value] of this.categories) {
      if (value !== "" && cells[index] !== value) return false;
    }
    const { column, min, max } = this.bounds;
    if (column >= 0 && (min > -Infinity || max < Infinity)) {
      if (cells[column] == null || cells[column] < min || cells[column] > max) return false;
    }
    if (this.words.length === 0) return true;
    const text = cells.filter((cell, index) => typeof cell === "string" || index === 0).join(" ").toLowerCase();
    return this.words.every((word) => text.includes(word));
  }

  sorted(rows) {
    if (!this.sort) return rows;
    const at = FIRST_CELL + this.sort.index;
    const sign = this.sort.descending ? -1 : 1;
    const compare = this.isNumber(this.sort.index)
      ? (a, b) => sign * (a - b)
      : (a, b) => sign * a.localeCompare(b, "en", { numeric: true });
    return [...rows].sort((left, right) => {
      const [a, b] = [left[at], right[at]];
      // Unknown values come last in both orders.
      if (a == null || b == null) return (a == null) - (b == null);
      return compare(a, b);
    });
  }

  update() {
    const shown = this.columns.map((_, index) => index).filter((index) => this.isShown(index));
    const rows = this.sorted(this.rows.filter((row) => this.matches(row)));
    this.head.replaceChildren(element("tr", {}, ...shown.map((index) => this.heading(index)), element("th", { scope: "col", title: "Wireshark display filters", class: "screen" }, "Copy filter")));
    this.body.replaceChildren(...rows.slice(0, this.limit).map((row) => this.row(row, shown)));
    const visible = Math.min(this.limit, rows.length);
    this.status.textContent = `${formatCount(rows.length)} of ${formatCount(this.rows.length)} connections match, ${formatCount(visible)} are shown.`;
    this.more.hidden = this.all.hidden = visible === rows.length;
  }

  heading(index) {
    const { heading, about } = this.columns[index];
    const sorted = this.sort?.index === index;
    const order = sorted ? (this.sort.descending ? "descending" : "ascending") : "none";
    const arrow = sorted ? (this.sort.descending ? " ▼" : " ▲") : "";
    const sorter = button(heading + arrow, () => this.sortBy(index), { "data-column": index });
    const attributes = { scope: "col", "aria-sort": order, title: about };
    return element("th", this.isNumber(index) ? { ...attributes, class: "number" } : attributes, sorter);
  }

  row(row, shown) {
    const [id] = row;
    const cells = shown.map((index) => {
      const value = row[FIRST_CELL + index];
      const text = value == null ? "" : FORMATS[this.columns[index].kind](value);
      const style = this.isNumber(index) ? { class: "number" } : {};
      if (index === 0) return element("th", { scope: "row", ...style }, connectionLink(id, text));
      return element("td", style, text);
    });
    return element("tr", {}, ...cells, element("td", { class: "screen" }, ...this.copiers(row)));
  }

  /** The buttons that copy a row's filters. */
  copiers([id, filter, differences]) {
    const copier = (label, what, text) => {
      const made = button(label, () => copy(text, made), { title: text, "aria-label": `Copy the filter for ${what} of connection ${id}` });
      return made;
    };
    const found = [copier("all", "all packets", filter)];
    if (differences.length > 0) {
      let frame = 0;
      const frames = differences.map((difference) => (frame += difference));
      found.push(" ", copier("retrans.", "the retransmissions", frameFilter(frames)));
    }
    return found;
  }
}

/** `text`, as a link if the page shows the connection in detail. */
function connectionLink(id, text) {
  const target = `connection-${id}`;
  return document.getElementById(target) ? element("a", { href: `#${encodeURIComponent(target)}` }, text) : text;
}
