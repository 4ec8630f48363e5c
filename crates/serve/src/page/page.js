// The page of a running toolroute: ranks as one types, and shows what the server does. No library
// and no build step; every text of a tool goes in as text, never as markup.
"use strict";

const byId = id => document.getElementById(id);
const WAIT_MS = 250;
const MOST_RECENT = 20;
const MOST_DOTS = 3000;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function headers() {
  const token = sessionStorage.getItem("token");
  return { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
}

// The answer's JSON; asks for the token where the server wants one.
async function ask(path, body, signal) {
  const options = { headers: headers(), signal };
  if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const answer = await fetch(path, options);
  if (answer.status === 401) {
    byId("token-form").hidden = false;
    byId("token").focus();
  }
  const text = await answer.text();
  let said;
  try { said = JSON.parse(text); } catch { said = undefined; }
  if (!answer.ok) {
    const problem = new Error(said?.error?.message ?? `${answer.status} ${answer.statusText}`);
    problem.status = answer.status;
    throw problem;
  }
  return said;
}

function complain(problem) {
  const shown = byId("problem");
  shown.hidden = !problem;
  shown.textContent = problem ? problem.message ?? String(problem) : "";
}

// ── The answer ──────────────────────────────────────────────────────────────────────────────────

const kind = name => (name === "semantic" || name === "keyword" ? name : "other");
const number = value => Number(value).toFixed(3);

function toolItem(tool, widest) {
  const explanation = tool.explanation ?? {};
  const parts = (explanation.parts ?? []).filter(part => part.contribution !== 0);
  const item = element("li", { tabindex: "0", "data-id": tool.id });
  const head = element("div", { class: "head" }, element("b", {}, tool.id));
  if (explanation.level) head.append(element("span", { class: "flag" }, `${explanation.level} match`));
  const tiers = explanation.tiers ?? {};
  if (tiers.latency) head.append(element("span", { class: "flag" }, `${tiers.latency}`.replace("_", " ")));
  head.append(element("span", { class: "score" }, number(tool.score)));
  const bars = element("div", { class: "bars", role: "img", "aria-label":
    parts.map(part => `${part.name} ${number(part.contribution)}`).join(", ") || "no parts" });
  for (const part of parts.filter(part => part.contribution > 0)) {
    const bar = element("i", { class: kind(part.name), title:
      `${part.name}: ${number(part.weight)} × ${number(part.normalized)} = ${number(part.contribution)}` });
    bar.style.width = `${Math.min(100, 100 * part.contribution / widest)}%`;
    bars.append(bar);
  }
  const why = parts.filter(part => kind(part.name) === "other")
    .map(part => `${part.name} ${part.contribution > 0 ? "+" : ""}${number(part.contribution)}`);
  item.append(head, bars,
    element("p", { class: "said" }, tool.description ?? ""),
    element("p", { class: "why" }, [explanation.why, ...why].filter(Boolean).join(" · ")));
  item.addEventListener("mouseenter", () => mark(tool.id));
  item.addEventListener("focus", () => mark(tool.id));
  return item;
}

// Why there is no tool.
function reason(answer) {
  if (answer.degraded === "unread_language")
    return "The prompt is in a language that the model here does not read: ask in English, or start with a model of several languages";
  return {
    empty_catalog: "The catalog is empty: there is no tool to choose from",
    filtered: "No tool is left: filters leave all of them out",
  }[answer.no_tools] ?? "No tool fits this prompt";
}

function showAnswer(answer, milliseconds) {
  const tools = answer.tools ?? [];
  const widest = Math.max(1e-6, ...tools.map(tool => (tool.explanation?.parts ?? [])
    .reduce((sum, part) => sum + Math.max(0, part.contribution), 0)));
  byId("tools").replaceChildren(...tools.map(tool => toolItem(tool, widest)));
  // One meaning everywhere: how likely it is that any tool fits.
  const confidence = answer.confidence === undefined || answer.confidence === null
    ? "" : `, confidence that a tool fits ${Number(answer.confidence).toFixed(2)}`;
  const doubt = answer.fit === "unsure" ? ` (not sure that one fits: ${answer.fit_reason})` : "";
  byId("summary").textContent = tools.length === 0
    ? `${reason(answer)}${confidence}.`
    : `${tools.length} tools by ${answer.strategy}${confidence}${doubt}, ${milliseconds.toFixed(1)} ms with the way there and back.`;
  const legend = byId("legend");
  legend.hidden = tools.length === 0;
  legend.replaceChildren("share of the score:", element("i", { class: "semantic" }), "meaning",
    element("i", { class: "keyword" }), "words", element("i", { class: "other" }), "signals");
  const excluded = answer.excluded ?? [];
  const left = byId("excluded");
  left.hidden = excluded.length === 0;
  left.querySelector("summary").textContent = `${excluded.length} left out`;
  left.querySelector("ul").replaceChildren(...excluded.map(tool =>
    element("li", {}, element("b", {}, tool.id), ` (${number(tool.score)}): ${tool.because}`)));
  showStages(answer.timings);
  chosen = new Set(tools.map(tool => tool.id));
}

function showStages(timings) {
  const stages = Object.entries(timings ?? {}).filter(([, value]) => typeof value === "number");
  const shown = byId("stages");
  shown.hidden = stages.length === 0;
  shown.textContent = "Where the time went: " + stages.map(([name, value]) =>
    `${name.replace(/_?(ms|us)$/, "").replaceAll("_", " ")} ${value.toFixed(2)} ms`).join(" · ");
}

let pending, asked = 0;

async function rank() {
  const prompt = byId("prompt").value.trim();
  if (!prompt) return;
  pending?.abort();
  pending = new AbortController();
  const turn = ++asked;
  const limit = byId("limit").value, strategy = byId("strategy").value;
  const body = { prompt, limit: limit === "auto" ? "auto" : Number(limit), strategy, explain: true, excluded: true, timings: true };
  const start = performance.now();
  try {
    const answer = await ask("v1/select", body, pending.signal);
    if (turn !== asked) return;
    complain();
    showAnswer(answer, performance.now() - start);
    await showMap(prompt, pending.signal);
  } catch (problem) {
    if (problem.name !== "AbortError" && turn === asked) complain(problem);
  }
}

let timer;
byId("prompt").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(rank, WAIT_MS);
});
byId("form").addEventListener("submit", event => {
  event.preventDefault();
  clearTimeout(timer);
  rank();
});
byId("limit").addEventListener("change", rank);
byId("strategy").addEventListener("change", rank);
byId("token-form").addEventListener("submit", event => {
  event.preventDefault();
  sessionStorage.setItem("token", byId("token").value);
  byId("token-form").hidden = true;
  begin();
  rank();
});

document.addEventListener("keydown", event => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    byId("prompt").select();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const items = [...byId("tools").children];
    const at = items.indexOf(document.activeElement);
    if (document.activeElement?.tagName === "SELECT" || items.length === 0) return;
    if (at < 0 && (event.key === "ArrowUp" || document.activeElement !== byId("prompt"))) return;
    event.preventDefault();
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    (items[next] ?? (next < 0 ? byId("prompt") : items[at])).focus();
  }
});

// ── The map ─────────────────────────────────────────────────────────────────────────────────────

let chosen = new Set(), dots = new Map(), drawn;

function circle(x, y, r, attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  for (const [key, value] of Object.entries({ cx: x, cy: -y, r, ...attributes })) made.setAttribute(key, value);
  return made;
}

async function showMap(prompt, signal) {
  const known = drawn === undefined ? "" : "&prompt_only=true";
  let map;
  try {
    map = await ask(`v1/map?prompt=${encodeURIComponent(prompt ?? "")}${known}`, undefined, signal);
  } catch (problem) {
    // By words alone there are no places.
    if (problem.status !== 409) throw problem;
    byId("place").textContent = "No map: this server has no model.";
    return;
  }
  const svg = byId("map");
  if (map.tools && map.version !== drawn) {
    drawn = map.version;
    dots = new Map();
    const tools = map.tools.slice(0, MOST_DOTS);
    svg.replaceChildren(...tools.map(tool => {
      const dot = circle(tool.x, tool.y, .012);
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = tool.id;
      dot.append(title);
      dot.addEventListener("mouseenter", () => { byId("place").textContent = tool.id; });
      dots.set(tool.id, dot);
      return dot;
    }));
    svg.setAttribute("aria-label", `Map of ${tools.length} tools`);
  } else if (map.version !== drawn) {
    drawn = undefined;
    return showMap(prompt, signal);
  }
  for (const [id, dot] of dots) {
    dot.setAttribute("class", chosen.has(id) ? "chosen" : "");
    dot.setAttribute("r", chosen.has(id) ? .024 : .012);
  }
  svg.querySelector(".prompt")?.remove();
  if (map.prompt) svg.append(circle(map.prompt.x, map.prompt.y, .035, { class: "prompt", "stroke-width": ".012" }));
}

function mark(id) {
  for (const other of chosen) dots.get(other)?.setAttribute("r", other === id ? .04 : .024);
  byId("place").textContent = id;
}

// ── The server ──────────────────────────────────────────────────────────────────────────────────

async function showServers() {
  const { servers = [], tools } = await ask("v1/servers");
  byId("no-servers").hidden = servers.length > 0;
  byId("servers").hidden = servers.length === 0;
  byId("catalog").textContent = `${tools ?? servers.reduce((sum, server) => sum + (server.tools ?? 0), 0)} tools`
    + (servers.length ? ` of ${servers.length} servers` : "");
  byId("servers").tBodies[0].replaceChildren(...servers.map(server => {
    const state = element("td", {}, element("span", { class: server.state }, server.state));
    if (server.reason) state.append(`: ${server.reason}`);
    const breaker = server.breaker ?? "closed";
    // One that is closed lets calls through, and nobody need look at it.
    if (breaker !== "closed") state.append(" ", element("span", { class: breaker }, `calls are held: breaker ${breaker.replace("_", " ")}`));
    return element("tr", {}, element("td", {}, server.name), state,
      element("td", { class: "number" }, String(server.tools ?? 0)));
  }));
}

function recentRow(selection) {
  const when = new Date(selection.at).toLocaleTimeString();
  return element("tr", {}, element("td", {}, when), element("td", {}, selection.prompt ?? "–"),
    element("td", {}, (selection.tools ?? []).join(", ") || "none"),
    element("td", { class: "number" }, Number(selection.ms).toFixed(1)));
}

async function showRecent() {
  const { recent = [] } = await ask("v1/recent");
  byId("recent").tBodies[0].replaceChildren(...recent.slice(0, MOST_RECENT).map(recentRow));
}

// Server-sent events, read by fetch: an EventSource could not send a token.
async function listen() {
  const live = byId("live");
  for (;;) {
    try {
      const answer = await fetch("v1/events", { headers: headers() });
      if (!answer.ok) throw new Error(answer.statusText);
      live.textContent = "live";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let held = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        held += value;
        const events = held.split("\n\n");
        held = events.pop();
        events.forEach(heard);
      }
    } catch { /* told below, and tried again */ }
    live.textContent = "not connected; trying again";
    await new Promise(done => setTimeout(done, 3000));
  }
}

function heard(event) {
  const lines = event.split("\n");
  const field = name => lines.filter(line => line.startsWith(`${name}:`)).map(line => line.slice(name.length + 1).trim()).join("\n");
  const name = field("event");
  if (name === "selection") {
    const rows = byId("recent").tBodies[0];
    rows.prepend(recentRow(JSON.parse(field("data"))));
    while (rows.rows.length > MOST_RECENT) rows.deleteRow(-1);
  } else if (name === "servers" || name === "catalog") {
    showServers().catch(complain);
  }
}

function begin() {
  Promise.all([showServers(), showRecent(), showMap()]).then(() => complain(), complain);
}

begin();
listen();
