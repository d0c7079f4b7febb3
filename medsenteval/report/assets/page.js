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

  const data = JSON.parse(byId("data").textContent);
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

  // The table of scores: sorting by the buttons of its head.
  const table = byId("table");
  const body = table.tBodies[0];
  const headers = all("thead th", table);
  const given = Array.from(body.rows);
  const compareText = new Intl.Collator("en", { numeric: true }).compare;
  const status = byId("status");

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
    say(next === "none" ? "in the order of mean ranks" : `sorted by ${name}, ${next}`);
  }
  headers.forEach((header, index) => header.querySelector("button").addEventListener("click", () => sortBy(index)));

  // Filters by name of encoder and group of tasks.
  const filter = byId("filter");
  const boxes = all("#groups input");
  function applyFilters() {
    const wanted = filter.value.trim().toLocaleLowerCase();
    const keeps = (encoder) => encoder.toLocaleLowerCase().includes(wanted);
    all("#table tr[data-encoder], .printed tr[data-encoder]").forEach((row) => { row.hidden = !keeps(row.dataset.encoder); });
    const groups = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    all("[data-group]").forEach((cell) => { cell.hidden = boxes.length > 0 && !groups.has(cell.dataset.group); });
    say("");
    fit();
  }
  function say(what) {
    const rows = given.filter((row) => !row.hidden).length;
    const columns = all("thead [data-group]", table);
    const shown = columns.filter((cell) => !cell.hidden).length;
    const counts = `${rows} of ${given.length} encoders, ${shown} of ${columns.length} scores each`;
    status.textContent = what ? `${counts}, ${what}` : counts;
  }
  // A table that fits needs no box to scroll in, and its head can stay at the top of the window.
  function fit() {
    const box = table.parentElement;
    box.classList.remove("fits");
    box.classList.toggle("fits", table.offsetWidth <= box.clientWidth + 1);
  }
  window.addEventListener("resize", fit);
  filter.addEventListener("input", applyFilters);
  boxes.forEach((box) => box.addEventListener("change", applyFilters));
  byId("intervals").addEventListener("change", (event) => { table.classList.toggle("plain", !event.target.checked); fit(); });

  // Differences to one encoder, in the table and in the view of each task.
  const signs = { better: "▲", worse: "▼", equivalent: "=", undecided: "" };
  const turned = { better: "worse", worse: "better" };
  const place = new Map(data.encoders.map((encoder, index) => [encoder, index]));
  const signed = (value, digits) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
  const short = (p) => (p < 0.0001 ? "< .0001" : p.toFixed(4).replace(/^0/, ""));
  function difference(column, encoder, reference) {
    const [i, j] = [place.get(encoder), place.get(reference)];
    const found = column.pairs.find((pair) => (pair[0] === i && pair[1] === j) || (pair[0] === j && pair[1] === i));
    if (!found) return null;
    const [first, , value, low, high, p, number] = found;
    const said = data.verdicts[number];
    return first === i
      ? { value, low, high, p, said }
      : { value: -value, low: -high, high: -low, p, said: turned[said] || said };
  }
  const original = new Map(all("tbody td[data-group]", table).map((cell) => [cell, [Array.from(cell.childNodes), cell.className]]));
  const chosen = byId("reference");
  function compareWith() {
    const reference = chosen.value;
    given.forEach((row) => all("td[data-group]", row).forEach((cell, index) => {
      const [nodes, names] = original.get(cell);
      const column = data.columns[index];
      const found = reference && row.dataset.encoder !== reference && difference(column, row.dataset.encoder, reference);
      cell.className = reference ? "num" : names;
      if (!reference || row.dataset.encoder === reference) return cell.replaceChildren(...nodes);
      if (!found) return cell.replaceChildren(element("span", "not tested", { class: "none" }));
      const value = element("span", `${signs[found.said]} ${signed(found.value, column.digits)}`.trim(), { class: "v" });
      value.append(element("span", ` ${found.said}`, { class: "vh" }));
      const range = `${signed(found.low, column.digits)} to ${signed(found.high, column.digits)}`;
      cell.classList.add(`v-${found.said}`);
      cell.replaceChildren(value, element("span", range, { class: "i" }), element("span", `p ${short(found.p)}`, { class: "i" }));
    }));
    given.forEach((row) => row.classList.toggle("reference", row.dataset.encoder === reference));
    table.classList.toggle("compared", Boolean(reference));
    byId("legend-scores").hidden = Boolean(reference);
    byId("legend-differences").hidden = !reference;
    byId("reference-name").textContent = reference;
    say(reference ? `differences to ${reference}` : "");
    fit();
    all("details.task[open] .differences").forEach(drawDifferences);
  }
  function drawDifferences(box) {
    const reference = (chosen && chosen.value) || body.rows[0].dataset.encoder;
    const made = document.createElement("table");
    const shown = data.columns.filter((column) => column.view === box.dataset.view && column.pairs.length);
    made.append(element("caption", `Differences to ${reference}; “Compare with” above chooses another`));
    const head = made.createTHead().insertRow();
    ["Encoder", "Metric", "Difference", `${data.confidence} interval`, "p", "Verdict"].forEach((text, index) => (
      head.append(element("th", text, { scope: "col", class: index > 1 && index < 5 ? "num" : "" }))));
    const rows = made.createTBody();
    shown.forEach((column) => given.forEach((given) => {
      const encoder = given.dataset.encoder;
      const found = encoder !== reference && difference(column, encoder, reference);
      if (!found) return;
      const row = rows.insertRow();
      row.append(element("th", encoder, { scope: "row" }), element("td", column.metric));
      [signed(found.value, column.digits), `${signed(found.low, column.digits)} to ${signed(found.high, column.digits)}`,
        short(found.p)].forEach((text) => row.append(element("td", text, { class: "num" })));
      row.append(element("td", `${signs[found.said]} ${found.said}`.trim(), { class: `v-${found.said}` }));
    }));
    const region = element("div", null, { class: "scroll table", role: "region", tabindex: "0" });
    region.setAttribute("aria-label", `Differences on ${box.dataset.label}`);
    region.append(made);
    box.replaceChildren(element("h3", "Differences"), region);
  }
  if (chosen) chosen.addEventListener("change", compareWith);
  all(".differences").forEach((box) => {
    box.closest("details").addEventListener("toggle", (event) => { if (event.target.open) drawDifferences(box); });
  });

  // The table to take away.
  const style = byId("style");
  byId("copy-table").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(data.tables[style.value]);
      status.textContent = `table copied as ${style.selectedOptions[0].textContent}`;
    } catch {
      status.textContent = "the clipboard is closed to this page; download the table instead";
    }
  });
  byId("download").addEventListener("click", () => {
    const link = document.createElement("a");
    const endings = { csv: "csv", latex: "tex", markdown: "md" };
    link.href = URL.createObjectURL(new Blob([data.tables[style.value]], { type: "text/plain" }));
    link.download = `scores.${endings[style.value]}`;
    link.click();
    URL.revokeObjectURL(link.href);
    status.textContent = `${link.download} downloaded`;
  });
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
  const { confusion } = data;
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
    status.textContent = `signature ${done.toLowerCase()}`;
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }));

  openTarget();
})();
