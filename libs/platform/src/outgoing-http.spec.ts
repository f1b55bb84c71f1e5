import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { decode, encode } from 'dns-packet';
import { Webhook } from 'standardwebhooks';
import { localhostCertificate } from '#testing/servers/localhost-certificate';
import {
  type AddressesOf,
  isPublicAddress,
  OutgoingHttp,
  OutgoingHttpError,
  type OutgoingHttpFault,
  type OutgoingHttpOptions,
  postOutcome,
  webhookHeaders,
} from './outgoing-http.js';

describe('an address that a customer’s URL leads to', () => {
  it.each([
    '::7f00:1',
    '::a00:1',
    '::',
    '::1',
    '168.63.129.16',
    '::ffff:168.63.129.16',
    '64:ff9b::a83f:8110',
    '2002:7f00:1::',
    '2002:808:808::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '64:ff9b::a00:1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::808:808',
    '::ffff:10.0.0.1',
    '::ffff:a9fe:a9fe',
    '::ffff:0:808:808',
    '100.100.100.200',
    '169.254.169.254',
    'fd00:ec2::254',
    '192.0.0.192',
    '4000::1',
    'fe80::1%eth0',
    '0.0.0.0',
    '255.255.255.255',
    'nonsense',
    '',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['8.8.8.8', '2606:4700::6810:84e5', '::ffff:8.8.8.8', '64:ff9b::808:808'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const serve = (answer: RequestListener, host?: string) => listening(createServer(answer), host);

async function listening(server: Server, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Answers the n-th question for an IPv4 address with the n-th of `addresses`, then with the last one again. */
async function dnsServer(addresses: readonly string[]): Promise<{ server: string; asked: () => number }> {
  const socket: Socket = createSocket('udp4');
  let asked = 0;
  socket.on('message', (message, from) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    if (question === undefined) return;
    const data = addresses[Math.min(asked, addresses.length - 1)] ?? '';
    const isForIpv4 = question.type === 'A';
    if (isForIpv4) asked++;
    const answers = isForIpv4 ? [{ type: 'A' as const, name: question.name, ttl: 0, data }] : [];
    socket.send(
      encode({ type: 'response', id: query.id, questions: [question], answers }),
      from.port,
      from.address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  closing.push(() => socket.close());
  return { server: `127.0.0.1:${socket.address().port}`, asked: () => asked };
}

/** Looks names up at this server alone. */
function answersOf(server: string): AddressesOf {
  const resolver = new Resolver();
  resolver.setServers([server]);
  return (host) => resolver.resolve4(host);
}

function client(options: Partial<OutgoingHttpOptions> = {}): OutgoingHttp {
  const http = new OutgoingHttp({
    addressesOf: () => Promise.resolve([]),
    allows: isPublicAddress,
    ...options,
  });
  closing.push(() => http.close());
  return http;
}

const onlyLoopback = (address: string) => address.startsWith('127.0.0.1');

describe('requests to URLs that customers name', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.1:8080/',
    'http://2130706433/',
    'http://0x7f.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[64:ff9b::a00:1]/',
    'http://10.1.2.3/',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
  ])('never reach %s', async (url) => {
    await expect(client().request({ method: 'GET', url })).rejects.toMatchObject({ fault: 'address' });
  });

  it.each(['ftp://example.com/', 'file:///etc/passwd', 'nonsense', 'http://user:secret@example.com/'])(
    'refuse %s',
    async (url) => {
      await expect(client().request({ method: 'GET', url })).rejects.toMatchObject({ fault: 'url' });
    },
  );

  it('reach no name that leads to a private address', async () => {
    const { server } = await dnsServer(['10.0.0.7']);
    const http = client({ addressesOf: answersOf(server) });
    await expect(http.request({ method: 'GET', url: 'http://inside.example/' })).rejects.toMatchObject({
      fault: 'resolution',
      message: 'inside.example leads to no public address.',
    });
  });

  it('say to customers the same of a name that is not there and of one that leads inside', async () => {
    const unknown = Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
    const inside = client({ addressesOf: () => Promise.resolve(['8.8.8.8', '10.0.0.7']) });
    const nowhere = client({ addressesOf: () => Promise.reject(unknown) });
    for (const http of [inside, nowhere]) {
      const called = http.request({ method: 'GET', url: 'http://x.example/' });
      await expect(called).rejects.toMatchObject({
        fault: 'resolution',
        message: 'x.example leads to no public address.',
      });
      expect(await http.hostFault('http://x.example/')).toMatch(
        /^must lead to a public address; .*PRIVATE_ADDRESSES$/,
      );
    }
  });

  it('look at a host before it is called, as far as names can be resolved', async () => {
    const outage = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' });
    const offline = client({ addressesOf: () => Promise.reject(outage) });
    expect(await offline.hostFault('http://x.example/')).toBeNull();
    expect(await offline.hostFault('http://[::7f00:1]/')).toContain('must lead to a public address');
    const everywhere = new OutgoingHttp({ addressesOf: () => Promise.reject(new Error('never asked')) });
    closing.push(() => everywhere.close());
    for (const url of ['http://x.example/', 'http://127.0.0.1/'])
      expect(await everywhere.hostFault(url)).toBeNull();
  });

  it('connect to the very address that was checked, though the name changes its answer', async () => {
    const checked = await serve((_, response) => response.end('checked'));
    const { server, asked } = await dnsServer(['127.0.0.1', '127.0.0.2']);
    const http = client({ addressesOf: answersOf(server), allows: onlyLoopback });
    const url = `http://rebinding.example:${checked}/`;
    expect(await http.request({ method: 'GET', url })).toMatchObject({ status: 200, body: 'checked' });
    expect(asked()).toBe(1);
  });

  it('check where a redirect leads', async () => {
    const port = await serve((_, response) =>
      response.writeHead(307, { location: 'http://127.0.0.2/' }).end(),
    );
    const http = client({ allows: onlyLoopback });
    await expect(
      http.request({ method: 'POST', url: `http://127.0.0.1:${port}/`, body: '{}' }),
    ).rejects.toMatchObject({ fault: 'address' });
  });

  it('repeat a POST where it is redirected with 307, but not with 302', async () => {
    const port = await serve((request, response) => {
      if (request.url === '/kept') return response.writeHead(307, { location: '/end' }).end();
      if (request.url === '/changed') return response.writeHead(302, { location: '/end' }).end();
      request.pipe(response);
    });
    const http = client({ allows: onlyLoopback });
    const post = (path: string) =>
      http.request({ method: 'POST', url: `http://127.0.0.1:${port}${path}`, body: 'hello' });
    expect(await post('/kept')).toMatchObject({ status: 200, body: 'hello' });
    expect(await post('/changed')).toMatchObject({ status: 302 });
  });

  it('give up after three redirects', async () => {
    const port = await serve((_, response) => response.writeHead(307, { location: '/again' }).end());
    const http = client({ allows: onlyLoopback });
    await expect(http.request({ method: 'GET', url: `http://127.0.0.1:${port}/` })).rejects.toMatchObject({
      fault: 'redirects',
    });
  });

  it('take no credentials to another host', async () => {
    const other = await serve((request, response) => response.end(request.headers.authorization ?? 'none'));
    const location = `http://127.0.0.1:${other}/`;
    const port = await serve((_, response) => response.writeHead(307, { location }).end());
    const answer = await client({ allows: onlyLoopback }).request({
      method: 'GET',
      url: `http://127.0.0.1:${port}/`,
      headers: { Authorization: 'Bearer secret' },
    });
    expect(answer.body).toBe('none');
  });

  it('end after the time-out, headers or not', async () => {
    const silent = await serve(() => undefined);
    const trickling = await serve((_, response) => response.writeHead(200).write('a'));
    const http = client({ allows: onlyLoopback, timeoutMs: 200 });
    for (const port of [silent, trickling]) {
      await expect(http.request({ method: 'GET', url: `http://127.0.0.1:${port}/` })).rejects.toMatchObject({
        fault: 'timeout',
      });
    }
  });

  it('read no more than 1 MB', async () => {
    const port = await serve((_, response) => response.end(Buffer.alloc(1_100_000)));
    const http = client({ allows: onlyLoopback });
    await expect(http.request({ method: 'GET', url: `http://127.0.0.1:${port}/` })).rejects.toMatchObject({
      fault: 'too-large',
    });
  });

  it('say so when nobody listens or the name does not exist', async () => {
    const http = client({ allows: onlyLoopback });
    const refused = http.request({ method: 'GET', url: 'http://127.0.0.1:1/' });
    await expect(refused).rejects.toMatchObject({
      fault: 'connection',
      message: 'The connection failed: ECONNREFUSED.',
    });
    const port = await listening(createTlsServer(localhostCertificate));
    await expect(http.request({ method: 'GET', url: `https://127.0.0.1:${port}/` })).rejects.toMatchObject({
      fault: 'connection',
      message: 'The connection failed: DEPTH_ZERO_SELF_SIGNED_CERT.',
    });
    const unknown = http.request({ method: 'GET', url: 'http://nowhere.example/' });
    await expect(unknown).rejects.toMatchObject({ fault: 'resolution' });
  });
});

describe('a signed webhook', () => {
  it('is accepted by a receiver that knows either of two secrets, and by no other', () => {
    const [older, newer, foreign] = ['old', 'new', 'foreign'].map(
      (name) => `whsec_${Buffer.from(name.repeat(10)).toString('base64')}`,
    );
    const body = '{"type":"campaign.sent"}';
    const headers = webhookHeaders([newer ?? '', older ?? ''], { id: 'msg_1', at: new Date(), body });
    for (const secret of [older, newer]) expect(new Webhook(secret ?? '').verify(body, headers)).toBeTruthy();
    expect(() => new Webhook(foreign ?? '').verify(body, headers)).toThrow();
    expect(() => new Webhook(newer ?? '').verify(`${body} `, headers)).toThrow();
  });
});

const answered = (status: number) => postOutcome(Promise.resolve({ status, headers: {}, body: 'said' }));
const unanswered = (fault: OutgoingHttpFault) =>
  postOutcome(Promise.reject(new OutgoingHttpError(fault, 'No.')));

describe('what a post came to', () => {
  it.each([200, 201, 204, 299])('is taken when it is answered with %i', async (status) => {
    const answer = { status, headers: {}, body: 'said' };
    expect(await answered(status)).toEqual({ verdict: 'taken', answer, fault: null });
  });

  it.each([300, 307, 400, 404, 408, 429, 500, 503])('may be taken later when it is %i', async (status) => {
    expect(await answered(status)).toMatchObject({ verdict: 'retry', answer: { status } });
  });

  it('is final when the receiver is gone', async () => {
    expect((await answered(410)).verdict).toBe('final');
  });

  it('is final where we never post to, and may be taken later where nobody answered', async () => {
    for (const kind of ['address', 'url'] as const)
      expect(await unanswered(kind)).toEqual({
        verdict: 'final',
        answer: null,
        fault: { kind, message: 'No.' },
      });
    for (const kind of ['resolution', 'redirects', 'timeout', 'too-large', 'connection'] as const)
      expect((await unanswered(kind)).verdict).toBe('retry');
  });

  it('is not told of what is no fault of the request', async () => {
    await expect(postOutcome(Promise.reject(new Error('ours')))).rejects.toThrow('ours');
  });
});
