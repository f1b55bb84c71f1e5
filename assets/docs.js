// Script of the documentation's pages: search while one types, tabs, copied code, links to headings, the
// outline's mark. All of it is there without this script, too, but for the copying.

const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

// Browsers have a clipboard for pages on HTTPS and on localhost only.
for (const block of navigator.clipboard ? document.querySelectorAll('div.code') : []) {
  const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy' });
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  block.append(button);
}

for (const heading of document.querySelectorAll('article :is(h2, h3)[id], section[id] > h2')) {
  const id = heading.id || heading.parentElement.id;
  const link = make('a', { className: 'anchor', href: `#${id}`, textContent: '#' });
  link.setAttribute('aria-label', 'Link to this part');
  heading.append(link);
}

// Code in several languages: the one that was chosen is shown everywhere, also on the next page.
const groups = [...document.querySelectorAll('.tabs')].map((group) => {
  const panels = [...group.querySelectorAll('.code')];
  const list = make('div');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Language');
  const tabs = panels.map((panel) => {
    const name = panel.querySelector('.caption').textContent;
    const tab = make('button', { type: 'button', textContent: name });
    tab.setAttribute('role', 'tab');
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-label', name);
    tab.addEventListener('click', () => choose(name, tab));
    return tab;
  });
  list.append(...tabs);
  list.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    const next = tabs.at((tabs.indexOf(document.activeElement) + step) % tabs.length);
    next.focus();
    next.click();
  });
  group.prepend(list);
  const show = (name) => {
    const chosen = tabs.findIndex((tab) => tab.textContent === name);
    if (chosen === -1) return;
    for (const [index, tab] of tabs.entries()) {
      tab.setAttribute('aria-selected', String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      panels[index].hidden = index !== chosen;
    }
  };
  show(tabs[0].textContent);
  return show;
});

function choose(name, tab) {
  const before = tab.getBoundingClientRect().top;
  for (const show of groups) show(name);
  // Groups above may have become shorter or longer.
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' });
  remember('language', name);
}

function remember(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch {
    // Storage is switched off.
  }
  return null;
}

const language = remember('language');
if (language !== null) for (const show of groups) show(language);

// A heading that is reached is marked in the outline.
const entries = [...document.querySelectorAll('.outline a')];
const headings = entries.map(({ hash }) => document.getElementById(decodeURIComponent(hash.slice(1))));
const mark = () => {
  const reached = headings.findLastIndex((heading) => heading?.getBoundingClientRect().top < 140);
  for (const [index, entry] of entries.entries())
    entry.classList.toggle('here', index === Math.max(reached, 0));
};
if (entries.length > 0) {
  addEventListener('scroll', () => requestAnimationFrame(mark), { passive: true });
  mark();
}
document.querySelector('.pages [aria-current]')?.scrollIntoView({ block: 'nearest' });
document.querySelector('.pages')?.addEventListener('click', ({ target }) => {
  if (target.closest('a') && target.closest(':popover-open')) target.closest(':popover-open').hidePopover();
});

// Search: findings below the field, chosen with the arrow keys.
const form = document.querySelector('form.search');
const field = form.querySelector('input');
const list = make('div', { className: 'findings', id: 'findings', hidden: true });
list.setAttribute('role', 'listbox');
list.setAttribute('aria-label', 'Findings');
form.append(list);
field.setAttribute('role', 'combobox');
field.setAttribute('aria-controls', list.id);
field.setAttribute('aria-autocomplete', 'list');

let asked = 0;
let selected = -1;
const options = () => [...list.querySelectorAll('[role=option]')];
const isOpen = (open) => {
  list.hidden = !open;
  field.setAttribute('aria-expanded', String(open));
  if (!open) select(-1);
};
const select = (index) => {
  selected = index;
  for (const [place, option] of options().entries())
    option.setAttribute('aria-selected', String(place === index));
  const option = options()[index];
  if (option === undefined) return field.removeAttribute('aria-activedescendant');
  field.setAttribute('aria-activedescendant', option.id);
  option.scrollIntoView({ block: 'nearest' });
};

isOpen(false);

async function find() {
  const query = field.value.trim();
  const turn = ++asked;
  if (query.length < 2) return isOpen(false);
  const answer = await fetch(`/docs/search?q=${encodeURIComponent(query)}`, {
    headers: { accept: 'application/json' },
  }).catch(() => null);
  // A later question has been asked meanwhile, or the page of findings has to do.
  if (turn !== asked || !answer?.ok) return;
  const findings = await answer.json();
  list.replaceChildren(
    ...(findings.length === 0
      ? [make('p', { className: 'none', textContent: `Nothing was found for “${query}”.` })]
      : []),
    ...findings.map(({ address, page, heading, excerpt }, index) => {
      const pieces = excerpt.map((piece, place) =>
        place === 1 ? make('mark', { textContent: piece }) : piece,
      );
      const where = heading === page ? [] : [make('span', { textContent: page })];
      const properties = { id: `finding-${index}`, href: address, tabIndex: -1 };
      const option = make(
        'a',
        properties,
        make('b', { textContent: heading }),
        ...where,
        make('small', {}, ...pieces),
      );
      option.setAttribute('role', 'option');
      return option;
    }),
  );
  isOpen(true);
}

field.addEventListener('input', () => void find());
field.addEventListener(
  'focus',
  () => void (list.childElementCount > 0 && field.value !== '' && isOpen(true)),
);
field.addEventListener('keydown', (event) => {
  const count = options().length;
  if (event.key === 'Escape') isOpen(false);
  else if (list.hidden || count === 0) return;
  else if (event.key === 'ArrowDown') select((selected + 1) % count);
  else if (event.key === 'ArrowUp') select((selected + count - (selected === -1 ? 0 : 1)) % count);
  else if (event.key === 'Enter' && selected !== -1) options()[selected].click();
  else return;
  event.preventDefault();
});
document.addEventListener('pointerdown', ({ target }) => {
  if (!form.contains(target)) isOpen(false);
});
// A link to a heading of this page loads no other.
list.addEventListener('click', () => isOpen(false));
addEventListener('hashchange', () => isOpen(false));

document.addEventListener('keydown', (event) => {
  const isShortcut = event.key === '/' || (event.key === 'k' && (event.ctrlKey || event.metaKey));
  if (!isShortcut || (event.key === '/' && (event.ctrlKey || event.metaKey || event.altKey))) return;
  if (event.key === '/' && event.target.closest('input, textarea, select, [contenteditable]')) return;
  event.preventDefault();
  field.select();
});
