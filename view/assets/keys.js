// What this page knows: the token of the address, and the key of the server process that it last talked to.
//
// The token is kept in memory alone. Whoever holds the port later may serve a page of its own to a
// reload, and that page could read the address and the storage: the address loses the token at once,
// and the storage gets a key that opens nothing once its server process has ended.

const STORED = 'tcasm-view-session';
let token = null;

/** Take the token out of the address. @returns {boolean} whether there was one */
export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!found) return false;
  token = found;
  history.replaceState(null, '', location.pathname + location.search);
  return true;
}

/** @returns {{which: string, text: string} | null} the key to prove ourselves with, the token if we have it */
export function key() {
  if (token) return { which: 'token', text: token };
  const session = localStorage.getItem(STORED);
  return session && { which: 'session', text: session };
}

export function keepSession(session) {
  localStorage.setItem(STORED, session);
}
