// The WebSocket: opened again when it breaks. Browsers answer the server's pings by themselves.

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5000;

export class Connection {
  /**
   * @param {{message: (m: object) => void, frame: (b: ArrayBuffer) => void, link: (state: string) => void}} handlers
   *   `link` gets "connecting", "open", "closed" or "refused"
   */
  constructor(handlers) {
    this.handlers = handlers;
    this.region = null;
    this.socket = null;
    this.pause = FIRST_PAUSE;
    this.timer = 0;
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
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /** Tell that this frame was drawn: the server sends the next one only then. */
  got(frame) {
    this.send({ type: 'got', frame });
  }

  connect() {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.address());
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    // Events of a socket that was replaced meanwhile are not for us.
    const current = (handler) => (event) => {
      if (this.socket === socket) handler(event);
    };
    socket.onopen = current(() => {
      this.pause = FIRST_PAUSE;
      this.handlers.link('open');
    });
    socket.onmessage = current(({ data }) => {
      if (typeof data === 'string') this.handlers.message(JSON.parse(data));
      else this.handlers.frame(data);
    });
    socket.onclose = current(() => this.closed());
  }

  address() {
    const query = this.region === null ? '' : `?region=${encodeURIComponent(this.region)}`;
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    return `${scheme}://${location.host}/ws${query}`;
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    clearTimeout(this.timer);
    socket?.close();
  }

  async closed() {
    this.socket = null;
    const { region } = this;
    const refused = await isRefused();
    // The user may have chosen another region while we asked.
    if (this.socket || this.region !== region) return;
    this.handlers.link(refused ? 'refused' : 'closed');
    this.timer = setTimeout(() => this.connect(), this.pause);
    this.pause = Math.min(this.pause * 1.6, LONGEST_PAUSE);
  }
}

/** A socket does not say why it was not opened; an ordinary request does. */
async function isRefused() {
  try {
    const answer = await fetch('/regions', { cache: 'no-store' });
    return answer.status === 403;
  } catch {
    return false;
  }
}
