import { once } from 'node:events';
import type { SMTPServerDataStream } from 'smtp-server';

/** More than this of a mail is not looked at, and not kept while it comes in. */
const KEPT_BYTES = 256 * 1024;

/** The beginning of a mail that comes in; or it is larger than the server allows, or its sender has gone before its end. */
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
