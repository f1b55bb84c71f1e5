import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import sharp from 'sharp';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const READERS = 24;
const TEST = { sharePercent: 50, decideAfter: 'PT2H', by: 'MANUAL' };
const VARIANTS = [
  { name: 'Short', subject: 'Short' },
  { name: 'Long', subject: 'Long', fromName: 'Ada', translations: { de: { subject: 'Lang' } } },
];

describe('campaigns with variants', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let draft: Record<string, unknown>;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    for (let number = 1; number <= READERS; number += 1)
      await client.post('/subscribers', {
        email: `reader-${number}@example.com`,
        topicKeys: [topic.at('topicKey')],
        consent: { source: 'form' },
      });
    draft = {
      name: 'News',
      subject: 'Own',
      contentText: 'Hello {{ links.unsubscribe }}',
      topicIds: [topic.at('id')],
    };
  });
  afterAll(() => system?.stop());

  const errorsOf = (answer: ApiAnswer) => {
    expect([400, 422]).toContain(answer.status);
    return answer.at<Record<string, string>>('errors');
  };
  const created = async (more: object = {}): Promise<string> => {
    const answer = await client.post('/campaigns', { ...draft, variants: VARIANTS, test: TEST, ...more });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
    return answer.at('campaignKey');
  };

  const testIsSent = (key: string) =>
    eventually('the test is sent', async () => {
      const answer = await client.get(`/campaigns/${key}/deliveries?size=100`);
      const all =
        answer.at<{ status: string; variant: number | null; nextAttemptAt: string | null }[]>('data');
      const isSent = all.every(({ status, variant }) => (status === 'SENT') === (variant !== null));
      return all.length === READERS && isSent ? all : null;
    });

  it.each<[string, object, readonly string[]]>([
    ['one variant', { variants: [{ name: 'A' }] }, ['variants']],
    ['six variants', { variants: Array.from('ABCDEF', (name) => ({ name })) }, ['variants']],
    ['a share of 3 percent', { test: { ...TEST, sharePercent: 3 } }, ['test.sharePercent']],
    ['half an hour', { test: { ...TEST, decideAfter: 'PT30M' } }, ['test.decideAfter']],
    ['eight days', { test: { ...TEST, decideAfter: 'P8D' } }, ['test.decideAfter']],
    ['no duration', { test: { ...TEST, decideAfter: 'soon' } }, ['test.decideAfter']],
    ['another measure', { test: { ...TEST, by: 'MOOD' } }, ['test.by']],
    ['variants without a test', { test: null }, ['test']],
    ['a test without variants', { variants: null }, ['variants']],
    ['a local time', { scheduledAtLocal: '2099-11-21T20:00' }, ['scheduledAtLocal']],
    ['a name twice', { variants: [{ name: 'A' }, { name: 'A' }] }, ['variants[1].name']],
    [
      'Handlebars and a broken document',
      {
        variants: [
          { name: 'A', subject: '{{#if x}}' },
          { name: 'B', contentJson: '{"blocks":[{"type":"heading","level":9,"text":"x"}]}' },
        ],
      },
      ['variants[0].subject', 'variants[1].contentJson.blocks[0].level'],
    ],
  ])('are refused with %s, and nothing is written', async (_, faults, paths) => {
    const before = (await client.get('/campaigns')).at('pagination', 'totalElements');
    const answer = await client.post('/campaigns', { ...draft, variants: VARIANTS, test: TEST, ...faults });
    expect(Object.keys(errorsOf(answer)).sort()).toEqual([...paths].sort());
    expect((await client.get('/campaigns')).at('pagination', 'totalElements')).toBe(before);
  });

  it('are written, changed, copied, and lose their test with their variants', async () => {
    const key = await created();
    const campaign = await client.get(`/campaigns/${key}`);
    expect(campaign.at('variants', 1)).toEqual({
      name: 'Long',
      subject: 'Long',
      previewText: null,
      fromName: 'Ada',
      contentJson: null,
      contentText: null,
      translations: { de: { subject: 'Lang', previewText: null, contentJson: null, contentText: null } },
      templateKey: null,
      templateVersion: null,
    });
    expect(campaign.at('test')).toEqual({ ...TEST, ifUndecided: 'LEADER' });
    expect([campaign.at('testPhase'), campaign.at('winningVariant')]).toEqual([null, null]);
    const copy = await client.post(`/campaigns/${key}/duplicate`, {});
    expect(copy.at('variants')).toEqual(campaign.at('variants'));
    const asked = { sharePercent: 30, by: 'OPENS', ifUndecided: 'ASK' };
    await client.patch(`/campaigns/${key}`, { test: asked });
    const changed = await client.patch(`/campaigns/${key}`, { test: { decideAfter: 'PT3H', by: null } });
    expect(changed.at('test')).toEqual({ ...asked, decideAfter: 'PT3H', by: 'CLICKS' });
    expect(errorsOf(await client.patch(`/campaigns/${key}`, { test: null }))).toEqual({
      test: 'is required with variants',
    });
    const plain = await client.patch(`/campaigns/${key}`, { variants: null });
    expect(
      errorsOf(await client.patch(`/campaigns/${key}`, { variants: VARIANTS, test: { by: 'OPENS' } })),
    ).toEqual({ 'test.sharePercent': 'is required', 'test.decideAfter': 'is required' });
    expect([plain.at('variants'), plain.at('test')]).toEqual([[], null]);
  });

  it('show each variant in previews, on the page and in test mails', async () => {
    const key = await created();
    const subjects = [];
    for (const query of ['', '?variant=2', '?variant=2&locale=de'])
      subjects.push((await client.get(`/campaigns/${key}/preview${query}`)).at('subject'));
    expect(subjects).toEqual(['Short', 'Long', 'Lang']);
    expect((await client.post(`/campaigns/${key}/preview`, { variant: 2 })).at('fromName')).toBe('Ada');
    expect(errorsOf(await client.get(`/campaigns/${key}/preview?variant=3`))).toEqual({
      variant: 'must be from 1 to 2',
    });
    const { url } = (await client.post(`/campaigns/${key}/preview-link`)).at<{ url: string }>();
    const page = await (await fetch(`${url}?variant=2`)).text();
    expect(page).toContain('Long');
    expect(page).toMatch(/aria-label="A\/B"/);
    expect(
      (await client.post(`/campaigns/${key}/test`, { emails: ['me@example.com'], variant: 2 })).status,
    ).toBe(202);
    await eventually('the test mail is there', async () => {
      const inbox = await client.get('/test-inbox/messages?kind=TEST&to=me@example.com');
      return inbox.at<{ subject: string }[]>('data').some(({ subject }) => subject.includes('Long'));
    });
  });

  it('are checked before they are sent, by the path of each', async () => {
    const key = await created({
      variants: [
        VARIANTS[0],
        { ...VARIANTS[1], contentText: 'Hello {{ custom.nothing }} {{ links.unsubscribe }}' },
      ],
      translations: { de: { subject: 'Eigen' } },
    });
    const analysis = await client.get(`/campaigns/${key}/pre-send-analysis`);
    const checks = analysis.at<{ code: string; result: string; message: string }[]>('checks');
    const of = (code: string) => checks.find((check) => check.code === code);
    expect(of('merge-tags')).toMatchObject({
      result: 'FAIL',
      message: expect.stringContaining('variants[1]'),
    });
    expect(of('variants')?.message).toContain('variants[0].translations.de.subject');
    const refused = await client.post(`/campaigns/${key}/send`);
    expect([refused.status, (await client.get(`/campaigns/${key}`)).at('status')]).toEqual([409, 'DRAFT']);
  });

  it('send the test, and the rest what is chosen, once', async () => {
    const key = await created();
    expectProblem(
      await client.post(`/campaigns/${key}/choose-variant`, { variant: 1 }),
      409,
      'invalid-state',
      {
        currentState: 'DRAFT',
        allowedStates: ['SENDING', 'PAUSED', 'SENT'],
      },
    );
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
    const tested = await testIsSent(key);
    const waiting = tested.filter(({ variant }) => variant === null);
    expect(waiting.every(({ nextAttemptAt }) => nextAttemptAt === null)).toBe(true);
    expect((await client.get(`/campaigns/${key}`)).at('testPhase')).toBe('TESTING');
    expect(errorsOf(await client.post(`/campaigns/${key}/choose-variant`, { variant: 3 }))).toEqual({
      variant: 'must be from 1 to 2',
    });
    const chosen = await client.post(`/campaigns/${key}/choose-variant`, { variant: 2 });
    expect([chosen.at('testPhase'), chosen.at('winningVariant')]).toEqual(['DECIDED', 2]);
    const twice = await client.post(`/campaigns/${key}/choose-variant`, { variant: 1 });
    expect([twice.status, twice.at('allowedStates')]).toEqual([409, []]);
    await eventually(
      'all are sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );
    const mails = (await client.get('/test-inbox/messages?kind=CAMPAIGN&size=100')).at<
      { to: string; subject: string }[]
    >('data');
    expect(new Set(mails.map(({ to }) => to)).size).toBe(READERS);
    const short = tested.filter(({ variant }) => variant === 1).length;
    expect(mails.filter(({ subject }) => subject === 'Short')).toHaveLength(short);
    expect(mails.filter(({ subject }) => subject === 'Long')).toHaveLength(READERS - short);
    const report = await eventually('it is counted', async () => {
      const answer = await client.get(`/campaigns/${key}/report/variants`);
      return answer.at<number>('rest', 'sent') === waiting.length ? answer : null;
    });
    expect(report.at()).toMatchObject({
      testPhase: 'DECIDED',
      by: 'MANUAL',
      winningVariant: 2,
      decidedByRule: false,
    });
    expect(report.at('variants', 0)).toMatchObject({
      variant: 1,
      name: 'Short',
      recipients: short,
      delivered: short,
      clicked: 0,
      decidedBy: { recipients: short, delivered: short },
    });
    expect((await client.get(`/campaigns/${await created()}/report/variants`)).at()).toMatchObject({
      testPhase: null,
      leader: null,
      rest: null,
      countedAt: null,
    });
  });

  it('show what each of them alone has, and keep the images and fields that it shows', async () => {
    await client.post('/custom-fields', { key: 'plan', displayName: 'Plan', type: 'TEXT' });
    await client.patch('/subscribers/reader-1@example.com', { customFields: { plan: 'Gold' } });
    const picture = sharp({ create: { width: 30, height: 20, channels: 3, background: '#c33' } }).png();
    const image = await client.post('/media', await picture.toBuffer(), {
      headers: { 'content-type': 'image/png' },
    });
    const key = await created({
      variants: [
        { name: 'Words', subject: 'In words', contentText: 'Plan {{ custom.plan | default: "Free" }}' },
        {
          name: 'Picture',
          subject: 'In a picture',
          contentJson: JSON.stringify({ blocks: [{ type: 'image', src: image.at('url'), alt: 'A pier' }] }),
        },
      ],
    });
    const usedBy = [{ kind: 'campaign', key, name: 'News' }];
    expectProblem(await client.delete(`/media/${image.at('id')}`), 409, 'in-use', { usedBy, usedByCount: 1 });
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
    const mailsOf = async (subject: string) => {
      const { data } = (await client.get('/test-inbox/messages?kind=CAMPAIGN&size=100')).body as {
        data: { id: string; subject: string }[];
      };
      const mails = data.filter((mail) => mail.subject === subject);
      return Promise.all(
        mails.map(async ({ id }) => (await client.get(`/test-inbox/messages/${id}`)).body),
      ) as Promise<{ to: string; html: string; text: string; links: { view: string } }[]>;
    };
    await testIsSent(key);
    expectProblem(await client.delete('/custom-fields/plan'), 409, 'in-use', { usedBy, usedByCount: 1 });
    expect((await client.post(`/campaigns/${key}/choose-variant`, { variant: 1 })).status).toBe(200);
    await eventually(
      'all are sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );
    const [words, pictures] = [await mailsOf('In words'), await mailsOf('In a picture')];
    expect(words.length + pictures.length).toBe(READERS);
    for (const { to, text, links } of words) {
      const plan = `Plan ${to === 'reader-1@example.com' ? 'Gold' : 'Free'}`;
      expect(text).toContain(plan);
      expect(await (await fetch(links.view)).text()).toContain(plan);
    }
    for (const { html, links } of pictures) {
      expect(html).toContain(image.at('url'));
      const view = await (await fetch(links.view)).text();
      expect([view.includes(image.at('url')), view.includes('Plan ')]).toEqual([true, false]);
    }
    expectProblem(await client.delete(`/media/${image.at('id')}`), 409, 'in-use', { usedBy, usedByCount: 1 });
    expect((await client.delete('/custom-fields/plan')).status).toBe(204);
  });
});
