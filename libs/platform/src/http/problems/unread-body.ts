import type { IncomingMessage } from 'node:http';

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MS = 10_000;

/**
 * Calls `answer` when the rest of a refused body has come in and was thrown away, or is too much to wait for.
 * Answered and closed before, the connection is reset under a client that is still sending, and many see that
 * instead of the answer (RFC 9112 §9.6).
 */
export function afterUnreadBody(request: IncomingMessage, answer: () => void): void {
  if (request.complete || request.destroyed || Number(request.headers['content-length'] ?? 0) > MAX_BYTES)
    return answer();
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) finish();
  };
  const finish = (): void => {
    clearTimeout(timer);
    request.off('data', count).off('end', finish).off('close', finish);
    answer();
  };
  const timer = setTimeout(finish, MAX_MS);
  request.on('data', count).once('end', finish).once('close', finish).resume();
}
