import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { HealthCheck } from '../operations.js';

/**
 * The time between the order to stop and the end of listening: `/health/ready` says 503, so that load balancers look elsewhere,
 * and each answer ends its connection (RFC 9112 §9.6), so that no client sends a request into one that is being closed.
 */
export class Draining {
  #isOn = false;

  get isOn(): boolean {
    return this.#isOn;
  }

  begin(): void {
    this.#isOn = true;
  }

  /** Fails from the order to stop on. */
  check(): HealthCheck {
    return {
      name: 'accepting',
      check: () =>
        this.#isOn ? Promise.reject(new Error('The process is about to end.')) : Promise.resolve(),
    };
  }
}

/** A body of a known length up to this is thrown away and its connection goes on, which costs less than a new one. */
const KEPT_BYTES = 1024 * 1024;
/** Limits of other bodies, which are let come in for a while so that their client reads the answer. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MS = 10_000;

/**
 * Ends the connection of a request whose body nobody reads, such as of a 401, with the answer: Node would read on for ever.
 * Closed at once, it would be reset under a client that still sends, and many see that instead of the answer (RFC 9112 §9.6).
 */
export function leaveUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || !hasBody(request)) return;
  const { socket } = request;
  // A request that was injected has no connection.
  if (!(socket instanceof Socket)) return;
  const end = (): void => void socket.destroy();
  response.once('finish', () => {
    if (request.complete) return;
    const timer = setTimeout(end, MAX_MS);
    for (const over of ['end', 'close']) request.once(over, () => clearTimeout(timer));
  });
  if (Number(request.headers['content-length'] ?? Number.NaN) <= KEPT_BYTES) return;
  response.setHeader('connection', 'close');
  // Node calls it once the answer is written.
  socket.destroySoon = (): void => {
    let bytes = 0;
    // Nothing more is a request, whatever it looks like, nor a fault in one.
    socket
      .removeAllListeners('end')
      .removeAllListeners('data')
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) end();
      });
    socket.once('end', end).resume();
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
