import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import { type LinkKind, LinkTokens, TrackingTokens } from '../../libs/platform/src/index.js';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type System, SECRETS, sharedSystem, type SystemProject } from '#testing/programs/system';

const PATHS: Readonly<Record<Exclude<LinkKind, 'feedback'>, string>> = {
  confirm: 'c',
  unsubscribe: 'u',
  preferences: 'p',
  view: 'v',
  invoice: 'i',
  report: 'r',
  export: 'e',
  preview: 'd',
};
const KINDS = Object.keys(PATHS) as (keyof typeof PATHS)[];
const TARGET = 'https://acme.example/offer';
const UNKNOWN_ID = '019aa3b5-0000-7000-8000-000000000000';
/** As the programs sign: whatever else is wrong with such a link, its signature is not. */
const tokens = new LinkTokens(SECRETS.TOKEN_SECRET);
const tracking = new TrackingTokens(SECRETS.TOKEN_SECRET);

describe('a link that is not ours', () => {
  let system: System;
  let project: SystemProject;
  let stranger: SystemProject;
  let client: ApiClient;
  /** The good tokens of one mail, by the letter of their path. */
  const good = new Map<string, string>();

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project('APIT');
    stranger = await system.project('APIT');
    client = await project.client('TEST');
    await fill();
  });
  afterAll(() => system?.stop());

  const messageOf = (kind: string) =>
    eventually(`the mail of kind ${kind}`, async () => {
      const answer = await client.get(`/test-inbox/messages?kind=${kind}`);
      return answer.at<unknown[]>('data').length > 0 && answer;
    });
  const tokenOf = (url: string): string => url.split('/').at(-1) ?? '';

  /** Somebody who has a confirmation to press, a campaign's mail and an invoice. */
  async function fill(): Promise<void> {
    const news = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const offers = await client.post('/topics', { name: 'Offers' });
    const topicKeys = [news.at('topicKey'), offers.at('topicKey')];
    const consent = { source: 'form' };
    await client.post('/subscribers', { email: 'ada@example.com', topicKeys, consent });
    const contentJson = JSON.stringify({ blocks: [{ type: 'button', label: 'Go', url: TARGET }] });
    const draft = { name: 'May', subject: 'May', contentJson, topicIds: [news.at('id')] };
    const campaign = await client.post('/campaigns', draft);
    expect((await client.post(`/campaigns/${campaign.at('campaignKey')}/send`)).status).toBe(200);
    const look = await client.post(`/campaigns/${campaign.at('campaignKey')}/preview-link`);
    good.set('d', tokenOf(look.at('url')));
    good.set('c', tokenOf((await messageOf('OPT_IN')).at('data', 0, 'links', 'confirm')));
    const mail = await messageOf('CAMPAIGN');
    for (const kind of ['unsubscribe', 'preferences', 'view'] as const)
      good.set(PATHS[kind], tokenOf(mail.at('data', 0, 'links', kind)));
    const raw = await client.get(`/test-inbox/messages/${mail.at('data', 0, 'id')}/raw`);
    const { html = '' } = await PostalMime.parse(raw.text);
    for (const path of ['l', 'o']) good.set(path, new RegExp(`/${path}/([\\w-]+)"`).exec(html)?.[1] ?? '');
  }

  const open = (path: string, token: string, method = 'GET') =>
    fetch(`${system.baseUrl}/${path}/${token}`, { method, redirect: 'manual' });
  const consents = async () => (await client.get('/subscribers/ada%40example.com/consents')).text;
  const goodOf = (path: string): string => good.get(path) ?? '';

  /** A page that leads nowhere; where the signature does not hold, it says no more than that. */
  async function expectRefused(path: string, token: string, why: string, isSigned = false): Promise<void> {
    for (const method of ['GET', ...(['c', 'u', 'p'].includes(path) ? ['POST'] : [])]) {
      const answer = await open(path, token, method);
      const text = await answer.text();
      const seen = [answer.status, answer.headers.get('location'), /ada@|News|Offers|May/.test(text)];
      expect([path, method, why, ...seen]).toEqual([path, method, why, 404, null, false]);
      if (!isSigned) expect(text).toContain('This link doesn’t work');
    }
  }

  it('is told from one that is, of every kind', async () => {
    expect([...good.keys()].toSorted()).toEqual(['c', 'd', 'l', 'o', 'p', 'u', 'v']);
    for (const [path, token] of good)
      expect([path, (await open(path, token)).status]).toEqual([path, path === 'l' ? 302 : 200]);
    expect((await open('l', goodOf('l'))).headers.get('location')).toBe(TARGET);
  });

  it('because any one bit of it was changed', async () => {
    const before = await consents();
    for (const [path, token] of good) {
      const bytes = Buffer.from(token, 'base64url');
      for (let at = 0; at < bytes.length; at += 1) {
        const forged = Buffer.from(bytes);
        forged.writeUInt8(forged.readUInt8(at) ^ (1 << (at & 7)), at);
        await expectRefused(path, forged.toString('base64url'), `byte ${at}`);
      }
    }
    expect(await consents()).toBe(before);
  });

  it('because it is of another kind', async () => {
    const before = await consents();
    for (const path of [...Object.values(PATHS), 'l', 'o'])
      for (const [other, token] of good)
        if (other !== path) await expectRefused(path, token, `token of /${other}/`);
    expect(await consents()).toBe(before);
  });

  it('because its id is one of another environment or of nothing, however well it is signed', async () => {
    const before = await consents();
    const strange = [
      { environmentId: project.live.environmentId, why: 'the other environment' },
      { environmentId: stranger.test.environmentId, why: 'another tenant' },
      { environmentId: 2 ** 40 - 1, why: 'no environment' },
    ];
    for (const kind of KINDS) {
      const own = tokens.verify(goodOf(PATHS[kind]), kind);
      for (const { environmentId, why } of strange) {
        const token = tokens.sign({ kind, environmentId, id: own?.id ?? UNKNOWN_ID, expiresAt: null });
        await expectRefused(PATHS[kind], token, why, true);
      }
      const { environmentId } = project.test;
      await expectRefused(
        PATHS[kind],
        tokens.sign({ kind, environmentId, id: UNKNOWN_ID, expiresAt: null }),
        'nothing',
        true,
      );
    }
    const claims = tracking.verify(goodOf('l'));
    for (const { environmentId, why } of strange) {
      const signed = tracking.sign(
        { environmentId, linkSet: claims?.linkSet ?? 0, deliveryId: claims?.deliveryId ?? UNKNOWN_ID },
        2,
      );
      await expectRefused('l', signed[1] ?? '', why, true);
    }
    expect(await consents()).toBe(before);
  });

  it('because its time is over: pressing it confirms nothing', async () => {
    const before = await consents();
    await system.database.query(
      `update audience.confirmations set created_at = now() - interval '3 days', expires_at = now() - interval '1 day'
       where environment_id = $1`,
      [project.test.environmentId],
    );
    // 404 once the worker has noted that the consent expired.
    for (const method of ['GET', 'POST']) {
      const { status } = await open('c', goodOf('c'), method);
      expect([method, [404, 410].includes(status)]).toEqual([method, true]);
    }
    const subscribed = (text: string) => text.match(/"status":"SUBSCRIBED"/g)?.length;
    expect(subscribed(before)).toBe(1);
    expect(subscribed(await consents())).toBe(1);
  });

  it('leads nowhere but where the author wrote, whatever address the request names', async () => {
    const token = goodOf('l');
    const evil = 'evil.example';
    for (const suffix of [
      `?url=https://${evil}`,
      `?next=//${evil}`,
      `#https://${evil}`,
      `?${TARGET}`,
      `%3Furl=https://${evil}`,
      `/https://${evil}`,
      `/..//${evil}`,
      `@${evil}`,
    ]) {
      const answer = await open('l', token + suffix);
      expect([suffix, answer.headers.get('location') ?? TARGET]).toEqual([suffix, TARGET]);
    }
    for (const path of [
      `//${evil}`,
      `/l//${evil}`,
      `/l/https://${evil}`,
      `/%2f%2f${evil}`,
      `/\\${evil}`,
      `/.${evil}`,
    ]) {
      const answer = await fetch(`${system.baseUrl}${path}`, { redirect: 'manual' });
      expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 404, null]);
    }
    const hosted = await fetch(`${system.baseUrl}/l/${token}`, {
      redirect: 'manual',
      headers: { 'x-forwarded-host': evil, forwarded: `host=${evil}` },
    });
    expect(hosted.headers.get('location')).toBe(TARGET);
  });
});
