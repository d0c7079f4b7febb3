"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  // Theme: what the system prefers, until the button says otherwise.
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const nameTheme = () => { byId("theme").textContent = isDark() ? "Light theme" : "Dark theme"; };
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  // The table of scores: sorting by the buttons of its head.
  const table = byId("table");
  const body = table.tBodies[0];
  const headers = all("thead th", table);
  const given = Array.from(body.rows);
  const compareText = new Intl.Collator("en", { numeric: true }).compare;

  function sortBy(index) {
    const header = headers[index];
    const button = header.querySelector("button");
    const first = button.dataset.first || "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const now = header.getAttribute("aria-sort");
    const next = now === "none" ? first : now === first ? other : "none";
    headers.forEach((each) => each.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", next);
    const sign = next === "descending" ? -1 : 1;
    const value = (row) => row.cells[index].dataset.value;
    const rows = next === "none" ? given : given.slice().sort((a, b) => {
      const x = value(a), y = value(b);
      // Encoders without a score stand last in either order.
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      return sign * (button.dataset.kind === "text" ? compareText(x, y) : Number(x) - Number(y));
    });
    body.append(...rows);
    const name = button.textContent.trim().replace(/\s+/g, " ");
    say(next === "none" ? "in the order of the results" : `sorted by ${name}, ${next}`);
  }
  headers.forEach((header, index) => header.querySelector("button").addEventListener("click", () => sortBy(index)));

  // Filters by name of encoder and group of tasks.
  const filter = byId("filter");
  const boxes = all("#groups input");
  function applyFilters() {
    const wanted = filter.value.trim().toLocaleLowerCase();
    const keeps = (encoder) => encoder.toLocaleLowerCase().includes(wanted);
    given.forEach((row) => { row.hidden = !keeps(row.cells[0].dataset.value); });
    all(".printed [data-encoder]").forEach((row) => { row.hidden = !keeps(row.dataset.encoder); });
    const groups = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    all("[data-group]").forEach((cell) => { cell.hidden = boxes.length > 0 && !groups.has(cell.dataset.group); });
    say("");
  }
  function say(what) {
    const rows = given.filter((row) => !row.hidden).length;
    const columns = all("thead [data-group]", table);
    const shown = columns.filter((cell) => !cell.hidden).length;
    const counts = `${rows} of ${given.length} encoders, ${shown} of ${columns.length} scores each`;
    byId("status").textContent = what ? `${counts}, ${what}` : counts;
  }
  filter.addEventListener("input", applyFilters);
  boxes.forEach((box) => box.addEventListener("change", applyFilters));
  byId("intervals").addEventListener("change", (event) => table.classList.toggle("plain", !event.target.checked));
  applyFilters();

  // Views of tasks: opened by their summaries, by links to them, or all at once.
  const views = all("details.task");
  const openAll = byId("open-all");
  openAll.addEventListener("click", () => {
    const open = openAll.getAttribute("aria-pressed") !== "true";
    views.forEach((view) => { view.open = open; });
    openAll.setAttribute("aria-pressed", String(open));
  });
  function openTarget() {
    const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!target || target.tagName !== "DETAILS") return;
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  }
  window.addEventListener("hashchange", openTarget);
  // A second click on the same link changes no hash.
  all("a.more").forEach((link) => link.addEventListener("click", () => setTimeout(openTarget)));

  // Confusion matrices, drawn when their view is opened.
  const confusion = JSON.parse(byId("data").textContent).confusion;
  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== null) {
      const isolated = document.createElement("bdi");
      isolated.textContent = text;
      made.append(isolated);
    }
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  function drawMatrix(box) {
    const { labels, matrices } = confusion[box.dataset.view];
    const encoder = box.querySelector("select").value;
    const made = document.createElement("table");
    made.append(element("caption", `${encoder}: rows are gold answers, columns predicted ones`));
    const head = made.createTHead().insertRow();
    head.append(element("td", null));
    labels.forEach((label) => head.append(element("th", label, { scope: "col", class: "num" })));
    head.append(element("th", "right", { scope: "col", class: "num" }));
    const rows = made.createTBody();
    matrices[encoder].forEach((counts, i) => {
      const row = rows.insertRow();
      const total = counts.reduce((sum, count) => sum + count, 0);
      row.append(element("th", labels[i], { scope: "row" }));
      counts.forEach((count, j) => {
        const step = total ? Math.min(8, Math.floor((9 * count) / total)) : 0;
        row.append(element("td", count.toLocaleString("en"), { class: `num ramp${step}${i === j ? " diagonal" : ""}` }));
      });
      row.append(element("td", total ? `${((100 * counts[i]) / total).toFixed(1)} %` : "–", { class: "num" }));
    });
    box.querySelector(".matrix").replaceChildren(made);
  }
  all(".confusion").forEach((box) => {
    box.querySelector("select").addEventListener("change", () => drawMatrix(box));
    box.closest("details").addEventListener("toggle", (event) => { if (event.target.open) drawMatrix(box); });
  });

  // Signatures are copied; where the clipboard is closed to pages they are selected instead.
  all(".copy").forEach((button) => button.addEventListener("click", async () => {
    const code = button.closest("li").querySelector("code");
    let done = "Copied";
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      window.getSelection().selectAllChildren(code);
      done = "Selected";
    }
    button.textContent = done;
    byId("status").textContent = `signature ${done.toLowerCase()}`;
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }));

  openTarget();
})();
