// Runs in a page of the console, as axe does; answers what is wrong with its layout, a line for each fault.
// It measures texts and not boxes, because a box may have the right size while its text leaves it.

/** Texts and controls that stand closer than this look like one. */
const MIN_GAP_PX = 3;

/** Text of more lines than this makes a row of a list hard to read. */
const MAX_LINES = 3;

/** A word of so many letters has room in every column. */
const MAX_WHOLE_WORD = 10;

/** Rounding of a browser that places text between pixels. */
const TOLERANCE_PX = 1.5;

/** Text that is meant to be read line after line, or has the height of something else. */
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

/** The document is the window: only areas inside it scroll, and no such area stands in another one. */
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

/** Nothing leaves the window at its sides, unless it can be scrolled to in an area of its own. */
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

/** Only a word that is longer than any place for it may be broken. */
function* wordFaults({ block, nodes, lines }) {
  if (lineCount(lines) < 2) return;
  for (const node of nodes) {
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      if (word.length > MAX_WHOLE_WORD || /[-/]/.test(word)) continue;
      if (lineCount(linesOf(node, index, index + word.length)) > 1) yield `“${word}” is broken: ${nameOf(block)}`;
    }
  }
}

/** A text stays inside the card or dialog that it stands in. */
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

/** A line is in view or not: none is cut through in its height. */
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

/** A label stands apart from its value, and every text from the next one. */
function* touchFaults(texts) {
  const boxes = [
    ...texts
      .filter(({ block }) => !block.matches('dt'))
      .flatMap(({ block, lines }) => lines.map((line) => ({ owner: block, box: inView(block, line) }))),
    // The whole cell of a label: how much of it the text fills depends on the font.
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
  const said = new Set();
  for (const [index, one] of boxes.entries()) {
    for (const other of boxes.slice(index + 1)) {
      if (other.box.top >= one.box.bottom) break;
      if (one.owner === other.owner || one.owner.contains(other.owner) || other.owner.contains(one.owner)) continue;
      // A button may stand inside the frame of a field.
      if ([one, other].some(({ owner }) => owner.matches('input')) && [one, other].some(({ owner }) => isPlaced(owner)))
        continue;
      const [a, b] = [one.box, other.box];
      const shared = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const gap = Math.max(a.left, b.left) - Math.min(a.right, b.right);
      if (shared < Math.min(a.height, b.height) / 2 || gap >= MIN_GAP_PX) continue;
      const fault = `${gap.toFixed(1)} px between ${nameOf(one.owner)} and ${nameOf(other.owner)}`;
      if (!said.has(fault)) yield fault;
      said.add(fault);
    }
  }
}

/** Every text in view, by the block that lays it out, with the boxes of its lines. */
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
    const of = blocks.get(block) ?? { lines: [], nodes: [] };
    blocks.set(block, { lines: [...of.lines, ...linesOf(node)], nodes: [...of.nodes, node] });
  }
  const isInView = (block) => (line) => {
    const { width, height } = inView(block, line);
    return width > 1 && height > 1;
  };
  return [...blocks].map(([block, { lines, nodes }]) => ({ block, nodes, lines: lines.filter(isInView(block)) }));
}

/** The boxes of the lines of a text, or of a part of it. */
function linesOf(node, from = 0, to = node.length) {
  const range = document.createRange();
  range.setStart(node, from);
  range.setEnd(node, to);
  return [...range.getClientRects()];
}

const lineCount = (lines) => new Set(lines.map(({ top }) => Math.round(top))).size;

/** What is left of a box in the areas that cut it off. */
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

/** Stands above others, which go on below it. */
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
