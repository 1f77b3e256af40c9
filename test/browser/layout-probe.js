// Runs inside the operator's page and measures what is on the screen: whether text or controls
// overlap, are cut off, or reach beyond the screen. A finding is `[rule, selector, note]`.
// The value of its last statement is the object with the functions that the suite calls. The rules
// about words and buttons are in `layout-rules.js`, which is evaluated together with it.

const CONTROLS = "button, a[href], input, select, textarea, summary, [tabindex='0']";
/** A control must not reach beyond the nearest of these. */
const CONTAINERS = ".card, .notice, .bar, dialog, fieldset, table, main";
/** A difference of less than this is rounding, in pixels. */
const ROUNDING = 1.5;
/** Lines of text may touch: a glyph's box is higher than the glyph. */
const MIN_OVERLAP = 3;

/** A selector that finds the element again: the way from the nearest landmark, with classes. */
function selectorOf(element) {
  const parts = [];
  for (let node = element; node !== null && node !== document.body; node = node.parentElement) {
    const classes = [...node.classList].map((name) => `.${name}`).join("");
    parts.unshift(`${node.localName}${classes}`);
    if (parts.length === 4 || node.localName === "main" || node.localName === "dialog") break;
  }
  const text = (element.textContent ?? "").trim().replaceAll(/\s+/g, " ").slice(0, 40);
  return `${parts.join(" > ")}${text === "" ? "" : ` "${text}"`}`;
}

const isShown = (element) =>
  element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
  element.closest(".visually-hidden, [aria-hidden='true'], noscript, .u-wrap, .skip") === null;

/** While a modal dialog is open, only it can be used. */
const findRoot = () => [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;

const styleCache = new WeakMap();
function styleOf(element) {
  if (!styleCache.has(element)) styleCache.set(element, getComputedStyle(element));
  return styleCache.get(element);
}

/** What scrolls below a fixed or sticky element is hidden by it on purpose: another layer. */
function layerOf(element) {
  for (let node = element; node !== null; node = node.parentElement) {
    if (["fixed", "sticky"].includes(styleOf(node).position)) return node;
  }
  return document.body;
}

const clips = (value) => value === "hidden" || value === "clip";
const scrolls = (value) => value === "auto" || value === "scroll";

/** The part of a box that its ancestors show, and the ancestor that cuts text off, if any. */
function visiblePart(element, { left, right, top, bottom }) {
  const box = { left, right, top, bottom };
  let cutBy = null;
  // An element positioned outside of the flow is not clipped by ancestors before its container.
  for (let node = element; node !== null && node !== document.body; node = node.parentElement) {
    const { overflowX, overflowY } = styleOf(node);
    if (overflowX === "visible" && overflowY === "visible") continue;
    const outer = node.getBoundingClientRect();
    const isCut =
      (clips(overflowX) &&
        (box.right > outer.right + ROUNDING || box.left < outer.left - ROUNDING)) ||
      (clips(overflowY) &&
        (box.bottom > outer.bottom + MIN_OVERLAP || box.top < outer.top - MIN_OVERLAP));
    if (isCut && cutBy === null) cutBy = node;
    if (clips(overflowX) || scrolls(overflowX)) {
      box.left = Math.max(box.left, outer.left);
      box.right = Math.min(box.right, outer.right);
    }
    if (clips(overflowY) || scrolls(overflowY)) {
      box.top = Math.max(box.top, outer.top);
      box.bottom = Math.min(box.bottom, outer.bottom);
    }
  }
  return { box, cutBy };
}

const isEmpty = ({ left, right, top, bottom }) => right - left < 1 || bottom - top < 1;

/** Of a list or a table with more rows, the first ones and the last one are measured. */
const isMeasured = (row) => row.matches(":nth-child(-n + 100), :last-child");

/** The nodes of a kind below the root, without the rows that are not measured. */
function* nodesOf(root, kind) {
  const accept = (node) => {
    if (node.nodeType !== Node.ELEMENT_NODE) return NodeFilter.FILTER_ACCEPT;
    if (node.matches("tr, [role='row']") && !isMeasured(node)) return NodeFilter.FILTER_REJECT;
    return kind === Node.ELEMENT_NODE ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
  };
  const shown = NodeFilter.SHOW_ELEMENT | (kind === Node.TEXT_NODE ? NodeFilter.SHOW_TEXT : 0);
  const walker = document.createTreeWalker(root, shown, accept);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) yield node;
}

const elementsOf = (root, selector = "*") =>
  [...nodesOf(root, Node.ELEMENT_NODE)].filter((element) => element.matches(selector));

/** Every line of text: its element, its visible part, and what cuts it off. */
function findTextBoxes(root) {
  const boxes = [];
  for (const node of nodesOf(root, Node.TEXT_NODE)) {
    const element = node.parentElement;
    if (node.data.trim() === "" || element.closest("select, textarea, svg, style") !== null)
      continue;
    if (!isShown(element) || styleOf(element).fontSize === "0px") continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (isEmpty(rect)) continue;
      const { box, cutBy } = visiblePart(element, rect);
      if (!isEmpty(box)) boxes.push({ element, box, cutBy, layer: layerOf(element), text: true });
    }
  }
  return boxes;
}

function findControlBoxes(root) {
  return elementsOf(root, CONTROLS)
    .filter(isShown)
    .flatMap((element) => {
      // The boxes of a link that continues on the next line are those of its text.
      if (styleOf(element).display === "inline") return [];
      const rect = element.getBoundingClientRect();
      const { box } = visiblePart(element, rect);
      return isEmpty(box) ? [] : [{ element, box, layer: layerOf(element), text: false }];
    });
}

const overlapOf = (a, b) => ({
  width: Math.min(a.right, b.right) - Math.max(a.left, b.left),
  height: Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top),
});

const isRelated = (a, b) => a === b || a.contains(b) || b.contains(a);

/** Sorted by their top: only neighbours are compared. */
function findOverlaps(boxes) {
  const findings = [];
  const sorted = boxes.toSorted((a, b) => a.box.top - b.box.top);
  for (const [index, first] of sorted.entries()) {
    for (let other = index + 1; other < sorted.length; other += 1) {
      const second = sorted[other];
      if (second.box.top > first.box.bottom) break;
      if (first.layer !== second.layer || isRelated(first.element, second.element)) continue;
      const { width, height } = overlapOf(first.box, second.box);
      if (width < MIN_OVERLAP || height < MIN_OVERLAP) continue;
      // A control may lie on an area that is one: its label, or a region that scrolls.
      if (isArea(first.element, second.element) || isArea(second.element, first.element)) continue;
      findings.push([
        "overlap",
        selectorOf(first.element),
        `${selectorOf(second.element)} (${Math.round(width)} × ${Math.round(height)})`,
      ]);
    }
  }
  return findings;
}

const isArea = (area, element) => area.matches("label") && area.control === element;

/** Text may be cut off if pointing at it shows the whole. */
const findCutTexts = (boxes) =>
  boxes
    .filter(({ element, cutBy }) => cutBy !== null && element.closest("[title]") === null)
    .map(({ element, cutBy }) => ["cut text", selectorOf(element), `by ${selectorOf(cutBy)}`]);

/** What may scroll sideways, if the keyboard reaches it: large tables of numbers, and code. */
const MAY_SCROLL = ".usage-table, .wide, pre, textarea, input, select";

const findSidewaysScrolling = (root) =>
  [root, ...elementsOf(root)]
    .filter((element) => element !== document.body && isShown(element))
    .filter((element) => scrolls(styleOf(element).overflowX))
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + ROUNDING)
    .filter((element) => !element.matches(MAY_SCROLL))
    .map((element) => [
      "scrolls sideways",
      selectorOf(element),
      `${element.scrollWidth} in ${element.clientWidth}`,
    ]);

function findOutside(root) {
  const findings = [];
  for (const element of elementsOf(root, CONTROLS)) {
    if (!isShown(element) || isEmpty(element.getBoundingClientRect())) continue;
    // A row of a list that is scrolled out of sight is no finding.
    const { box } = visiblePart(element, element.getBoundingClientRect());
    if (isEmpty(box)) continue;
    const { left, right, top, bottom } = box;
    const isInScroller = element.parentElement.closest(MAY_SCROLL) !== null;
    if (!isInScroller && (left < -ROUNDING || right > innerWidth + ROUNDING)) {
      findings.push(["off the screen", selectorOf(element), `${left} to ${right}`]);
    }
    const container = element.parentElement.closest(CONTAINERS);
    if (container === null || isInScroller) continue;
    const outer = container.getBoundingClientRect();
    const isOutside =
      left < outer.left - ROUNDING ||
      right > outer.right + ROUNDING ||
      (top < outer.top - ROUNDING && container.localName !== "dialog") ||
      (bottom > outer.bottom + ROUNDING && container.localName !== "dialog");
    if (isOutside && layerOf(element) === layerOf(container)) {
      findings.push(["outside its container", selectorOf(element), selectorOf(container)]);
    }
  }
  return findings;
}

function measureLayout() {
  const root = findRoot();
  const { scrollWidth, clientWidth } = document.documentElement;
  const texts = findTextBoxes(root);
  return [
    ...(scrollWidth > clientWidth
      ? [["wider than the screen", "html", `${scrollWidth} in ${clientWidth}`]]
      : []),
    ...findOverlaps([...texts, ...findControlBoxes(root)]),
    ...findCutTexts(texts),
    ...findSidewaysScrolling(root),
    ...findOutside(root),
    ...layoutRules.findBrokenWords(root),
    ...layoutRules.findWrongButtons(root),
  ];
}

/** On paper: no navigation and no buttons, light colours, the time, and nothing that scrolls. */
function measurePaper() {
  const findings = elementsOf(document.body, "nav, button, select, input[type=search]")
    .filter((element) => isShown(element) && !isEmpty(element.getBoundingClientRect()))
    .filter((element) => element.closest("th, [role=columnheader]") === null)
    .map((element) => ["printed control", selectorOf(element), ""]);
  const colour = getComputedStyle(document.querySelector("main")).color;
  const [red = 255, green = 255, blue = 255] = (colour.match(/\d+/g) ?? []).map(Number);
  if (red + green + blue > 200) findings.push(["dark colours", "main", colour]);
  const note = document.querySelector(".print-note");
  if (note === null || !/^Printed .*\d/.test(note.textContent)) {
    findings.push(["no time in the header", ".print-note", note?.textContent ?? ""]);
  }
  for (const element of elementsOf(document.body, "main, main *")) {
    const { overflowX, overflowY } = styleOf(element);
    const isCut =
      (scrolls(overflowX) && element.scrollWidth > element.clientWidth + ROUNDING) ||
      (scrolls(overflowY) && element.scrollHeight > element.clientHeight + ROUNDING);
    if (isCut && isShown(element)) findings.push(["scrolls on paper", selectorOf(element), ""]);
  }
  return findings;
}

/** The rows of a long table have the same controls: the first ones stand for all. */
const MAX_ROWS = 4;
const rowIndexOf = (element) =>
  Number(element.closest("[aria-rowindex]")?.getAttribute("aria-rowindex") ?? 0);

/** Everything that Tab should reach: of a group of radio buttons, only the checked one. */
function findTabStops() {
  const root = findRoot();
  return [...root.querySelectorAll(CONTROLS)].filter(
    (element) =>
      !element.disabled &&
      rowIndexOf(element) <= MAX_ROWS &&
      element.tabIndex >= 0 &&
      element.checkVisibility({ visibilityProperty: true }) &&
      !(element.type === "radio" && !element.checked) &&
      (element.localName !== "summary" || element.parentElement.localName === "details"),
  );
}

let reached = new Set();
let tabStops = [];
addEventListener("focusin", ({ target }) => reached.add(target), true);

globalThis.layoutProbe = {
  measureLayout,
  measurePaper,
  /** Begins to watch the focus, and moves it to the first control. */
  startTabbing() {
    reached = new Set();
    tabStops = findTabStops();
    tabStops[0]?.focus();
  },
  /** Rows that left the screen because the focus scrolled the list are not counted. */
  unreachedByTab: () =>
    tabStops
      .filter((element) => element.isConnected && !reached.has(element))
      .map((element) => ["not reached by Tab", selectorOf(element), ""]),
};
