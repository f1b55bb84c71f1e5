import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { sampleCaller, type SampleApi, startSampleApi } from '#testing/http/sample-api';

const MEGABYTE = 1024 * 1024;
const MAX_MEGABYTES = 64;

/** Also by a reset. */
const closing = (socket: Socket) => new Promise((resolve) => void socket.once('close', resolve));

describe('A connection', () => {
  let test: TestDatabase;
  let api: SampleApi;
  let lines: string[];

  beforeAll(async () => {
    test = await createTestDatabase();
    lines = [];
    api = await startSampleApi(test.url, {}, { log: (line) => lines.push(line) });
    api.keys.issue('key', sampleCaller(['topics:read'], 100_000));
    api.keys.issue('once', { ...sampleCaller(['topics:read'], 1), keyId: 'once' });
  });

  afterAll(async () => {
    await api.close();
    await test.drop();
  });

  /** A client that says what it likes, and keeps what it hears. */
  async function open(): Promise<{ socket: Socket; heard: () => string; statuses: () => string[] }> {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return {
      socket,
      heard: () => text,
      statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status!),
    };
  }

  const head = (key: string, ...headers: string[]) =>
    ['POST /api/v1/parcels HTTP/1.1', 'host: mail.example', `x-api-key: ${key}`, ...headers, '', ''].join(
      '\r\n',
    );

  it.each([
    ['without a valid key', 'guess', '401'],
    ['without the scope', 'key', '403'],
    ['past the limit', 'once', '429'],
  ])(
    '%s has its answer at once and is closed, however much of a body would follow',
    async (_, key, status) => {
      if (key === 'once') await fetch(`${api.url}/api/v1/parcels`, { headers: { 'x-api-key': key } });
      for (const length of [`content-length: ${1024 * MEGABYTE}`, 'transfer-encoding: chunked']) {
        const { socket, heard, statuses } = await open();
        socket.write(head(key, 'content-type: text/csv', length));
        await eventually('it is answered', () => statuses().length > 0);
        expect(statuses()).toEqual([status]);
        expect(heard()).toMatch(/\r\nconnection: close\r\n/i);
        const closed = closing(socket);
        let sent = 0;
        const more = Buffer.alloc(MEGABYTE, 'x');
        // Once a write has failed, Node calls back all later ones at once, before it destroys the socket.
        const send = (failed?: Error | null): void => {
          if (failed || socket.destroyed || sent > 4 * MAX_MEGABYTES) return;
          sent += 1;
          socket.write(more, send);
        };
        send();
        await closed;
        // The kernels of both sides hold some of the body, which is sent but not read.
        expect(sent).toBeGreaterThan(1);
        expect(sent).toBeLessThan(2 * MAX_MEGABYTES);
      }
    },
  );

  it('goes on after a refused body of an ordinary length, and what stands in it is no request', async () => {
    const { socket, statuses } = await open();
    const hidden = 'GET /shelf/1 HTTP/1.1\r\nhost: mail.example\r\n\r\n';
    socket.write(head('guess', 'content-type: application/json', `content-length: ${hidden.length}`));
    await eventually('it is refused', () => statuses().length === 1);
    socket.write(hidden.slice(0, 10));
    socket.write(hidden.slice(10));
    socket.write('GET /api/v1/parcels HTTP/1.1\r\nhost: mail.example\r\nx-api-key: key\r\n\r\n');
    await eventually('the next is answered', () => statuses().length > 1);
    expect(statuses()).toEqual(['401', '200']);
    socket.destroy();
  });

  it('that is to be closed takes no request more, whatever the rest of the body looks like', async () => {
    const { socket, statuses } = await open();
    const before = lines.length;
    socket.write(head('guess', 'content-type: application/json', 'transfer-encoding: chunked'));
    await eventually('it is refused', () => statuses().length === 1);
    const next = 'GET /api/v1/parcels HTTP/1.1\r\nhost: mail.example\r\nx-api-key: key\r\n\r\n';
    socket.write(`5\r\nhello\r\n0\r\n\r\n${next}`);
    socket.end(next);
    await closing(socket);
    expect(statuses()).toEqual(['401']);
    expect(lines.slice(before).filter((line) => line.includes('"request"'))).toHaveLength(1);
  });

  it('that is reset at once is no error of ours', async () => {
    const before = lines.length;
    const resets = 30;
    for (let reset = 0; reset < resets; reset += 1) {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(
        `GET ${reset % 2 === 0 ? '/shelf/1' : '/api/v1/parcels'} HTTP/1.1\r\nhost: mail.example\r\n\r\n`,
      );
      socket.resetAndDestroy();
    }
    expect((await fetch(`${api.url}/api/v1/parcels`, { headers: { 'x-api-key': 'key' } })).status).toBe(200);
    await eventually('all are over', async () => {
      const server = api.app.getHttpAdapter().getInstance().server;
      const connections = await new Promise<number>((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      });
      return connections <= 1;
    });
    const logged = lines.slice(before).map((line) => JSON.parse(line) as { level: string; msg: string });
    expect(logged.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });
});
