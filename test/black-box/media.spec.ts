import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import pg from 'pg';
import sharp from 'sharp';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { advanceTime } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MEDIA_DIR = join(tmpdir(), `mailwright-media-${process.pid}`);
const plain = (width: number, height: number, background: string | object = '#c33') =>
  sharp({ create: { width, height, channels: 3, background } });

async function animation(frames: number, width = 40, height = 30): Promise<Buffer> {
  const each = Array.from({ length: frames }, (_, frame) =>
    plain(width, height, { r: (frame * 41) % 256, g: (frame * 7) % 256, b: Math.floor(frame / 256) })
      .png()
      .toBuffer(),
  );
  return sharp(await Promise.all(each), { join: { animated: true } })
    .gif({ delay: Array.from({ length: frames }, () => 70), loop: 3 })
    .toBuffer();
}

/** A PNG that says of itself how large it is, and holds `pixels`. */
function png(width: number, height: number, pixels: Buffer): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

interface Picture {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

async function fetched(url: string, init: RequestInit = {}): Promise<Picture> {
  const answer = await fetch(url, init);
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
}

describe('images of mails', () => {
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;

  beforeAll(async () => {
    system = await startSystem({ MEDIA_QUOTA_MB: '40', MEDIA_DIR });
    project = await system.project();
    client = await project.client('TEST');
  });
  afterAll(async () => {
    await system?.stop();
    await rm(MEDIA_DIR, { recursive: true, force: true });
  });

  const upload = (content: Buffer, type: string, path = '/media', by = client): Promise<ApiAnswer> =>
    by.post(path, content, { headers: { 'content-type': type } });
  const uploadedBy = async (by: ApiClient, content: Buffer): Promise<void> => {
    expect((await upload(content, 'image/png', '/media', by)).status).toBe(201);
  };
  const uploaded = async (content: Buffer, type: string): Promise<ApiAnswer> => {
    const answer = await upload(content, type);
    expect(answer.body).toMatchObject({ contentType: type });
    expect(answer.status).toBe(201);
    return answer;
  };

  it('are stored, listed, served and deleted', async () => {
    const content = await plain(600, 200).png().toBuffer();
    const made = await upload(content, 'image/png', '/media?filename=Header%20of%20spring.png');
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/api/v1/media/${made.at('id')}`);
    expect(made.body).toMatchObject({
      filename: 'Header of spring.png',
      contentType: 'image/png',
      width: 600,
      height: 200,
      usedBy: [],
      usedByCount: 0,
      lastShownOn: null,
    });
    const url = made.at('url');
    expect(url).toMatch(/\/media\/[0-9a-z]+-[0-9a-f]{32}\.png$/);
    expect((await client.get(`/media/${made.at('id')}`)).body).toEqual(made.body);
    expect((await client.get('/media')).at('data', 0)).toEqual(made.body);

    const served = await fetched(url);
    expect(served.status).toBe(200);
    expect(served.bytes).toHaveLength(made.at<number>('bytes'));
    expect(Object.fromEntries(served.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(served.bytes.length),
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    expect(served.headers.get('set-cookie')).toBeNull();
    expect(await sharp(served.bytes).metadata()).toMatchObject({ width: 600, height: 200, format: 'png' });

    expect((await client.delete(`/media/${made.at('id')}`)).status).toBe(204);
    expect((await fetched(url)).status).toBe(404);
    expect((await client.get(`/media/${made.at('id')}`)).status).toBe(404);
    expect((await client.delete(`/media/${made.at('id')}`)).status).toBe(404);
  });

  it('are told from changed ones by their ETag, and answer HEAD', async () => {
    const made = await uploaded(await plain(20, 20).png().toBuffer(), 'image/png');
    const url = made.at('url');
    const head = await fetched(url, { method: 'HEAD' });
    expect([head.status, head.bytes.length, head.headers.get('content-length')]).toEqual([
      200,
      0,
      String(made.at('bytes')),
    ]);
    const etag = head.headers.get('etag')!;
    const again = await fetched(url, { headers: { 'if-none-match': `"other", W/${etag}` } });
    expect([again.status, again.bytes.length, again.headers.get('etag')]).toEqual([304, 0, etag]);
    expect((await fetched(`${url}?w=16`)).headers.get('etag')).not.toBe(etag);
  });

  it('stand upright, and lose where they were taken', async () => {
    const photo = await plain(300, 100)
      .jpeg()
      .withExif({
        IFD0: { Orientation: '6', Make: 'Canon', Artist: 'Ada Lovelace' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' },
      })
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><who>Ada</who></x:xmpmeta>')
      .toBuffer();
    expect((await sharp(photo).metadata()).exif).toBeDefined();
    const turned = await sharp(photo).withMetadata({ orientation: 6 }).toBuffer();
    expect((await sharp(turned).metadata()).orientation).toBe(6);
    const made = await uploaded(turned, 'image/jpeg');
    expect([made.at('width'), made.at('height')]).toEqual([100, 300]);
    const { bytes } = await fetched(made.at('url'));
    const { exif, xmp, orientation, width, height } = await sharp(bytes).metadata();
    expect({ exif, xmp, orientation, width, height }).toEqual({ width: 100, height: 300 });
    expect(bytes.includes('Canon') || bytes.includes('Ada')).toBe(false);
  });

  it('go on moving', async () => {
    const made = await uploaded(await animation(12), 'image/gif');
    expect([made.at('width'), made.at('height')]).toEqual([40, 30]);
    for (const url of [made.at('url'), `${made.at('url')}?w=16`]) {
      const { pages, delay, loop } = await sharp((await fetched(url)).bytes, { animated: true }).metadata();
      expect({ pages, delay: delay?.[0], loop }).toEqual({ pages: 12, delay: 70, loop: 3 });
    }
    const webp = await sharp(await animation(5), { animated: true })
      .webp()
      .toBuffer();
    const second = await uploaded(webp, 'image/webp');
    expect((await sharp((await fetched(second.at('url'))).bytes, { animated: true }).metadata()).pages).toBe(
      5,
    );
  });

  it('are made narrower once, in a few widths, and never wider', async () => {
    const made = await uploaded(await plain(1_000, 500).jpeg().toBuffer(), 'image/jpeg');
    const url = made.at('url');
    const sizeAt = async (w: string) => {
      const { status, bytes } = await fetched(`${url}?w=${w}`);
      return status === 200 ? (await sharp(bytes).metadata()).width : status;
    };
    expect(await Promise.all(['1', '300', '320', '321', '999', '9999'].map(sizeAt))).toEqual([
      16, 320, 320, 400, 1_000, 1_000,
    ]);
    expect(await Promise.all(['0', '-1', '', 'x', '1e3', '100000', '10&w=20'].map(sizeAt))).toEqual(
      Array.from({ length: 7 }, () => 404),
    );
    const many = await Promise.all(Array.from({ length: 20 }, () => fetched(`${url}?w=640`)));
    expect(new Set(many.map(({ bytes }) => createHash('sha256').update(bytes).digest('hex'))).size).toBe(1);
  });

  it.each([
    [
      'an image that lies about its type',
      async () => [await plain(9, 9).gif().toBuffer(), 'image/png'],
      'is image/gif by its bytes, and not image/png',
    ],
    [
      'SVG that calls itself PNG',
      () => [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/png'],
      'is no PNG, JPEG, GIF or WebP image',
    ],
    ['nothing', () => [Buffer.alloc(0), 'image/png'], 'is no PNG, JPEG, GIF or WebP image'],
    [
      'a PNG of 50 000 × 50 000',
      () => [png(50_000, 50_000, Buffer.alloc(1_000_000)), 'image/png'],
      'is 50000 × 50000 pixels: at most 40 megapixels are taken',
    ],
    [
      'a GIF with 301 frames',
      async () => [await animation(301, 2, 2), 'image/gif'],
      'has 301 frames: at most 300 are taken',
    ],
    [
      'a JPEG that breaks off',
      async () => {
        const whole = await plain(500, 500).jpeg().toBuffer();
        return [whole.subarray(0, whole.length / 2), 'image/jpeg'];
      },
      /^cannot be read as an image: /,
    ],
    [
      'a PNG of noise',
      () => [Buffer.concat([png(9, 9, Buffer.alloc(1)).subarray(0, 41), randomBytes(3_000)]), 'image/png'],
      /^cannot be read as an image: /,
    ],
  ] as [string, () => Promise<[Buffer, string]> | [Buffer, string], string | RegExp][])(
    'are not taken from %s',
    async (_what, make, fault) => {
      const [content, type] = await make();
      const answer = await upload(content, type);
      expectProblem(answer, 422, 'domain-validation', { errors: { body: expect.stringMatching(fault) } });
    },
  );

  it('are refused as larger than 5 MB, as SVG, compressed, and without the scope', async () => {
    expectProblem(await upload(Buffer.alloc(5 * 1_048_576 + 1), 'image/png'), 413, 'payload-too-large');
    expectProblem(await upload(Buffer.from('<svg/>'), 'image/svg+xml'), 415, 'unsupported-media-type');
    expectProblem(await client.post('/media', { png: '…' }), 415, 'unsupported-media-type');
    const form = await upload(Buffer.from('a=b'), 'application/x-www-form-urlencoded');
    expect(expectProblem(form, 415, 'unsupported-media-type')['detail']).toMatch(/^Send image\//);
    const compressed = { 'content-type': 'image/png', 'content-encoding': 'gzip' };
    expectProblem(
      await client.post('/media', Buffer.from('x'), { headers: compressed }),
      415,
      'unsupported-media-type',
    );
    const reader = await project.client('TEST', { scopes: ['media:read'] });
    expectProblem(await upload(Buffer.alloc(6e6), 'image/png', '/media', reader), 403, 'insufficient-scope', {
      requiredScope: 'media:write',
    });
    expectProblem(await upload(Buffer.from('x'), 'image/png', '/media?filename='), 400, 'validation-error', {
      errors: { filename: 'must not be empty' },
    });
  });

  it('are refused by their size though nobody said it before', async () => {
    const { port } = new URL(system.baseUrl);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        'x-api-key': client.key!,
        'content-type': 'image/png',
        'transfer-encoding': 'chunked',
      };
      const asked = httpRequest({ port, path: '/api/v1/media', method: 'POST', headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.on('error', reject);
      const send = (left: number): void => {
        if (left === 0) return void asked.end();
        asked.write(Buffer.alloc(65_536), () => send(left - 1));
      };
      send(100);
    });
    expect(status).toBe(413);
  });

  it('of the largest size that is taken go through beside others', async () => {
    const black = png(8_000, 5_000, Buffer.alloc(5_000 * (8_000 * 3 + 1)));
    const [large, small] = await Promise.all([
      upload(black, 'image/png'),
      plain(10, 10)
        .png()
        .toBuffer()
        .then((content) => upload(content, 'image/png')),
    ]);
    expect([large.status, large.at('width'), small.status]).toEqual([201, 8_000, 201]);
  });

  it('end where the quota does, which a deleted one gives back', async () => {
    const other = await (await system.project('FULL')).client('TEST');
    const noise = await sharp(randomBytes(1_200 * 1_200 * 3), {
      raw: { width: 1_200, height: 1_200, channels: 3 },
    })
      .png()
      .toBuffer();
    const kept: ApiAnswer[] = [];
    for (let n = 0; n < 12; n += 1) {
      const answer = await upload(noise, 'image/png', '/media', other);
      if (answer.status === 201) kept.push(answer);
      else {
        expectProblem(answer, 422, 'domain-validation', {
          errors: { body: 'does not fit: the quota of 40 MB of images is used up' },
        });
      }
    }
    expect(kept.length).toBe(Math.floor((40 * 1_048_576) / kept[0]!.at<number>('bytes')));
    expect((await other.delete(`/media/${kept[0]!.at('id')}`)).status).toBe(204);
    expect((await upload(noise, 'image/png', '/media', other)).status).toBe(201);
  });

  it('stay while a campaign names them, also in a translation', async () => {
    const topic = await client.post('/topics', { name: 'News' });
    const [own, german] = [
      await uploaded(await plain(30, 30).png().toBuffer(), 'image/png'),
      await uploaded(await plain(31, 31).png().toBuffer(), 'image/png'),
    ];
    const showing = (image: ApiAnswer, query = '') =>
      JSON.stringify({ blocks: [{ type: 'image', src: `${image.at('url')}${query}`, alt: 'Spring' }] });
    const campaign = await client.post('/campaigns', {
      name: 'Spring',
      subject: 'Spring',
      topicIds: [topic.at('id')],
      contentJson: showing(own, '?w=600'),
      translations: { de: { subject: 'Frühling', contentJson: showing(german) } },
    });
    expect(campaign.status).toBe(201);
    const key = campaign.at('campaignKey');
    for (const image of [own, german]) {
      const usedBy = [{ kind: 'campaign', key, name: 'Spring' }];
      expect((await client.get(`/media/${image.at('id')}`)).body).toMatchObject({ usedBy, usedByCount: 1 });
      const refused = await client.delete(`/media/${image.at('id')}`);
      expectProblem(refused, 409, 'in-use', { usedBy, usedByCount: 1 });
    }
    expect(
      (await client.patch(`/campaigns/${key}`, { contentJson: JSON.stringify({ blocks: [] }) })).status,
    ).toBe(200);
    expect((await client.delete(`/media/${own.at('id')}`)).status).toBe(204);
    expect((await client.delete(`/media/${german.at('id')}?force=true`)).status).toBe(204);
    expect((await fetched(german.at('url'))).status).toBe(404);
    const { checks } = (await client.get(`/campaigns/${key}/pre-send-analysis`)).body as {
      checks: { code: string; result: string; message: string }[];
    };
    expect(checks.find(({ code }) => code === 'gone-images')).toMatchObject({
      result: 'FAIL',
      message: `de: Readers see a gap, since these images were deleted or never uploaded: ${german.at('url')}.`,
    });
    expect((await client.delete(`/campaigns/${key}`)).status).toBe(204);
  });

  it('stay while an automation names them', async () => {
    const image = await uploaded(await plain(32, 32).png().toBuffer(), 'image/png');
    const topic = await client.post('/topics', { name: 'Steps' });
    const automation = await client.post('/automations', { name: 'Welcome', triggerType: 'manual' });
    const id = automation.at('id');
    const contentJson = JSON.stringify({ blocks: [{ type: 'image', src: image.at('url'), alt: 'Hello' }] });
    const nodes = [
      { id: 'one', type: 'email', config: { subject: 'Hello', contentJson, topicKey: topic.at('topicKey') } },
    ];
    const changed = await client.patch(`/automations/${id}/content`, {
      nodes: JSON.stringify(nodes),
      edges: '[]',
    });
    expect(changed.status).toBe(200);
    expect((await client.get(`/media/${image.at('id')}`)).at('usedBy')).toEqual([
      { kind: 'automation', key: automation.at('automationKey'), name: 'Welcome' },
    ]);
    expectProblem(await client.delete(`/media/${image.at('id')}`), 409, 'in-use', {
      usedBy: expect.anything(),
      usedByCount: 1,
    });
    expect((await client.delete(`/automations/${id}`)).status).toBe(204);
    expect((await client.delete(`/media/${image.at('id')}`)).status).toBe(204);
  });

  it('stay while a template or a version of it names them', async () => {
    const image = await uploaded(await plain(36, 36).png().toBuffer(), 'image/png');
    const { environmentId } = project.test;
    const content = JSON.stringify({ html: `<img src="${image.at('url')}">` });
    const [made] = await system.database.query<{ id: string }>(
      `insert into messaging.templates (id, environment_id, template_key, name, kind, draft, created_at, updated_at)
       values (platform.new_id(), $1, 'APIT-77', 'Receipt', 'MESSAGE', $2, now(), now()) returning id`,
      [environmentId, content],
    );
    for (const number of [1, 2])
      await system.database.query(
        `insert into messaging.template_versions (id, environment_id, template_id, version, content, created_at)
         values (platform.new_id(), $1, $2, $3, $4, now())`,
        [environmentId, made!.id, number, number === 1 ? content : '{}'],
      );
    const ofTemplate = `environment_id = ${environmentId} and template_id = $1`;
    await system.database.query(
      `update messaging.templates set draft = '{}' where environment_id = ${environmentId} and id = $1`,
      [made!.id],
    );
    const usedBy = [{ kind: 'template', key: 'APIT-77', name: 'Receipt' }];
    expect((await client.get(`/media/${image.at('id')}`)).body).toMatchObject({ usedBy, usedByCount: 1 });
    expectProblem(await client.delete(`/media/${image.at('id')}`), 409, 'in-use', { usedBy, usedByCount: 1 });
    await system.database.query(`delete from messaging.template_versions where ${ofTemplate}`, [made!.id]);
    const today = new Date().toISOString().slice(0, 10);
    expect((await client.get(`/media/${image.at('id')}`)).body).toMatchObject({
      usedBy: [],
      lastShownOn: today,
    });
  });

  it('are the same bytes for two tenants by names of their own', async () => {
    const content = await plain(33, 33).png().toBuffer();
    const other = await (await system.project('BETA')).client('TEST');
    const [one, two] = [
      await upload(content, 'image/png'),
      await upload(content, 'image/png', '/media', other),
    ];
    const nameOf = (image: ApiAnswer) => /([0-9a-f]{32})\.png$/.exec(image.at('url'))![1];
    expect(nameOf(one)).not.toBe(nameOf(two));
    expect((await fetched(one.at('url').replace(/\/media\/[0-9a-z]+-/, '/media/1zz-'))).status).toBe(404);
  });

  it('stay for a year after the last message that shows them', async () => {
    const image = await uploaded(await plain(34, 34).png().toBuffer(), 'image/png');
    const sent = await client.post('/messages', {
      to: 'ada@example.com',
      purpose: 'A receipt',
      subject: 'Receipt',
      html: `<p>Thank you</p><img src="{{ data.logo }}" alt="Acme" width="34">`,
      data: { logo: `${image.at('url')}?w=64` },
    });
    expect(sent.status).toBe(202);
    const refused = await client.delete(`/media/${image.at('id')}`);
    const { detail } = expectProblem(refused, 409, 'in-use', { usedBy: [], usedByCount: 0 });
    const today = new Date().toISOString().slice(0, 10);
    expect(detail).toBe(
      `A mail of ${today} may show the image: it can be deleted 365 days later, or at once with \`force=true\`.`,
    );
    expect((await client.get(`/media/${image.at('id')}`)).at('lastShownOn')).toBe(today);
    expect((await client.delete(`/media/${image.at('id')}?force=true`)).status).toBe(204);
  });

  it('stay for a year after the last campaign that showed them', async () => {
    const image = await uploaded(await plain(35, 35).png().toBuffer(), 'image/png');
    const contentJson = JSON.stringify({ blocks: [{ type: 'image', src: image.at('url'), alt: 'Old' }] });
    const campaign = await client.post('/campaigns', { name: 'Old', subject: 'Old', contentJson });
    await system.database.query(`update messaging.campaigns set status = 'SENT' where id = $1`, [
      campaign.at('id'),
    ]);
    await system.database.query(`update messaging.campaigns set deleted_at = platform.now() where id = $1`, [
      campaign.at('id'),
    ]);
    expectProblem(await client.delete(`/media/${image.at('id')}`), 409, 'in-use', {
      usedBy: [],
      usedByCount: 0,
    });
    await system.advanceClock(366 * DAY);
    expect((await client.delete(`/media/${image.at('id')}`)).status).toBe(204);
  });

  it('leave no row without a file, and no file for long, when the api is killed in the middle', async () => {
    const other = await system.project('KILL');
    const killed = await other.client('TEST');
    await uploadedBy(killed, await plain(8, 8).png().toBuffer());
    const directory = join(MEDIA_DIR, String(other.test.environmentId));
    const filesNow = async () =>
      (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('original'));
    expect(await filesNow()).toHaveLength(1);
    const holder = new pg.Client(system.database.adminUrl);
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select from messaging.media_usage where environment_id = $1 for update', [
        other.test.environmentId,
      ]);
      const unanswered = expect(
        upload(await plain(9, 9).png().toBuffer(), 'image/png', '/media', killed),
      ).rejects.toThrow();
      await eventually('the file is written, and its row waits', async () => (await filesNow()).length === 2);
      await system.api.kill();
      await unanswered;
    } finally {
      await holder.end();
    }
    const rows = () =>
      system.database.query<{ name: string }>('select name from messaging.media where environment_id = $1', [
        other.test.environmentId,
      ]);
    expect(await rows()).toHaveLength(1);
    await advanceTime(system.database, 2 * HOUR);
    await system.worker.readClock();
    await eventually('the file without a row is gone', async () => (await filesNow()).length === 1);
    const [kept] = await rows();
    expect((await filesNow())[0]).toContain(kept!.name.split('-')[1]);
  });
});
