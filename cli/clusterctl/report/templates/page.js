"use strict";
// Draws racks, nodes and tables from the data of the page when they are opened. Text goes in as text, never as markup.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  let kept;
  const data = () => kept || (kept = read("page:data"));
  const states = read("page:states");
  const text = (place) => data().texts[place];

  // Long names may break after these characters, as in the templates, not in a word.
  const breakable = (words) =>
    words.split(/(\S{25,})/).flatMap((part, i) => {
      if (i % 2 === 0) return part ? [part] : [];
      return part.split(/(?<=[./,=:;|\]\-])/).flatMap((piece, n) => (n ? [document.createElement("wbr"), piece] : [piece]));
    });
  const make = (tag, name = "", ...inside) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.append(...inside.flatMap((one) => (typeof one === "string" && one.length > 24 ? breakable(one) : [one])));
    return made;
  };
  const folded = (name, summary, draw, open = false) => {
    const made = make("details", name, make("summary", "", ...summary));
    onFirstOpening(made, draw);
    made.open = open;
    return made;
  };
  // Drawn in the task that opens it, so that a link to it finds it; `toggle` comes later, and for the browser's own openings.
  const draws = new WeakMap();
  const drawn = (details) => {
    const draw = draws.get(details);
    draws.delete(details);
    if (draw) details.append(...draw());
  };
  const onFirstOpening = (details, draw) => {
    draws.set(details, draw);
    details.addEventListener("toggle", () => details.open && drawn(details));
  };
  const open = (details) => {
    details.open = true;
    drawn(details);
  };

  const rowOf = (place) => {
    const [shape, found, detail, ...places] = data().rows[place];
    const [outcome, severity, what, expected, source, hint, simulated, run] = data().shapes[shape];
    const pairs = [];
    for (let i = 0; i < places.length; i += 2) pairs.push([text(places[i]), text(places[i + 1])]);
    const words = { outcome, severity, what, expected, source, hint, run, found, detail };
    for (const name of Object.keys(words)) words[name] = text(words[name]);
    return { ...words, simulated: Boolean(simulated), pairs };
  };
  const places = (pairs) => {
    if (pairs.length === 1) return [make("span", "", pairs[0][0])];
    const list = () => [make("ul", "", ...pairs.map(([device, found]) => make("li", "", make("span", "", device), " ", make("b", "", found))))];
    return pairs.length ? [folded("each", [`${pairs.length} places`], list)] : [];
  };
  // What stands between backticks is code, as in the template.
  const commands = (words) => words.split("`").map((part, i, all) => (i % 2 && i < all.length - 1 ? make("code", "", part) : make("span", "", part)));
  const fill = (item, name, value) => {
    const parent = item.querySelector(`.${name}`);
    const field = parent.matches("p") ? parent.querySelector("span") || parent : parent;
    if (value && name === "hint") field.replaceChildren(...commands(value));
    else if (value) field.replaceChildren(...breakable(value));
    else parent.remove();
  };
  const fullRow = (row) => {
    const item = document.getElementById("page:row").content.firstElementChild.cloneNode(true);
    item.classList.add(`o-${row.outcome}`);
    for (const name of ["what", "severity", "detail", "source", "hint", "run"]) fill(item, name, row[name]);
    if (row.found || row.expected) {
      fill(item, "found", row.found || "nothing");
      fill(item, "expected", row.expected || "not stated");
    } else item.querySelector(".values").remove();
    if (!row.simulated) item.querySelector(".simulated").remove();
    item.querySelector(".outcome").textContent = row.outcome.replaceAll("_", " ");
    item.querySelector(".where").append(...places(row.pairs));
    return item;
  };
  const line = (row) => {
    const item = make("li", `line o-${row.outcome}`, make("b", "outcome", row.outcome.replaceAll("_", " ")), " ", make("span", "what", row.what));
    if (row.pairs.length === 1 && !row.what.includes(row.pairs[0][0])) item.append(" ", make("span", "", row.pairs[0][0]));
    if (row.found) item.append(" ", make("b", "found", row.found));
    if (row.expected && row.expected !== row.found) item.append(" ", make("span", "quiet", `expected ${row.expected}`));
    for (const note of [row.detail, row.source]) if (note) item.append(" ", make("span", "quiet", note));
    if (row.pairs.length > 1) item.append(...places(row.pairs));
    return item;
  };
  const block = (place) => {
    const [title, ...rows] = data().blocks[place];
    const count = rows.reduce((sum, row) => sum + Math.max(1, (data().rows[row].length - 3) / 2), 0);
    const lines = () => [make("ul", "lines", ...rows.map((r) => line(rowOf(r))))];
    const simulated = rows.some((r) => rowOf(r).simulated) ? [" ", make("span", "tag simulated", "simulated")] : [];
    return folded("block", [make("span", "what", text(title)), ` ${count} good`, ...simulated], lines);
  };
  const blocks = (title, from, list) => {
    if (!list.length) return [];
    const heading = make("h4", "", title);
    if (text(from)) heading.append(" ", make("span", "tag", text(from)));
    return [heading, make("div", "blocks", ...list.map(block))];
  };

  // Shapes come from the data; each colour has a form of its own and stands in the legend in words.
  const canvas = (label) => {
    const picture = document.getElementById("page:picture").content.firstElementChild.cloneNode(true);
    const shape = (tag, name, set, title = "") => {
      const made = document.createElementNS(picture.namespaceURI, tag);
      made.setAttribute("class", name);
      for (const [key, value] of Object.entries(set)) made.setAttribute(key, value);
      if (title) made.append(document.createElementNS(picture.namespaceURI, "title"));
      if (title) made.firstChild.textContent = title;
      picture.append(made);
    };
    picture.setAttribute("aria-label", label);
    return [picture, shape];
  };
  const key = (name, words) => make("span", "", make("i", name), ` ${words}`);
  const values = (what, names, rows) => {
    const head = names.map((words) => make("th", "", make("span", "", words)));
    const cells = (row) => make("tr", "", ...row.map((words) => make("td", "", make("span", "", String(words)))));
    const scroll = make("div", "values-of", make("table", "", make("thead", "", make("tr", "", ...head)), make("tbody", "", ...rows.map(cells))));
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `values of ${what}`);
    return scroll;
  };
  const curve = (one) => {
    const [picture, shape] = canvas(text(one.summary));
    for (const points of one.bands) shape("polygon", "band", { points });
    for (const points of one.medians) shape("polyline", "median", { points });
    if (one.height !== null) shape("line", "limit", { x1: 0, x2: picture.viewBox.baseVal.width, y1: one.height, y2: one.height });
    shape("polyline", "own", { points: one.line });
    const rows = one.rows.map((row) => row.map(text));
    one.line.split(" ").forEach((point, i) => {
      const [x, y] = point.split(",");
      const title = rows[i].slice(0, 3).join(" ");
      if (one.marks[i] & 1) shape("path", "bad", { d: `M${x - 5},${y - 5}l10,10m0,-10l-10,10` }, title);
      else if (one.marks[i]) shape("path", "earlier", { d: `M${x},${y - 5}l5,5l-5,5l-5,-5z` }, title);
      else shape("circle", "good", { cx: x, cy: y, r: 3.5 }, title);
    });
    const legend = [key("own", "measured"), ...(one.marks.some((mark) => mark & 1) ? [make("span", "", make("b", "bad", "✗"), " not a pass")] : [])];
    if (one.marks.some((mark) => mark & 2)) legend.push(make("span", "", make("b", "", "◇"), " before a part was replaced"));
    if (one.bands.length) legend.push(key("band", "90 % of the fleet"), key("median", "its median"));
    if (text(one.limit)) legend.push(key("limit", text(one.limit)));
    const caption = make("figcaption", "", make("span", "what", text(one.what)), ...(one.simulated ? [" ", make("span", "tag simulated", "simulated")] : []));
    const plot = make("div", "plot", make("span", "", text(one.top)), picture, make("span", "", text(one.bottom)));
    const names = ["run began", "value", "outcome", "fleet: median (5 to 95 %)"];
    return make("figure", "curve", caption, plot, make("p", "legend", ...legend), values(text(one.what), names, rows.reverse()));
  };
  const spread = (one) => {
    const [picture, shape] = canvas(`${one.what}: ${one.summary}`);
    for (const points of one.bars) shape("polygon", "bar-all", { points });
    for (const points of one.bad_bars) shape("polygon", "bar-bad", { points });
    for (const x of one.lines) shape("line", "limit", { x1: x, x2: x, y1: 0, y2: picture.viewBox.baseVal.height });
    const legend = [key("all", "values"), ...(one.bad ? [key("not-good", "not a pass")] : []), ...(one.limit ? [key("limit", one.limit)] : [])];
    const plot = make("div", "plot", make("span", "", ""), picture, make("p", "ends", make("span", "", one.left), make("span", "", one.right)));
    return [make("figure", "curve", plot, make("p", "legend", ...legend), values(one.what, ["from and to", "values", "not a pass"], one.rows))];
  };
  const curves = (node) => {
    const drawn = node.curves.length ? [make("div", "curves", ...node.curves.map(curve))] : [];
    if (node.not_drawn) drawn.push(make("p", "quiet", `Not drawn, of what is to be looked at: ${node.not_drawn}.`));
    return drawn.length ? [make("h4", "", "Over time, against the fleet"), ...drawn] : [];
  };

  const nodeBody = (node) => {
    const body = make("div", "body");
    if (text(node.reason)) body.append(make("p", "reason", text(node.reason)));
    const [, ...bad] = data().blocks[node.bad];
    if (bad.length) body.append(make("ul", "rows", ...bad.map((r) => fullRow(rowOf(r)))));
    body.append(...curves(node));
    for (const one of data().loads) if (data().nodes[one.node] === node) body.append(...loadTraces(one, { text, make, canvas, key, values }));
    body.append(...blocks("Gates", node.gates_from, node.gates), ...blocks("Checks", node.checks_from, node.checks));
    if (node.steps.length) {
      const steps = node.steps.map((step) => {
        const [at, from, to, reason] = step.map(text);
        return make("li", "", make("time", "", at), ` ${from} → `, make("b", "", to), " ", make("span", "quiet", reason));
      });
      body.append(make("h4", "", "Steps in this run"), make("ol", "steps", ...steps));
    }
    if (node.links.length) {
      const links = make("p", "links", "Evidence:");
      for (const [base, name] of node.links) {
        const link = make("a", "", text(name));
        link.setAttribute("href", (text(base) + text(name)).split("/").map(encodeURIComponent).join("/"));
        links.append(" ", link);
      }
      body.append(links);
    }
    body.append(make("p", "quiet", text(node.spec)));
    return [body];
  };
  const nodeRow = (index) => {
    const node = data().nodes[index];
    const state = text(node.state);
    const [sign, label] = states[state];
    const signed = make("span", "sign", sign);
    signed.setAttribute("aria-hidden", "true");
    const name = data().names[index];
    const made = folded(`node s-${state}`, [signed, " ", make("b", "", name), " ", make("span", "state", label), " ", make("span", "quiet", `${text(node.place)} · ${text(node.summary)}`)], () => nodeBody(node));
    made.dataset.node = name;
    return made;
  };

  const shown = { 0: ["none", () => "·"], 1: ["ok", (v) => v.toFixed(0)], 2: ["low", (v) => `▼ ${v.toFixed(0)}`], 3: ["failed", () => "✗"] };
  const table = (index) => {
    const grid = data().tables[index];
    const head = make("tr", "", make("th", "", grid.corner), ...grid.columns.map((c) => make("th", "", make("span", "", c))));
    const rows = grid.rows.map(([heading, cells]) => {
      const row = make("tr", "", make("th", "", heading));
      cells.forEach(([kind, value, share, title], i) => {
        const cell = make("td", shown[kind][0], shown[kind][1](value));
        cell.style.setProperty("--s", share);
        cell.title = title || `${heading}, ${grid.columns[i]}${kind ? `: ${value} Gb/s` : ": not measured together"}`;
        row.append(cell);
      });
      return row;
    });
    const scroll = make("div", "scroll", make("table", "heat", make("thead", "", head), make("tbody", "", ...rows)));
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", grid.title);
    return [scroll];
  };

  const racks = [...document.querySelectorAll("details.rackrow")];
  const first = [];
  let counted = 0;
  for (const rack of racks) {
    first.push(counted);
    counted += Number(rack.dataset.size);
    onFirstOpening(rack, () => {
      const start = first[Number(rack.dataset.rack)];
      return Array.from({ length: Number(rack.dataset.size) }, (_, i) => nodeRow(start + i));
    });
  }
  const linked = (name) => {
    const link = make("a", "", name);
    link.setAttribute("href", `#${encodeURIComponent(name)}`);
    return make("li", "", link);
  };
  for (const one of document.querySelectorAll("details[data-nodes]")) onFirstOpening(one, () => [make("ul", "", ...one.dataset.nodes.split(" ").map(linked))]);
  for (const one of document.querySelectorAll("details.table")) onFirstOpening(one, () => table(Number(one.dataset.table)));
  for (const one of document.querySelectorAll("details.spread")) onFirstOpening(one, () => spread(data().spreads[Number(one.dataset.spread)]));
  const inRacks = racks.map((rack, i) => ({ name: rack.querySelector("b").textContent, start: first[i], size: Number(rack.dataset.size) }));
  // Below its table, which is in the page.
  const times = (one) => one.querySelector(".times").append(...timeline(data().timeline, { make, canvas, folded, linked, names: data().names, racks: inRacks }));
  for (const one of document.querySelectorAll("details.timeline")) onFirstOpening(one, () => times(one) || []);
  if (racks.length === 1) open(racks[0]);

  const openNode = (name) => {
    const index = data().names.indexOf(name);
    if (index < 0) return;
    let rack = racks.length - 1;
    while (first[rack] > index) rack -= 1;
    open(racks[rack]);
    const node = racks[rack].querySelectorAll(":scope > details.node")[index - first[rack]];
    open(node);
    node.scrollIntoView({ block: "start" });
    node.firstElementChild.focus({ preventScroll: true });
  };
  const follow = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    if (name && !name.startsWith("page:")) openNode(name);
  };
  window.addEventListener("hashchange", follow);
  // A second click on the same link changes no address.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) setTimeout(follow);
  });
  follow();
})();
