// Rules of the layout about words and buttons. It is evaluated in the operator's page, in front of
// `layout-probe.js`, whose functions it uses.

/** Longer words may be broken: a name or a path has no better place. */
const MAX_UNBROKEN = 14;

/** Words that continue on the next line without a hyphen or a slash between. */
function findBrokenWords(root) {
  const findings = [];
  for (const node of nodesOf(root, Node.TEXT_NODE)) {
    const element = node.parentElement;
    if (element.closest("select, textarea, svg, style, code") !== null || !isShown(element))
      continue;
    for (const { 0: word, index } of node.data.matchAll(/[\p{L}\p{N}]+/gu)) {
      if (word.length > MAX_UNBROKEN || isPartOfName(node.data, index, word.length)) continue;
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const tops = [...range.getClientRects()].map(({ top }) => top);
      if (Math.max(...tops) - Math.min(...tops) > MIN_OVERLAP)
        findings.push(["broken word", selectorOf(element), word]);
    }
  }
  return findings;
}

/** Whether a word is part of a longer one, such as a host name or an address. */
function isPartOfName(text, index, length) {
  const before = /\S*$/.exec(text.slice(0, index))?.[0] ?? "";
  const after = /^\S*/.exec(text.slice(index + length))?.[0] ?? "";
  return before.length + length + after.length > MAX_UNBROKEN;
}

const mainButtonsIn = (root) =>
  [...root.querySelectorAll(".button.main, .button.danger")].filter(isShown);

/**
 * A screen has at most one main button. A dialog has exactly one, last in its last row, and a
 * button that leaves it: Cancel, Close, or the main one itself.
 */
function findWrongButtons(root) {
  if (root.localName !== "dialog") {
    const main = mainButtonsIn(root).filter((button) => button.matches(".main"));
    return main.slice(1).map((button) => ["second main button", selectorOf(button), ""]);
  }
  const rows = [...root.querySelectorAll(".actions")].filter(isShown);
  const buttons = [...(rows.at(-1)?.querySelectorAll(".button") ?? [])];
  const isLeft = buttons.some((button) => /^(Cancel|Close|I have .*)$/.test(button.textContent));
  const [main, ...others] = mainButtonsIn(root);
  return [
    ...(main === undefined || main !== buttons.at(-1)
      ? [["main button not last", selectorOf(root), ""]]
      : []),
    ...others.map((button) => ["second main button", selectorOf(button), ""]),
    ...(isLeft ? [] : [["no button that leaves the dialog", selectorOf(root), ""]]),
  ];
}

globalThis.layoutRules = { findBrokenWords, findWrongButtons };
