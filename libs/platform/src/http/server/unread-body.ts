import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** A body of a length that is told and not above this is thrown away, and its connection goes on: no new one costs less. */
const KEPT_BYTES = 1024 * 1024;
/** What is let come in of others, so that their client reads the answer, and how long that may take. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MS = 10_000;

/**
 * Called before an answer that nobody reads the rest of the body for, such as a 401. Node would go on reading for as long as
 * the client sends. The connection ends with the answer (`Connection: close`); but closed at once, it would be reset under a
 * client that is still sending, and many see that instead of the answer (RFC 9112 §9.6).
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
