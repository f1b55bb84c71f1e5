import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const HOUR = 3_600_000;
const ahead = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();
const page = (words: string) =>
  `<html><body><p>${words} {{ data.order.id }}, {{ data.greeting }}</p>{% if data.note %}<p>{{ data.note }}</p>{% endif %}</body></html>`;

const RECEIPT = {
  name: 'Receipt',
  kind: 'MESSAGE',
  purpose: 'An order of the person',
  subject: 'Receipt {{ data.order.id }}',
  previewText: 'Thank you',
  html: page('Receipt'),
  contentText: 'Receipt {{ data.order.id }}',
  variables: [
    { name: 'order.id', type: 'STRING', required: true },
    { name: 'greeting', type: 'STRING', default: 'bye' },
    { name: 'note', type: 'STRING' },
  ],
  translations: { de: { subject: 'Beleg {{ data.order.id }}', html: page('Beleg') } },
};
const DATA = { order: { id: '4711' } };

describe('messages of templates', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let templateKey: string;
  let count = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const made = await client.post('/templates', { ...RECEIPT, alias: 'receipt' });
    expect(made.status).toBe(201);
    templateKey = made.at('templateKey');
    await publish();
  });
  afterAll(async () => {
    await system?.stop();
  });

  async function publish(changes?: object): Promise<void> {
    if (changes !== undefined)
      expect((await client.patch(`/templates/${templateKey}`, changes)).status).toBe(200);
    const published = await client.post(`/templates/${templateKey}/publish`, {});
    expect([published.status, published.body]).toEqual([200, expect.anything()]);
  }
  const somebody = () => `buyer${(count += 1)}@example.com`;
  const send = (message: object) => client.post('/messages', { to: somebody(), data: DATA, ...message });
  async function mailOf(message: { readonly at: (path: string) => string }) {
    const id = await eventually('the mail', async () => {
      const list = await client.get(`/test-inbox/messages?kind=MESSAGE&to=${message.at('to')}`);
      return list.at<string | undefined>('data', 0, 'id') ?? null;
    });
    return PostalMime.parse((await client.get(`/test-inbox/messages/${id}/raw`)).text);
  }
  const errorsOf = async (message: object) => {
    const refused = await send(message);
    expect(refused.status).toBe(422);
    return refused.at<Record<string, string>>('errors');
  };

  it('say what is published, by key or alias, with defaults, in their locale', async () => {
    const own = await send({ templateKey });
    expect(own.body).toMatchObject({
      templateKey,
      templateVersion: 1,
      purpose: RECEIPT.purpose,
      subject: RECEIPT.subject,
    });
    const mail = await mailOf(own);
    expect([mail.subject, mail.text?.trim()]).toEqual(['Receipt 4711', 'Receipt 4711']);
    expect(mail.html).toContain('Receipt 4711, bye');
    expect(mail.html).toContain('Thank you');
    const german = await send({
      templateKey: 'receipt',
      locale: 'de-AT',
      purpose: 'Another',
      data: { ...DATA, greeting: 'tschüss', note: 'Danke' },
    });
    expect(german.body).toMatchObject({ templateKey, purpose: 'Another' });
    const translated = await mailOf(german);
    expect(translated.subject).toBe('Beleg 4711');
    expect(translated.html).toMatch(/Beleg 4711, tschüss.*Danke/s);
    const shown = await client.get(`/messages/${german.at('id')}/content`);
    expect(shown.at('subject')).toBe('Beleg 4711');
  });

  it('keep the version that they were accepted with, and get the next as soon as it is published', async () => {
    const scheduled = await send({ templateKey, scheduledAt: ahead(HOUR) });
    await publish({ html: page('Second') });
    const next = await send({ templateKey });
    expect(next.at('templateVersion')).toBe(2);
    expect((await mailOf(next)).html).toContain('Second 4711');
    const pinned = await send({ templateKey: 'receipt', templateVersion: 1 });
    expect(pinned.at('templateVersion')).toBe(1);
    expect((await mailOf(pinned)).html).toContain('Receipt 4711');
    const moved = await client.patch(`/messages/${scheduled.at('id')}`, { scheduledAt: ahead(-1_000) });
    expect([moved.status, moved.body]).toEqual([200, expect.anything()]);
    expect((await mailOf(scheduled)).html).toContain('Receipt 4711');
  });

  it('with nothing kept seal their data, and say the same', async () => {
    const sent = await send({ templateKey, keep: 'NOTHING' });
    expect(sent.body).toMatchObject({ templateKey, subject: null });
    expect((await mailOf(sent)).subject).toBe('Receipt 4711');
  });

  it('are refused with every fault named', async () => {
    expect(await errorsOf({ templateKey, data: { order: { id: 7 }, greeting: 'x' } })).toEqual({
      'data.order.id': 'must be a string',
    });
    expect(await errorsOf({ templateKey, data: {}, scheduledAt: ahead(40 * 24 * HOUR) })).toEqual({
      'data.order.id': expect.any(String),
      scheduledAt: expect.any(String),
    });
    expect(await errorsOf({ templateKey, subject: 'x', html: '<p>x</p>', text: 'x' })).toEqual({
      subject: expect.stringContaining('together with templateKey'),
      html: expect.stringContaining('together with templateKey'),
      text: expect.stringContaining('together with templateKey'),
    });
    expect(Object.keys(await errorsOf({ templateKey: 'nobody' }))).toEqual(['templateKey']);
    expect(Object.keys(await errorsOf({ templateKey, templateVersion: 99 }))).toEqual(['templateKey']);
    const campaign = await client.post('/templates', {
      name: 'News',
      kind: 'CAMPAIGN',
      subject: 'News',
      html: '<html><body><p>News</p></body></html>',
    });
    const other = campaign.at('templateKey');
    expect((await client.post(`/templates/${other}/publish`, {})).status).toBe(200);
    expect((await errorsOf({ templateKey: other }))['templateKey']).toContain('CAMPAIGN');
    const stranger = await (await system.project()).client('TEST');
    const stolen = await stranger.post('/messages', { to: somebody(), templateKey: 'receipt', data: DATA });
    expect([stolen.status, Object.keys(stolen.at('errors'))]).toEqual([422, ['templateKey']]);
    const file = { filename: 'a.png', contentType: 'image/png', content: 'iVBORw0KGgo=', contentId: 'logo' };
    expect(await errorsOf({ templateKey, attachments: [file] })).toEqual({
      'attachments[0].contentId': expect.any(String),
    });
    const batch = await client.post('/messages/batch', {
      messages: [
        { to: somebody(), templateKey, data: DATA },
        { to: somebody(), templateKey, data: {} },
      ],
    });
    expect([batch.status, Object.keys(batch.at('errors'))]).toEqual([422, ['messages[1].data.order.id']]);
  });

  it('are refused when their own data cannot be filled in, each of a batch by itself', async () => {
    const made = await client.post('/templates', {
      ...RECEIPT,
      html: '<html><body><p>{{ data.total | money: data.currency }} {{ data["note"] }}</p>{% for item in data.items %}<p>{{ item.name }}</p>{% endfor %}</body></html>',
      contentText: null,
      variables: [
        { name: 'order.id', type: 'STRING', required: true },
        { name: 'note', type: 'STRING' },
        { name: 'items', type: 'LIST', default: [] },
        { name: 'total', type: 'NUMBER', required: true },
        { name: 'currency', type: 'STRING', required: true },
      ],
      translations: {},
    });
    const priced = made.at('templateKey');
    const published = await client.post(`/templates/${priced}/publish`, {});
    expect([published.status, published.body]).toEqual([200, expect.anything()]);
    const messageIn = (currency: string, items?: object[]) => ({
      to: somebody(),
      templateKey: priced,
      data: { ...DATA, total: 5, currency, items },
    });
    const answer = await client.post('/messages/batch', {
      messages: [
        messageIn('EUR'),
        messageIn('ZZZZ'),
        messageIn('USD'),
        messageIn('USD', [{ name: 'Pen' }, {}]),
      ],
      mode: 'EACH',
    });
    expect(answer.at('results')).toEqual([
      { index: 0, message: expect.objectContaining({ status: 'QUEUED' }) },
      {
        index: 1,
        problem: expect.objectContaining({
          status: 422,
          errors: { 'messages[1].templateKey': expect.stringMatching(/html .*with this data: .*money/) },
        }),
      },
      { index: 2, message: expect.objectContaining({ status: 'QUEUED' }) },
      {
        index: 3,
        problem: expect.objectContaining({
          status: 422,
          errors: { 'messages[3].data.items[1].name': 'is missing: the content shows it' },
        }),
      },
    ]);
  });

  it('need a purpose of their own where the template has none', async () => {
    const made = await client.post('/templates', { ...RECEIPT, purpose: null });
    const bare = made.at('templateKey');
    expect((await client.post(`/templates/${bare}/publish`, {})).status).toBe(200);
    expect(Object.keys(await errorsOf({ templateKey: bare }))).toEqual(['purpose']);
    expect((await send({ templateKey: bare, purpose: 'An order' })).status).toBe(202);
  });

  it('are listed and counted by template', async () => {
    const made = await client.post('/templates', { ...RECEIPT, name: 'Counted', alias: 'counted' });
    const counted = made.at('templateKey');
    await client.post(`/templates/${counted}/publish`, {});
    const sent = [await send({ templateKey: counted }), await send({ templateKey: counted })];
    for (const one of sent) await mailOf(one);
    for (const name of [counted, 'counted']) {
      const list = await client.get(`/messages?templateKey=${name}`);
      expect(list.at<{ id: string }[]>('data').map(({ id }) => id)).toEqual(
        sent.map((one) => one.at('id')).toReversed(),
      );
      expect(list.at('pagination', 'totalElements')).toBe(2);
    }
    const row = await eventually('both are counted', async () => {
      const rows = (await client.get('/statistics?by=template')).at<{ key: string; sent: number }[]>('rows');
      return rows.find(({ key, sent: number }) => key === counted && number === 2) ?? null;
    });
    expect(row).toMatchObject({ name: 'Counted', delivered: 2 });
  });
});
