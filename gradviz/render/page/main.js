// Moving: buttons, the slider, keys, the address, and paper.

const PRINTED_ROWS = 400;

// Small walks stand in the page as JSON, large ones deflated.
async function load() {
  const source = find("walk");
  if (source.type === "application/json") return JSON.parse(source.textContent);
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot unpack it; browsers of 2023 and later can");
  }
  const packed = Uint8Array.from(atob(source.textContent.trim()), (each) => each.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(plain).text());
}

class Page {
  constructor(data) {
    this.walk = new Walk(data);
    this.values = new Values(data);
    this.values.settle(this.walk);
    this.goTo = this.goTo.bind(this);
    this.panes = new Panes(this.walk, this.values, this.goTo);
    this.picture = new Picture(this.walk, data);
    this.slider = find("slider");
    this.slider.max = this.walk.last;
    this.number = find("number");
    this.number.max = this.walk.last;
    this.moves = {
      first: () => 0,
      "previous-op": () => this.walk.previousOp(),
      previous: () => this.walk.position - 1,
      next: () => this.walk.position + 1,
      "next-op": () => this.walk.nextOp(),
      last: () => this.walk.last,
      "next-phase": () => this.walk.nextPhase(),
      "previous-phase": () => this.walk.previousPhase(),
      "end-of-op": () => this.walk.endOfOp(),
    };
    this.listen();
    this.followAddress(0);
  }

  listen() {
    for (const button of document.querySelectorAll("[data-move]")) {
      button.addEventListener("click", () => this.move(button.dataset.move));
    }
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    this.number.addEventListener("change", () => this.goTo(Number(this.number.value)));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.followAddress(this.walk.position));
    addEventListener("beforeprint", () => this.panes.printed(PRINTED_ROWS));
    addEventListener("afterprint", () => this.panes.onScreen());
    find("find").addEventListener("keydown", (event) => this.findKey(event));
    for (const link of document.querySelectorAll("[data-op]")) {
      link.addEventListener("click", (event) => this.goToOp(event, Number(link.dataset.op)));
    }
    new ResizeObserver(() => this.renderMarks()).observe(find("marks"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.renderMarks());
  }

  // Moving.

  move(name) {
    this.goTo(this.moves[name]());
  }

  goTo(position) {
    this.walk.goTo(Number.isFinite(position) ? Math.trunc(position) : this.walk.position);
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => this.render());
  }

  goToOp(event, op) {
    event.preventDefault();
    this.goTo(this.walk.eventOfOp(op));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const { target } = event;
    const isSlider = target === this.slider;
    if (event.key === "Escape") target.blur();
    if (!isSlider && target.closest("input, textarea, select")) return;
    const moved = KEYS[event.key];
    const isLetter = event.key.length === 1;
    if (isLetter && !find("letters").checked) return;
    if (moved && !(isSlider && !isLetter)) this.move(moved);
    else if (event.key === "/") find("find").focus();
    else if (event.key === "g") this.number.select();
    else if (event.key === "?") find("help").open = !find("help").open;
    else return;
    event.preventDefault();
  }

  findKey(event) {
    if (event.key !== "Enter" || !event.target.value) return;
    const at = this.walk.find(event.target.value, event.shiftKey ? -1 : 1);
    find("found").textContent = at === NONE ? "No event says so." : `Event ${at}`;
    if (at !== NONE) this.goTo(at);
    event.preventDefault();
  }

  // The address: #event=12 opens the page at an event.

  followAddress(otherwise) {
    const asked = /^#event=(-?\d+)$/.exec(location.hash);
    const position = asked ? Number(asked[1]) : otherwise;
    this.walk.goTo(position < 0 ? this.walk.last + 1 + position : position);
    this.render();
  }

  rememberAddress() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => {
      try {
        history.replaceState(null, "", `#event=${this.walk.position}`);
      } catch {
        // A page without an address of its own keeps none.
      }
    }, 300);
  }

  // What is seen.

  render() {
    this.waiting = 0;
    const { walk } = this;
    const op = walk.opIndex();
    find("sentence").textContent = walk.sentence();
    find("sentence").classList.toggle("failed", walk.kind() === "fail");
    find("where").textContent = `${walk.phase().replace("_", " ")}${op === NONE ? "" : ` · op ${op}`}`;
    if (document.activeElement !== this.number) this.number.value = walk.position;
    this.slider.value = walk.position;
    this.slider.setAttribute("aria-valuetext", `event ${walk.position} of ${walk.last}: ${walk.sentence()}`);
    for (const button of document.querySelectorAll("[data-move]")) {
      const isBack = ["first", "previous-op", "previous"].includes(button.dataset.move);
      button.setAttribute("aria-disabled", walk.position === (isBack ? 0 : walk.last));
    }
    this.panes.render();
    this.picture.render();
    this.rememberAddress();
  }

  // Marks under the slider: where the operators are played, where gradients are summed, where the walk failed.
  renderMarks() {
    const canvas = find("marks");
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const dots = devicePixelRatio || 1;
    canvas.width = width * dots;
    canvas.height = height * dots;
    const pen = canvas.getContext("2d");
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
    pen.scale(dots, dots);
    const inset = 8; // the slider's knob does not reach the ends
    const x = (at) => inset + (at / Math.max(this.walk.last, 1)) * (width - 2 * inset);
    pen.fillStyle = colour("--forward-line");
    pen.fillRect(x(0), height / 2 - 1, x(this.walk.data.ops.length) - x(0), 2);
    pen.fillStyle = colour("--gradient-line");
    pen.fillRect(x(this.walk.data.ops.length), height / 2 - 1, x(this.walk.last) - x(this.walk.data.ops.length), 2);
    this.walk.events.forEach((e, at) => {
      const kind = this.walk.data.kinds[e[0]];
      if (kind === "accumulate") {
        pen.fillStyle = colour("--summing-line");
        pen.fillRect(x(at) - 1, 0, 2, height);
      } else if (kind === "fail") {
        pen.fillStyle = colour("--failed-line");
        pen.font = `bold ${height + 4}px sans-serif`;
        pen.textAlign = "center";
        pen.fillText("×", x(at), height);
      }
    });
  }
}

const KEYS = {
  n: "next", ArrowRight: "next", N: "previous", ArrowLeft: "previous", o: "next-op", O: "previous-op",
  s: "next-phase", S: "previous-phase", f: "end-of-op", F: "previous-op", Home: "first", End: "last",
};

load().then((data) => {
  document.documentElement.classList.add("ready");
  const page = new Page(data);
  window.gradviz = {
    last: page.walk.last,
    get position() { return page.walk.position; },
    goTo(position) { page.walk.goTo(position); page.render(); },
    snapshot: () => page.walk.snapshot(),
  };
}).catch((error) => {
  find("sentence").textContent = `The walk cannot be shown: ${error.message}`;
  find("sentence").classList.add("failed");
  throw error;
});
