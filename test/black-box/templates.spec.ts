import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { sharedSystem, type System } from '#testing/programs/system';

const blocks = (...all: readonly object[]) => JSON.stringify({ blocks: all });
const text = (html: string) => ({ type: 'text', html });
const partial = (templateKey: string) => ({ type: 'partial', templateKey });

const RECEIPT = {
  name: 'Receipt',
  kind: 'MESSAGE',
  purpose: 'The person bought something.',
  subject: 'Your order {{ data.order.id }}',
  contentJson: blocks(text('<p>Total: {{ data.order.total | money: "EUR" }}</p>')),
  variables: [
    { name: 'order.id', type: 'STRING', required: true },
    { name: 'order.total', type: 'NUMBER', required: true },
  ],
};

describe('templates', () => {
  let system: System;
  let client: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
    client = await (await system.project()).client('TEST');
  });
  afterAll(() => system?.stop());

  const created = async (body: object): Promise<string> => {
    const answer = await client.post('/templates', body);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
    return answer.at('templateKey');
  };
  const published = async (body: object): Promise<string> => {
    const key = await created(body);
    const answer = await publishing(key);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    return key;
  };
  const piece = (...all: readonly object[]) => ({
    name: 'Piece',
    kind: 'PARTIAL',
    contentJson: blocks(...all),
  });
  const contentOf = async (templateKey: string) => {
    const [row] = await system.database.query(
      `select c.content from messaging.templates t join messaging.template_contents c on c.id = t.content_id and c.environment_id = t.environment_id where t.id = $1`,
      [(await client.get(`/templates/${templateKey}`)).at('id')],
    );
    return row!['content'] as {
      readonly contentJson: string;
      readonly translations: { readonly de: { readonly contentJson: string } };
      readonly variables: readonly { readonly name: string }[];
    };
  };
  const errorsOf = (answer: ApiAnswer) =>
    expectProblem(answer, 422, 'domain-validation', { errors: expect.any(Object) })['errors'] as object;
  const publishing = (key: string) => client.post(`/templates/${key}/publish`, {});

  it('are drafts until they are published, and can be rolled back', async () => {
    const key = await created({ ...RECEIPT, alias: 'receipt' });
    expect((await client.get('/templates/receipt')).body).toMatchObject({
      templateKey: key,
      draftVersion: 1,
      publishedVersion: null,
      subject: RECEIPT.subject,
      purpose: RECEIPT.purpose,
      variables: RECEIPT.variables,
    });
    expect((await publishing(key)).body).toMatchObject({
      publishedVersion: 1,
      draftVersion: null,
    });
    const changed = await client.patch(`/templates/${key}`, { subject: 'Order {{ data.order.id }}' });
    expect(changed.body).toMatchObject({ publishedVersion: 1, draftVersion: 2 });
    expect((await client.get(`/templates/${key}/versions/1`)).at('subject')).toBe(RECEIPT.subject);
    const second = await client.post('/templates/receipt/publish', { version: 2 });
    expect(second.body).toMatchObject({ publishedVersion: 2, draftVersion: null });
    const back = await client.post(`/templates/${key}/publish`, { version: 1 });
    expect(back.body).toMatchObject({
      publishedVersion: 1,
      draftVersion: 3,
      subject: 'Order {{ data.order.id }}',
    });
    expect(
      (await client.patch(`/templates/${key}`, { subject: RECEIPT.subject })).at('draftVersion'),
    ).toBeNull();
    const versions = await client.get(`/templates/${key}/versions`);
    expect(versions.at<{ version: number }[]>('data').map(({ version }) => version)).toEqual([2, 1]);
    expectProblem(await client.get(`/templates/${key}/versions/3`), 404, 'not-found');
    const unknown = await client.post(`/templates/${key}/publish`, { version: 7 });
    expect(errorsOf(unknown)).toEqual({ version: 'is no version of this template' });
  });

  it('have an alias that no other has, and that can be moved', async () => {
    const [one, other] = [await created({ ...RECEIPT, alias: 'moved' }), await created(RECEIPT)];
    const taken = await client.patch(`/templates/${other}`, { alias: 'moved' });
    expectProblem(taken, 409, 'already-exists', { field: 'alias' });
    expect((await client.post('/templates', { ...RECEIPT, alias: 'moved' })).status).toBe(409);
    expect((await client.patch(`/templates/${one}`, { alias: null })).status).toBe(200);
    expect((await client.patch(`/templates/${other}`, { alias: 'moved' })).status).toBe(200);
    expect((await client.get('/templates?alias=moved')).at('data', 0, 'templateKey')).toBe(other);
  });

  it('name every fault of a draft, and every value that is shown and not declared when they are published', async () => {
    const bad = await client.post('/templates', {
      ...RECEIPT,
      variables: [
        { name: 'order.id', type: 'STRING' },
        { name: 'order.id', type: 'STRING' },
        { name: 'order.paid', type: 'DATE', default: 'yesterday' },
      ],
      contentJson: blocks({ type: 'heading', level: 9, text: 'Order' }, { type: 'content' }),
    });
    expect(errorsOf(bad)).toEqual({
      'variables[1].name': 'declares order.id again',
      'variables[2].default': 'must be a date such as 2027-01-05 or 2027-01-05T09:00:00Z',
      'contentJson.blocks[0].level': expect.any(String),
    });
    const key = await created({
      ...RECEIPT,
      subject: '{{ data.a }}',
      previewText: '{{ data.b }}',
      contentText: '{{ data.order.id }} {{ data.c }}',
      contentJson: blocks(
        text('<p>{{ data.order.total }}</p>'),
        text(
          '{% for item in data.items %}<p>{{ item.name }}</p>{% endfor %}{% if data.d %}<p>x</p>{% endif %}',
        ),
      ),
      translations: {
        de: { subject: '{{ data.e }}' },
        fr: { subject: 'Bon', html: '<p>{{ data.f.g }}</p>' },
      },
    });
    const refused = await publishing(key);
    const undeclared = (name: string) => `has {{ data.${name} }}, which variables do not declare`;
    expect(errorsOf(refused)).toEqual({
      subject: undeclared('a'),
      previewText: undeclared('b'),
      contentText: undeclared('c'),
      'contentJson.blocks[1].html': `${undeclared('items')}; ${undeclared('d')}`,
      'translations.de.subject': undeclared('e'),
      'translations.fr.html': undeclared('f.g'),
    });
    expect((await client.get(`/templates/${key}`)).at('publishedVersion')).toBeNull();
  });

  it('name tags that are not closed, wherever they stand', async () => {
    const open = {
      subject: '{{ data.a',
      previewText: '{% if data.b',
      contentText: 'Hi {{',
      html: '<p>x</p>',
    };
    const wrong = (tag: string) => `has a merge tag that is wrong: ${tag} not closed`;
    const faults = {
      subject: wrong('output "{{ data.a"'),
      previewText: wrong('tag "{% if data.b"'),
      contentText: wrong('output "{{"'),
    };
    const reviewed = await client.post('/templates/validate', open);
    expect([reviewed.status, reviewed.at('faults')]).toEqual([200, faults]);
    const key = await created({ ...RECEIPT, contentJson: undefined, ...open });
    const shown = await client.post(`/templates/${key}/preview`, {});
    expect([shown.status, shown.at('faults')]).toEqual([200, expect.objectContaining(faults)]);
    expect(errorsOf(await publishing(key))).toEqual(faults);
  });

  it('refuse the tags of Handlebars in words of Liquid', async () => {
    for (const [html, words] of [
      ['<p>{{#if data.order.id}}x{{/if}}</p>', '{% if data.order.id %}'],
      ['<p>{{{ data.order.id }}}</p>', '{{ data.order.id }}'],
    ] as const) {
      const refused = await client.post('/templates', {
        ...RECEIPT,
        subject: html,
        contentJson: undefined,
        html,
      });
      expect(errorsOf(refused)).toEqual({
        subject: expect.stringContaining(words),
        html: expect.stringContaining(words),
      });
    }
  });

  it('take 512 KB of HTML and no more', async () => {
    const page = (bytes: number) => `<p>${'x'.repeat(bytes - 7)}</p>`;
    const html = page(512 * 1024);
    const whole = { ...RECEIPT, subject: 'Whole', contentJson: undefined, variables: [] };
    expect((await client.post('/templates', { ...whole, html })).status).toBe(201);
    expectProblem(
      await client.post('/templates', { ...whole, html: page(513 * 1024) }),
      400,
      'validation-error',
      {
        errors: { html: expect.any(String) },
      },
    );
  });

  it('are put together from a layout and partials, which those that use them follow', async () => {
    const footer = await published({
      ...piece(text('<p>{{ data.company }}</p>')),
      translations: { de: { contentJson: blocks(text('<p>Firma {{ data.company }}</p>')) } },
      variables: [{ name: 'company', type: 'STRING', default: 'Acme' }],
    });
    const layout = await published(piece(text('<p>Head</p>'), { type: 'content' }, partial(footer)));
    const key = await published({
      ...RECEIPT,
      layout,
      translations: { de: { subject: 'Bestellung {{ data.order.id }}' } },
    });
    const before = await contentOf(key);
    expect(before.contentJson).toBe(
      blocks(
        text('<p>Head</p>'),
        text('<p>Total: {{ data.order.total | money: "EUR" }}</p>'),
        text('<p>{{ data.company }}</p>'),
      ),
    );
    expect(before.translations.de.contentJson).toContain('Firma');
    expect(before.variables.map(({ name }) => name)).toEqual(['order.id', 'order.total', 'company']);
    await client.patch(`/templates/${footer}`, {
      contentJson: blocks(text('<p>New {{ data.company }}</p>')),
    });
    expect((await contentOf(key)).contentJson).toBe(before.contentJson);
    expect((await client.post(`/templates/${footer}/publish`, {})).status).toBe(200);
    expect((await contentOf(key)).contentJson).toContain('New');
    // A change that would break templates that use it is refused, each of them by name.
    await client.patch(`/templates/${footer}`, {
      contentJson: blocks(text('<p>{{ data.company }} {{ data.year }}</p>')),
      variables: [
        { name: 'company', type: 'STRING' },
        { name: 'year', type: 'NUMBER' },
        { name: 'order.total', type: 'STRING' },
      ],
    });
    const refused = await client.post(`/templates/${footer}/publish`, {});
    expect(errorsOf(refused)).toEqual({
      [`${key}.variables`]: `has order.total as NUMBER, and ${footer} as STRING`,
    });
    expect((await client.get(`/templates/${footer}`)).at('publishedVersion')).toBe(2);
    expectProblem(await client.delete(`/templates/${footer}`), 409, 'in-use', {
      usedBy: [{ kind: 'template', key: layout, name: 'Piece' }],
      usedByCount: 1,
    });
    for (const one of [key, layout, footer])
      expect((await client.delete(`/templates/${one}`)).status).toBe(204);
  });

  it('are no part of themselves, and not deeper than five', async () => {
    const keys: string[] = [await published(piece(text('<p>Deepest</p>')))];
    for (let depth = 1; depth < 5; depth += 1) keys.push(await published(piece(partial(keys.at(-1)!))));
    const cycle = await client.patch(`/templates/${keys[0]}`, { contentJson: blocks(partial(keys[3]!)) });
    expect(errorsOf(cycle)).toEqual({
      'contentJson.blocks[0].templateKey': `names itself: ${[keys[0], keys[3], keys[2], keys[1], keys[0]].join(' → ')}`,
    });
    expect(
      (await client.post('/templates', { ...RECEIPT, contentJson: blocks(partial(keys[4]!)) })).status,
    ).toBe(201);
    const six = await created(piece(partial(keys[4]!)));
    const tooDeep = await client.post('/templates', { ...RECEIPT, contentJson: blocks(partial(six)) });
    expect(JSON.stringify(errorsOf(tooDeep))).toContain('deep');
  });

  it('say in which place what cannot stand there', async () => {
    const layout = await created(piece({ type: 'content' }));
    const columns = await created(
      piece({ type: 'columns', columns: [{ blocks: [] }, { blocks: [text('<p>x</p>')] }] }),
    );
    const message = await created(RECEIPT);
    const answer = await client.post('/templates', {
      ...RECEIPT,
      layout: message,
      contentJson: blocks(partial('ZZZZ-1'), partial(layout), {
        type: 'columns',
        columns: [{ blocks: [partial(message)] }, { blocks: [] }],
      }),
    });
    expect(errorsOf(answer)).toEqual({
      layout: `${message} is a MESSAGE: only a PARTIAL can be put into another template`,
      'contentJson.blocks[0].templateKey': 'ZZZZ-1 is no template',
      'contentJson.blocks[1].templateKey': `${layout} is a layout`,
      'contentJson.blocks[2].columns[0].blocks[0].templateKey': `${message} is a MESSAGE: only a PARTIAL can be put into another template`,
    });
    const inColumns = await client.post('/templates', {
      ...RECEIPT,
      contentJson: blocks({ type: 'columns', columns: [{ blocks: [partial(columns)] }, { blocks: [] }] }),
    });
    expect(Object.keys(errorsOf(inColumns))).toEqual(['contentJson']);
    const page = await client.post('/templates', {
      ...RECEIPT,
      layout,
      contentJson: undefined,
      html: '<p>x</p>',
    });
    expect(errorsOf(page)).toEqual({
      html: 'cannot be put into a layout: give contentJson with blocks',
    });
    const unpublished = await created({ ...RECEIPT, layout });
    expect(errorsOf(await client.post(`/templates/${unpublished}/publish`, {}))).toEqual({
      layout: `${layout} is not published`,
    });
    const campaign = await client.post('/templates', { ...RECEIPT, kind: 'CAMPAIGN' });
    expect(Object.keys(errorsOf(campaign)).sort()).toEqual(['purpose', 'variables']);
  });

  it('ask for the link that confirms, and for nothing of the person', async () => {
    const bare = { name: 'Confirm', kind: 'OPT_IN', subject: 'Confirm' };
    const key = await created({ ...bare, html: '<p>{{ subscriber.first_name }}</p>' });
    expect(errorsOf(await publishing(key))).toEqual({
      html: 'has {{ subscriber.first_name }}, which mail that asks for a confirmation does not have',
    });
    await client.patch(`/templates/${key}`, { html: '<p>{{ subscriber.email }}</p>' });
    expect(errorsOf(await publishing(key))).toEqual({
      html: 'must show {{ links.confirm }}, the link that confirms',
    });
    for (const link of [
      '<a style="display:none" href="{{ links.confirm }}">Confirm</a>',
      '{% if false %}<a href="{{ links.confirm }}">Confirm</a>{% endif %}',
      '<a href="{{ links.confirm | truncate: 20 }}">Confirm</a>',
    ]) {
      await client.patch(`/templates/${key}`, { html: `<p>Welcome</p>${link}` });
      expect(errorsOf(await publishing(key))).toEqual({
        html: 'must show {{ links.confirm }}, the link that confirms, as it is and where its reader sees it',
      });
    }
    await client.patch(`/templates/${key}`, { html: '<p><a href="{{ links.confirm }}">Confirm</a></p>' });
    expect((await publishing(key)).status).toBe(200);
  });

  it('are the mail that asks for a confirmation, of topics that all name the same', async () => {
    const key = await published({
      name: 'Confirm',
      alias: 'confirm',
      kind: 'OPT_IN',
      subject: 'Yes to {{ topic.name }}?',
      contentJson: blocks(
        text('<p>Hello {{ subscriber.email }}, press <a href="{{ links.confirm }}">yes</a>.</p>'),
      ),
      contentText: 'Yes: {{ links.confirm }}',
      translations: { de: { subject: 'Ja zu {{ topic.name }}?' } },
    });
    const topic = async (name: string, optInTemplateKey: string | null) => {
      const answer = await client.post('/topics', {
        name,
        optInTemplateKey,
        translations: { de: { name: `${name} (de)` } },
      });
      expect([answer.status, answer.at('optInTemplateKey')]).toEqual([201, optInTemplateKey && key]);
      return answer.at('topicKey');
    };
    const news = await topic('News', 'confirm');
    const art = await topic('Art', key);
    const plain = await topic('Plain', null);
    const mailOf = async (email: string, topicKeys: readonly string[], locale: string | null = null) => {
      const consent = { source: 'form' };
      expect((await client.post('/subscribers', { email, locale, topicKeys, consent })).status).toBe(201);
      const id = await eventually('the mail that asks', async () => {
        const list = await client.get(`/test-inbox/messages?kind=OPT_IN&to=${email}`);
        return list.at<{ id: string }[]>('data')[0]?.id;
      });
      return (await client.get(`/test-inbox/messages/${id}`)).body as Record<
        'subject' | 'html' | 'text',
        string
      > & {
        readonly links: { readonly confirm: string };
      };
    };
    const mail = await mailOf('ada@example.com', [news, art]);
    expect(mail.subject).toBe('Yes to Art and News?');
    expect(mail.html).toContain(`Hello ada@example.com, press <a href="${mail.links.confirm}"`);
    expect(mail.text.trim()).toBe(`Yes: ${mail.links.confirm}`);
    expect((await mailOf('bea@example.com', [news], 'de-AT')).subject).toBe('Ja zu News (de)?');
    const ours = await mailOf('eve@example.com', [news, plain]);
    expect([ours.html, ours.subject]).toEqual([
      expect.stringMatching(/>News<\/td><\/tr><tr><td[^>]*>Plain<\/td>/),
      expect.not.stringContaining('Yes to'),
    ]);
    expect((await fetch(mail.links.confirm, { method: 'POST' })).status).toBe(200);
    expect((await client.get('/subscribers/ada@example.com')).at('status')).toBe('ACTIVE');

    const errors = { optInTemplateKey: 'is no template that is published' };
    const draft = await created({ ...RECEIPT, kind: 'OPT_IN', purpose: null, variables: [] });
    const wrong = await Promise.all([
      client.patch(`/topics/${plain}`, { optInTemplateKey: draft }),
      client.post('/topics', { name: 'x', optInTemplateKey: await published(RECEIPT) }),
    ]);
    expectProblem(wrong[0], 422, 'domain-validation', { errors });
    const kind = 'is a template of kind MESSAGE: topics need one of kind OPT_IN';
    expectProblem(wrong[1], 422, 'domain-validation', { errors: { optInTemplateKey: kind } });
    expectProblem(await client.delete(`/templates/${key}`), 409, 'in-use', {
      usedBy: [
        { kind: 'topic', key: news, name: 'News' },
        { kind: 'topic', key: art, name: 'Art' },
      ],
      usedByCount: 2,
    });
    expect((await client.patch(`/topics/${news}`, { optInTemplateKey: null })).status).toBe(200);
    expect((await client.delete(`/topics/${art}`)).status).toBe(204);
    expect((await client.delete(`/templates/${key}`)).status).toBe(204);
  });

  it('lose no change of two at once', async () => {
    const key = await created(RECEIPT);
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, (_, index) =>
        client.patch(`/templates/${key}`, { metadata: { [`k${index}`]: 'v' } }),
      ),
      ...Array.from({ length: 5 }, () => client.post(`/templates/${key}/publish`, {})),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const after = await client.get(`/templates/${key}`);
    expect(Object.keys(after.at('metadata'))).toHaveLength(5);
    expect(after.body).toMatchObject({ publishedVersion: 1, draftVersion: null });
  });

  it('say of content what it shows, with values to try it', async () => {
    const answer = await client.post('/templates/validate', {
      subject: 'Hi {{ data.name | default: "you" }}',
      html: '<p>{{ data.order.id }} {{ data.order.total | money: "EUR" }} {{ data.due | date: "short" }}</p>{% for item in data.items %}<p>{{ item.sku }}</p>{% endfor %}{% if data.paid %}<p>Paid</p>{% endif %}',
    });
    expect(answer.body).toMatchObject({
      variables: [
        { name: 'name', type: 'STRING', required: false },
        { name: 'due', type: 'DATE', required: true },
        { name: 'items', type: 'LIST', required: true },
        { name: 'order.id', type: 'STRING', required: true },
        { name: 'order.total', type: 'NUMBER', required: true },
        { name: 'paid', type: 'BOOLEAN', required: false },
      ].toSorted((one, other) => (one.name < other.name ? -1 : 1)),
      data: {
        name: 'name',
        due: '2027-01-05',
        items: [{ sku: 'sku' }],
        order: { id: 'id', total: 1 },
        paid: true,
      },
    });
    expect(Object.keys(answer.at('faults'))).toContain('html');
    const bracketed = await client.post('/templates/validate', {
      subject: '{{ data["a"] }}',
      html: `<p>{{ data.order['id'] }}</p>{% for item in data["items"] %}<p>{{ item["sku"] }}</p>{% endfor %}`,
    });
    expect(bracketed.body).toMatchObject({
      variables: [
        { name: 'a', type: 'STRING', required: true },
        { name: 'items', type: 'LIST', required: true },
        { name: 'order.id', type: 'STRING', required: true },
      ],
      data: { a: 'a', items: [{ sku: 'sku' }], order: { id: 'id' } },
    });
  });

  it('are shown as mails would be, with data, in the reader’s language, and with what is wrong', async () => {
    const layout = await published({
      ...piece(text('<p>Acme</p>'), { type: 'content' }),
      translations: { de: { contentJson: blocks(text('<p>Firma</p>'), { type: 'content' }) } },
    });
    const key = await created({
      ...RECEIPT,
      layout,
      previewText: 'For {{ subscriber.first_name | default: "you" }}',
      contentJson: blocks(
        text('<p>Total: {{ data.order.total | money: "EUR" }}, {{ data.note }}</p>'),
        text('{% for item in data.items %}<p>{{ item }}</p>{% endfor %}'),
      ),
      translations: { de: { subject: 'Bestellung {{ data.order.id }}' } },
      variables: [
        ...RECEIPT.variables,
        { name: 'note', type: 'STRING', required: false, default: 'thank you' },
        { name: 'items', type: 'LIST', required: true },
      ],
    });
    const data = { order: { id: '<7>', total: 12.5 }, items: ['Pen', 'Ink'] };
    const shown = await client.post(`/templates/${key}/preview`, { data });
    expect(shown.body).toMatchObject({
      subject: 'Your order <7>',
      previewText: 'For Ada',
      faults: {},
      removed: [],
    });
    expect(shown.at('html')).toMatch(/Acme[^]*Total: €12\.50, thank you[^]*Pen[^]*Ink/);
    expect(shown.at('text')).toContain('Total: €12.50, thank you');
    const german = await client.post(`/templates/${key}/preview`, {
      data,
      locale: 'de-AT',
      email: 'x@example.com',
    });
    expect(german.body).toMatchObject({ subject: 'Bestellung <7>', previewText: 'For you', faults: {} });
    expect(german.at('html')).toMatch(/Firma[^]*Total: €\s12,50, thank you/);
    const lacking = await client.post(`/templates/${key}/preview`, {
      data: { order: { total: '12' }, items: {} },
    });
    expect(lacking.at('faults')).toEqual({
      'data.order.id': 'is required',
      'data.order.total': 'must be a number',
      'data.items': 'must be a list',
    });
    await client.patch(`/templates/${key}`, { contentJson: blocks(text('<p>{% if %}</p>')) });
    const broken = await client.post(`/templates/${key}/preview`, { data });
    expect(broken.body).toMatchObject({
      subject: null,
      html: null,
      faults: { contentJson: expect.any(String) },
    });
  });

  it('are copied as a draft of their own', async () => {
    const key = await published({ ...RECEIPT, alias: 'original' });
    const copy = await client.post('/templates/original/duplicate', { name: 'Copy', alias: 'copy' });
    expect([copy.status, copy.body]).toEqual([
      201,
      expect.objectContaining({
        name: 'Copy',
        alias: 'copy',
        subject: RECEIPT.subject,
        publishedVersion: null,
        draftVersion: 1,
      }),
    ]);
    expect(copy.at('templateKey')).not.toBe(key);
    expect((await client.post(`/templates/${key}/duplicate`, { alias: 'copy' })).status).toBe(409);
  });
});
