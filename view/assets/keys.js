// The keys of this page: the token of the address, and the session key of the last server process.
//
// The token is only kept in memory. Another program that holds the port later may serve a page of
// its own to a reload, and that page could read the address and the storage. So the token is
// removed from the address immediately. The storage only gets the session key, which is useless
// when its server process has ended.

const STORED = 'tcasm-view-session';
let token = null;

/** Takes the token out of the address. @returns {boolean} true if there was a token */
export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!found) return false;
  token = found;
  history.replaceState(null, '', location.pathname + location.search);
  return true;
}

/**
 * @returns {{which: string, text: string} | null} the token if the page has it, else the session
 *   key
 */
export function key() {
  if (token) return { which: 'token', text: token };
  const session = localStorage.getItem(STORED);
  return session && { which: 'session', text: session };
}

export function keepSession(session) {
  localStorage.setItem(STORED, session);
}
