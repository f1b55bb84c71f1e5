import type { Socket } from 'node:net';
import type { SMTPServer } from 'smtp-server';

/** How long to wait for our answers to reach a client that has closed its side. */
const OWED_MS = 5_000;

/** For the options of the server. */
export const HALF_OPEN = { allowHalfOpen: true } as const;

/**
 * Answers clients that close their side right after the message, as Exim does after a QUIT that it does not wait for:
 * smtp-server treats them as disconnected, so they would get no answer and send the mail again.
 */
export function answerHalfClosed({ server }: SMTPServer): void {
  server.prependListener('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'readyState', { get: () => (socket.writable ? 'open' : 'closed') });
    socket.once('end', () => setTimeout(() => socket.end(), OWED_MS).unref());
  });
}
