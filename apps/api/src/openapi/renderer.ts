import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify from 'fastify';

/** The script that renders the reference in the browser. */
export interface Renderer {
  /** Changes with its content. */
  readonly name: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

const compress = promisify(gzip);

/**
 * Scalar's API reference. Only a route of its Fastify plugin returns the 4 MB script of its package, so it is requested
 * once, when somebody opens the reference.
 */
export async function loadRenderer(): Promise<Renderer> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = fastify();
  await server.register(scalar, { routePrefix: '/reference', configuration: { url: '/openapi.json' } });
  const { rawPayload: plain } = await server.inject('/reference/js/scalar.js');
  await server.close();
  const name = createHash('sha256').update(plain).digest('base64url').slice(0, 16);
  return { name, plain, gzipped: await compress(plain) };
}
