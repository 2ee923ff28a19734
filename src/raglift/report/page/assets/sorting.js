// Tables whose rows can be sorted: by the numbers of a column, largest first, or by its words. Of a long one on the first
// screen, the first rows are shown until the others are asked for.

const ROWS_SHOWN = 8; // as `.folded` in shell.css has it
const FEW_MORE = 4; // so many rows more are shown at once

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const original = [...body.rows];
  for (const head of heads) {
    if (head.tagName !== "TH") continue;
    const cellOf = (row) => row.cells[head.cellIndex]; // asked when needed: a column may be put before it
    const isNumber = original.some((row) => cellOf(row).dataset.value !== undefined);
    const title = head.querySelector(".title").textContent.trim();
    const sort = () => {
      const was = head.getAttribute("aria-sort");
      const first = isNumber ? "descending" : "ascending";
      const second = isNumber ? "ascending" : "descending";
      const order = was === first ? second : first;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const key = (row) => (isNumber ? numberOf(cellOf(row)) : cellOf(row).textContent.trim());
      const sign = order === "ascending" ? 1 : -1;
      const sorted = original.map((row) => [key(row), row]);
      sorted.sort(([one], [other]) => (one === null ? (other === null ? 0 : 1) : other === null ? -1 : sign * (isNumber ? one - other : collator.compare(one, other))));
      body.append(...sorted.map(([, row]) => row));
    };
    const control = element("button", { type: "button", class: "sort", "aria-label": `Sort by ${title}`, onclick: sort });
    head.querySelector(".title").append(control);
  }
}

function numberOf(cell) {
  return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
}

function foldRows(table) {
  const rows = table.tBodies[0].rows.length;
  if (rows <= ROWS_SHOWN + FEW_MORE) return;
  table.classList.add("folded");
  const unfold = () => {
    table.classList.remove("folded");
    control.remove();
  };
  const control = element("button", { type: "button", class: "quiet unfold", onclick: unfold }, `Show all ${rows}`);
  table.closest(".scroll").after(control);
}

for (const table of document.querySelectorAll("table.sortable")) sortable(table);
for (const table of document.querySelectorAll(".headline table.sortable")) foldRows(table);
