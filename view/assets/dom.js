// Helper functions for elements of the page.

export const byId = (id) => document.getElementById(id);

/**
 * Makes an element.
 * @param {string} tag
 * @param {object} properties
 * @param {(Node|string)[]} children
 */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/**
 * Returns text with a mark in place of each control character, and of each character that changes
 * the direction of writing.
 */
export const plain = (text) => text.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');

/** Replaces the children of `target` if `key` has changed. If not, focus and selection survive. */
export function refill(target, key, children) {
  if (target.dataset.key === key) return;
  target.dataset.key = key;
  target.replaceChildren(...children());
}

/** Marks the buttons as pressed for which `pressed` returns true. */
export function press(buttons, pressed) {
  for (const button of buttons) button.setAttribute('aria-pressed', String(pressed(button)));
}

/** Sets the options of a select, `[[value, text], ...]`, and the chosen value. */
export function options(select, entries, chosen) {
  refill(select, JSON.stringify(entries), () =>
    entries.map(([value, textContent]) => make('option', { value, textContent })));
  select.value = chosen;
}
