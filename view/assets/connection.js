// The WebSocket: opened again when it breaks. Browsers answer the server's pings by themselves.
// Nothing is sent to a server before it has proven to know our key.

import { greeting } from './greeting.js';

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5000;
/** A server that has not proven itself by then is none. */
const PATIENCE = 10000;

export class Connection {
  /**
   * @param {{message: (m: object) => void, frame: (b: ArrayBuffer) => void, link: (state: string) => void}} handlers
   *   `link` gets "connecting", "open", "closed", "refused", or
   *   "stranger": another program answers
   */
  constructor(handlers) {
    this.handlers = handlers;
    this.region = null;
    this.socket = null;
    this.pause = FIRST_PAUSE;
    this.timer = 0;
    /** Server and page have proven themselves to each other. */
    this.proven = false;
    // Timers sleep while the page is hidden: try at once when it is seen again.
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && !this.socket) this.connect();
    });
  }

  /** Look at this region from now on; null: the one of the command line. */
  open(region) {
    this.region = region;
    this.pause = FIRST_PAUSE;
    this.drop();
    this.connect();
  }

  /** @returns {boolean} whether it was sent */
  send(message) {
    if (!this.proven || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /** Tell that this frame was drawn: the server sends the next one only then. */
  got(frame) {
    this.send({ type: 'got', frame });
  }

  connect() {
    clearTimeout(this.timer);
    const greet = greeting();
    if (!greet) {
      this.handlers.link('refused');
      return;
    }
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.proven = false;
    // Events of a socket that was replaced meanwhile are not for us.
    const current = (handler) => (event) => {
      if (this.socket === socket) handler(event);
    };
    socket.onopen = current(() => {
      socket.send(JSON.stringify(greet.hello));
      this.timer = setTimeout(() => this.closed('closed'), PATIENCE);
    });
    socket.onmessage = current(({ data }) => {
      if (this.proven) this.hear(data);
      else if (!this.enter(socket, greet.answer(data, this.region))) {
        // The key of a process says nothing of the next one, whosever that is.
        this.closed(greet.key === 'session' ? 'refused' : 'stranger');
      }
    });
    socket.onclose = current(() => this.closed('closed'));
  }

  hear(data) {
    if (typeof data === 'string') this.handlers.message(JSON.parse(data));
    else this.handlers.frame(data);
  }

  /** Prove ourselves to a server that has proven itself. */
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

  /** Let go of the connection, without waiting for the other end, and try again later. */
  closed(how) {
    this.drop();
    this.handlers.link(how);
    this.timer = setTimeout(() => this.connect(), this.pause);
    this.pause = Math.min(this.pause * 1.6, LONGEST_PAUSE);
  }
}
