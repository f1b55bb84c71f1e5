import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** A request and the status that its answer must have. */
export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly status: number;
}

export interface Load {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * Sends requests over `connections` kept connections, on each the next one when the answer to the last is there,
 * for `seconds`. Rejects when an answer has another status than it must.
 */
export async function load(
  target: { readonly port: number; readonly headers: Readonly<Record<string, string>> },
  next: () => LoadRequest,
  { connections, seconds }: { readonly connections: number; readonly seconds: number },
): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const took: number[] = [];
  const began = performance.now();
  const end = began + seconds * 1_000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        const sent = performance.now();
        await send(agent, target, next());
        took.push(performance.now() - sent);
      }
    }),
  );
  const lasted = (performance.now() - began) / 1_000;
  agent.destroy();
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor((took.length - 1) * share)] ?? Number.NaN;
  return {
    requests: took.length,
    perSecond: took.length / lasted,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

function send(
  agent: Agent,
  { port, headers }: { readonly port: number; readonly headers: Readonly<Record<string, string>> },
  { method, path, body, status }: LoadRequest,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const written =
      body === undefined
        ? headers
        : { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path, headers: written }, (answer) => {
      if (answer.statusCode === status) {
        answer.resume().once('end', resolve);
        return;
      }
      text(answer).then(
        (found) => reject(new Error(`${method} ${path}: ${answer.statusCode} ${found}`)),
        reject,
      );
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}
