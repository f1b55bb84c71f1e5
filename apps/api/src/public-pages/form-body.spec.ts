import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { PROBLEM_TYPES, ProblemError } from '#platform/http';
import { formField, registerFormParsers } from './form-body.js';

describe('forms', () => {
  let server: FastifyInstance;

  beforeEach(() => {
    server = fastify();
    registerFormParsers(server);
    server.setErrorHandler((error, _request, reply) =>
      reply.code(error instanceof ProblemError ? PROBLEM_TYPES[error.slug].status : 500).send(),
    );
    server.post('/u/:token', (request) => ({
      scope: formField(request, 'scope'),
      oneClick: formField(request, 'List-Unsubscribe'),
    }));
    server.post('/api/v1/topics', () => ({ reached: true }));
  });
  afterEach(() => server.close());

  const post = (url: string, type: string | undefined, payload: string) =>
    server.inject({
      method: 'POST',
      url,
      payload,
      headers: type === undefined ? {} : { 'content-type': type },
    });

  it('are read when a browser sends them', async () => {
    const reply = await post('/u/t', 'application/x-www-form-urlencoded', 'scope=everything');
    expect(reply.json()).toEqual({ scope: 'everything', oneClick: null });
  });

  it.each([
    ['application/x-www-form-urlencoded', 'List-Unsubscribe=One-Click'],
    ['application/x-www-form-urlencoded; charset=UTF-8', 'List-Unsubscribe=One-Click'],
    ['multipart/form-data; boundary=b', multipart('b')],
    ['multipart/form-data; boundary="----=_Part_1.2"', multipart('----=_Part_1.2')],
  ])('are read when a mailbox provider posts the one-click pair as %s (RFC 8058)', async (type, body) => {
    const reply = await post('/u/t', type, body);
    expect(reply.json()).toEqual({ scope: null, oneClick: 'One-Click' });
  });

  it.each([['text/plain;charset=UTF-8'], ['application/octet-stream'], ['application/json'], [undefined]])(
    'are read when a program posts the one-click pair as %s',
    async (type) => {
      const reply = await post('/u/t', type, 'List-Unsubscribe=One-Click');
      expect([reply.statusCode, reply.json()]).toEqual([200, { scope: null, oneClick: 'One-Click' }]);
    },
  );

  it.each([
    ['multipart/form-data; boundary=b', 'not multipart'],
    ['multipart/form-data', multipart('b')],
    ['application/x-www-form-urlencoded', '%%%'],
    ['application/x-www-form-urlencoded', ''],
    [undefined, ''],
  ])('count as empty when they say nothing that we understand (%#)', async (type, body) => {
    const reply = await post('/u/t', type, body);
    expect(reply.statusCode).toBe(200);
    expect(reply.json()).toEqual({ scope: null, oneClick: null });
  });

  it('are refused by the API, whose bodies are JSON', async () => {
    expect((await post('/api/v1/topics', 'application/x-www-form-urlencoded', 'a=1')).statusCode).toBe(415);
    expect((await post('/api/v1/topics', 'multipart/form-data; boundary=b', multipart('b'))).statusCode).toBe(
      415,
    );
    expect(
      (await post('/api/v1/topics', 'multipart/form-data; boundary=b', 'x'.repeat(9_000))).statusCode,
    ).toBe(415);
    expect((await post('/api/v1/topics', 'application/json', '{}')).statusCode).toBe(200);
  });

  it('are no obstacle to a request of the API without a body', async () => {
    expect((await post('/api/v1/topics', 'application/x-www-form-urlencoded', '')).statusCode).toBe(200);
  });

  it('are at most 8 KB', async () => {
    const type = 'application/x-www-form-urlencoded';
    expect((await post('/u/t', type, `scope=${'x'.repeat(8 * 1024 - 6)}`)).statusCode).toBe(200);
    expect((await post('/u/t', type, `scope=${'x'.repeat(8 * 1024 - 5)}`)).statusCode).toBe(413);
  });
});

function multipart(boundary: string): string {
  return [
    `--${boundary}`,
    'Content-Disposition: form-data; name="List-Unsubscribe"',
    '',
    'One-Click',
    `--${boundary}--`,
    '',
  ].join('\r\n');
}
