// The WebSocket to the server. It is opened again when it breaks. Browsers answer the server's
// pings by themselves. The page sends nothing but `hello` before the server has proven that it
// knows the key.

import { greeting } from './greeting.js';

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5000;
/** Time for the server's proof, in milliseconds. */
const PROOF_TIMEOUT = 10000;

export class Connection {
  /**
   * @param {{message: (m: object) => void, frame: (b: ArrayBuffer) => void, link: (state: string)
   *   => void}} handlers `link` gets "open", "closed", "refused" (the page has no valid key), or
   *   "impostor" (another program answers)
   */
  constructor(handlers) {
    this.handlers = handlers;
    this.region = null;
    this.socket = null;
    this.pause = FIRST_PAUSE;
    this.timer = 0;
    /** True if server and page have proven to each other that they know the key. */
    this.proven = false;
    // Timers sleep while the page is hidden, so connect as soon as it is visible again.
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && !this.socket) this.connect();
    });
  }

  /** Shows this region from now on (null: the region of the command line). */
  open(region) {
    this.region = region;
    this.pause = FIRST_PAUSE;
    this.drop();
    this.connect();
  }

  /** Sends a message. @returns {boolean} true if the message was sent */
  send(message) {
    if (!this.proven || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /** Tells the server that this frame was drawn. The server sends the next frame only then. */
  got(frame) {
    this.send({ type: 'drawn', frame });
  }

  connect() {
    clearTimeout(this.timer);
    const greet = greeting();
    if (!greet) {
      this.handlers.link('refused');
      return;
    }
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.proven = false;
    // Ignore events of a socket that was replaced meanwhile.
    const current = (handler) => (event) => {
      if (this.socket === socket) handler(event);
    };
    socket.onopen = current(() => {
      socket.send(JSON.stringify(greet.hello));
      this.timer = setTimeout(() => this.closed('closed'), PROOF_TIMEOUT);
    });
    socket.onmessage = current(({ data }) => {
      if (this.proven) this.hear(data);
      else if (!this.enter(socket, greet.answer(data, this.region))) {
        // A session key fits one server process only. Another process may be ours or not.
        this.closed(greet.key === 'session' ? 'refused' : 'impostor');
      }
    });
    socket.onclose = current(() => this.closed('closed'));
  }

  hear(data) {
    if (typeof data === 'string') this.handlers.message(JSON.parse(data));
    else this.handlers.frame(data);
  }

  /**
   * Sends the page's proof to a server that has proven itself.
   * @returns {boolean} false without `answer`
   */
  enter(socket, answer) {
    if (!answer) return false;
    clearTimeout(this.timer);
    socket.send(JSON.stringify(answer));
    this.proven = true;
    this.pause = FIRST_PAUSE;
    this.handlers.link('open');
    return true;
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    clearTimeout(this.timer);
    socket?.close();
  }

  /** Closes the connection, without waiting for the other end, and connects again later. */
  closed(how) {
    this.drop();
    this.handlers.link(how);
    this.timer = setTimeout(() => this.connect(), this.pause);
    this.pause = Math.min(this.pause * 1.6, LONGEST_PAUSE);
  }
}
