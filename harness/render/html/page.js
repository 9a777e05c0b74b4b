// Sorting of tables by their headings, and the text of what is pointed at. The page says the same without it.
const value = (row, column) => {
  const cell = row.cells[column];
  const number = cell.querySelector("data");
  if (number) return parseFloat(number.value);
  if (!cell.classList.contains("number")) return cell.textContent;
  const shown = parseFloat(cell.textContent.replaceAll(",", ""));
  return Number.isNaN(shown) ? -Infinity : shown;
};
const compare = (one, other) =>
  typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((one, other) => (descending ? -1 : 1) * compare(value(one, column), value(other, column)));
      table.tBodies[0].append(...rows);
    });
  });
}

const hint = document.createElement("div");
hint.id = "hint";
hint.hidden = true;
hint.setAttribute("aria-hidden", "true");
document.body.append(hint);
document.addEventListener("pointermove", (event) => {
  const shape = event.target.closest?.("svg .hint, svg rect");
  const title = shape?.querySelector(":scope > title");
  hint.hidden = !title;
  if (!title) return;
  hint.textContent = title.textContent;
  hint.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8)) + "px";
  hint.style.top = Math.max(0, Math.min(event.clientY + 14, innerHeight - hint.offsetHeight - 8)) + "px";
});
