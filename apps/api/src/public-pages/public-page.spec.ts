import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { Wording } from '#wording';
import { html } from '../html.js';
import { page, signs } from './page-layout.js';
import { sendMail, sendPage, sendText } from './public-page.js';

describe('a reply to a subscriber', () => {
  let server: FastifyInstance;

  beforeAll(() => {
    server = fastify();
    const view = { wording: new Wording('he'), locale: 'he', sender: null };
    const content = {
      status: 410,
      heading: 'Hello',
      sign: signs.letter,
      body: html`<p>Grüezi</p>`,
    };
    server.get('/page', (_request, reply) => sendPage(reply, page(view, content)));
    server.get('/mail', (_request, reply) =>
      sendMail(reply, { html: '<h1 style="color:red">Sale</h1>', language: 'ar' }),
    );
    server.get('/text', (_request, reply) => sendText(reply, 'Done.', 'en'));
  });
  afterAll(() => server.close());

  it.each(['/page', '/mail', '/text'])(
    'stays out of caches, logs of others and search engines: %s',
    async (url) => {
      const { headers } = await server.inject({ url });
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-robots-tag': 'noindex',
        'x-content-type-options': 'nosniff',
      });
      expect(headers).not.toHaveProperty('set-cookie');
      expect(headers).not.toHaveProperty('location');
    },
  );

  it('has the page’s status, and lets the browser use its own style sheet and nothing else', async () => {
    const reply = await server.inject({ url: '/page' });
    expect(reply.statusCode).toBe(410);
    expect(reply.headers['content-type']).toBe('text/html; charset=utf-8');
    const hashes = [...reply.body.matchAll(/<style>([^]*?)<\/style>/g)].map(
      ([, style = '']) => `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    );
    expect(hashes).toHaveLength(2);
    expect(reply.headers['content-security-policy']).toBe(
      `default-src 'none'; style-src ${hashes.toReversed().join(' ')}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    );
  });

  it('says its language and that it depends on the reader’s', async () => {
    const { headers, body } = await server.inject({ url: '/page' });
    expect(headers).toMatchObject({ 'content-language': 'he', vary: 'Accept-Language' });
    expect(body).toContain('<html lang="he" dir="rtl">');
  });

  it('answers HEAD like GET, without the body', async () => {
    const get = await server.inject({ url: '/page' });
    const head = await server.inject({ method: 'HEAD', url: '/page' });
    const { date: _get, ...expected } = get.headers;
    const { date: _head, ...received } = head.headers;
    expect(head.statusCode).toBe(get.statusCode);
    expect(received).toEqual(expected);
    expect(head.body).toBe('');
  });

  it('shows a mail as it is, in a sandbox without scripts, forms and an origin', async () => {
    const reply = await server.inject({ url: '/mail' });
    expect(reply.body).toBe('<h1 style="color:red">Sale</h1>');
    const policy = String(reply.headers['content-security-policy']);
    expect(policy).toMatch(
      /^sandbox [^;]*; default-src 'none'; img-src \* data:; font-src \*; style-src 'unsafe-inline';/,
    );
    expect(policy).not.toMatch(/allow-(scripts|forms|same-origin|top-navigation)/);
  });

  it('tells a machine in plain text', async () => {
    const reply = await server.inject({ url: '/text' });
    expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(reply.body).toBe('Done.');
  });
});
