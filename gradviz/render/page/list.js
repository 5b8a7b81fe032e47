// A list of which only the visible rows exist, so that a hundred thousand rows scroll as smoothly as ten.

const TALLEST = 8_000_000; // browsers place nothing below some ten million pixels; longer lists scroll in larger strides

// An element with a class and with content; text from the net only ever becomes text.
function make(tag, className, ...content) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...content);
  return element;
}

class VirtualList {
  // root: the element that scrolls; draw(index): the content of a row as an array of nodes, and its class;
  // go(index): what clicking on a row does.
  constructor(root, draw, go) {
    this.root = root;
    this.draw = draw;
    this.go = go;
    this.count = NONE;
    this.active = 0;
    this.whole = false;
    this.rows = [];
    this.space = make("div", "space");
    this.window = make("div", "window");
    for (const each of [this.space, this.window]) each.setAttribute("role", "presentation");
    this.space.append(this.window);
    root.append(this.space);
    this.setCount(0);
    root.tabIndex = 0;
    root.addEventListener("scroll", () => this.scrolled(), { passive: true });
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("focus", () => this.refresh());
    root.addEventListener("blur", () => this.refresh());
    this.window.addEventListener("click", (event) => this.clicked(event));
    // Asking an element for its height or its scroll position makes the browser lay out the page, so both are kept.
    this.seen = root.clientHeight;
    this.scrollTop = 0;
    new ResizeObserver(() => this.resized()).observe(root);
  }

  scrolled() {
    if (this.scrollTop === this.root.scrollTop) return;
    this.scrollTop = this.root.scrollTop;
    this.refresh();
  }

  resized() {
    this.seen = this.root.clientHeight;
    this.height = 0;
    this.refresh();
  }

  get rowHeight() {
    if (!this.height) {
      const probe = make("div", "row", "x");
      this.window.append(probe);
      this.height = probe.getBoundingClientRect().height || 24;
      probe.remove();
    }
    return this.height;
  }

  // How many pixels of scrolling are one pixel of rows.
  get scale() {
    return Math.min(1, TALLEST / (this.count * this.rowHeight || 1));
  }

  // `refresh` shows it.
  setCount(count) {
    if (count === this.count) return;
    this.count = count;
    this.active = Math.min(this.active, Math.max(count - 1, 0));
    this.root.classList.toggle("empty", count === 0);
    // A listbox without options would be none.
    if (count) this.root.setAttribute("role", "listbox");
    else this.root.setAttribute("role", "group");
  }

  refresh() {
    const height = this.rowHeight;
    const shown = this.whole ? this.count : Math.ceil(this.seen / height) + 1;
    const first = this.whole ? 0 : Math.max(0, Math.min(this.top(), this.count - shown));
    const last = Math.min(this.count, first + shown);
    this.setHeight(this.whole ? "auto" : `${Math.min(this.count * height, TALLEST)}px`);
    this.window.style.transform = this.whole ? "none" : `translateY(${this.offset(first)}px)`;
    while (this.rows.length < last - first) this.addRow();
    while (this.rows.length > last - first) this.rows.pop().remove();
    this.first = first;
    this.rows.forEach((row, i) => this.fill(row, first + i));
    this.announce();
  }

  setHeight(height) {
    if (this.space.style.height === height) return;
    this.space.style.height = height;
    // A list that became shorter may have been scrolled further than it reaches now.
    this.scrollTop = Math.min(this.scrollTop, Math.max(parseFloat(height) - this.seen, 0) || 0);
  }

  // The first row at the upper edge.
  top() {
    return Math.floor(this.scrollTop / this.scale / this.rowHeight);
  }

  offset(first) {
    if (this.scale === 1) return first * this.rowHeight;
    const furthest = Math.min(this.count * this.rowHeight, TALLEST) - this.rows.length * this.rowHeight;
    return Math.min(this.scrollTop, Math.max(furthest, 0));
  }

  addRow() {
    const row = make("div", "row");
    row.setAttribute("role", "option");
    this.window.append(row);
    this.rows.push(row);
  }

  fill(row, index) {
    const { content, look = "", title = "", current = false } = this.draw(index);
    row.replaceChildren(...content);
    row.className = `row ${look}`;
    row.classList.toggle("active", index === this.active && document.activeElement === this.root);
    row.id = `${this.root.id}-${index}`;
    row.title = title;
    row.setAttribute("aria-posinset", index + 1);
    row.setAttribute("aria-setsize", this.count);
    row.setAttribute("aria-selected", current);
  }

  announce() {
    const row = this.rows[this.active - this.first];
    if (row && document.activeElement === this.root) this.root.setAttribute("aria-activedescendant", row.id);
    else this.root.removeAttribute("aria-activedescendant");
  }

  // Scroll no further than needed to see a row, and make it the one that keys start from.
  reveal(index) {
    if (index < 0 || index >= this.count) return;
    this.active = index;
    const height = this.rowHeight;
    const seen = Math.max(Math.floor(this.seen / height), 1);
    const top = this.top();
    const margin = Math.min(2, Math.floor((seen - 1) / 2));
    if (index - margin < top) this.scrollToRow(index - margin);
    else if (index + margin >= top + seen) this.scrollToRow(index + margin + 1 - seen);
  }

  scrollToRow(row) {
    const height = this.rowHeight;
    this.setHeight(`${Math.min(this.count * height, TALLEST)}px`);
    const furthest = Math.max(Math.min(this.count * height, TALLEST) - this.seen, 0);
    this.scrollTop = Math.min(Math.ceil(Math.max(row, 0) * height * this.scale), furthest);
    this.root.scrollTop = this.scrollTop;
  }

  key(event) {
    const seen = Math.max(Math.floor(this.seen / this.rowHeight) - 1, 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: seen, PageUp: -seen, Home: -this.count, End: this.count };
    if (event.ctrlKey || event.altKey || event.metaKey || !this.count) return;
    if (event.key in steps) {
      this.reveal(Math.min(Math.max(this.active + steps[event.key], 0), this.count - 1));
      this.refresh();
    } else if (event.key === "Enter") {
      this.go(this.active);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  clicked(event) {
    const row = event.target.closest(".row");
    if (!row || String(getSelection())) return; // text that is being marked is not a click
    this.active = this.first + this.rows.indexOf(row);
    this.go(this.active);
  }

  // On paper all rows are there, within reason.
  printed(most) {
    this.whole = this.count <= most;
    this.refresh();
    const last = this.first + this.rows.length;
    this.root.dataset.note = this.whole ? "" : `rows ${this.first + 1} to ${last} of ${this.count}`;
  }

  onScreen() {
    this.whole = false;
    this.refresh();
  }
}
