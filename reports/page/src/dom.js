// Elements. Texts go in as texts only, so nothing that a scenario says can become markup.

/// el('p', {class: 'note'}, 'text', el('b', {}, 'more')): attributes, then children; null children are left out.
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  return element;
}

const byId = (id) => document.getElementById(id);

/// A name that somebody chose, kept from turning the text around it, and cut by the style where it is endless.
const nameOf = (text) => el('bdi', {class: 'name', title: text.slice(0, 300)}, text);

/// heads: texts. rows: lists of cells, the first of which names the row; a cell is a text or an element.
function table(caption, heads, rows) {
  const cell = (tag, content, scope) => el(tag, scope ? {scope} : {}, content);
  return el('table', {},
    caption ? el('caption', {}, caption) : null,
    el('thead', {}, el('tr', {}, heads.map((head) => cell('th', head, 'col')))),
    el('tbody', {}, rows.map((row) => el('tr', {},
      row.map((content, i) => (i === 0 ? cell('th', content, 'row') : cell('td', content)))))));
}

/// The same, with what makes it wider than the page out of sight until it is scrolled to.
const wideTable = (caption, heads, rows) => el('div', {class: 'wide'}, table(caption, heads, rows));

/// Fills a part of the page that is hidden where there is nothing to say.
function showIn(id, ...children) {
  byId(id).hidden = false;
  byId(id).append(...children);
}

/// Sentences that hold names, each in an element of its own.
const sentencesIn = (tag, texts, attributes = {}) => texts.map((text) => el(tag, {...attributes, dir: 'auto'}, text));

/// What is behind a picture, in numbers: closed on a screen, open on paper.
const numbersOf = (caption, heads, rows) =>
  el('details', {class: 'numbers'}, el('summary', {}, 'in numbers'), wideTable(caption, heads, rows));
