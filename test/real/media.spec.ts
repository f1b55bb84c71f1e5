import { afterAll, beforeAll, expect, it } from '@jest/globals';
import sharp from 'sharp';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { describeWith } from './parts.js';
import { type RealS3, startRealS3 } from './support/s3.js';

const HOUR = 3_600_000;

describeWith(['s3'], 'images in a real S3 server', () => {
  let s3: RealS3;
  let system: RunningSystem;
  let client: ApiClient;

  beforeAll(async () => {
    s3 = await startRealS3();
    system = await startSystem(s3.variables);
    client = await (await system.project()).client('TEST');
  });

  afterAll(async () => {
    await system?.stop();
    await s3?.close();
  });

  const upload = async (by = client): Promise<ApiAnswer> => {
    const content = await sharp({ create: { width: 600, height: 400, channels: 3, background: '#1a5' } })
      .jpeg()
      .toBuffer();
    return by.post('/media', content, { headers: { 'content-type': 'image/jpeg' } });
  };
  const uploaded = async (): Promise<{ url: string; id: string; prefix: string }> => {
    const made = await upload();
    expect(made.status).toBe(201);
    const url: string = made.at('url');
    const name = /\/media\/([^.]+)\.jpg$/.exec(url)![1]!;
    return { url, id: made.at('id'), prefix: name };
  };
  const objectsOf = async (prefix: string) => {
    const all = await s3.objects();
    const files = all.filter((key) => key.includes(prefix)).map((key) => key.slice(key.lastIndexOf('/') + 1));
    return files.toSorted((one, other) => one.localeCompare(other));
  };

  it('are written, served, made narrower once, and removed', async () => {
    const { url, id, prefix } = await uploaded();
    expect(await objectsOf(prefix)).toEqual(['original']);
    const [whole, narrow, head] = [
      await fetch(url),
      await fetch(`${url}?w=300`),
      await fetch(url, { method: 'HEAD' }),
    ];
    const octets = Buffer.from(await whole.arrayBuffer());
    expect(await sharp(octets).metadata()).toMatchObject({ format: 'jpeg', width: 600, height: 400 });
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'content-length': String(octets.length),
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect((await sharp(Buffer.from(await narrow.arrayBuffer())).metadata()).width).toBe(320);
    expect(head.headers.get('content-length')).toBe(String(octets.length));
    const known = await fetch(url, { headers: { 'if-none-match': whole.headers.get('etag')! } });
    expect(known.status).toBe(304);
    expect(await objectsOf(prefix)).toEqual(['original', 'w320']);
    expect((await client.delete(`/media/${id}`)).status).toBe(204);
    expect(await objectsOf(prefix)).toEqual([]);
    expect((await fetch(url)).status).toBe(404);
  });

  it('are told to be away while the server is, and are deleted when it is back', async () => {
    const { url, id, prefix } = await uploaded();
    await s3.kill();
    expectProblem(await upload(), 503, 'unavailable');
    const page = await fetch(url);
    expect([page.status, page.headers.get('retry-after')]).toEqual([503, '5']);
    expect((await client.delete(`/media/${id}`)).status).toBe(204);
    expect(await objectsOf(prefix)).toEqual(['original']);
    await s3.start();
    await system.advanceClock(HOUR);
    await eventually('its object is gone', async () => (await objectsOf(prefix)).length === 0);
    expect((await upload()).status).toBe(201);
  });

  it('are not written with a wrong secret', async () => {
    const before = await s3.objects();
    const wrong = await startSystem({ ...s3.variables, S3_SECRET_ACCESS_KEY: 'another' });
    try {
      const other = await (await wrong.project()).client('TEST');
      expectProblem(await upload(other), 503, 'unavailable');
      expect(wrong.api.output()).toContain('SignatureDoesNotMatch');
    } finally {
      await wrong.stop();
    }
    expect(await s3.objects()).toEqual(before);
  });
});
