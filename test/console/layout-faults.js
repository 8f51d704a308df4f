// Runs in a page of the console, like axe, and returns the layout faults of the page, one line each.
// Measures text rather than boxes, because text can overflow a box of the right size.

/** Texts and controls that are closer to each other than this look like one element. */
const MIN_GAP_PX = 3;

/** A list row with more lines of text than this is hard to read. */
const MAX_LINES = 3;

/** Words up to this length fit into every column and must not be broken. */
const MAX_WHOLE_WORD = 10;

/** Tolerance when edges are compared, because browsers place text at subpixel positions. */
const TOLERANCE_PX = 1.5;

/** Elements that may have many lines: they contain running text, or their height does not depend on their text. */
const PROSE = 'p, pre, ol, .bullets, .says, .code, .said, .note, .words, h1, .empty, .ec-event';

globalThis.layoutFaults = () => {
  const texts = [...textsOf(document.body)];
  return [
    ...scrollFaults(),
    ...widthFaults(),
    ...texts.flatMap((one) => [...heightFaults(one)]),
    ...texts.flatMap((one) => [...wordFaults(one)]),
    ...texts.flatMap((one) => [...cardFaults(one)]),
    ...texts.flatMap((one) => [...cutFaults(one)]),
    ...touchFaults(texts),
  ];
};

/** Finds faults of scrolling: only areas inside the document may scroll, and scroll areas must not be nested. */
function* scrollFaults() {
  const { scrollWidth, scrollHeight } = document.documentElement;
  if (scrollHeight > innerHeight) yield `the document scrolls: ${scrollHeight} px high in a window of ${innerHeight}`;
  if (scrollWidth > innerWidth) yield `the document scrolls: ${scrollWidth} px wide in a window of ${innerWidth}`;
  const scrolling = [...document.querySelectorAll('*')].filter(
    (one) => one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY),
  );
  for (const outer of scrolling) {
    const inner = scrolling.find(
      (one) => one !== outer && outer.contains(one) && one.closest('dialog, textarea') === null,
    );
    if (inner !== undefined) yield `${nameOf(inner)} scrolls in ${nameOf(outer)}, which scrolls too`;
  }
}

/** Finds elements that extend beyond the sides of the window and are not inside a scroll area. */
function* widthFaults() {
  for (const main of document.querySelectorAll('main')) {
    if (main.scrollWidth > main.clientWidth) yield `main is ${main.scrollWidth} px wide in ${main.clientWidth}`;
  }
  const wide = new Set();
  for (const one of document.querySelectorAll('body *')) {
    const { left, right, width } = one.getBoundingClientRect();
    if (width === 0 || (left >= -1 && right <= innerWidth + 1) || !isSeen(one)) continue;
    wide.add(one);
    if (!wide.has(one.parentElement) && ![...ancestors(one)].some(isClipping))
      yield `${nameOf(one)} reaches from ${left} to ${right} px`;
  }
}

function* heightFaults({ block, lines }) {
  const count = lineCount(lines);
  if (count > MAX_LINES && block.closest(PROSE) === null) yield `${count} lines: ${nameOf(block)}`;
}

/** Finds words that are broken into two lines. Only very long words may be broken. */
function* wordFaults({ block, nodes, lines }) {
  if (lineCount(lines) < 2) return;
  for (const node of nodes) {
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      if (word.length > MAX_WHOLE_WORD || /[-/]/.test(word)) continue;
      if (lineCount(linesOf(node, index, index + word.length)) > 1) yield `“${word}” is broken: ${nameOf(block)}`;
    }
  }
}

/** Finds texts that overflow their card or dialog. */
function* cardFaults({ block, lines }) {
  const card = block.closest('.card, dialog, .note, .button, .badge, .chip');
  if (card === null) return;
  const { left, right } = card.getBoundingClientRect();
  const isOut = (line) => {
    const box = inView(block, line);
    return box.width > 0 && (box.left < left - TOLERANCE_PX || box.right > right + TOLERANCE_PX);
  };
  if (lines.some(isOut)) yield `${nameOf(block)} leaves ${nameOf(card)}`;
}

/** Finds lines of text that are clipped vertically. */
function* cutFaults({ block, lines }) {
  const around = [block, ...ancestors(block)];
  const scrolled = around.findIndex(
    (one) => /auto|scroll/.test(getComputedStyle(one).overflowY) && one.scrollHeight > one.clientHeight,
  );
  const clips = around
    .slice(0, scrolled === -1 ? undefined : scrolled)
    .filter((one) => /hidden|clip/.test(getComputedStyle(one).overflowY));
  for (const clip of clips) {
    const { top, bottom } = clip.getBoundingClientRect();
    const isCut = (line) =>
      [top, bottom].some((edge) => line.top + TOLERANCE_PX < edge && edge < line.bottom - TOLERANCE_PX);
    if (lines.some(isCut)) yield `a line is cut through: ${nameOf(block)}`;
  }
}

/** Finds labels, values and adjacent texts without a gap between them. */
function* touchFaults(texts) {
  const boxes = [
    ...texts
      .filter(({ block }) => !block.matches('dt'))
      .flatMap(({ block, lines }) => lines.map((line) => ({ owner: block, box: inView(block, line) }))),
    // Measure the whole cell of a label, because the width of its text depends on the font.
    ...[...document.querySelectorAll('dt')].map((owner) => ({
      owner,
      box: inView(owner, owner.getBoundingClientRect()),
    })),
    ...[...document.querySelectorAll('input:not(.hidden-text), select, textarea')]
      .filter(isSeen)
      .map((owner) => ({ owner, box: inView(owner, owner.getBoundingClientRect()) })),
  ]
    .filter(({ owner, box }) => box.width > 0 && box.height > 0 && !isFloating(owner))
    .sort((a, b) => a.box.top - b.box.top);
  const reported = new Set();
  for (const [index, one] of boxes.entries()) {
    for (const other of boxes.slice(index + 1)) {
      if (other.box.top >= one.box.bottom) break;
      if (one.owner === other.owner || one.owner.contains(other.owner) || other.owner.contains(one.owner)) continue;
      // A button may be positioned inside a field.
      if ([one, other].some(({ owner }) => owner.matches('input')) && [one, other].some(({ owner }) => isPlaced(owner)))
        continue;
      const [a, b] = [one.box, other.box];
      const shared = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const gap = Math.max(a.left, b.left) - Math.min(a.right, b.right);
      if (shared < Math.min(a.height, b.height) / 2 || gap >= MIN_GAP_PX) continue;
      const fault = `${gap.toFixed(1)} px between ${nameOf(one.owner)} and ${nameOf(other.owner)}`;
      if (!reported.has(fault)) yield fault;
      reported.add(fault);
    }
  }
}

/** Returns all visible texts, grouped by their block element, with the boxes of their lines. */
function textsOf(root) {
  const blocks = new Map();
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { currentNode: node } = walker;
    const parent = node.parentElement;
    if (node.data.trim() === '' || parent.closest('.hidden-text, select, textarea, script, style') !== null) continue;
    if (!isSeen(parent)) continue;
    let block = parent;
    while (/^(inline|contents)$/.test(getComputedStyle(block).display)) block = block.parentElement;
    const texts = blocks.get(block) ?? { lines: [], nodes: [] };
    blocks.set(block, { lines: [...texts.lines, ...linesOf(node)], nodes: [...texts.nodes, node] });
  }
  const isInView = (block) => (line) => {
    const { width, height } = inView(block, line);
    return width > 1 && height > 1;
  };
  return [...blocks].map(([block, { lines, nodes }]) => ({ block, nodes, lines: lines.filter(isInView(block)) }));
}

/** Returns the boxes of the lines of a text node, or of a range in it. */
function linesOf(node, from = 0, to = node.length) {
  const range = document.createRange();
  range.setStart(node, from);
  range.setEnd(node, to);
  return [...range.getClientRects()];
}

const lineCount = (lines) => new Set(lines.map(({ top }) => Math.round(top))).size;

/** Returns the visible part of a box in an element, after clipping by the element's ancestors. */
function inView(element, box) {
  let { left, right, top, bottom } = box;
  for (const one of [element, ...ancestors(element)].filter(isClipping)) {
    const clip = one.getBoundingClientRect();
    left = Math.max(left, clip.left);
    right = Math.min(right, clip.right);
    top = Math.max(top, clip.top);
    bottom = Math.min(bottom, clip.bottom);
  }
  return { left, right, top, bottom, width: right - left, height: bottom - top };
}

function* ancestors(element) {
  for (let one = element.parentElement; one !== null && one.tagName !== 'MAIN'; one = one.parentElement) yield one;
}

const isSeen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });

const isClipping = (element) => getComputedStyle(element).overflowX !== 'visible';

const isPlaced = (element) => getComputedStyle(element).position === 'absolute';

/** Whether an element, or one of its ancestors, is placed over other elements. */
const isFloating = (element) =>
  [element, ...ancestors(element)].some((one) => {
    const { position, zIndex } = getComputedStyle(one);
    return /fixed|sticky/.test(position) || (position === 'absolute' && zIndex !== 'auto');
  });

function nameOf(element) {
  const label = [...element.classList].map((name) => `.${name}`).join('');
  const text = (element.innerText ?? '').replace(/\s+/g, ' ').slice(0, 40);
  return `${element.tagName.toLowerCase()}${label} “${text}”`;
}
