import { once } from 'node:events';
import type { SMTPServerDataStream } from 'smtp-server';

/** The bytes of a mail that are read; the rest is dropped as it arrives. */
const KEPT_BYTES = 256 * 1024;

/** The beginning of an incoming mail; or the mail is too large for the server, or its client disconnected before its end. */
export async function readMail(stream: SMTPServerDataStream): Promise<Buffer | 'too-big' | 'incomplete'> {
  const chunks: Buffer[] = [];
  let kept = 0;
  stream.on('data', (chunk: Buffer) => {
    if (kept >= KEPT_BYTES) return;
    chunks.push(chunk);
    kept += chunk.length;
  });
  try {
    await once(stream, 'end');
  } catch {
    return 'incomplete';
  }
  return stream.sizeExceeded ? 'too-big' : Buffer.concat(chunks);
}
