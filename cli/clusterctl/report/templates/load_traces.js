"use strict";
// Draws what the GPUs of a node showed under load; `page.js` hands over what it draws with.
const loadTraces = (found, { text, make, canvas, key, values }) => {
  // So many GPUs that results name have a kind of line each; of more, all have the first.
  const kinds = ["", "7 4", "2 4"];
  const borders = ["solid", "dashed", "dotted"];
  // A moment without a value is a gap; a value alone gets a width, so that it is seen.
  const stretches = (across, heights) => {
    const lines = [[]];
    heights.forEach((y, i) => {
      if (y === null) lines.push([]);
      else lines.at(-1).push([across[i], y]);
    });
    return lines.filter((line) => line.length).map((line) => (line.length > 1 ? line : line.flatMap(([x, y]) => [[x - 3, y], [x + 3, y]])));
  };
  const panel = (one, shown) => {
    const [picture, shape] = canvas(text(shown.summary));
    for (let gpu = one.gpus.length - 1; gpu >= 0; gpu -= 1) {
      const kind = gpu < one.named ? { "stroke-dasharray": one.named > kinds.length ? "" : kinds[gpu] } : {};
      const heights = shown.heights[gpu].match(/../g).map((two) => (two === "--" ? null : parseInt(two, 16)));
      const name = text(one.gpus[gpu]);
      for (const line of stretches(one.across, heights)) shape("polyline", gpu < one.named ? "own" : "median", { points: line.join(" "), ...kind }, name);
      const marks = [...one.slowed[gpu]].map((slow, i) => (slow === "1" && heights[i] !== null ? `M${one.across[i] - 3},${heights[i] - 3}l6,6m0,-6l-6,6` : ""));
      if (marks.join("")) shape("path", "slow", { d: marks.join("") }, `${name} slowed down`);
    }
    const plot = make("div", "plot", make("span", "", text(shown.top)), picture, make("span", "", text(shown.bottom)));
    return make("div", "", make("p", "quiet", text(shown.what)), plot);
  };
  const legend = (one) => {
    const names = one.gpus.map(text);
    const named = names.slice(0, one.named);
    const keys = named.length > kinds.length ? [key("own", named.join(", "))] : named.map((name) => key("own", name));
    if (named.length <= kinds.length) keys.forEach((made, i) => made.firstChild.style.setProperty("border-top-style", borders[i]));
    const others = names.slice(one.named);
    const label = named.length ? `the ${others.length} others` : `all ${others.length} GPUs`;
    if (others.length) keys.push(key("median", others.length === 1 ? others[0] : label));
    if (one.slowed.some(Boolean)) keys.push(make("span", "", make("b", "bad", "✗"), " slowed down"));
    return make("p", "legend", ...keys);
  };
  const figure = (one) => {
    const simulated = one.simulated ? [" ", make("span", "tag simulated", "simulated")] : [];
    const caption = make("figcaption", "", make("span", "what", text(one.what)), ...simulated);
    const panels = make("div", "curves", ...one.panels.map((shown) => panel(one, shown)));
    const table = values(text(one.what), one.heads.map(text), one.rows.map((row) => row.map(text)));
    return make("figure", "curve load", caption, panels, legend(one), ...one.notes.map((note) => make("p", "quiet", text(note))), table);
  };
  return [make("h4", "", "Under load"), ...found.drawn.map(figure), ...found.missing.map((why) => make("p", "quiet", text(why)))];
};
