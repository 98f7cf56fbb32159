// The table of captures, which is there without scripts, sorted by the column that the reader wants.

/** Makes the headings of a table buttons that sort its rows. */
function makeSortable(table) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  let sorted = { column: -1, descending: false };
  const value = (row, column) => {
    const { dataset, textContent } = row.cells[column];
    return dataset.value === undefined ? textContent : Number(dataset.value);
  };
  const sortBy = (column) => {
    const isNumber = headings[column].classList.contains("number");
    const descending = sorted.column === column ? !sorted.descending : isNumber;
    sorted = { column, descending };
    const sign = descending ? -1 : 1;
    const rows = [...body.rows].sort((left, right) => {
      const [a, b] = [value(left, column), value(right, column)];
      if (!isNumber) return sign * String(a).localeCompare(String(b), "en", { numeric: true });
      // Unknown values come last in both orders.
      const unknown = [a, b].map((one) => typeof one !== "number");
      return unknown[0] || unknown[1] ? unknown[0] - unknown[1] : sign * (a - b);
    });
    body.append(...rows);
    headings.forEach((heading, i) => {
      heading.setAttribute("aria-sort", i !== column ? "none" : descending ? "descending" : "ascending");
      heading.querySelector("span").textContent = i !== column ? "" : descending ? " ▼" : " ▲";
    });
  };
  headings.forEach((heading, column) => {
    const sorter = button(heading.textContent, () => sortBy(column));
    sorter.append(element("span", { "aria-hidden": "true" }));
    heading.replaceChildren(sorter);
  });
}
