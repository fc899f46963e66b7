// The first messages on a WebSocket: server and page prove to each other that they know the same
// key. PROTOCOL.md says how. It needs no secure context, as the browser's own cryptography would.

import { hmac } from './vendor/noble-hashes/hmac.js';
import { sha256 } from './vendor/noble-hashes/sha2.js';
import { bytesToHex, randomBytes, utf8ToBytes } from './vendor/noble-hashes/utils.js';
import { key, keepSession } from './keys.js';

const authenticate = (secret, ...parts) =>
  bytesToHex(hmac(sha256, utf8ToBytes(secret), utf8ToBytes(['tcasm view', ...parts].join('\n'))));

/** A greeting with the key that we have, for one connection; null if we have none. */
export function greeting() {
  const own = key();
  if (!own) return null;
  const nonce = bytesToHex(randomBytes(32));
  return {
    key: own.which,
    hello: { type: 'hello', nonce, key: own.which },
    /** @returns {object | null} what to answer to a server that has proven to know the key; null if it has not */
    answer(text, region) {
      const said = parse(text);
      if (said?.type !== 'proof') return null;
      const proof = (who) => authenticate(own.text, who, nonce, said.nonce, said.process);
      if (said.proof !== proof('server')) return null;
      if (own.which === 'token') keepSession(authenticate(own.text, 'session', said.process));
      return { type: 'enter', proof: proof('page'), region };
    },
  };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
