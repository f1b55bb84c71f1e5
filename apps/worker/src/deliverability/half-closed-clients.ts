import type { Socket } from 'node:net';
import type { SMTPServer } from 'smtp-server';

/** How long a client that has said all it had to say is kept for what it is owed. */
const OWED_MS = 5_000;

/** For the options of the server. */
export const HALF_OPEN = { allowHalfOpen: true } as const;

/**
 * Answers clients that close their side together with the message, as Exim does behind a QUIT that it does not wait for:
 * smtp-server takes them for gone, so that they would hear nothing and send the mail again.
 */
export function answerHalfClosed({ server }: SMTPServer): void {
  server.prependListener('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'readyState', { get: () => (socket.writable ? 'open' : 'closed') });
    socket.once('end', () => setTimeout(() => socket.end(), OWED_MS).unref());
  });
}
