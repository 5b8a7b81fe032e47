// The walk: its events, and the state after one of them. The state is a fold over the events, and every event can be
// undone, so that a step back costs what a step forward costs.

const NONE = -1;
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

function subscript(number) {
  return String(number).replace(/\d/g, (digit) => SUBSCRIPTS[digit]).replace("-", "₋");
}

function put(generators, blob, version, generator) {
  if (!generators.has(blob)) generators.set(blob, new Map());
  const versions = generators.get(blob);
  if (!versions.has(version)) versions.set(version, []);
  versions.get(version).push(generator);
}

function dropLast(generators, blob, version) {
  const versions = generators.get(blob);
  const found = versions.get(version);
  found.pop();
  if (!found.length) versions.delete(version);
  if (!versions.size) generators.delete(blob);
}

function restore(map, key, value, known) {
  if (known) map.set(key, value);
  else map.delete(key);
}

// What an event does to the state, and how that is undone. `e` is its row, as record.py describes it.
const FOLD = {
  play: {
    apply(walk, e) {
      const [, , , outputs, versions, added] = walk.op(e[1]);
      for (const name of added) walk.frontier.set(name, 0);
      outputs.forEach((name, i) => walk.frontier.set(name, versions[i]));
    },
    undo(walk, e) {
      const [, , , outputs, , added] = walk.op(e[1]);
      for (const name of outputs) walk.frontier.set(name, walk.frontier.get(name) - 1);
      for (const name of added) walk.frontier.delete(name);
    },
  },
  seed: {
    apply(walk, [, , blob, version, gradient, gradientOp, added, generator]) {
      if (added) walk.frontier.set(blob, version);
      walk.gradientFrontier.set(blob, version);
      walk.map.set(blob, gradient);
      if (generator) put(walk.generators, blob, version, generator);
      if (gradientOp !== null) walk.gradientOpCount += 1;
    },
    undo(walk, [, , blob, version, , gradientOp, added, generator]) {
      if (added) walk.frontier.delete(blob);
      walk.gradientFrontier.delete(blob);
      walk.map.delete(blob);
      if (generator) dropLast(walk.generators, blob, version);
      if (gradientOp !== null) walk.gradientOpCount -= 1;
    },
  },
  make: {
    apply(walk, [, , , count]) { walk.gradientOpCount += count; },
    undo(walk, [, , , count]) { walk.gradientOpCount -= count; },
  },
  frontier: {
    apply(walk, [, , blob, version]) { walk.gradientFrontier.set(blob, version); },
    undo(walk, [, , blob, , previous]) { restore(walk.gradientFrontier, blob, previous, previous !== null); },
  },
  map: {
    apply(walk, [, , blob, gradient]) { walk.map.set(blob, gradient); },
    undo(walk, [, , blob, , previous, known]) { restore(walk.map, blob, previous, known); },
  },
  rename: {
    apply(walk, [, , , gradientOp, output, , after]) { walk.renamed.set(`${gradientOp}:${output}`, after); },
    undo(walk, [, , , gradientOp, output, before]) {
      const made = walk.data.gradientOps[gradientOp][2][output];
      restore(walk.renamed, `${gradientOp}:${output}`, before, before !== made);
    },
  },
  accumulate: {
    apply(walk, [, , , , count]) { walk.gradientOpCount += count; },
    undo(walk, [, , , , count]) { walk.gradientOpCount -= count; },
  },
};
for (const kind of ["dense", "merge", "pass_through"]) {
  FOLD[kind] = {
    apply(walk, [, , blob, version, generator]) { put(walk.generators, blob, version, generator); },
    undo(walk, [, , blob, version]) { dropLast(walk.generators, blob, version); },
  };
}

// What an event adds to what lives only while one operator is visited.
const VISIT = {
  enter(visit, e) { visit.gOutput = e[2]; },
  make(visit, e) { visit.gInput = e[4]; },
  local(visit, e, walk) { visit.locals.push(...walk.data.gradientOps[e[2]][2]); },
  half(visit, [, , blob, version, generator]) { put(visit.halves, blob, version, generator); },
  pass_through(visit, [, , blob, version, generator]) { put(visit.passed, blob, version, generator); },
};

class Walk {
  constructor(data) {
    this.data = data;
    this.events = data.events;
    this.last = data.events.length - 1;
    this.position = NONE;
    this.frontier = new Map();
    this.gradientFrontier = new Map();
    this.generators = new Map();
    this.map = new Map();
    this.renamed = new Map();
    this.gradientOpCount = 0;
    this.indexGradientOps();
    this.goTo(0);
  }

  // Who made each gradient operator: the event, and the forward operator that was visited then (-1 for the ys).
  indexGradientOps() {
    this.makers = [];
    this.madeAt = new Map();
    this.summing = new Set();
    this.events.forEach((e, at) => {
      const kind = this.data.kinds[e[0]];
      if (kind === "seed" && e[5] !== null) this.made(e[5], 1, NONE, at);
      else if (kind === "make") this.made(e[2], e[3], e[1], at);
      else if (kind === "accumulate") {
        this.made(e[3], e[4], e[1], at);
        for (let op = e[3]; op < e[3] + e[4]; op++) this.summing.add(op);
      }
    });
  }

  made(first, count, owner, at) {
    for (let gradientOp = first; gradientOp < first + count; gradientOp++) {
      this.makers[gradientOp] = { owner, at };
      if (!this.madeAt.has(owner)) this.madeAt.set(owner, []);
      this.madeAt.get(owner).push(gradientOp);
    }
  }

  // Moving.

  goTo(position) {
    const target = Math.min(Math.max(position, 0), this.last);
    while (this.position < target) this.forward();
    while (this.position > target) this.back();
  }

  forward() {
    const e = this.events[++this.position];
    FOLD[this.data.kinds[e[0]]]?.apply(this, e);
  }

  back() {
    const e = this.events[this.position--];
    FOLD[this.data.kinds[e[0]]]?.undo(this, e);
  }

  // Where the visits are.

  // Which visit holds an event: 0 is that of the last operator; -1 before the first visit.
  visitOf(position) {
    const visits = this.data.visits;
    let low = 0;
    let high = visits.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (visits[middle] <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // The last event of a visit; the end of the walk belongs to none.
  endOfVisit(visit) {
    if (visit + 1 < this.data.visits.length) return this.data.visits[visit + 1] - 1;
    return this.kind(this.last) === "finish" ? this.last - 1 : this.last;
  }

  // The start of the next operator's visit, or play.
  nextOp() {
    if (this.position + 1 < this.data.ops.length) return this.position + 1;
    return this.data.visits[this.visitOf(this.position) + 1] ?? this.last;
  }

  // The start of this operator's visit, or play, or of the one before.
  previousOp() {
    const visit = this.visitOf(this.position - 1);
    if (visit >= 0) return this.data.visits[visit];
    return Math.max(Math.min(this.position, this.data.ops.length) - 1, 0);
  }

  endOfOp() {
    for (const start of [this.position, this.position + 1]) {
      const visit = this.visitOf(start);
      const end = visit < 0 ? start : this.endOfVisit(visit);
      if (end > this.position) return Math.min(end, this.last);
    }
    return Math.min(this.position + 1, this.last);
  }

  nextPhase() {
    const here = this.phaseKey(this.position);
    let at = this.position + 1;
    while (at < this.last && this.phaseKey(at) === here) at++;
    return Math.min(at, this.last);
  }

  // The first event of this phase, or of the one before.
  previousPhase() {
    if (this.position === 0) return 0;
    let at = this.position - 1;
    const before = this.phaseKey(at);
    while (at > 0 && this.phaseKey(at - 1) === before) at--;
    return at;
  }

  // All plays are one phase; otherwise each operator has phases of its own.
  phaseKey(position) {
    const phase = this.phase(position);
    return phase === "play" ? phase : `${phase} ${this.opIndex(position)}`;
  }

  // The event that opens the visit of an operator; its play if it was never visited.
  eventOfOp(op) {
    const index = op - this.data.offset;
    const visit = this.data.ops.length - 1 - index;
    return visit < this.data.visits.length ? this.data.visits[visit] : index;
  }

  // The last event up to now that set what is known of a blob in one part of the state.
  lastSet(kinds, blob) {
    for (let at = this.position; at >= 0; at--) {
      if (this.events[at][2] === blob && kinds.includes(this.kind(at))) return at;
    }
    return this.position;
  }

  // The next event, in a direction, whose sentence holds a text; -1 if there is none. It goes around the ends.
  find(text, direction) {
    const wanted = text.toLowerCase();
    const count = this.last + 1;
    for (let step = 1; step <= count; step++) {
      const at = (this.position + direction * step + 2 * count) % count;
      if (this.data.sentences[at].toLowerCase().includes(wanted)) return at;
    }
    return NONE;
  }

  // What is asked of an event.

  kind(position = this.position) {
    return this.data.kinds[this.events[position][0]];
  }

  phase(position = this.position) {
    const kind = this.kind(position);
    if (kind === "map") return this.events[position][6] ? "accumulate" : "map";
    return PHASE_OF[kind] ?? kind;
  }

  opIndex(position = this.position) {
    return this.events[position][1];
  }

  sentence(position = this.position) {
    return this.data.sentences[position];
  }

  // The blobs that an event is about: [name, version], version -1 where it does not say.
  touched(position = this.position) {
    const e = this.events[position];
    switch (this.kind(position)) {
      case "seed": case "dense": case "half": case "merge": case "pass_through": case "frontier":
      case "verify":
        return [[e[2], e[3]]];
      case "check": return e[5] === NONE ? [] : [[e[5], e[7]]];
      case "map": case "rename": case "accumulate": return [[e[2], NONE]];
      default: return [];
    }
  }

  // The gradient operators that an event is about.
  touchedGradientOps(position = this.position) {
    const e = this.events[position];
    const range = (first, count) => Array.from({ length: count }, (_, i) => first + i);
    switch (this.kind(position)) {
      case "seed": return e[5] === null ? [] : [e[5]];
      case "make": return range(e[2], e[3]);
      case "check": case "local": return [e[2]];
      case "rename": return [e[3]];
      case "accumulate": return range(e[3], e[4]);
      case "dense": return [e[4][1]];
      case "half": case "merge": return [e[4][1], e[4][3]].filter((op) => op !== null);
      default: return [];
    }
  }

  // What is asked of the state.

  op(index) {
    return this.data.ops[index - this.data.offset];
  }

  // How an operator stands: waiting, current, done, skipped, stopped or failed.
  stateOf(op) {
    if (this.opIndex() === op) return this.kind() === "fail" ? "failed" : "current";
    const visit = this.data.ops.length - 1 - (op - this.data.offset);
    const opened = this.data.visits[visit];
    return opened === undefined || opened > this.position ? "waiting" : this.data.outcomes[op - this.data.offset];
  }

  outputsOf(gradientOp) {
    const names = this.data.gradientOps[gradientOp][2];
    return names.map((name, i) => this.renamed.get(`${gradientOp}:${i}`) ?? name);
  }

  // The gradient operators of a forward operator that there are by now.
  gradientOpsOf(op) {
    return (this.madeAt.get(op) ?? []).filter((each) => each < this.gradientOpCount);
  }

  // Those that belong to the event: of the operator that is visited, or of the y that is seeded.
  gradientOpsHere() {
    return this.opIndex() === NONE ? this.touchedGradientOps() : this.gradientOpsOf(this.opIndex());
  }

  // What lives only while one operator is visited; it is made of the few events of its visit.
  visit() {
    const visit = { gOutput: [], gInput: [], locals: [], halves: new Map(), passed: new Map() };
    const number = this.visitOf(this.position);
    if (number < 0 || this.kind() === "finish") return visit;
    const first = this.data.visits[number];
    if (this.kind(first) === "skip") visit.gOutput = this.op(this.events[first][1])[3].map(() => NONE);
    for (let at = first; at <= this.position; at++) {
      VISIT[this.kind(at)]?.(visit, this.events[at], this);
    }
    return visit;
  }

  // Words.

  name(number) {
    return this.data.names[number] || '""';
  }

  versioned(number, version) {
    return this.name(number) + subscript(version);
  }

  gradient(number) {
    if (number === NONE) return "none";
    const found = this.data.gradients[number];
    return Array.isArray(found) ? `(${found.map((each) => this.name(each)).join(", ")})` : this.name(found);
  }

  // Who makes a gradient, in words.
  generator(made) {
    const from = (op, output) => (op === null ? "passes through" : `${this.typeOf(op)}:${output} (gradient op ${op})`);
    if (made.length === 3) return `dense · ${from(made[1], made[2])}`;
    return `sparse · indices ${from(made[1], made[2])}, values ${from(made[3], made[4])}`;
  }

  typeOf(gradientOp) {
    return this.name(this.data.gradientOps[gradientOp][0]);
  }

  // The state as plain values with names spelled out, for who wants to look into it from outside.
  snapshot() {
    const visit = this.visit();
    const name = (number) => this.data.names[number];
    const gradient = (number) => {
      if (number === NONE) return null;
      const found = this.data.gradients[number];
      return Array.isArray(found) ? found.map(name) : name(found);
    };
    const plain = (map, spell) => Object.fromEntries([...map].map(([key, value]) => [name(key), spell(value)]));
    const makers = (generators) => plain(generators, (versions) => Object.fromEntries(
      [...versions].map(([version, found]) => [version, found.map((each) => [gradient(each[0]), ...each.slice(1)])]),
    ));
    const op = this.opIndex();
    return {
      op_index: op === NONE ? null : op,
      phase: this.phase(),
      frontier: plain(this.frontier, (version) => version),
      gradient_frontier: plain(this.gradientFrontier, (version) => version),
      gradient_generators: makers(this.generators),
      gradient_map: plain(this.map, gradient),
      renamed: Object.fromEntries([...this.renamed].map(([key, value]) => [key, name(value)])),
      gradient_op_count: this.gradientOpCount,
      g_output: visit.gOutput.map(gradient),
      g_input: visit.gInput.map(gradient),
      locally_generated_blobs: visit.locals.map(name),
      sparse_generators: makers(visit.halves),
      pass_through: makers(visit.passed),
    };
  }
}

const PHASE_OF = {
  skip: "enter", local: "collect", dense: "collect", half: "collect", verify: "accumulate", rename: "accumulate",
  finish: "end", fail: "end",
};
