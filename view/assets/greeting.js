// The first messages on a WebSocket: server and page prove to each other that they know the same
// key (see PROTOCOL.md). The browser's own cryptography needs a secure context; this code does not.

import { hmac } from './vendor/@noble/hashes/hmac.js';
import { sha256 } from './vendor/@noble/hashes/sha2.js';
import { bytesToHex, randomBytes, utf8ToBytes } from './vendor/@noble/hashes/utils.js';
import { key, keepSession } from './keys.js';

const authenticate = (secret, ...parts) =>
  bytesToHex(hmac(sha256, utf8ToBytes(secret), utf8ToBytes(['tcasm view', ...parts].join('\n'))));

/** Returns a greeting for one connection, with the key that the page has; null without a key. */
export function greeting() {
  const own = key();
  if (!own) return null;
  const nonce = bytesToHex(randomBytes(32));
  return {
    key: own.which,
    hello: { type: 'hello', nonce, key: own.which },
    /** @returns {object | null} the answer to the server's proof; null if the proof is wrong */
    answer(text, region) {
      const message = parse(text);
      if (message?.type !== 'proof') return null;
      const proof = (who) => authenticate(own.text, who, nonce, message.nonce, message.process);
      if (message.proof !== proof('server')) return null;
      if (own.which === 'token') keepSession(authenticate(own.text, 'session', message.process));
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
