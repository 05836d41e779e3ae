"use strict";
// What runs on what was decided when the page was made, by gpuenv's own rules: `runs` holds a letter for each
// compute capability. Here it is only filtered and shown.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const FILTERS = ["gpu", "driver", "wsl", "torch", "variant", "python", "platform", "index"];
  const SIGNS = { n: "●", p: "PTX", "+": "◐", "-": "–", x: "×", b: "»", d: "!", w: "PTX", "?": "?" };
  const ORDER = "npwdxb-?"; // of what there is to tell, the best first
  const place = new Map(data.capabilities.map((capability, index) => [capability, index]));
  const columns = data.generations.filter((generation) => generation.shown);
  const open = new Set();

  // words and elements

  const byId = (id) => document.getElementById(id);

  function say(name, facts = {}) {
    return data.texts[name].replace(/\{(\w+)\}/g, (_, key) => facts[key] ?? "");
  }

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  const unseen = (text) => element("span", { class: "unseen" }, text);
  const distinct = (values) => [...new Set(values)];

  // versions

  const numbers = (text) => text.split(".").map((part) => parseInt(part, 10) || 0);

  function compare(one, other) {
    for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
      const difference = (one[index] ?? 0) - (other[index] ?? 0);
      if (difference) return difference;
    }
    return 0;
  }

  const HOLDS = {
    ">=": (difference) => difference >= 0,
    "<=": (difference) => difference <= 0,
    ">": (difference) => difference > 0,
    "<": (difference) => difference < 0,
    "==": (difference) => difference === 0,
    "!=": (difference) => difference !== 0,
  };

  // A part without an operator means the releases that begin so: 2.14 is 2.14.0 and 2.14.1.
  function parseTorch(text) {
    const tests = [];
    for (const part of text.split(/[\s,]+/).filter(Boolean)) {
      const found = /^(>=|<=|==|!=|>|<)?(\d+(?:\.\d+)*)\.?\*?$/.exec(part);
      if (!found) return { tests: [], wrong: part };
      const wanted = numbers(found[2]);
      tests.push(
        found[1]
          ? (release) => HOLDS[found[1]](compare(release, wanted))
          : (release) => wanted.every((number, index) => number === (release[index] ?? 0)),
      );
    }
    return { tests, wrong: null };
  }

  // 3.9 3.10 3.11 3.12 3.13t -> [3.9–3.12, 3.13t]
  function inRanges(pythons) {
    const runs = [];
    const ordered = [...pythons].sort(
      (one, other) => one.endsWith("t") - other.endsWith("t") || compare(numbers(one), numbers(other)),
    );
    for (const python of ordered) {
      const [major, minor] = numbers(python);
      const last = runs[runs.length - 1];
      const follows =
        last && last.major === major && last.minor + 1 === minor && last.end.endsWith("t") === python.endsWith("t");
      if (follows) Object.assign(last, { end: python, minor });
      else runs.push({ start: python, end: python, major, minor });
    }
    return runs.map(({ start, end }) => (start === end ? start : `${start}–${end}`));
  }

  // GPUs, as people type them

  function words(name) {
    const spaced = name.toLowerCase().replace(/[^a-z0-9]+/g, " ");
    return spaced
      .replace(/\b(rtx|gtx|gt)(?=\d)/g, "$1 ")
      .replace(/(\d)(ti|super)\b/g, "$1 $2")
      .split(" ")
      .filter((word) => word && !["nvidia", "grid", "graphics"].includes(word));
  }

  const products = Object.entries(data.products).map(([name, capabilities]) => ({
    name,
    capabilities,
    words: words(name),
  }));

  function findProducts(text) {
    const typed = words(text);
    if (!typed.length) return [];
    const same = products.filter((product) => product.words.join(" ") === typed.join(" "));
    if (same.length) return same;
    const holding = products.filter((product) => typed.every((word) => product.words.includes(word)));
    if (holding.length) return holding;
    const within = products.filter((product) => product.words.every((word) => typed.includes(word)));
    const most = Math.max(0, ...within.map((product) => product.words.length));
    return within.filter((product) => product.words.length === most);
  }

  // `any` of the capabilities must run the build; null where the text does not say which they are.
  function findGpu(text) {
    if (place.has(text)) return { any: [text], hint: "" };
    const generation = data.generations.find((one) => one.name.toLowerCase() === text.toLowerCase());
    const found = generation ? [] : findProducts(text);
    const capabilities = generation ? generation.capabilities : distinct(found.flatMap((one) => one.capabilities));
    if (!capabilities.length) return { any: null, hint: say("gpu-unknown", { name: text }) };
    const which = [...capabilities].sort((one, other) => place.get(one) - place.get(other));
    if (generation || which.length === 1) {
      const name = generation ? generation.name : found[0].name;
      return { any: which, hint: say("gpu-means", { name, which: which.join(", ") }) };
    }
    const examples = which.map((capability) => {
      const one = found.find((product) => product.capabilities.includes(capability));
      return `${one.name} (${capability})`;
    });
    return { any: null, hint: say("gpu-several", { name: text, which: examples.slice(0, 4).join(", ") }) };
  }

  // what is asked for

  function driverMeans(driver, system) {
    const reached = data.branches[system].filter(([branch]) => branch <= driver[0]);
    return reached.length ? say("driver-means", { cuda: reached[reached.length - 1][1] }) : say("driver-old");
  }

  function parseDriver(text, system) {
    if (!text) return { driver: null, hint: say("driver-hint"), wrong: false };
    if (!/^\d+(\.\d+)*\.?$/.test(text)) return { driver: null, hint: say("driver-unknown", { text }), wrong: true };
    const driver = numbers(text); // a dot that is still to be followed is 0
    return { driver, hint: driverMeans(driver, system), wrong: false };
  }

  function hint(name, text, wrong) {
    const shown = byId(`${name}-hint`);
    if (shown.textContent !== text) shown.textContent = text;
    byId(name).setAttribute("aria-invalid", wrong ? "true" : "false");
  }

  function readForm() {
    const value = (name) => byId(name).value.trim();
    const gpus = value("gpu").split(",").map((text) => text.trim()).filter(Boolean).map(findGpu);
    const gpuHints = gpus.map((gpu) => gpu.hint).filter(Boolean).join("; ");
    hint("gpu", gpuHints || (gpus.length ? "" : say("gpu-hint")), gpus.some((gpu) => !gpu.any));
    const windows = byId("wsl").checked || value("platform").startsWith("win");
    const { driver, hint: driverHint, wrong } = parseDriver(value("driver"), windows ? "windows" : "linux");
    hint("driver", driverHint, wrong);
    const torch = parseTorch(value("torch"));
    hint("torch", torch.wrong ? say("torch-unknown", { text: torch.wrong }) : say("torch-hint"), torch.wrong);
    return {
      gpus: gpus.map((gpu) => gpu.any).filter(Boolean),
      driver,
      wsl: byId("wsl").checked,
      torch: torch.tests,
      variant: value("variant"),
      python: value("python"),
      platform: value("platform"),
      index: value("index"),
    };
  }

  // what fits

  function rowFits(row, wanted) {
    if (!wanted.torch.every((test) => test(numbers(row.torch)))) return false;
    if (!wanted.variant) return row.cuda !== null;
    if (/^\d+$/.test(wanted.variant)) return row.cuda !== null && row.cuda.split(".")[0] === wanted.variant;
    return row.variant === wanted.variant;
  }

  const systemOf = (build, wanted) => (wanted.wsl || build.platform.startsWith("win") ? "windows" : "linux");
  const needOf = (row, build, wanted) => data.cuda[row.cuda][systemOf(build, wanted)];

  function letter(row, build, capability, wanted) {
    const found = build.runs[place.get(capability)] ?? "-";
    if (found !== "p" || !wanted.driver) return found;
    const need = needOf(row, build, wanted);
    return need && need.branch !== null && wanted.driver[0] >= need.branch ? "p" : "w";
  }

  const runs = (found) => found === "n" || found === "p";

  function driverFits(row, build, wanted) {
    if (!wanted.driver || row.cuda === null) return true;
    const need = needOf(row, build, wanted);
    return Boolean(need) && compare(wanted.driver, numbers(need.least)) >= 0;
  }

  function buildFits(row, build, wanted) {
    if (wanted.platform && build.platform !== wanted.platform) return false;
    if (wanted.index && build.index !== wanted.index) return false;
    if (wanted.python && !build.pythons.includes(wanted.python)) return false;
    if (!driverFits(row, build, wanted)) return false;
    return wanted.gpus.every((any) => any.some((capability) => runs(letter(row, build, capability, wanted))));
  }

  function chosenRows(wanted) {
    return data.rows
      .filter((row) => rowFits(row, wanted))
      .map((row) => ({ ...row, builds: row.builds.filter((build) => buildFits(row, build, wanted)) }))
      .filter((row) => row.builds.length);
  }

  // cells

  function inWords(row, build, capabilities, wanted) {
    const grouped = new Map();
    for (const capability of capabilities) {
      const found = letter(row, build, capability, wanted);
      grouped.set(found, [...(grouped.get(found) ?? []), capability]);
    }
    return [...grouped]
      .map(([found, which]) => say("where-what", { which: which.join(", "), what: say(`state-${found}`) }))
      .join("; ");
  }

  // One letter for a generation; "+" where it depends on the GPU or the platform, `note` tells on which GPU.
  function summary(row, generation, wanted) {
    const patterns = row.builds.map((build) =>
      generation.capabilities.map((capability) => letter(row, build, capability, wanted)).join(""),
    );
    const letters = distinct([...patterns.join("")]);
    if (letters.length === 1) return { state: letters[0], note: "" };
    if (letters.every(runs)) return { state: "p", note: "" };
    if (!letters.some(runs)) return { state: [...ORDER].find((one) => letters.includes(one)), note: "" };
    if (distinct(patterns).length > 1) return { state: "+", note: "" };
    return { state: "+", note: generation.capabilities.filter((_, index) => runs(patterns[0][index])).join(" ") };
  }

  const kindOf = (state) => ({ n: "native", p: "ptx", "+": "partly", "-": "none", "?": "none" })[state] ?? "barred";

  function generationCell(row, generation, wanted, asked) {
    const label = { "data-label": generation.name };
    if (row.cuda === null) return element("td", { ...label, class: "gpu none" }, unseen(say("state--")));
    const { state, note } = summary(row, generation, wanted);
    const told = distinct(
      row.builds.map((build) => {
        const text = inWords(row, build, generation.capabilities, wanted);
        return state === "+" && !note ? `${build.platform}: ${text}` : text;
      }),
    ).join("\n");
    return element(
      "td",
      {
        ...label,
        class: `gpu ${kindOf(state)}${asked.has(generation.name) ? " asked" : ""}`,
        "data-state": state,
        title: `${generation.name}\n${told}`,
      },
      element("span", { "aria-hidden": "true", class: "sign" }, SIGNS[state]),
      note ? element("small", { "aria-hidden": "true" }, note) : null,
      unseen(told),
    );
  }

  function driverCell(row, system) {
    const label = { "data-label": say(`driver-${system}`), class: "driver" };
    const need = row.cuda === null ? null : data.cuda[row.cuda][system];
    if (!need) return element("td", label, row.cuda === null ? "" : say("unknown"));
    const more = need.native && need.native !== need.least;
    const native = more ? say("native-from", { driver: need.native }) : "";
    return element(
      "td",
      { ...label, title: need.source },
      element("span", {}, need.least),
      more ? element("small", { title: say("native-why") }, native) : null,
    );
  }

  function pythonsCell(row) {
    const ranges = inRanges(distinct(row.builds.flatMap((build) => build.pythons)));
    const parts = ranges.flatMap((range, index) => [index ? ", " : "", element("span", {}, range)]);
    return element("td", { "data-label": say("pythons"), class: "pythons" }, element("div", {}, ...parts));
  }

  function placesCell(row, wanted) {
    const lines = data.platforms
      .map((platform) => [platform, distinct(row.builds.filter((one) => one.platform === platform).map((one) => one.index))])
      .filter(([, indexes]) => indexes.length)
      .map(([platform, indexes]) => {
        const names = indexes.map((index) => data.indexes[index]).join(" + ");
        return element("div", {}, wanted.platform ? names : `${platform}: ${names}`);
      });
    return element("td", { "data-label": say("where"), class: "places folded" }, ...lines);
  }

  function evidenceCell(row) {
    const kinds = ["wheel", "matrix", "assumed"].filter((kind) => row.builds.some((build) => build.evidence === kind));
    const badges = kinds.map((kind) => {
      const sources = distinct(row.builds.filter((build) => build.evidence === kind).map((build) => build.source));
      const title = [say(`evidence-${kind}-why`), ...sources].join("\n");
      return element("span", { class: `badge ${kind}`, title }, say(`evidence-${kind}`));
    });
    return element("td", { "data-label": say("evidence"), class: "folded" }, ...badges);
  }

  const nameOf = (row) => `${row.torch}+${row.variant}`;

  function headCell(row, id) {
    const name = nameOf(row);
    const button = element(
      "button",
      { type: "button", class: "more", "aria-expanded": String(open.has(name)), "aria-controls": id, "data-row": name },
      element("span", { "aria-hidden": "true" }, "▸"),
      unseen(say("details", { torch: name })),
    );
    const here = row.builds.some((build) => build.here) ? element("span", { class: "badge here" }, say("here")) : null;
    return element("th", { scope: "row" }, button, element("span", { class: "release" }, row.torch), here);
  }

  function variantCell(row) {
    const shown = row.cuda === null ? say("cpu") : row.cuda;
    return element(
      "td",
      { "data-label": say("variant"), class: "variant" },
      element("span", {}, shown),
      row.cuda === null ? null : element("small", {}, row.variant),
    );
  }

  // the builds behind a row

  function fact(name, value) {
    return value ? [element("dt", {}, name), element("dd", {}, value)] : [];
  }

  function buildDetails(row, build, wanted) {
    const letters = new Set(build.runs ? data.capabilities.map((one) => letter(row, build, one, wanted)) : []);
    const covered = [...ORDER].filter((found) => letters.has(found)).flatMap((found) =>
      fact(
        say(`state-${found}`),
        data.capabilities.filter((one) => letter(row, build, one, wanted) === found).join(" "),
      ),
    );
    const where = `${build.platform} · ${data.indexes[build.index]}`;
    return element(
      "section",
      {},
      element("h3", {}, where, build.here ? element("span", { class: "badge here" }, say("here")) : null),
      element(
        "dl",
        {},
        ...covered,
        ...fact(say("compiled"), build.architectures),
        ...fact(say("pythons"), build.pythons.join(" ")),
        ...fact(say("cudnn"), build.cudnn),
        ...fact(say("tags"), build.tags),
        ...fact(say("evidence"), `${say(`evidence-${build.evidence}`)}: ${say(`evidence-${build.evidence}-why`)}`),
        ...fact(say("source"), build.source),
      ),
    );
  }

  function detailsRow(row, id, width, wanted) {
    const shown = open.has(nameOf(row));
    const cell = element("td", { colspan: width });
    if (shown) cell.append(element("div", { class: "builds" }, ...row.builds.map((one) => buildDetails(row, one, wanted))));
    const made = element("tr", { id, class: "details" }, cell);
    made.hidden = !shown;
    return made;
  }

  // the table

  function systemsShown(wanted) {
    if (wanted.wsl || wanted.platform.startsWith("win")) return ["windows"];
    return wanted.platform ? ["linux"] : ["linux", "windows"];
  }

  function generationTitle(generation) {
    const { first_cuda: first, last_cuda: last, last_driver_branch: driver } = generation;
    const cuda = last ? say("generation-cuda", { first, last }) : say("generation-cuda-on", { first });
    const drivers = driver ? say("generation-driver", { driver }) : null;
    return [generation.capabilities.join(", "), cuda, drivers].filter(Boolean).join("\n");
  }

  function header(wanted, asked) {
    const plain = (text, classes) => element("th", { scope: "col", class: classes }, text);
    return element(
      "tr",
      {},
      plain(say("torch")),
      plain(say("variant")),
      ...systemsShown(wanted).map((system) => plain(say(`driver-${system}`))),
      ...columns.map((generation) =>
        element(
          "th",
          { scope: "col", class: `gpu${asked.has(generation.name) ? " asked" : ""}`, title: generationTitle(generation) },
          generation.name,
          element("small", {}, span(generation.capabilities)),
        ),
      ),
      plain(say("pythons")),
      plain(say("cudnn"), "folded"),
      plain(say("where"), "folded"),
      plain(say("evidence"), "folded"),
    );
  }

  const span = (list) => (list.length > 1 ? `${list[0]}–${list[list.length - 1]}` : list[0]);

  function tableRows(rows, wanted, asked) {
    const systems = systemsShown(wanted);
    const width = 6 + systems.length + columns.length;
    return rows.flatMap((row, index) => {
      const id = `row-${index}`;
      const begins = index === 0 || rows[index - 1].torch !== row.torch;
      const here = row.builds.some((build) => build.here);
      const cudnn = distinct(row.builds.map((build) => build.cudnn).filter(Boolean));
      const made = element(
        "tr",
        { class: `build${begins ? " begins" : ""}${here ? " here" : ""}`, "data-torch": row.torch, "data-variant": row.variant },
        headCell(row, id),
        variantCell(row),
        ...systems.map((system) => driverCell(row, system)),
        ...columns.map((generation) => generationCell(row, generation, wanted, asked)),
        pythonsCell(row),
        element("td", { "data-label": say("cudnn"), class: "folded" }, cudnn.join(", ")),
        placesCell(row, wanted),
        evidenceCell(row),
      );
      return [made, detailsRow(row, id, width, wanted)];
    });
  }

  function countText(rows, wanted) {
    const all = data.rows.filter((row) => (row.cuda === null) === (wanted.variant === "cpu")).length;
    if (!rows.length) return say("count-none", { all });
    const first = rows[rows.length - 1].torch;
    const last = rows[0].torch;
    return say(first === last ? "count" : "count-torch", { shown: rows.length, all, first, last });
  }

  // Only the signs in sight; several states may share one.
  function legend(table) {
    const inSight = new Set([...table.querySelectorAll("td.gpu")].map((cell) => cell.dataset.state));
    return Object.keys(SIGNS)
      .filter((state) => inSight.has(state))
      .map((state) =>
        element("li", {}, element("span", { class: `sign ${kindOf(state)}` }, SIGNS[state]), ` ${say(`state-${state}`)}`),
      );
  }

  function askedGenerations(wanted) {
    const all = wanted.gpus.flat();
    return new Set(columns.filter((one) => one.capabilities.some((capability) => all.includes(capability))).map((one) => one.name));
  }

  function draw() {
    const wanted = readForm();
    const rows = chosenRows(wanted);
    const asked = askedGenerations(wanted);
    const table = byId("builds");
    table.tHead.replaceChildren(header(wanted, asked));
    table.tBodies[0].replaceChildren(...tableRows(rows, wanted, asked));
    table.hidden = !rows.length;
    byId("legend").replaceChildren(...legend(table));
    byId("count").textContent = countText(rows, wanted);
    byId("asked").textContent = FILTERS.filter(stated).map(inPrint).join(" · ");
    document.documentElement.dataset.shown = rows.length;
  }

  // filters and the page's address

  function stated(name) {
    const field = byId(name);
    return field.type === "checkbox" ? (field.checked ? "1" : "") : field.value.trim();
  }

  const inPrint = (name) => (name === "wsl" ? say(name) : `${say(name)}: ${stated(name)}`);

  function fill(filters) {
    for (const name of FILTERS) {
      const field = byId(name);
      if (field.type === "checkbox") field.checked = Boolean(filters[name]);
      else field.value = filters[name] ?? "";
      if (field.tagName === "SELECT" && field.selectedIndex < 0) field.selectedIndex = 0;
    }
  }

  function remember() {
    const filters = FILTERS.map((name) => [name, stated(name)]).filter(([, value]) => value);
    const address = filters.length ? new URLSearchParams(filters).toString() : "all";
    history.replaceState(null, "", `#${address}`);
  }

  function show(filters) {
    fill(filters);
    remember();
    draw();
  }

  const usual = () => (data.machine?.usable ? data.machine.filters : { platform: data.platforms[0] });

  function fromAddress() {
    const text = location.hash.slice(1);
    fill(text ? Object.fromEntries(new URLSearchParams(text)) : usual());
    draw();
  }

  // what stays as it is

  function options(name, values) {
    byId(name).append(...values.map(([value, text]) => element("option", { value }, text)));
  }

  function fillChoices() {
    const builds = data.rows.flatMap((row) => row.builds);
    const byVersion = (one, other) => compare(numbers(other), numbers(one)) || one.length - other.length;
    const variants = distinct(data.rows.filter((row) => row.cuda).map((row) => `${row.cuda} ${row.variant}`)).sort(byVersion);
    const majors = distinct(variants.map((text) => text.split(".")[0]));
    options("variant", [
      ["", say("any-cuda")],
      ...majors.map((cuda) => [cuda, say("cuda-major", { cuda })]),
      ...variants.map((text) => text.split(" ")).map(([cuda, variant]) => [variant, `${cuda} (${variant})`]),
      ["cpu", say("cpu")],
    ]);
    const pythons = distinct(builds.flatMap((build) => build.pythons)).sort(byVersion);
    options("python", [["", say("any")], ...pythons.map((python) => [python, python])]);
    options("platform", [["", say("any")], ...data.platforms.map((platform) => [platform, platform])]);
    options("index", [["", say("any")], ...Object.entries(data.indexes)]);
    const names = [...columns.map((generation) => generation.name), ...products.map((product) => product.name)];
    byId("gpus").append(...names.map((value) => element("option", { value })));
  }

  function fillTexts() {
    document.documentElement.lang = say("language");
    document.title = say("title");
    for (const item of document.querySelectorAll("[data-text]")) item.textContent = say(item.dataset.text);
    const count = data.rows.length;
    byId("made").textContent = say("made", { count, program: data.made_by, date: data.made_on });
    byId("legend").setAttribute("aria-label", say("legend"));
  }

  function fillMachine() {
    const machine = data.machine;
    if (!machine) return;
    byId("machine").hidden = false;
    byId("machine").classList.toggle("broken", !machine.usable);
    byId("machine-name").textContent = machine.name;
    byId("machine-system").textContent = machine.system;
    byId("machine-lines").append(...machine.lines.map((line) => element("li", {}, ...coded(line))));
    byId("show-mine").hidden = !machine.usable;
    byId("show-mine").addEventListener("click", () => show(machine.filters));
    byId("show-all").addEventListener("click", () => show({}));
  }

  // names stand in backticks
  function coded(line) {
    return line.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
  }

  function toggle(button) {
    const name = button.dataset.row;
    if (!open.delete(name)) open.add(name);
    draw();
    [...document.querySelectorAll("button.more")].find((one) => one.dataset.row === name)?.focus();
  }

  fillTexts();
  fillChoices();
  fillMachine();
  fromAddress();
  byId("filters").addEventListener("input", () => {
    remember();
    draw();
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", () => show({}));
  byId("builds").addEventListener("click", (event) => {
    const button = event.target.closest("button.more");
    if (button) toggle(button);
  });
  addEventListener("hashchange", fromAddress);
})();
