// Small things about elements.

export const byId = (id) => document.getElementById(id);

/** @param {string} tag @param {object} properties @param {(Node|string)[]} children */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Replace what is in `target`, if `key` is another than last time: focus and selection survive otherwise. */
export function refill(target, key, children) {
  if (target.dataset.key === key) return;
  target.dataset.key = key;
  target.replaceChildren(...children());
}

/** Buttons of which one is pressed. */
export function press(buttons, pressed) {
  for (const button of buttons) button.setAttribute('aria-pressed', String(pressed(button)));
}

/** Options of a select: [[value, text], ...]. */
export function options(select, entries, chosen) {
  refill(select, JSON.stringify(entries), () => entries.map(([value, textContent]) => make('option', { value, textContent })));
  select.value = chosen;
}
