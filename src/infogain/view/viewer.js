"use strict";
// The trace viewer: infogainViewer(element, data) replays one or several traces in `element`.
// `data` is what infogain.view writes. Frame k of a run is the canvas after k steps, beside the
// candidates of step k + 1; the last frame is beside those of the last step.
(() => {
  // Cividis from certain to uncertain, as the terminal has it: it reads the same with any colour vision.
  const SCALE = [[254, 232, 56], [188, 174, 108], [125, 124, 120], [67, 78, 108], [0, 34, 78]];
  const DASHES = ["", "7 4", "2 4", "10 4 2 4", "4 2", "1 3"]; // lines differ in more than colour
  const SPEEDS = [1, 2, 4, 8, 16, 32]; // steps per second
  const SCORES = { J: "J: what a candidate gains, less what it costs", score: "score: what the sampler ranks candidates by" };
  const SHOWN = 12; // tokens of a candidate that are spelled out; of an image, whose steps write many, a third
  const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }; // rows and columns
  const FINISHED = "written: its patch of the finished image. A patch depends on its neighbours: decoded now, the codes written so far would look different";

  const el = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };
  const number = (x, digits) => (x === null ? "∞" : x.toFixed(digits).replace("-", "−"));
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const button = (text, label, onclick) => el("button", { "aria-label": label, title: label, onclick }, text);
  const swatch = (index) => el("span", { class: "swatch", style: `--line: var(--line-${index % 6})` });

  function colour(entropy, top) {
    const at = clamp((entropy ?? top) / top, 0, 1) * (SCALE.length - 1);
    const low = Math.min(Math.floor(at), SCALE.length - 2);
    const rgb = SCALE[low].map((c, i) => Math.round(c + (at - low) * (SCALE[low + 1][i] - c)));
    const light = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    return { fill: `rgb(${rgb})`, ink: light > 118 ? "#000" : "#fff" };
  }

  // One prompt of one run: what is written where, and when.
  function history(run, prompt) {
    const { canvas, steps, image } = run.prompts[prompt];
    const written = new Map(); // column → its writes in order, each a token, step and entropy; the mask token erases
    const cost = [0]; // H̃ after each step
    steps.forEach((step, at) => {
      const { columns, tokens, cost: paid } = step.candidates[step.taken];
      columns.forEach((column, i) => {
        const entropy = step.entropy[step.columns.indexOf(column)];
        if (!written.has(column)) written.set(column, []);
        written.get(column).push({ token: tokens[i], step: at + 1, entropy });
      });
      cost.push(paid);
    });
    const final = canvas.map((token, column) => written.get(column)?.at(-1).token ?? token);
    const blocks = new Set(steps.map((step) => step.block[0])).size;
    return { canvas, steps, image, written, cost, final, blocks };
  }

  // A token's text on its tile: white space is made visible, but for the one space that parts a word from the last.
  const tile = (text) => text.replace(/^ (?=\S)/, "").replace(/ /g, "␣").replace(/\n/g, "↵").replace(/\t/g, "⇥");

  // The grid of codes of an image. The finished picture lies below it: holes cover their patches of it.
  class Board {
    constructor(pane) {
      const { height, width, start, picture, prompt } = pane.story.image;
      Object.assign(this, { pane, height, width, start, row: 0, column: 0 });
      const cells = pane.cells.slice(start, start + height * width);
      const label = `Codes of ${pane.run.title}: arrow keys move from cell to cell, Escape leaves`;
      const events = {
        onkeydown: (event) => this.key(event),
        onfocus: () => this.tell(),
        onblur: () => this.tell(),
        onmousedown: (event) => { // arrow keys are the steps' until the keyboard itself comes here
          event.preventDefault();
          pane.viewer.element.focus({ preventScroll: true });
        },
      };
      this.root = el("div", { class: "board", tabindex: "0", role: "application", "aria-label": label, ...events },
        el("img", { src: picture, alt: prompt ? `Image of “${prompt}”` : "Image", draggable: "false" }), ...cells);
      const { canvas } = pane.story;
      const known = (c) => canvas[c] === pane.run.mask || (c < start && canvas[c] in pane.run.words);
      const said = pane.cells.filter((_, c) => !this.place(c) && known(c));
      this.parts = [said.length ? el("p", { class: "said" }, ...said) : "", this.root];
    }

    // Row and column of a column of the canvas; null outside the grid.
    place(c) {
      const at = c - this.start;
      return at < 0 || at >= this.height * this.width ? null : [Math.floor(at / this.width), at % this.width];
    }

    get focused() {
      return document.activeElement === this.root;
    }

    key(event) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const [down, right] = ARROWS[event.key] ?? [0, 0];
      if (event.key === "Escape") this.pane.viewer.element.focus({ preventScroll: true });
      else if (!down && !right) return;
      this.row = clamp(this.row + down, 0, this.height - 1);
      this.column = clamp(this.column + right, 0, this.width - 1);
      this.tell();
      event.preventDefault();
      event.stopPropagation();
    }

    // Marks the cell that the keyboard is on, and tells about it.
    tell() {
      this.root.querySelector(".here")?.classList.remove("here");
      if (!this.focused) return this.pane.viewer.tip(null);
      const cell = this.pane.cells[this.start + this.row * this.width + this.column];
      cell.classList.add("here");
      this.pane.about(cell);
    }
  }

  // A run's canvas and candidates.
  class Pane {
    constructor(viewer, run, index) {
      Object.assign(this, { viewer, run, index });
      this.canvas = el("div", { class: "canvas", role: "img" });
      this.note = el("p", { class: "note" });
      this.list = el("tbody");
      const what = run.prompts.some(({ image }) => image) ? "row, column and code" : "column and token";
      const head = ["", run.score, "H̃ after", what].map((text) => el("th", { scope: "col" }, text));
      this.beam = el("caption", {}, "○ lives on in the beam, but does not win");
      const table = el("table", {}, this.beam, el("thead", {}, el("tr", {}, ...head)), this.list);
      const terms = el("p", { class: "terms" }, `${SCORES[run.score]}; H̃: entropies of the tokens written, summed. In nats.`);
      this.state = el("span", { class: "state" });
      const key = viewer.several ? swatch(index) : "";
      const title = el("header", {}, el("h3", {}, key, run.title, el("small", {}, run.about)), this.state);
      this.root = el("section", { class: "pane", "aria-label": run.title }, title, this.canvas);
      const label = `Candidates of ${run.title}`;
      this.aside = el("section", { "aria-label": label }, this.note, el("div", { class: "scroll" }, table), terms);
      this.canvas.addEventListener("pointerover", (event) => this.point(event));
      this.canvas.addEventListener("pointerleave", () => this.point(null));
    }

    // A prompt above an image is read, not looked at token by token.
    tile(text) {
      return this.board ? text : tile(text);
    }

    word(token) {
      return token === this.run.mask ? "·" : this.run.words[token] ?? String(token);
    }

    load(prompt) {
      this.story = history(this.run, prompt);
      const texts = this.story.final.map((token) => (token === this.run.mask ? "" : this.word(token)));
      this.texts = texts;
      const widest = Math.max(...texts.map((text) => [...text].length));
      const { image } = this.story;
      const grid = !image && widest <= 4 && texts.length <= 128; // signs, or ids of a short row; longer words flow as text
      this.canvas.classList.toggle("grid", grid);
      this.canvas.classList.toggle("image", Boolean(image));
      this.canvas.setAttribute("role", image ? "group" : "img");
      this.canvas.style.setProperty("--columns", image ? image.width : texts.length);
      this.canvas.style.setProperty("--lines", image ? image.height : 1);
      const most = Math.max(...this.story.steps.map((step) => step.candidates.length), 1);
      this.aside.style.setProperty("--rows", most); // room for them all, so that the page below stays where it is
      // A hole is as wide as the word that fills it, so that nothing moves while it plays.
      this.cells = texts.map((_, column) => el("span", { "data-column": column }, el("i")));
      this.looks = [];
      this.board = image ? new Board(this) : null;
      if (image) return this.canvas.replaceChildren(...this.board.parts);
      // Between tiles of text, its spaces and line ends are those of the page.
      const around = (cell, c) => [/^ \S/.test(texts[c]) ? " " : "", cell, /\n/.test(texts[c]) ? el("br") : ""];
      this.canvas.replaceChildren(...(grid ? this.cells : this.cells.flatMap(around)));
    }

    get length() {
      return this.story.steps.length;
    }

    // How column c stands in the frame that is shown.
    cell(c) {
      const { canvas, written } = this.story;
      if (canvas[c] !== this.run.mask) return { kind: "given", token: canvas[c] };
      const writes = written.get(c) ?? [];
      const last = writes.findLast((write) => write.step <= this.frame);
      const fresh = last?.step === this.frame;
      if (last && last.token !== this.run.mask) return { kind: "written", fresh, ...last };
      const next = writes.find((write) => write.step > this.frame);
      return { kind: "hole", fresh, entropy: this.entropy.get(c), step: next?.step };
    }

    show(frame) {
      this.frame = Math.min(frame, this.length);
      const { steps, blocks, cost, written } = this.story;
      const step = steps[this.frame];
      this.entropy = new Map(step?.columns.map((column, i) => [column, step.entropy[i]])); // of the holes, in this frame
      const next = new Set(step?.candidates[step.taken].columns);
      const [start, end] = step && blocks > 1 ? step.block : [Infinity, 0];
      this.cells.forEach((cell, c) => {
        const { kind, token, fresh, entropy } = this.cell(c);
        const text = this.board?.place(c) ? "" : this.tile(kind === "hole" ? this.texts[c] : this.word(token)) || "   ";
        const { fill, ink } = entropy === undefined ? { fill: "", ink: "" } : colour(entropy, this.viewer.top);
        const marks = { fresh, next: next.has(c), block: c >= start && c <= end };
        const name = ["cell", kind, ...Object.keys(marks).filter((mark) => marks[mark])].join(" ");
        const look = `${name} ${fill} ${text}`;
        if (this.looks[c] === look) return; // of a large image few cells change in a step
        this.looks[c] = look;
        cell.firstChild.textContent = text;
        cell.className = name;
        cell.style.setProperty("--fill", fill);
        cell.style.setProperty("--ink-on", ink);
      });
      this.try(null);
      const done = [...written.keys()].filter((c) => this.cell(c).kind === "written").length;
      this.state.textContent = `${done}/${written.size} written · H̃ ${number(cost[this.frame], 2)}`;
      const told = this.board ? `${done} of ${written.size} codes written` : this.text();
      this.canvas.setAttribute("aria-label", `${this.run.title}: ${told}`);
      this.follow(this.cells.find((cell) => cell.classList.contains("fresh")) ?? this.cells[0]);
      this.showCandidates(step ?? steps.at(-1)); // at the end, those of the step that led there
    }

    text() {
      const cells = this.cells.map((_, c) => this.cell(c));
      return cells.map(({ kind, token }) => (kind === "hole" ? "·" : this.word(token))).join("");
    }

    // A canvas too long for its box scrolls itself, never the page.
    follow(cell) {
      const { scrollTop, clientHeight } = this.canvas;
      const y = cell?.offsetTop ?? 0; // the canvas is positioned, so it is what this counts from
      if (y < scrollTop || y > scrollTop + clientHeight - 60) this.canvas.scrollTop = y - clientHeight / 3;
    }

    showCandidates(step) {
      this.note.replaceChildren(this.headline(step), el("small", {}, this.viewer.several ? this.run.title : ""));
      // The rows give way to new ones: the keyboard must not be lost with the one that has it.
      if (this.list.contains(document.activeElement)) this.viewer.element.focus({ preventScroll: true });
      this.list.closest("table").hidden = !step;
      if (!step) return this.list.replaceChildren();
      // A lone candidate is not scored, and all that end a block score alike.
      const scored = step.candidates.some(({ score }) => score !== 0);
      this.list.replaceChildren(...step.candidates.map((candidate, i) => this.row(candidate, i === step.taken, scored)));
      this.beam.hidden = !step.candidates.some(({ kept }, i) => kept && i !== step.taken);
    }

    headline(step) {
      const count = step?.candidates.length;
      const choice = (many, one) => (count > 1 ? `${many} among ${count} candidates` : `${one} one candidate`);
      if (this.frame < this.length) return `Step ${this.frame + 1} ${choice("chooses", "has")}`;
      const { final, cost } = this.story;
      const end = `${final.includes(this.run.mask) ? "The end" : "All is written"}: H̃ = ${number(cost.at(-1), 3)} nats`;
      return step ? `${end}. Step ${this.length} ${choice("chose", "had")}` : end;
    }

    row(candidate, taken, scored) {
      const { columns, tokens, score, cost, kept } = candidate;
      const place = (column) => (this.board?.place(column) ?? [column]).join(", ");
      const chip = (column, i) => el("span", { class: "chip" }, place(column), el("b", {}, tile(this.word(tokens[i]))));
      const shown = this.board ? SHOWN / 3 : SHOWN;
      const more = columns.length > shown ? el("span", { class: "chip" }, `+ ${columns.length - shown} more`) : "";
      const [mark, role] = taken ? ["✓", "taken"] : kept ? ["○", "kept in the beam"] : ["", "dropped"];
      const on = () => this.try(candidate);
      const off = () => this.try(null);
      const events = { onpointerenter: on, onpointerleave: off, onfocus: on, onblur: off };
      return el("tr", { class: taken ? "taken" : "", tabindex: "0", ...events },
        el("td", { title: role, "aria-label": role }, mark),
        el("td", {}, scored ? number(score, 3) : "–"),
        el("td", {}, number(cost, 3)),
        el("td", {}, ...columns.slice(0, shown).map(chip), more));
    }

    // Shows in the canvas what a candidate would write.
    try(candidate) {
      this.canvas.classList.toggle("trying", candidate !== null);
      for (const cell of this.cells) cell.removeAttribute("data-try");
      if (!candidate) return;
      candidate.columns.forEach((column, i) => {
        this.cells[column].setAttribute("data-try", tile(this.word(candidate.tokens[i])));
      });
      this.follow(this.cells[candidate.columns[0]]);
    }

    // Tells about the cell under the pointer.
    point(event) {
      const cell = event?.target.closest(".cell");
      if (cell) this.about(cell);
      else this.viewer.tip(null);
    }

    about(cell) {
      const c = Number(cell.dataset.column);
      const { kind, token, step: when, entropy } = this.cell(c);
      const nats = entropy === undefined ? "" : `${number(entropy, 3)} nats`;
      const place = this.board?.place(c);
      const what = place ? `code ${this.word(token)}` : `“${this.word(token)}”`;
      const lines = {
        given: [`${what}, given`],
        written: [`${what}, written in step ${when}`, `at ${nats}`],
        hole: [nats ? `masked, ${nats}` : "masked", when ? `written in step ${when}` : "never written"],
      }[kind];
      const id = token in this.run.words ? `, token ${token}` : "";
      const where = place ? `row ${place[0]}, column ${place[1]}` : `column ${c}`;
      this.viewer.tip(cell.getBoundingClientRect(), [...lines, `${where}${id}`]);
    }
  }

  // H̃ over the steps, one line per run. Drawn as text: the parser gives SVG its namespace.
  class Curve {
    constructor(viewer) {
      this.viewer = viewer;
      this.plot = el("div", { class: "plot", role: "img" });
      const keys = viewer.runs.map((run, i) => el("span", { class: "key" }, swatch(i), run.title));
      const legend = viewer.several ? el("div", { class: "keys" }, ...keys) : "";
      this.root = el("section", {}, el("h3", {}, "Cumulative entropy H̃"), this.plot, legend);
      this.plot.addEventListener("pointermove", (event) => this.point(event));
      this.plot.addEventListener("pointerleave", () => this.point(null));
      this.plot.addEventListener("click", (event) => viewer.seek(this.step(event)));
      new ResizeObserver(() => this.draw()).observe(this.plot);
    }

    step(event) {
      const box = this.plot.getBoundingClientRect();
      const share = (event.clientX - box.left - this.left) / this.width;
      return Math.round(clamp(share, 0, 1) * this.viewer.length);
    }

    draw(hover = null) {
      const { panes, length, frame } = this.viewer;
      const [full, height, bottom] = [this.plot.clientWidth, this.plot.clientHeight, 40];
      if (!full || !panes.length) return;
      const most = Math.max(...panes.flatMap((pane) => pane.story.cost), 0.1);
      const xs = ticks(length, clamp(Math.floor(full / 60), 3, 10), 1).filter((k) => k <= length);
      const ys = ticks(most, 5, 0);
      const left = 46 + 8 * Math.max(0, Math.floor(Math.log10(ys.at(-1))) - 2); // room for numbers of four digits and more
      Object.assign(this, { left, width: full - left - 14 });
      const x = (k) => left + (this.width * k) / Math.max(length, 1);
      const y = (cost) => 10 + (height - bottom - 10) * (1 - cost / ys.at(-1));
      const points = (cost) => cost.map((c, k) => `${x(k).toFixed(1)},${y(c).toFixed(1)}`).join(" ");
      const digits = Math.max(0, -Math.floor(Math.log10(ys[1]) + 1e-9));
      const across = (v) => `<line class="rule" x1="${left}" x2="${full - 14}" y1="${y(v)}" y2="${y(v)}"/>
        <text x="${left - 7}" y="${y(v) + 4}" text-anchor="end">${v.toFixed(digits)}</text>`;
      const below = (k) => `<text x="${x(k)}" y="${height - bottom + 17}" text-anchor="middle">${k}</text>`;
      const upright = (k, kind) => `<line class="${kind}" x1="${x(k)}" x2="${x(k)}" y1="10" y2="${height - bottom}"/>`;
      const line = ({ story, frame: at, index }) => {
        const ink = `var(--line-${index % 6})`;
        const style = `stroke="${ink}" stroke-dasharray="${DASHES[index % 6]}"`;
        return `<polyline class="future" points="${points(story.cost)}" ${style}/>
          <polyline points="${points(story.cost.slice(0, at + 1))}" ${style}/>
          <circle r="4.5" cx="${x(at)}" cy="${y(story.cost[at])}" fill="${ink}"/>`;
      };
      const middle = `translate(12 ${(height - bottom + 10) / 2}) rotate(-90)`;
      this.plot.innerHTML = `<svg width="${full}" height="${height}" aria-hidden="true">
        ${ys.map(across).join("")}${xs.map(below).join("")}
        <text class="axis" x="${left + this.width / 2}" y="${height - 5}" text-anchor="middle">step</text>
        <text class="axis" transform="${middle}" text-anchor="middle">H̃ (nats)</text>
        ${hover === null ? "" : upright(hover, "hover")}${upright(frame, "now")}${panes.map(line).join("")}</svg>`;
      const ends = panes.map((pane) => `${pane.run.title} ${number(pane.story.cost[pane.frame], 2)}`).join(", ");
      this.plot.setAttribute("aria-label", `H̃ in nats after step ${frame}: ${ends}`);
    }

    point(event) {
      const k = event && this.step(event);
      this.draw(k);
      if (!event) return this.viewer.tip(null);
      const at = { left: event.clientX, top: event.clientY - 8, width: 0, bottom: event.clientY + 16 };
      const title = (run) => (this.viewer.several ? `  ${run.title}` : "");
      const value = ({ story, run, length }) => `${number(story.cost[Math.min(k, length)], 3)} nats${title(run)}`;
      this.viewer.tip(at, [`after step ${k}`, ...this.viewer.panes.map(value)]);
    }
  }

  // Round values from 0 to the first that is not below `most`, about `count` of them, none closer than `least`.
  function ticks(most, count, least) {
    const rough = Math.max(most / count, least, 1e-9);
    const power = 10 ** Math.floor(Math.log10(rough));
    const gap = [1, 2, 5, 10].map((m) => m * power).find((g) => g >= rough * 0.999);
    return Array.from({ length: Math.ceil(most / gap - 1e-3) + 1 }, (_, i) => i * gap);
  }

  class Viewer {
    constructor(element, data) {
      Object.assign(this, { element, runs: data.runs, top: data.top, frame: 0, panes: [], timer: null });
      this.all = data.runs.map((run, i) => new Pane(this, run, i));
      this.curve = new Curve(this);
      this.bubble = el("div", { class: "tip", role: "status", hidden: "" });
      this.body = el("div", { class: "panes" });
      this.asides = el("div", { class: "asides" });
      const side = el("div", { class: "side" }, this.curve.root, this.asides);
      const stage = el("div", { class: "stage" }, this.body, this.controls(), side);
      element.replaceChildren(this.header(), stage, this.bubble);
      element.classList.toggle("several", this.several);
      element.tabIndex = 0;
      element.addEventListener("keydown", (event) => this.key(event));
      const hash = new URLSearchParams(location.hash.slice(1)); // #prompt=2&step=12&dark
      if (hash.has("dark") || hash.has("light")) element.dataset.theme = hash.has("dark") ? "dark" : "light";
      this.load(clamp(Number(hash.get("prompt") ?? 1) - 1 || 0, 0, this.prompts - 1));
      if (hash.has("step")) this.seek(Number(hash.get("step")) || 0);
    }

    get several() {
      return this.runs.length > 1;
    }

    get prompts() {
      return Math.max(...this.runs.map((run) => run.prompts.length));
    }

    get length() {
      return Math.max(...this.panes.map((pane) => pane.length), 0);
    }

    header() {
      const most = this.runs.find((run) => run.prompts.length === this.prompts);
      const about = ({ image }, prompt) => {
        // Runs answer one problem differently: several show the problem, one its answer.
        const row = this.several ? most.prompts[prompt].canvas : history(most, prompt).final;
        const words = row.map((token) => (token === most.mask ? "·" : most.words[token] ?? `${token} `));
        const text = image ? image.prompt || "image" : words.join("").replace(/\s+/g, " ");
        const start = text.length > 32 ? `${text.slice(0, 31)}…` : text;
        return el("option", { value: prompt }, `${prompt + 1} of ${this.prompts}: ${start}`);
      };
      const pick = () => this.load(Number(this.picker.value));
      this.picker = el("select", { onchange: pick }, ...most.prompts.map(about));
      const prompt = this.prompts > 1 ? el("label", { class: "prompt" }, "Prompt ", this.picker) : "";
      const theme = button("◐", "Dark or light", () => this.toggleTheme());
      return el("header", { class: "bar" }, this.legend(), prompt, theme);
    }

    legend() {
      const stops = SCALE.map((rgb) => `rgb(${rgb})`).join(", ");
      const ramp = el("span", { class: "ramp", style: `background: linear-gradient(90deg, ${stops})` });
      const scale = el("span", { class: "key" }, "entropy ", el("b", {}, "0"), ramp, el("b", {}, `≥ ${this.top} nats`));
      const key = (kind, text) => {
        const sign = el("i", {}, kind === "given" ? "a" : "");
        return el("span", { class: "key" }, el("span", { class: `cell ${kind}`, "aria-hidden": "true" }, sign), text);
      };
      const images = this.runs.flatMap((run) => run.prompts.map(({ image, canvas }) => ({ image, canvas, mask: run.mask })));
      const all = images.every(({ image }) => image);
      const any = images.some(({ image }) => image);
      const inside = ({ image, canvas, mask }) => image && canvas
        .slice(image.start, image.start + image.height * image.width).some((token) => token !== mask);
      const moves = ({ steps }) => steps.some((step) => step.block[0] !== steps[0].block[0]);
      const blocks = this.runs.some((run) => run.prompts.some(moves));
      return el("div", { class: all ? "legend images" : "legend" }, scale,
        all ? "" : key("given", "given"), images.some(inside) ? key("patch given", "given") : "",
        key("hole", "masked"), key("hole next", "written next"),
        key(all ? "patch fresh" : "written fresh", "just written"), blocks ? key("hole block", "active block") : "",
        any ? el("span", { class: "key long" }, el("span", { class: "cell patch", "aria-hidden": "true" }), FINISHED) : "");
    }

    controls() {
      this.play = button("▶", "Play or pause (space)", () => this.toggle());
      const slide = () => this.seek(Number(this.slider.value));
      this.slider = el("input", { type: "range", min: 0, value: 0, "aria-label": "Step", oninput: slide });
      this.where = el("output", { "aria-live": "polite" });
      const speeds = SPEEDS.map((s) => el("option", { value: s }, `${s}/s`));
      const hurry = () => this.timer && this.start();
      this.speed = el("select", { "aria-label": "Steps per second", onchange: hurry }, ...speeds);
      return el("div", { class: "controls", role: "group", "aria-label": "Playback" },
        button("⇤", "To the start (Home)", () => this.seek(0)),
        button("‹", "Step back (←)", () => this.seek(this.frame - 1)),
        this.play,
        button("›", "Step on (→)", () => this.seek(this.frame + 1)),
        button("⇥", "To the end (End)", () => this.seek(this.length)),
        this.slider, this.where, this.speed);
    }

    load(prompt) {
      this.panes = this.all.filter((pane) => prompt < pane.run.prompts.length);
      this.panes.forEach((pane) => pane.load(prompt));
      this.body.replaceChildren(...this.panes.map((pane) => pane.root));
      this.asides.replaceChildren(...this.panes.map((pane) => pane.aside));
      this.element.classList.toggle("long", this.panes.some((pane) => !pane.canvas.classList.contains("grid")));
      this.picker.value = prompt;
      this.slider.max = this.length;
      this.speed.value = SPEEDS.find((s) => s > 1 && s * 30 >= this.length) ?? SPEEDS.at(-1);
      this.seek(this.length); // what came out first; playing begins at the start
    }

    seek(frame) {
      this.frame = clamp(frame, 0, this.length);
      this.panes.forEach((pane) => pane.show(this.frame));
      this.slider.value = this.frame;
      this.where.textContent = `step ${this.frame} of ${this.length}`;
      this.tip(null);
      this.panes.forEach((pane) => pane.board?.focused && pane.board.tell());
      this.curve.draw();
      if (this.frame === this.length) this.stop();
    }

    start() {
      clearInterval(this.timer);
      if (this.frame === this.length) this.seek(0);
      this.timer = setInterval(() => this.seek(this.frame + 1), 1000 / Number(this.speed.value));
      this.showPlaying();
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.showPlaying();
    }

    toggle() {
      if (this.timer) this.stop();
      else this.start();
    }

    showPlaying() {
      this.play.textContent = this.timer ? "❚❚" : "▶";
      this.play.setAttribute("aria-label", this.timer ? "Pause" : "Play");
      this.where.setAttribute("aria-live", this.timer ? "off" : "polite"); // a screen reader is not told every frame
    }

    key(event) {
      if (event.target.tagName === "SELECT" || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === " " && event.target.tagName === "BUTTON") return; // the button's own
      const to = { ArrowLeft: this.frame - 1, ArrowRight: this.frame + 1, Home: 0, End: this.length }[event.key];
      if (event.key === " ") this.toggle();
      else if (to !== undefined) this.seek(to);
      else return;
      event.preventDefault();
    }

    toggleTheme() {
      const now = this.element.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      this.element.dataset.theme = now === "dark" ? "light" : "dark";
    }

    // A bubble above (or, where there is no room, below) a box of the screen.
    tip(box, lines = []) {
      this.bubble.hidden = !box;
      if (!box) return;
      this.bubble.replaceChildren(...lines.map((line) => el("div", {}, line)));
      const [home, own] = [this.element.getBoundingClientRect(), this.bubble.getBoundingClientRect()];
      const left = clamp(box.left + box.width / 2 - own.width / 2, home.left + 4, home.right - own.width - 4);
      const above = box.top - own.height - 6;
      this.bubble.style.left = `${left - home.left}px`;
      this.bubble.style.top = `${(above > 4 ? above : box.bottom + 6) - home.top}px`;
    }
  }

  globalThis.infogainViewer = (element, data) => new Viewer(element, data);

  document.addEventListener("DOMContentLoaded", () => {
    const all = document.querySelectorAll(".infogain-viewer");
    all.forEach((element) => infogainViewer(element, JSON.parse(element.querySelector("script").textContent)));
    if (all.length === 1) all[0].focus({ preventScroll: true }); // the keyboard works at once
  });
})();
