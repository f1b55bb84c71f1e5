import { createHash } from 'node:crypto';
import { pipeline, type Readable, Transform } from 'node:stream';

/** The same bytes as `source`, and the SHA-256 of all of them once they have been read. */
export function hashedStream(source: Readable): { stream: Readable; hash: Promise<Buffer> } {
  const digest = createHash('sha256');
  const ended = Promise.withResolvers<Buffer>();
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      digest.update(chunk);
      done(null, chunk);
    },
  });
  pipeline(source, stream, (error) => (error == null ? ended.resolve(digest.digest()) : ended.reject(error)));
  // Whoever reads the stream sees the error, too.
  ended.promise.catch(() => undefined);
  return { stream, hash: ended.promise };
}
