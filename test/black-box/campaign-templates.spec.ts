import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const page = (words: string) =>
  `<html><body><p>${words} {{ subscriber.first_name }}</p><p><a href="{{ links.unsubscribe }}">Leave</a></p></body></html>`;
const TEMPLATE = {
  name: 'Newsletter',
  kind: 'CAMPAIGN',
  subject: 'Letter for {{ subscriber.first_name }}',
  previewText: 'Read on',
  html: page('First'),
  translations: { de: { subject: 'Brief', html: page('Erster') } },
};
const HOUR = 3_600_000;
const ahead = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();
const TOGETHER = 'must not be given together with templateKey';

describe('campaigns of templates', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let templateKey: string;
  let topicId: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topicId = topic.at('id');
    for (const [email, locale] of [
      ['ada@example.com', 'en'],
      ['bea@example.com', 'de-AT'],
    ])
      await client.post('/subscribers', {
        email,
        locale,
        firstName: 'Ada',
        topicKeys: [topic.at('topicKey')],
        consent: { source: 'form' },
      });
    templateKey = await published({ ...TEMPLATE, alias: 'newsletter' });
  });
  afterAll(() => system?.stop());

  const accepted = (answer: ApiAnswer, status: number): ApiAnswer => {
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status });
    return answer;
  };
  async function published(body: object): Promise<string> {
    const key: string = accepted(await client.post('/templates', body), 201).at('templateKey');
    accepted(await client.post(`/templates/${key}/publish`, {}), 200);
    return key;
  }
  const publish = async (key: string, changes: object) => {
    accepted(await client.patch(`/templates/${key}`, changes), 200);
    accepted(await client.post(`/templates/${key}/publish`, {}), 200);
  };
  const make = (changes: object) =>
    client.post('/campaigns', { name: 'May', topicIds: [topicId], ...changes });
  const made = async (changes: object): Promise<string> =>
    accepted(await make(changes), 201).at('campaignKey');
  const preview = (key: string, query = '') => client.get(`/campaigns/${key}/preview${query}`);
  const errorsOf = (answer: ApiAnswer, status = 422) =>
    expectProblem(answer, status, status === 400 ? 'validation-error' : 'domain-validation', {
      errors: expect.any(Object),
    })['errors'];
  async function mailsOf(subject: string) {
    const found = await eventually('the mails', async () => {
      const { data } = (await client.get(`/test-inbox/messages?size=100`)).body as {
        data: { id: string; to: string; subject: string }[];
      };
      const mails = data.filter((mail) => mail.subject === subject);
      return mails.length > 0 ? mails : null;
    });
    return Promise.all(
      found.map(async ({ id }) => (await client.get(`/test-inbox/messages/${id}`)).body),
    ) as Promise<{ to: string; html: string; links: { view: string } }[]>;
  }
  const isSent = (key: string) =>
    eventually(`${key} is sent`, async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT');

  it('show what is published, in the reader’s language, under a subject of their own where they have one', async () => {
    const key = await made({ templateKey: 'newsletter' });
    expect((await client.get(`/campaigns/${key}`)).body).toMatchObject({
      templateKey,
      templateVersion: null,
      subject: null,
      contentJson: null,
    });
    expect((await preview(key, '?email=ada@example.com')).body).toMatchObject({
      subject: 'Letter for Ada',
      previewText: 'Read on',
      html: expect.stringContaining('First Ada'),
    });
    expect((await preview(key, '?locale=de')).body).toMatchObject({
      subject: 'Brief',
      html: expect.stringContaining('Erster'),
    });
    const own = await client.patch(`/campaigns/${key}`, {
      subject: 'May',
      translations: { 'de-AT': { subject: 'Mai' }, fr: { subject: 'Mai en France' } },
    });
    expect(own.body).toMatchObject({ templateKey, subject: 'May' });
    expect((await preview(key)).at('subject')).toBe('May');
    expect((await preview(key, '?email=bea@example.com')).body).toMatchObject({
      subject: 'Mai',
      html: expect.stringContaining('Erster Ada'),
    });
    expect((await preview(key, '?locale=de')).at('subject')).toBe('Brief');
    expect((await preview(key, '?locale=fr')).body).toMatchObject({
      subject: 'Mai en France',
      html: expect.stringContaining('First'),
    });
    const changed = await client.post(`/campaigns/${key}/preview`, { html: page('Mine') });
    expect(changed.at('html')).toContain('Mine');
    const link = await client.post(`/campaigns/${key}/preview-link`);
    const shown = await (await fetch(link.at('url'))).text();
    expect(shown).toContain('First');
    expect(shown).toContain('Read on');
  });

  it('are sent as the version that was in use, which a later one does not change', async () => {
    const key = await published({ ...TEMPLATE, subject: 'Once {{ subscriber.first_name }}' });
    const [sent, next, pinned] = [
      await made({ templateKey: key }),
      await made({ templateKey: key, subject: 'Next one' }),
      await made({ templateKey: key, templateVersion: 1, subject: 'Pinned one' }),
    ];
    accepted(await client.patch(`/templates/${key}`, { html: page('Second') }), 200);
    expect((await preview(next)).at('html')).toContain('First');
    expect(accepted(await client.post(`/campaigns/${sent}/send`), 200).at('templateVersion')).toBe(1);
    await isSent(sent);
    const [mail] = await mailsOf('Once Ada');
    expect(mail?.html).toContain('First Ada');
    accepted(await client.post(`/templates/${key}/publish`, {}), 200);
    expect((await preview(next)).at('html')).toContain('Second');
    expect((await preview(pinned)).at('html')).toContain('First');
    expect((await preview(sent)).at('html')).toContain('First');
    expect(accepted(await client.post(`/campaigns/${next}/send`), 200).at('templateVersion')).toBe(2);
    await isSent(next);
    expect((await mailsOf('Next one'))[0]?.html).toContain('Second Ada');
    expect((await mailsOf('Brief')).some(({ html }) => html.includes('Erster Ada'))).toBe(true);
    const view = await (await fetch(mail!.links.view)).text();
    expect(view).toContain('First Ada');
    accepted(await client.post(`/campaigns/${pinned}/send`), 200);
    await isSent(pinned);
    expect((await mailsOf('Pinned one'))[0]?.html).toContain('First Ada');
    const languages = await client.get(`/campaigns/${sent}/report/languages`);
    expect(languages.at<{ locale: string | null }[]>('languages').map(({ locale }) => locale)).toContain(
      'de',
    );
    const copy = await client.post(`/campaigns/${sent}/duplicate`, {});
    expect(copy.body).toMatchObject({ templateKey: key, templateVersion: 1, subject: null });
    accepted(await client.post(`/campaigns/${sent}/test`, { emails: ['test@example.com'] }), 202);
    const test = await eventually('the test mail', async () => {
      const list = await client.get('/test-inbox/messages?kind=TEST&to=test@example.com');
      return list.at<string | undefined>('data', 0, 'id') ?? null;
    });
    expect((await client.get(`/test-inbox/messages/${test}`)).at('html')).toContain('First');
  });

  it('keep their version from when they are scheduled, until they are given another', async () => {
    const key = await published(TEMPLATE);
    const campaign = await made({ templateKey: key, scheduledAt: ahead(HOUR) });
    const scheduled = accepted(await client.post(`/campaigns/${campaign}/schedule`), 200);
    expect(scheduled.at('templateVersion')).toBe(1);
    await publish(key, { html: page('Second') });
    expect((await preview(campaign)).at('html')).toContain('First');
    expect((await client.patch(`/campaigns/${campaign}`, { name: 'June' })).at('templateVersion')).toBe(1);
    const anew = accepted(await client.patch(`/campaigns/${campaign}`, { templateKey: key }), 200);
    expect(anew.body).toMatchObject({ status: 'SCHEDULED', templateVersion: 2, preSendStatus: null });
    await publish(key, { html: page('Third') });
    expect((await preview(campaign)).at('html')).toContain('Second');
    const draft = accepted(await client.patch(`/campaigns/${campaign}`, { scheduledAt: null }), 200);
    expect(draft.body).toMatchObject({ status: 'DRAFT', templateKey: key, templateVersion: null });
    expect((await preview(campaign)).at('html')).toContain('Third');
    const again = { scheduledAt: ahead(HOUR) };
    accepted(await client.patch(`/campaigns/${campaign}`, again), 200);
    expect((await client.post(`/campaigns/${campaign}/schedule`)).at('templateVersion')).toBe(3);
  });

  it('keep the version that they name when their schedule is taken back, each variant its own', async () => {
    const key = await published(TEMPLATE);
    const variants = [
      { name: 'A', templateKey: key, templateVersion: 1 },
      { name: 'B', templateKey: key },
    ];
    const test = { sharePercent: 100, decideAfter: 'PT1H', by: 'MANUAL' };
    for (const content of [
      { templateKey: key, templateVersion: 1 },
      { subject: 'Own', contentText: 'Own', variants, test },
    ]) {
      const campaign = await made({ ...content, scheduledAt: ahead(HOUR) });
      accepted(await client.post(`/campaigns/${campaign}/schedule`), 200);
      const draft = accepted(await client.patch(`/campaigns/${campaign}`, { scheduledAt: null }), 200);
      const versions = draft
        .at<{ templateVersion: number | null }[]>('variants')
        .map(({ templateVersion }) => templateVersion);
      if ('variants' in content) expect(versions).toEqual([1, null]);
      else expect(draft.at('templateVersion')).toBe(1);
    }
  });

  it('have content of their own or a template, of which one takes the other’s place', async () => {
    const key = await made({ subject: 'Mine', html: page('Mine') });
    const switched = accepted(await client.patch(`/campaigns/${key}`, { templateKey }), 200);
    expect(switched.body).toMatchObject({ templateKey, contentJson: null });
    const back = accepted(await client.patch(`/campaigns/${key}`, { html: page('Mine') }), 200);
    expect(back.body).toMatchObject({ templateKey: null, templateVersion: null });
    accepted(
      await client.patch(`/campaigns/${key}`, { translations: { fr: { subject: 'F', html: page('F') } } }),
      200,
    );
    expect(errorsOf(await client.patch(`/campaigns/${key}`, { templateKey }))).toEqual({
      'translations.fr.contentJson': TOGETHER,
    });
    expect((await client.get(`/campaigns/${key}`)).at('templateKey')).toBeNull();
    accepted(await client.patch(`/campaigns/${key}`, { templateKey, translations: null }), 200);
    const none = accepted(await client.patch(`/campaigns/${key}`, { templateKey: null }), 200);
    expect(none.body).toMatchObject({ templateKey: null, contentJson: null });
  });

  it('are refused with all that is wrong', async () => {
    const other = await project.client('LIVE');
    const message = await published({
      name: 'Receipt',
      kind: 'MESSAGE',
      purpose: 'An order',
      subject: 'a',
      html: '<p>a</p>',
    });
    const draft: string = (await client.post('/templates', TEMPLATE)).at('templateKey');
    expect(errorsOf(await make({ templateKey, html: page('a'), contentText: 'b' }), 400)).toEqual({
      html: TOGETHER,
      contentText: TOGETHER,
    });
    expect(
      errorsOf(
        await make({
          templateKey: draft,
          topicIds: ['NOBODY-1'],
          translations: { de: { subject: 'a', contentText: 'b' } },
        }),
      ),
    ).toEqual({
      templateKey: 'is no template that is published',
      'topicIds[0]': 'is not a known topic',
      'translations.de.contentText': TOGETHER,
    });
    expect(errorsOf(await make({ templateKey: message }))).toEqual({
      templateKey: 'is a template of kind MESSAGE: campaigns and automations need one of kind CAMPAIGN',
    });
    expect(errorsOf(await make({ templateKey, templateVersion: 9 }))).toEqual({
      templateVersion: `is no version of the template ${templateKey}`,
    });
    expect(errorsOf(await make({ subject: 'a', templateVersion: 1 }))).toEqual({
      templateVersion: 'needs templateKey',
    });
    const foreign = await other.post('/campaigns', { name: 'a', templateKey });
    expect(errorsOf(foreign)).toEqual({ templateKey: 'is no template that is published' });
    const key = await made({ subject: 'a' });
    expect(errorsOf(await client.patch(`/campaigns/${key}`, { templateVersion: 1 }))).toEqual({
      templateVersion: 'needs templateKey',
    });
    expect(errorsOf(await client.post(`/campaigns/${key}/preview`, { templateKey: draft }))).toEqual({
      templateKey: 'is no template that is published',
    });
    const lossy = await published({
      ...TEMPLATE,
      html: page('<script>alert(1)</script>'),
      translations: {},
    });
    expect(errorsOf(await make({ templateKey: lossy, strict: true }))).toEqual({
      templateKey: expect.stringContaining('script'),
    });
  });

  it('keep their template from being deleted until they have ended', async () => {
    const key = await published({ ...TEMPLATE, subject: 'Kept' });
    const campaign = await made({ templateKey: key });
    const refused = await client.delete(`/templates/${key}`);
    expectProblem(refused, 409, 'in-use', {
      usedBy: [{ kind: 'campaign', key: campaign, name: 'May' }],
      usedByCount: 1,
    });
    accepted(await client.post(`/campaigns/${campaign}/send`), 200);
    await isSent(campaign);
    accepted(await client.delete(`/templates/${key}`), 204);
    const [mail] = await mailsOf('Kept');
    expect(await (await fetch(mail!.links.view)).text()).toContain('First Ada');
    expect((await preview(campaign)).at('html')).toContain('First');
    expect(errorsOf(await client.post(`/campaigns/${campaign}/duplicate`, {}))).toEqual({
      templateVersion: `is no version of the template ${key}`,
    });
  });

  it('are compared as variants of one campaign, each as it was when that was sent', async () => {
    const one = await published({ ...TEMPLATE, subject: 'One', translations: {} });
    const two = await published({
      ...TEMPLATE,
      alias: 'two',
      subject: 'Two',
      html: page('Second'),
      translations: { de: { subject: 'Brief zwei', html: page('Zweiter') } },
    });
    const test = { sharePercent: 100, decideAfter: 'PT1H', by: 'MANUAL' };
    const variants = [
      { name: 'A', templateKey: one },
      { name: 'B', templateKey: 'two', translations: { de: { subject: 'Zwei' } } },
    ];
    const draft = { subject: 'Own', contentText: 'Own', test };
    const campaign = await made({ ...draft, variants });
    const variantsOf = async () =>
      (await client.get(`/campaigns/${campaign}`)).at<{ templateKey: string; templateVersion: number }[]>(
        'variants',
      );
    expect(await variantsOf()).toMatchObject([
      { templateKey: one, templateVersion: null, subject: null, contentJson: null },
      { templateKey: two, templateVersion: null },
    ]);
    expect((await preview(campaign)).body).toMatchObject({
      subject: 'One',
      html: expect.stringContaining('First'),
    });
    expect((await preview(campaign, '?variant=2&locale=de')).body).toMatchObject({
      subject: 'Zwei',
      html: expect.stringContaining('Zweiter'),
    });
    expectProblem(await client.delete(`/templates/${two}`), 409, 'in-use', {
      usedBy: [{ kind: 'campaign', key: campaign, name: 'May' }],
      usedByCount: 1,
    });

    const sent = accepted(await client.post(`/campaigns/${campaign}/send`), 200);
    expect(
      sent.at<{ templateVersion: number }[]>('variants').map(({ templateVersion }) => templateVersion),
    ).toEqual([1, 1]);
    await isSent(campaign);
    await publish(one, { html: page('Later') });
    await publish(two, { html: page('Later'), translations: {} });
    const { data } = (await client.get(`/campaigns/${campaign}/deliveries`)).body as {
      data: { email: string; variant: number }[];
    };
    expect(data).toHaveLength(2);
    for (const { email, variant } of data) {
      const german = email === 'bea@example.com';
      const subject = variant === 1 ? 'One' : german ? 'Zwei' : 'Two';
      const words = variant === 1 ? 'First' : german ? 'Zweiter' : 'Second';
      const [mail] = (await mailsOf(subject)).filter(({ to }) => to === email);
      expect(mail?.html).toContain(`${words} Ada`);
      expect(await (await fetch(mail!.links.view)).text()).toContain(`${words} Ada`);
    }
    const languages = await client.get(`/campaigns/${campaign}/report/languages`);
    expect(languages.at<{ locale: string | null }[]>('languages').map(({ locale }) => locale)).toContain(
      'de',
    );
    const copy = await client.post(`/campaigns/${campaign}/duplicate`, {});
    expect(copy.at('variants')).toMatchObject([{ templateVersion: 1 }, { templateVersion: 1 }]);

    const unpublished: string = (await client.post('/templates', TEMPLATE)).at('templateKey');
    const wrong = [
      { name: 'A', templateKey: unpublished },
      { name: 'B', templateVersion: 1 },
    ];
    expect(errorsOf(await make({ ...draft, variants: wrong }))).toEqual({
      'variants[0].templateKey': 'is no template that is published',
      'variants[1].templateVersion': 'needs templateKey',
    });
    const both = [{ name: 'A', templateKey: one, contentText: 'a' }, { name: 'B' }];
    expect(errorsOf(await make({ ...draft, variants: both }), 400)).toEqual({
      'variants[0].contentText': TOGETHER,
    });
    const translated = { de: { subject: 'a', contentText: 'b' } };
    const beside = [{ name: 'A', templateKey: one, translations: translated }, { name: 'B' }];
    expect(errorsOf(await make({ ...draft, variants: beside }))).toEqual({
      'variants[0].translations.de.contentText': TOGETHER,
    });
    await publish(one, { html: page('<script>alert(1)</script>') });
    expect(errorsOf(await make({ ...draft, variants, strict: true }))).toEqual({
      'variants[0].templateKey': expect.stringContaining('script'),
    });
  });
});
