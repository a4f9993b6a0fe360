// A table of thousands of rows: sorts, filters by text and tag, folds by label, and makes only the rows that are near.

const CHUNK = 120;
const MOST_TAGS = 18;

class BenchmarkTable {
  // `columns`: [{ key, name, value(row) for sorting, cell(row) -> content, className }]; `detail(row)` -> element.
  constructor(place, { rows, columns, detail, caption, sortKey, usual, legend = null, marked = null, grouped = rows.some((row) => row.group) }) {
    // `marked(row)`: whether it is one of those that can be looked at alone; null if there is none.
    Object.assign(this, { place, rows, columns, detail, usual, marked: marked && rows.some(marked) ? marked : null });
    this.state = { text: "", tags: new Set(), sortKey, descending: false, grouped, folded: new Set(), filter: null };
    this.open = new Set();
    this.rendered = 0;
    this.table = h("table", { class: "benchmarks" }, h("caption", { class: "unseen" }, caption), this.head());
    this.end = h("div", { class: "more" });
    this.status = h("p", { class: "status", role: "status" });
    place.append(this.controls(), this.status, h("div", { class: "table-holder" }, this.table), this.end, ...(legend ? [legend] : []));
    new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && this.more(), { rootMargin: "600px" }).observe(this.end);
    this.update();
  }

  controls() {
    const search = h("input", { type: "search", class: "search", placeholder: "Filter by name, tag or code", "aria-label": "Filter benchmarks by text" });
    search.addEventListener("input", () => this.change({ text: search.value.toLowerCase().trim() }));
    this.search = search;
    const numbers = new Map();
    for (const row of this.rows) for (const word of row.words) numbers.set(word, (numbers.get(word) || 0) + 1);
    const isUsual = (word) => Number(this.usual.includes(word));
    const telling = [...numbers].filter(([, number]) => number < this.rows.length).sort((a, b) => isUsual(a[0]) - isUsual(b[0]) || b[1] - a[1]).slice(0, MOST_TAGS);
    const tags = telling.map(([word]) => {
      const button = h("button", { type: "button", class: "tag", "aria-pressed": "false" }, word);
      button.addEventListener("click", () => {
        const on = !this.state.tags.has(word);
        this.state.tags[on ? "add" : "delete"](word);
        button.setAttribute("aria-pressed", String(on));
        this.update();
      });
      return button;
    });
    if (this.marked) tags.unshift(this.markedButton());
    const grouped = this.rows.some((row) => row.group) && h("label", { class: "check" }, fill(h("input", { type: "checkbox" }), { checked: this.state.grouped, onchange: (event) => this.change({ grouped: event.target.checked }) }, []), "Group by label");
    const fold = grouped && h("button", { type: "button", class: "quiet", onclick: () => this.foldAll() }, "Fold all");
    this.foldButton = fold;
    return h("div", { class: "controls" }, search, tags.length > 0 && h("div", { class: "tags", role: "group", "aria-label": "Tags" }, tags), h("div", { class: "folding" }, this.copyButtons(), grouped, fold));
  }

  // Shows only the rows that are marked as doubtful.
  markedButton() {
    const number = this.rows.filter(this.marked).length;
    const button = h("button", { type: "button", class: "tag", "aria-pressed": "false" }, `${count(number)} doubtful`);
    button.addEventListener("click", () => this.showMarked(button.getAttribute("aria-pressed") !== "true"));
    this.onlyMarked = button;
    return button;
  }

  showMarked(on) {
    this.onlyMarked.setAttribute("aria-pressed", String(on));
    this.change({ filter: on ? this.marked : null });
  }

  head() {
    return h("thead", {}, h("tr", {}, this.columns.map((column) => {
      const button = h("button", { type: "button", class: "sort" }, column.name);
      const cell = h("th", { scope: "col", class: `${column.className}${column.value ? " sorts" : ""}`, "aria-sort": "none" }, column.value ? button : column.head ? column.head() : column.name);
      // The whole cell sorts; a click on the button reaches it, too.
      if (column.value) cell.addEventListener("click", () => {
        const again = this.state.sortKey === column.key;
        if (again && this.state.descending !== Boolean(column.largestFirst)) this.change({ sortKey: null, descending: false });
        else this.change({ sortKey: column.key, descending: again ? !this.state.descending : Boolean(column.largestFirst) });
      });
      column.headCell = cell;
      return cell;
    })));
  }

  change(changes) {
    Object.assign(this.state, changes);
    this.update();
  }

  foldAll() {
    const groups = new Set(this.rows.map((row) => row.group));
    this.change({ folded: this.state.folded.size < groups.size ? groups : new Set() });
  }

  chosen() {
    const { text, tags, filter } = this.state;
    const words = queryWords(text);
    return this.rows.filter((row) => (!filter || filter(row)) && [...tags].every((tag) => row.words.includes(tag)) && words.every((word) => hasWord(row.search, word)));
  }

  // The rows that are shown now, in their order, as text: what a column shows, or its plain number.
  copied(format) {
    const columns = this.columns.filter((column) => column.name);
    const cell = (column, row) => (format === "csv" && column.plain ? column.plain(row) : h("td", {}, column.cell(row, false)).textContent.replace(/[\u2007\u2008]/g, "").replace(/\s+/g, " ").trim());
    const rows = this.inOrder().map((row) => columns.map((column) => String(cell(column, row) ?? "")));
    const heads = columns.map((column) => column.plainName && format === "csv" ? column.plainName : column.name);
    return format === "csv" ? csvText([heads, ...rows]) : markdownText(heads, rows, columns.map((column) => /right/.test(column.className || "")));
  }

  copyButtons() {
    const button = (name, format) => h("button", { type: "button", class: "quiet", onclick: (event) => copyText(this.copied(format), event.currentTarget) }, name);
    return [button("Copy as Markdown", "markdown"), button("Copy as CSV", "csv")];
  }

  inOrder() {
    const { sortKey, descending } = this.state;
    const rows = this.chosen();
    const column = this.columns.find((each) => each.key === sortKey);
    if (column) rows.sort((a, b) => compared(column.value(a), column.value(b), descending));
    return rows;
  }

  // What is shown, in order: lines that are either a group's head or a row.
  update() {
    const { sortKey, descending, grouped, folded } = this.state;
    for (const column of this.columns) {
      if (column.value) column.headCell.setAttribute("aria-sort", column.key !== sortKey ? "none" : descending ? "descending" : "ascending");
    }
    const rows = this.inOrder();
    const groups = new Map();
    for (const row of rows) {
      if (!groups.has(row.group)) groups.set(row.group, []);
      groups.get(row.group).push(row);
    }
    this.lines = grouped ? [...groups].flatMap(([group, members]) => [{ group, members }, ...(folded.has(group) ? [] : members.map((row) => ({ row })))]) : rows.map((row) => ({ row }));
    this.status.textContent = rows.length === this.rows.length ? "" : `${count(rows.length)} of ${count(this.rows.length)} benchmarks`;
    if (this.foldButton) {
      this.foldButton.hidden = !grouped;
      this.foldButton.textContent = folded.size < new Set(this.rows.map((row) => row.group)).size ? "Fold all" : "Unfold all";
    }
    for (const body of [...this.table.tBodies]) body.remove();
    this.rendered = 0;
    this.more();
  }

  more(upTo = this.rendered + CHUNK) {
    let body = this.table.tBodies[this.table.tBodies.length - 1];
    for (; this.rendered < Math.min(upTo, this.lines.length); this.rendered += 1) {
      const line = this.lines[this.rendered];
      if (!body || line.members) {
        body = h("tbody", {});
        this.table.append(body);
      }
      if (line.members) body.append(this.groupRow(line));
      else body.append(...this.rowPair(line.row));
    }
    if (!this.lines.length && !body) this.table.append(h("tbody", {}, h("tr", {}, h("td", { colspan: this.columns.length, class: "none" }, "Nothing matches."))));
    // The observer reports only changes: if the end is still in view, go on.
    if (this.rendered < this.lines.length && this.rendered && this.end.getBoundingClientRect().top < window.innerHeight + 600 && upTo < Infinity) requestAnimationFrame(() => this.more());
  }

  groupRow({ group, members }) {
    const folded = this.state.folded.has(group);
    const button = h("button", { type: "button", class: "fold", "aria-expanded": String(!folded) }, group || "Other", h("span", { class: "number" }, count(members.length)));
    button.addEventListener("click", () => {
      this.state.folded[folded ? "delete" : "add"](group);
      this.update();
      this.table.querySelectorAll("button.fold").forEach((each) => each.firstChild.data === (group || "Other") && each.focus());
    });
    return h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: this.columns.length }, button));
  }

  rowPair(row) {
    const isOpen = this.open.has(row.id);
    const line = h("tr", { id: row.id, class: `line${isOpen ? " open" : ""}${row.quiet ? " quiet" : ""}` }, this.columns.map((column, i) => {
      const content = column.cell(row, this.state.grouped);
      if (i > 0) return h("td", { class: column.className }, content);
      const button = h("button", { type: "button", class: "name", "aria-expanded": String(isOpen) }, content);
      button.addEventListener("click", (event) => {
        event.stopPropagation();
        this.toggle(row);
      });
      return h("th", { scope: "row", class: column.className }, button);
    }));
    line.addEventListener("click", (event) => {
      if (!event.target.closest("a,button") && !String(window.getSelection())) this.toggle(row);
    });
    return isOpen ? [line, this.detailRow(row)] : [line];
  }

  detailRow(row) {
    const cell = h("td", { colspan: this.columns.length });
    const line = h("tr", { class: "detail" }, cell);
    // After it is in the page, so that plots know their width.
    queueMicrotask(() => cell.append(this.detail(row)));
    return line;
  }

  toggle(row, on = !this.open.has(row.id)) {
    this.open[on ? "add" : "delete"](row.id);
    const line = byId(row.id);
    if (!line) return;
    line.classList.toggle("open", on);
    line.querySelector("button.name").setAttribute("aria-expanded", String(on));
    const next = line.nextElementSibling;
    const shown = next && next.classList.contains("detail");
    if (on && !shown) line.after(this.detailRow(row));
    if (!on && shown) next.remove();
    history.replaceState(null, "", on ? `#${row.id}` : location.pathname + location.search);
  }

  // Brings a benchmark into view, whatever is filtered or folded. Returns whether this table has it.
  show(id) {
    const row = this.rows.find((each) => each.id === id || (each.ids && each.ids.includes(id)));
    if (!row) return false;
    if (!this.lines.some((line) => line.row === row)) {
      this.search.value = "";
      for (const tag of this.place.querySelectorAll(".tag")) tag.setAttribute("aria-pressed", "false");
      this.state.folded.delete(row.group);
      this.change({ text: "", tags: new Set(), filter: null });
    }
    const place = this.lines.findIndex((line) => line.row === row);
    if (place >= this.rendered) this.more(place + CHUNK);
    this.toggle(row, true);
    const line = byId(row.id);
    line.scrollIntoView({ block: "start" });
    line.querySelector("button.name").focus({ preventScroll: true });
    return true;
  }
}

// The words of a filter; what is in quotes is one.
function queryWords(text) {
  return [...text.matchAll(/"([^"]+)"|(\S+)/g)].map((found) => found[1] || found[2].replace(/"/g, "")).filter(Boolean);
}

// Whether a word of the text begins with it: "add" is in "torch.add" and "add_", and not in "padding".
function hasWord(text, word) {
  const isLetter = (character) => /[\p{L}\p{N}]/u.test(character);
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !isLetter(word[0]) || !isLetter(text[at - 1])) return true;
  }
  return false;
}

function csvText(rows) {
  // A spreadsheet takes a cell that begins with one of these for a formula.
  const safe = (cell) => (/^[=+\-@\t\r]/.test(cell) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(cell) ? `'${cell}` : cell);
  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell);
  return rows.map((row) => row.map((cell) => quoted(safe(cell))).join(",")).join("\r\n") + "\r\n";
}

function markdownText(heads, rows, right) {
  const safe = (cell) => cell.replace(/([\\`*_[\]#|~$])/g, "\\$1").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/@/g, "&#64;");
  const line = (cells) => `| ${cells.map(safe).join(" | ")} |`;
  return [line(heads), `| ${right.map((each) => (each ? "---:" : ":---")).join(" | ")} |`, ...rows.map(line)].join("\n") + "\n";
}

async function copyText(text, button) {
  const name = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from disk may not have the clipboard's own door.
    const area = h("textarea", { class: "unseen", readonly: true });
    area.value = text;
    button.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = name; }, 1500);
}

function compared(a, b, descending) {
  // Rows without a value come last in either direction.
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "string" ? a.localeCompare(b) : a - b;
  return descending ? -order : order;
}
