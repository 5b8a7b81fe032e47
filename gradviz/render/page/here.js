// The neighbourhood of an event: the forward operator with what it reads and writes, and below it, flowing back, the
// gradient operators that were made at it.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 620;
const BOX = { width: 176, height: 34, gap: 8 };
const COLUMNS = [0, 222, 444];
const MOST = 7;

function shape(tag, attributes, ...content) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

function shortened(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor(most / 3);
  return `${text.slice(0, most - tail - 1)}…${text.slice(text.length - tail)}`;
}

// What stands in one lane: boxes in three columns, and lines between them.
class Lane {
  constructor(top) {
    this.top = top;
    this.columns = [[], [], []];
    this.boxes = new Map();
  }

  add(column, key, box) {
    if (this.boxes.has(key)) return;
    this.boxes.set(key, box);
    this.columns[column].push(box);
  }

  // At most so many boxes in a column; one more says how many were left out.
  settle() {
    const tallest = Math.max(...this.columns.map((column) => Math.min(column.length, MOST + 1)), 1);
    this.height = tallest * (BOX.height + BOX.gap) - BOX.gap;
    this.columns.forEach((column, i) => {
      const left = column.length - MOST;
      if (left > 1) column.splice(MOST, left, { look: "more", label: `… ${left} more`, note: "" });
      const height = column.length * (BOX.height + BOX.gap) - BOX.gap;
      column.forEach((box, at) => {
        box.x = COLUMNS[i];
        box.y = this.top + (this.height - height) / 2 + at * (BOX.height + BOX.gap);
      });
    });
  }
}

class Here {
  constructor(root, walk, values) {
    this.root = root;
    this.walk = walk;
    this.values = values;
  }

  render() {
    const lanes = [this.forwardLane(26)];
    lanes[0].settle();
    lanes.push(this.gradientLane(lanes[0].top + lanes[0].height + 50));
    lanes[1].settle();
    const isEmpty = lanes.every((lane) => lane.boxes.size === 0);
    this.root.classList.toggle("empty", isEmpty);
    if (isEmpty) {
      this.root.replaceChildren(make("p", "quiet", "No operator is concerned here."));
      return;
    }
    this.root.replaceChildren(this.draw(lanes));
  }

  draw([forward, gradient]) {
    const height = gradient.boxes.size ? gradient.top + gradient.height + 8 : forward.top + forward.height + 8;
    const drawing = shape("svg", { viewBox: `-4 0 ${WIDTH + 8} ${height}`, role: "img", "aria-label": this.label() });
    drawing.append(shape("title", {}, this.label()), arrow());
    drawing.append(shape("text", { x: 0, y: 13, class: "lane" }, "forward →"));
    if (gradient.boxes.size) {
      drawing.append(shape("text", { x: 0, y: gradient.top - 13, class: "lane" }, "← gradient"));
    }
    this.lines(drawing, forward, gradient);
    for (const lane of [forward, gradient]) {
      for (const column of lane.columns) column.forEach((box) => drawing.append(this.box(box)));
    }
    return drawing;
  }

  label() {
    const op = this.walk.opIndex();
    return op === NONE ? "What the gradient starts from" : `Op ${op} and its gradient operators`;
  }

  box({ x, y, look, label, note, title, state }) {
    const group = shape("g", { class: `box ${look} ${state ?? ""}` });
    if (title) group.append(shape("title", {}, title));
    if (look !== "more") group.append(outline(look, x, y));
    const lift = note ? -5 : 0;
    const middle = x + BOX.width / 2;
    group.append(shape("text", { x: middle, y: y + 21 + lift, class: "name" }, shortened(label, 23)));
    if (note) group.append(shape("text", { x: middle, y: y + 29, class: "note" }, shortened(note, 32)));
    return group;
  }

  lines(drawing, forward, gradient) {
    for (const lane of [forward, gradient]) {
      for (const { from, to, look } of lane.edges ?? []) {
        const tail = forward.boxes.get(from) ?? gradient.boxes.get(from);
        const head = gradient.boxes.get(to) ?? forward.boxes.get(to);
        if (tail?.x === undefined || head?.x === undefined) continue; // it is one of those that were left out
        drawing.append(shape("path", { d: curve(tail, head), class: `line ${look}`, "marker-end": "url(#arrow)" }));
      }
    }
  }

  // The forward operator: what it reads on the left, what it writes on the right.
  forwardLane(top) {
    const lane = new Lane(top);
    lane.edges = [];
    const { walk } = this;
    const index = walk.opIndex();
    if (walk.kind() === "seed") {
      const [, , blob, version] = walk.events[walk.position];
      lane.add(2, `${blob}:${version}`, this.blob(blob, version, true));
    }
    if (index === NONE || !walk.op(index)) return lane;
    const [type, inputs, read, outputs, written] = walk.op(index);
    const touched = new Set(walk.touched().map(([blob, version]) => `${blob}:${version}`));
    const note = `op ${index} · ${walk.stateOf(index)}`;
    lane.add(1, "op", { look: "op", label: walk.name(type), note, state: walk.stateOf(index), title: walk.name(type) });
    inputs.forEach((blob, i) => {
      const key = `${blob}:${read[i]}`;
      lane.add(0, key, this.blob(blob, read[i], touched.has(key)));
      lane.edges.push({ from: key, to: "op", look: "forward" });
    });
    outputs.forEach((blob, i) => {
      const key = `${blob}:${written[i]}`;
      lane.add(2, key, this.blob(blob, written[i], touched.has(key)));
      lane.edges.push({ from: "op", to: key, look: "forward" });
    });
    return lane;
  }

  blob(name, version, isCurrent) {
    const value = this.values.of(name, version);
    const label = this.walk.versioned(name, version);
    return { look: "blob", label, note: value ? value.brief : "", state: isCurrent ? "current" : "", title: label };
  }

  // The gradient operators made so far: what they read on the right, what they write on the left.
  gradientLane(top) {
    const lane = new Lane(top);
    lane.edges = [];
    const { walk } = this;
    const made = walk.gradientOpsHere();
    const current = new Set(walk.touchedGradientOps());
    const writers = new Map();
    for (const each of made) walk.outputsOf(each).forEach((name) => writers.set(name, each));
    const forward = this.forwardKeys();
    for (const each of made) {
      const look = walk.summing.has(each) ? "sum" : "gradient-op";
      const label = (walk.summing.has(each) ? "Σ " : "") + walk.typeOf(each);
      const state = current.has(each) ? "current" : "";
      lane.add(1, `g${each}`, { look, label, note: `gradient op ${each}`, state, title: label });
      this.reads(lane, each, writers, forward);
      this.writes(lane, each, writers, made);
    }
    return lane;
  }

  reads(lane, gradientOp, writers, forward) {
    const { walk } = this;
    const own = new Set(walk.outputsOf(gradientOp));
    for (const name of walk.data.gradientOps[gradientOp][1]) {
      const writer = writers.get(name);
      if (writer !== undefined && (writer !== gradientOp || !own.has(name))) {
        lane.edges.push({ from: `g${writer}`, to: `g${gradientOp}`, look: "gradient", via: name });
      } else if (forward.has(name)) {
        lane.edges.push({ from: forward.get(name), to: `g${gradientOp}`, look: "value" });
      } else {
        lane.add(2, `r${name}`, { look: "gradient-blob", label: walk.name(name), note: "", title: walk.name(name) });
        lane.edges.push({ from: `r${name}`, to: `g${gradientOp}`, look: "gradient" });
      }
    }
  }

  writes(lane, gradientOp, writers, made) {
    const { walk } = this;
    const before = walk.data.gradientOps[gradientOp][2];
    walk.outputsOf(gradientOp).forEach((name, i) => {
      const goesOn = made.some((other) => other > gradientOp && walk.data.gradientOps[other][1].includes(name));
      if (goesOn) return;
      const value = this.values.written(gradientOp, i);
      const renamed = before[i] === name ? "" : `was ${walk.name(before[i])}`;
      const note = renamed || (value ? value.brief : "");
      lane.add(0, `w${name}`, { look: "gradient-blob", label: walk.name(name), note, title: walk.name(name) });
      lane.edges.push({ from: `g${gradientOp}`, to: `w${name}`, look: "gradient" });
    });
  }

  // Forward blobs in sight, by name; where an operator works in place, the version that it wrote.
  forwardKeys() {
    const keys = new Map();
    const op = this.walk.op(this.walk.opIndex());
    for (const [blob, version] of this.walk.touched()) keys.set(blob, `${blob}:${version}`);
    if (!op) return keys;
    const [, inputs, read, outputs, written] = op;
    inputs.forEach((blob, i) => keys.set(blob, `${blob}:${read[i]}`));
    outputs.forEach((blob, i) => keys.set(blob, `${blob}:${written[i]}`));
    return keys;
  }
}

function arrow() {
  const size = { viewBox: "0 0 8 8", refX: 5, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto-start-reverse" };
  return shape("defs", {}, shape("marker", { id: "arrow", ...size },
    shape("path", { d: "M0,0.5 L7,4 L0,7.5 z", class: "head" })));
}

function outline(look, x, y) {
  const { width, height } = BOX;
  if (look === "gradient-op" || look === "sum") {
    const cut = 9;
    const points = [[cut, 0], [width - cut, 0], [width, height / 2], [width - cut, height], [cut, height],
      [0, height / 2]];
    return shape("polygon", { points: points.map(([dx, dy]) => `${x + dx},${y + dy}`).join(" ") });
  }
  const round = look === "op" ? 6 : height / 2;
  return shape("rect", { x, y, width, height, rx: round });
}

// From the side of one box that faces the other, and from below where the other is in the lane below.
function curve(tail, head) {
  const { width, height } = BOX;
  const middle = (box) => [box.x + width / 2, box.y + height / 2];
  if (tail.x === head.x) {
    const down = head.y > tail.y;
    const x = tail.x + width / 2;
    return `M${x},${down ? tail.y + height : tail.y} L${x},${down ? head.y - 3 : head.y + height + 3}`;
  }
  const right = head.x > tail.x;
  const [, startY] = middle(tail);
  const [, endY] = middle(head);
  const startX = right ? tail.x + width : tail.x;
  const endX = right ? head.x - 3 : head.x + width + 3;
  const bend = (startX + endX) / 2;
  return `M${startX},${startY} C${bend},${startY} ${bend},${endY} ${endX},${endY}`;
}
