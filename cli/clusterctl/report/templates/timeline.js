"use strict";
// Draws what took the time of a run, a row for each node or rack; `page.js` hands over what it draws with.
const timeline = (found, { make, canvas, folded, linked, names, racks }) => {
  // More nodes than this are folded into a row for each rack.
  const most = 40;
  const wide = 1000, tall = 20;
  const length = Math.max(found.length, 1);
  const across = (tenths) => Math.round((Math.min(tenths, length) / length) * wide * 10) / 10;
  const clock = (tenths) => {
    const all = Math.floor(tenths / 10);
    const two = (number) => String(number).padStart(2, "0");
    const minutes = `${Math.floor(all / 60) % 60}`;
    return all < 3600 ? `${minutes}:${two(all % 60)}` : `${Math.floor(all / 3600)}:${two(minutes)}:${two(all % 60)}`;
  };
  const triples = (flat) => Array.from({ length: flat.length / 3 }, (_, i) => flat.slice(3 * i, 3 * i + 3));
  const words = (name, begin, end) => `${name} ${clock(begin)} to ${end < 0 ? (found.is_over ? "no recorded end" : "now") : clock(end)}`;
  const bar = (shape, name, begin, end, top, height, title) => {
    const x = across(begin);
    const width = Math.max(across(end < 0 ? length : end) - x, 2);
    shape("rect", end < 0 ? `${name} open` : name, { x, y: top, width, height }, title);
  };
  const row = (heading, label, draw) => {
    const [picture, shape] = canvas(label);
    picture.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    picture.setAttribute("preserveAspectRatio", "none");
    draw(shape);
    return make("div", "time-row", heading, picture);
  };
  const marks = (node) => found.phases.filter((_, i) => found.slowest[i] === node);
  const nodeRow = (node) => {
    const spans = triples(found.nodes[node]);
    const gates = triples(found.node_gates[node]);
    const parts = [...spans.map(([i, begin, end]) => words(found.phases[i], begin, end)), ...gates.map(([i, begin, end]) => words(found.gates[i], begin, end))];
    const slowest = marks(node);
    const tags = slowest.length ? [" ", make("span", "quiet", `slowest: ${slowest.join(", ")}`)] : [];
    const link = linked(names[node]).firstChild;
    const began = spans.length ? parts.join("; ") : "began no phase";
    if (!spans.length) tags.push(" ", make("span", "quiet", "began no phase"));
    return row(make("p", "", link, ...tags), `${names[node]}: ${began}${slowest.length ? `; slowest: ${slowest.join(", ")}` : ""}`, (shape) => {
      if (spans.length) bar(shape, "waits", Math.min(...spans.map((s) => s[1])), spans.some((s) => s[2] < 0) ? length : Math.max(...spans.map((s) => s[2])), 9, 2, "waits");
      for (const [i, begin, end] of spans) bar(shape, `phase p${i % 7}${found.slowest[i] === node ? " slowest" : ""}`, begin, end, i % 2 ? 3 : 1, i % 2 ? 14 : 18, words(found.phases[i], begin, end));
      for (const [i, begin, end] of gates) bar(shape, "gate", begin, end, 12, 5, words(found.gates[i], begin, end));
    });
  };
  const middle = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  const rackRow = ({ name, start, size }) => {
    const own = Array.from({ length: size }, (_, i) => start + i);
    const byPhase = found.phases.map(() => []);
    for (const node of own) for (const [i, begin, end] of triples(found.nodes[node])) byPhase[i].push([begin, end < 0 ? length : end]);
    const spread = byPhase.map((spans) => {
      const [begins, ends] = [0, 1].map((side) => spans.map((s) => s[side]));
      return spans.length ? [begins.reduce((a, b) => Math.min(a, b)), ends.reduce((a, b) => Math.max(a, b)), middle(begins), middle(ends)] : null;
    });
    const parts = spread.flatMap((one, i) => (one ? [words(found.phases[i], one[0], one[1])] : []));
    const slowest = own.flatMap((node) => marks(node).map((phase) => `${phase} ${names[node]}`));
    const tags = slowest.length ? [" ", make("span", "quiet", `slowest: ${slowest.join(", ")}`)] : [];
    const heading = make("p", "", make("b", "", name), ` ${size} nodes`, ...tags);
    const picture = row(heading, `${name}: ${parts.join("; ") || "began no phase"}`, (shape) =>
      spread.forEach((one, i) => {
        if (!one) return;
        const title = words(found.phases[i], one[0], one[1]);
        bar(shape, `spread p${i % 7}`, one[0], one[1], 6, 8, title);
        bar(shape, `phase p${i % 7}`, one[2], Math.max(one[2], one[3]), i % 2 ? 3 : 1, i % 2 ? 14 : 18, title);
      }),
    );
    return folded("time-rack", [picture], () => own.map(nodeRow));
  };
  const key = (name, text) => make("span", "", make("i", name), ` ${text}`);
  const legend = found.phases.map((phase, i) => key(`p${i % 7}`, phase));
  const isFolded = names.length > most;
  if (isFolded) legend.push(make("span", "", "Solid: median begin to median end of the rack; pale: first begin to last end"));
  else legend.push(key("waits", "waits"));
  if (found.gates.length) legend.push(key("gate", "a gate of the burn-in, by the clock of the node"));
  if (found.slowest.some((node) => node >= 0)) legend.push(key("slowest", "slowest of its phase"));
  return found.phases.length ? [make("p", "legend", ...legend), make("p", "time-ends", make("span", "", "0:00"), make("span", "", clock(found.length))), ...(isFolded ? racks.map(rackRow) : names.map((_, node) => nodeRow(node)))] : [];
};
