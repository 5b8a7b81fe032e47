// What the panes show: each is filled from the walk at its position, and draws only what is seen.

const MOST_NAMES = 24;
const GLYPHS = { waiting: "·", current: "►", done: "√", skipped: "–", stopped: "■", failed: "×" };

const find = (id) => document.getElementById(id);

function cells(...pairs) {
  return pairs.map(([look, text]) => make("span", look, text));
}

// Figures of the values of a run, by blob and version.
class Values {
  constructor(data) {
    this.data = data;
    this.byBlob = new Map();
    this.byWriter = new Map();
    this.rows = data.values.map((row) => this.read(row));
    for (const row of this.rows) {
      if (row.op < data.forward) this.byBlob.set(`${row.blob}:${row.version}`, row);
      this.byWriter.set(`${row.op}:${row.blob}`, row);
    }
  }

  read([blob, version, op, shape, dtype, ...rest]) {
    const figures = Object.fromEntries(this.data.figures.map((name, i) => [name, rest[i]]));
    const ills = [[figures.nan, "NaN"], [figures.inf, "Inf"]].filter(([count]) => count);
    const brief = [shape || "scalar", ...ills.map(([count, name]) => `${count} ${name}`)].join(" · ");
    return { blob, version, op, shape, dtype: this.data.names[dtype], figures, ills, brief, gradient: rest.at(-1) };
  }

  of(blob, version) {
    return this.byBlob.get(`${blob}:${version}`);
  }

  // What an output of a gradient operator holds once all is renamed.
  written(gradientOp, output) {
    const name = this.finals?.get(`${gradientOp}:${output}`) ?? this.data.gradientOps[gradientOp][2][output];
    return this.byWriter.get(`${this.data.forward + gradientOp}:${name}`);
  }

  // The last rename of each output counts, wherever the cursor stands.
  settle(walk) {
    this.finals = new Map();
    for (const e of walk.events) {
      if (walk.data.kinds[e[0]] === "rename") this.finals.set(`${e[3]}:${e[4]}`, e[6]);
    }
  }
}

function figure(value) {
  if (value === null || value === undefined) return "";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

class Panes {
  constructor(walk, values, goTo) {
    this.walk = walk;
    this.values = values;
    this.goTo = goTo;
    this.here = new Here(find("here"), walk, values);
    const list = (id, draw, go) => new VirtualList(find(id), draw.bind(this), go.bind(this));
    this.ops = list("ops", this.opRow, (i) => goTo(walk.eventOfOp(i + walk.data.offset)));
    this.events = list("events", this.eventRow, (i) => goTo(i));
    this.gradientOps = list("gradient-ops", this.gradientOpRow, (i) => goTo(walk.makers[i].at));
    this.tables = {
      map: list("map", this.mapRow, (i) => this.goToSetter(["seed", "map"], this.entries.map[i][0])),
      generators: list("generators", this.generatorRow, (i) => this.goToGenerator(i)),
      frontiers: list("frontiers", this.frontierRow, (i) => this.goToFrontier(i)),
    };
    this.entries = { map: [], generators: [], frontiers: [] };
    this.lists = [this.ops, this.events, this.gradientOps, ...Object.values(this.tables)];
    if (values.rows.length) {
      this.valueList = list("values", this.valueRow, (i) => this.goToValue(values.rows[i]));
      this.lists.push(this.valueList);
    }
    this.shown = "map";
    this.setUpTabs();
    this.ops.setCount(walk.data.ops.length);
    this.events.setCount(walk.events.length);
    this.valueList?.setCount(values.rows.length);
  }

  render() {
    const { walk } = this;
    this.touched = new Set(walk.touched().map(([blob]) => blob));
    this.touchedOps = new Set(walk.touchedGradientOps());
    this.here.render();
    this.renderPhases();
    this.renderLocals();
    this.renderTable();
    this.ops.reveal(walk.opIndex() === NONE ? -1 : walk.opIndex() - walk.data.offset);
    this.ops.refresh();
    this.events.reveal(walk.position);
    this.events.refresh();
    this.gradientOps.setCount(walk.gradientOpCount);
    this.gradientOps.reveal(Math.max(-1, ...this.touchedOps));
    this.gradientOps.refresh();
    find("made").textContent = `${walk.gradientOpCount} of ${walk.data.gradientOps.length}`;
    this.revealValue();
  }

  // Rows.

  opRow(i) {
    const { walk } = this;
    const op = i + walk.data.offset;
    const [type, inputs, read, outputs, written, , device] = walk.op(op);
    const state = walk.stateOf(op);
    const blobs = (names, versions) => names.map((name, at) => walk.versioned(name, versions[at])).join(" ");
    const flow = `${blobs(inputs, read)} → ${blobs(outputs, written)}`;
    const content = cells(["glyph", GLYPHS[state]], ["number", String(op)], ["type", walk.name(type)], ["flow", flow]);
    const where = walk.data.names[device] ? ` on ${walk.data.names[device]}` : "";
    return { content, look: state, title: `${walk.name(type)}${where}: ${state}\n${flow}`, current: isNow(state) };
  }

  eventRow(i) {
    const phase = this.walk.phase(i).replace("_", " ");
    const isHere = i === this.walk.position;
    const content = cells(["glyph", isHere ? "►" : ""], ["number", String(i)], ["phase", phase],
      ["flow", this.walk.sentence(i)]);
    const look = `${isHere ? "current" : ""} ${i > this.walk.position ? "later" : ""} kind-${this.walk.kind(i)}`;
    return { content, look, title: this.walk.sentence(i), current: isHere };
  }

  gradientOpRow(i) {
    const { walk } = this;
    const [type, inputs, before] = walk.data.gradientOps[i];
    const names = walk.outputsOf(i);
    const outputs = names.map((name, at) => (name === before[at] ? walk.name(name)
      : `${walk.name(name)} (was ${walk.name(before[at])})`));
    const flow = `${inputs.map((name) => walk.name(name)).join(" ")} → ${outputs.join(" ")}`;
    const { owner } = walk.makers[i];
    const isSum = walk.summing.has(i);
    const isNow = this.touchedOps.has(i);
    const content = cells(["glyph", isNow ? "►" : isSum ? "Σ" : ""], ["number", String(i)],
      ["type", walk.name(type)], ["flow", flow], ["owner", owner === NONE ? "a y" : `op ${owner}`]);
    const made = owner === NONE ? "the gradient of a y" : `made at op ${owner}`;
    return { content, look: isNow ? "current" : "", title: `${walk.name(type)}: ${made}\n${flow}`, current: isNow };
  }

  mapRow(i) {
    const [blob, gradient] = this.entries.map[i];
    return this.pair(blob, this.walk.name(blob), this.walk.gradient(gradient));
  }

  generatorRow(i) {
    const { blob, version, made } = this.entries.generators[i];
    return this.pair(blob, this.walk.versioned(blob, version), this.walk.generator(made));
  }

  frontierRow(i) {
    const [blob, version] = this.entries.frontiers[i];
    const owner = this.walk.gradientFrontier.get(blob);
    const gradient = owner === undefined ? "no gradient yet" : `gradient of version ${owner}`;
    return this.pair(blob, this.walk.versioned(blob, version), gradient);
  }

  pair(blob, left, right) {
    const isNow = this.touched.has(blob);
    const content = cells(["glyph", isNow ? "►" : ""], ["key", left], ["flow", right]);
    return { content, look: isNow ? "current" : "", title: `${left}: ${right}`, current: isNow };
  }

  valueRow(i) {
    const row = this.values.rows[i];
    const bad = row.ills.map(([count, name]) => `${count} ${name}`).join(", ");
    const numbers = ["min", "max", "mean", "std", "l2", "zeros"].map((name) => ["figure", figure(row.figures[name])]);
    const isHere = this.valueOps().has(row.op);
    const content = cells(["glyph", bad ? "!" : isHere ? "►" : ""], ["key", this.walk.versioned(row.blob, row.version)],
      ["shape", `${row.dtype}[${row.shape.replaceAll("×", ", ")}]`], ...numbers, ["ills", bad || "none"]);
    const look = `${bad ? "bad" : ""} ${isHere ? "current" : ""}`;
    return { content, look, title: content.map((each) => each.textContent).join(" "), current: isHere };
  }

  // Operators of the run that the event is about.
  valueOps() {
    const { walk, values } = this;
    return new Set([walk.opIndex(), ...walk.gradientOpsHere().map((op) => op + values.data.forward)]
      .filter((op) => op >= 0));
  }

  revealValue() {
    if (!this.valueList) return;
    const ops = this.valueOps();
    this.valueList.reveal(this.values.rows.findIndex((row) => ops.has(row.op)));
    this.valueList.refresh();
  }

  // Where a click leads.

  goToSetter(kinds, blob) {
    this.goTo(this.walk.lastSet(kinds, blob));
  }

  goToGenerator(i) {
    const { blob } = this.entries.generators[i];
    this.goToSetter(["seed", "dense", "merge", "pass_through"], blob);
  }

  goToFrontier(i) {
    const [blob] = this.entries.frontiers[i];
    if (this.walk.gradientFrontier.has(blob)) this.goToSetter(["seed", "frontier"], blob);
  }

  goToValue({ op }) {
    const { walk, values } = this;
    if (op < 0) return;
    if (op < values.data.forward) this.goTo(walk.eventOfOp(op));
    else if (walk.makers[op - values.data.forward]) this.goTo(walk.makers[op - values.data.forward].at);
  }

  // The parts of the state.

  setUpTabs() {
    this.tabs = [...document.querySelectorAll("[role=tab]")];
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => this.choose(tab));
      tab.addEventListener("keydown", (event) => this.tabKey(event, tab));
    }
  }

  tabKey(event, tab) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = this.tabs.at((this.tabs.indexOf(tab) + step) % this.tabs.length);
    this.choose(next);
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  choose(tab) {
    this.shown = tab.dataset.part;
    for (const each of this.tabs) {
      const isChosen = each === tab;
      each.setAttribute("aria-selected", isChosen);
      each.tabIndex = isChosen ? 0 : -1;
      find(each.getAttribute("aria-controls")).hidden = !isChosen;
    }
    this.tables[this.shown].resized(); // it had no height while it was hidden
    this.renderTable();
  }

  renderTable(part = this.shown) {
    const { walk, entries } = this;
    if (part === "map") entries.map = [...walk.map];
    else if (part === "frontiers") entries.frontiers = [...walk.frontier];
    else entries.generators = this.flatGenerators();
    const table = this.tables[part];
    const rows = entries[part];
    table.setCount(rows.length);
    table.reveal(this.touched.size ? rows.findLastIndex((each) => this.touched.has(each.blob ?? each[0])) : -1);
    table.refresh();
  }

  // On paper there are all parts of the state, and all rows of each list within reason.
  printed(most) {
    Object.keys(this.tables).forEach((part) => this.renderTable(part));
    this.lists.forEach((list) => list.printed(most));
  }

  onScreen() {
    this.lists.forEach((list) => list.onScreen());
  }

  flatGenerators() {
    const rows = [];
    for (const [blob, versions] of this.walk.generators) {
      for (const [version, found] of versions) for (const made of found) rows.push({ blob, version, made });
    }
    return rows;
  }

  renderPhases() {
    const phase = this.walk.phase();
    for (const each of find("phases").children) {
      const isHere = each.dataset.phase === phase;
      each.classList.toggle("current", isHere);
      if (isHere) each.setAttribute("aria-current", "step");
      else each.removeAttribute("aria-current");
    }
  }

  renderLocals() {
    const { walk } = this;
    const visit = walk.visit();
    const list = (each) => {
      const more = each.length > MOST_NAMES ? [`and ${each.length - MOST_NAMES} more`] : [];
      return each.length ? [...each.slice(0, MOST_NAMES), ...more].join(", ") : "none";
    };
    const flat = (generators) => [...generators].flatMap(([blob, versions]) => [...versions].flatMap(
      ([version, found]) => found.map((made) => `${walk.versioned(blob, version)}: ${walk.generator(made)}`)));
    const rows = [
      ["g_output", list(visit.gOutput.map((each) => walk.gradient(each)))],
      ["g_input", list(visit.gInput.map((each) => walk.gradient(each)))],
      ["locally generated", list(visit.locals.map((each) => walk.name(each)))],
    ];
    if (visit.halves.size) rows.push(["sparse halves", list(flat(visit.halves))]);
    if (visit.passed.size) rows.push(["pass through", list(flat(visit.passed))]);
    find("locals").replaceChildren(...rows.flatMap(([term, text]) => [make("dt", "", term), make("dd", "", text)]));
    this.renderNested();
  }

  // Walks over the nested nets of a control operator, sentence by sentence.
  renderNested() {
    const walks = this.walk.kind() === "play" ? [] : this.nestedHere();
    find("nested").replaceChildren(...walks.map(([where, sentences]) => {
      const folded = make("details", "", make("summary", "", `Walk inside of ${where}: ${sentences.length} events`));
      folded.append(make("ol", "", ...sentences.slice(0, 500).map((each) => make("li", "", each))));
      return folded;
    }));
  }

  nestedHere() {
    const first = this.walk.data.visits[this.walk.visitOf(this.walk.position)] ?? this.walk.position;
    for (let at = first; at <= this.walk.position; at++) {
      if (this.walk.data.nested[at]) return this.walk.data.nested[at];
    }
    return [];
  }
}

function isNow(state) {
  return state === "current" || state === "failed";
}

// The picture of the whole net, where there is one: drawn once, and painted by the state.
class Picture {
  constructor(walk, data) {
    this.walk = walk;
    this.root = find("picture");
    this.nodes = new Map();
    this.edges = [];
    if (!this.root) return;
    for (const [id, blob, version, writer] of data.picture) {
      const element = this.root.querySelector(`[id="${id}"]`);
      if (element) this.nodes.set(id, { element, blob, version, writer });
    }
    for (const element of this.root.querySelectorAll("g.edge")) {
      const ends = element.querySelector("title").textContent.split("->");
      const isWanted = element.innerHTML.includes("--failed-line"); // what a check missed is seen where it missed it
      this.edges.push({ element, ends, isWanted });
    }
  }

  render() {
    if (!this.root) return;
    const { walk } = this;
    const touched = new Map(walk.touched());
    const touchedOps = new Set(walk.touchedGradientOps());
    const isFailed = walk.kind() === "fail";
    for (const [id, node] of this.nodes) {
      const look = this.look(id, node, touched, touchedOps);
      this.paint(node, isFailed && look === "current" ? "failed" : look);
    }
    for (const { element, ends, isWanted } of this.edges) {
      element.classList.toggle("unseen", isWanted && !isFailed);
      const isLater = ends.some((end) => this.nodes.get(end)?.look === "later");
      element.classList.toggle("later", isLater);
    }
  }

  // Blobs have a version, gradient blobs a writer instead, operators neither.
  look(id, { blob, version, writer }, touched, touchedOps) {
    const { walk } = this;
    const [part, number] = [id.split("_")[0], Number(id.split("_")[1])];
    if (part === "op") return blob === NONE ? walk.stateOf(number) : "";
    if (part === "gop") {
      if (number >= walk.gradientOpCount) return "later";
      return touchedOps.has(number) ? "current" : "done";
    }
    if (part === "gblob") {
      if (writer !== NONE && writer >= walk.gradientOpCount) return "later";
      return touchedOps.has(writer) && writer !== NONE ? "current" : "";
    }
    const wanted = touched.get(blob) === NONE ? walk.gradientFrontier.get(blob) : touched.get(blob);
    return wanted === version ? "current" : "";
  }

  paint(node, look) {
    if (node.look === look) return;
    node.look = look;
    node.element.classList.remove("waiting", "current", "done", "skipped", "stopped", "failed", "later");
    if (look) node.element.classList.add(look);
    this.badge(node, { current: "►", failed: "×", skipped: "–", stopped: "■" }[look]);
  }

  // A glyph at the upper left corner, since colour alone tells too little.
  badge(node, glyph) {
    node.element.querySelector(".badge")?.remove();
    if (!glyph) return;
    const box = node.element.getBBox();
    node.element.append(shape("text", { x: box.x - 4, y: box.y + 4, class: "badge" }, glyph));
  }
}
