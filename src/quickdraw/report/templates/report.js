"use strict";
// Without this script the page shows all the same; with it, tables sort and the contents follow the eye.
const numberOf = (cell) => {
  const told = cell.dataset.key ?? cell.textContent.replaceAll(",", "");
  return told.trim() === "" ? NaN : Number.parseFloat(told);
};
const compared = (a, b, numeric) => {
  if (!numeric) return a.textContent.localeCompare(b.textContent, "en", { numeric: true });
  return numberOf(a) - numberOf(b);
};
const sort = (table, head) => {
  const place = head.cellIndex, body = table.tBodies[0], rows = [...body.rows];
  const numeric = head.classList.contains("number") || rows.some((row) => row.cells[place].dataset.key !== undefined);
  const missing = (row) => numeric && Number.isNaN(numberOf(row.cells[place]));
  const down = head.ariaSort === "ascending", sign = down ? -1 : 1;
  rows.sort((a, b) =>
    missing(a) || missing(b) ? missing(a) - missing(b) : sign * compared(a.cells[place], b.cells[place], numeric));
  body.append(...rows);
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.ariaSort = down ? "descending" : "ascending";
};
for (const table of document.querySelectorAll("table[data-sortable]"))
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, head));
    head.append(button);
  }

const fold = document.querySelector("details.fold");
fold.addEventListener("click", (event) => {
  if (event.target.closest("a")) fold.open = false;
});

const links = new Map([...document.querySelectorAll("nav.contents a")].map((link) => [link.hash.slice(1), link]));
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries)
    if (entry.isIntersecting) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
}, { rootMargin: "-15% 0px -80% 0px" });
for (const section of document.querySelectorAll("main section")) watcher.observe(section);
