import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const HOUR = 3_600_000;
const ago = (milliseconds: number) => new Date(Date.now() - milliseconds).toISOString();
const ahead = (milliseconds: number) => ago(-milliseconds);

const PASSWORD = {
  purpose: 'The person asked to reset their password.',
  subject: 'Your code: {{ data.code }}',
  text: 'Hello {{ data.name | default: "you" }}, your code is {{ data.code }}.',
  data: { code: '123456' },
};

describe('messages', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let count = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
  });
  afterAll(async () => {
    await system?.stop();
  });

  const somebody = () => `person${(count += 1)}@example.com`;
  const send = (message: object) => client.post('/messages', { to: somebody(), ...PASSWORD, ...message });
  const get = (id: string) => client.get(`/messages/${id}`);
  const withStatus = (id: string, status: string) =>
    eventually(`message ${id} is ${status}`, async () => {
      const found = await get(id);
      return found.at('status') === status ? found : null;
    });
  async function mailTo(email: string) {
    const id = await eventually(`a mail to ${email}`, async () => {
      const list = await client.get(`/test-inbox/messages?kind=MESSAGE&to=${encodeURIComponent(email)}`);
      return list.at<string | undefined>('data', 0, 'id') ?? null;
    });
    const raw = await client.get(`/test-inbox/messages/${id}/raw`);
    return PostalMime.parse(raw.text);
  }

  it('reach one person who never subscribed, with their data, and nothing to unsubscribe from', async () => {
    const email = somebody();
    const sent = await client.post('/messages', {
      ...PASSWORD,
      to: { email, name: 'Ada' },
      tags: ['password'],
      metadata: { order: '7' },
    });
    expect(sent.status).toBe(202);
    expect(sent.body).toMatchObject({
      to: email,
      subject: PASSWORD.subject,
      status: 'QUEUED',
      purpose: PASSWORD.purpose,
      tags: ['password'],
      metadata: { order: '7' },
    });
    const id = sent.at('id');
    const message = await withStatus(id, 'SENT');
    expect(message.at('sentAt')).not.toBeNull();
    const mail = await mailTo(email);
    expect(mail.subject).toBe('Your code: 123456');
    expect(mail.text?.trim()).toBe('Hello you, your code is 123456.');
    const headers = new Set(mail.headers.map(({ key }) => key));
    expect([...headers].filter((key) => key.startsWith('list-') || key === 'feedback-id')).toEqual([]);
    expect(mail.messageId).toContain(id);
  });

  it('show the fields of a subscriber, and blocks as campaigns do', async () => {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const email = somebody();
    const consent = { source: 'form' };
    await client.post('/subscribers', {
      email,
      firstName: 'Ada',
      topicKeys: [topic.at('topicKey')],
      consent,
    });
    const contentJson = JSON.stringify({
      blocks: [{ type: 'text', html: '<p>Hello {{ subscriber.first_name }}</p>' }],
    });
    const sent = await send({ to: email, subject: 'Hi', text: null, contentJson });
    expect(sent.status).toBe(202);
    const mail = await mailTo(email);
    expect(mail.html).toContain('Hello Ada');
    expect(mail.html).not.toContain('nsubscribe');
  });

  it('carry headers of their own, copies in Cc, and are plain text where they have no other content', async () => {
    const [to, cc] = [somebody(), somebody()];
    const headers = { 'X-Order': 'No. {{ data.code }}', 'In-Reply-To': '<before@example.com>' };
    const sent = await send({
      to,
      cc: [{ email: cc, name: 'Bob Öl' }],
      headers,
      replyTo: ['a@example.com', 'b@example.com'],
    });
    expect(sent.status).toBe(202);
    const mail = await mailTo(to);
    const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value;
    expect([header('x-order'), header('in-reply-to')]).toEqual(['No. 123456', '<before@example.com>']);
    expect(header('content-type')).toMatch(/^text\/plain/);
    expect(mail.cc).toEqual([{ address: cc, name: 'Bob Öl' }]);
    expect(mail.replyTo?.map(({ address }) => address)).toEqual(['a@example.com', 'b@example.com']);
  });

  it('send a mail of its own to each recipient, and name no hidden copy', async () => {
    const [to, cc, bcc] = [somebody(), somebody(), somebody()];
    await send({ to, cc: [{ email: cc, name: 'Bob' }], bcc: [bcc] });
    for (const email of [to, cc, bcc]) {
      const mail = await mailTo(email);
      expect(mail.to?.map(({ address }) => address)).toEqual([to]);
      expect(JSON.stringify(mail.headers)).not.toContain(bcc);
    }
  });

  it('are cancelled or sent at another time until a sender has them', async () => {
    const sent = await send({ scheduledAt: ahead(HOUR) });
    const id = sent.at('id');
    expect(sent.at('status')).toBe('SCHEDULED');
    const later = ahead(2 * HOUR);
    const moved = await client.patch(`/messages/${id}`, { scheduledAt: later });
    expect([moved.status, moved.at('scheduledAt')]).toEqual([200, later]);
    const unchanged = await client.patch(`/messages/${id}`, {});
    expect([unchanged.status, unchanged.body]).toEqual([200, moved.body]);
    const cancelled = await client.post(`/messages/${id}/cancel`);
    expect([cancelled.status, cancelled.at('status')]).toEqual([200, 'CANCELLED']);
    for (const again of [
      client.post(`/messages/${id}/cancel`),
      client.patch(`/messages/${id}`, { scheduledAt: later }),
    ])
      expect((await again).body).toMatchObject({
        status: 409,
        currentState: 'CANCELLED',
        allowedStates: ['SCHEDULED', 'QUEUED'],
      });
    const soon = await send({ scheduledAt: ahead(HOUR) });
    await client.patch(`/messages/${soon.at('id')}`, { scheduledAt: ago(1_000) });
    await withStatus(soon.at('id'), 'SENT');
    expect((await client.post(`/messages/${soon.at('id')}/cancel`)).status).toBe(409);
  });

  it('are either cancelled or sent when both are tried at once', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 150 }, async (_, index) => {
        const to = somebody();
        const sent = await send({ to });
        for (let turn = 0; turn < index % 4; turn += 1) await get(sent.at('id'));
        const { status } = await client.post(`/messages/${sent.at('id')}/cancel`);
        return { id: sent.at('id'), to, isCancelled: status === 200 };
      }),
    );
    for (const { id, isCancelled } of outcomes) await withStatus(id, isCancelled ? 'CANCELLED' : 'SENT');
    const mails = await system.database.query<{ to: string; mails: number }>(
      `select to_address as "to", count(*)::int as mails from messaging.test_inbox_messages
       where environment_id = $1 and to_address = any($2) group by 1`,
      [project.test.environmentId, outcomes.map(({ to }) => to)],
    );
    const expected = outcomes.flatMap(({ to, isCancelled }) => (isCancelled ? [] : [{ to, mails: 1 }]));
    expect(mails.toSorted((a, b) => a.to.localeCompare(b.to))).toEqual(
      expected.toSorted((a, b) => a.to.localeCompare(b.to)),
    );
  });

  it('are listed by person, state, tag and time', async () => {
    const to = somebody();
    const tag = `tag-${count}`;
    const first = await send({ to, tags: [tag, 'both'] });
    const second = await send({ to, tags: ['both'], scheduledAt: ahead(HOUR) });
    await withStatus(first.at('id'), 'SENT');
    const ids = async (query: string) => {
      const list = await client.get(`/messages?${query}`);
      expect(list.status).toBe(200);
      return list.at<{ id: string }[]>('data').map(({ id }) => id);
    };
    const email = encodeURIComponent(to);
    expect(await ids(`to=${email}`)).toEqual([second.at('id'), first.at('id')]);
    expect(await ids(`to=${email}&status=SCHEDULED`)).toEqual([second.at('id')]);
    expect(await ids(`to=${email}&status=SENT`)).toEqual([first.at('id')]);
    expect(await ids(`to=${email}&status=QUEUED`)).toEqual([]);
    expect(await ids(`tag=${tag}`)).toEqual([first.at('id')]);
    expect(await ids(`createdAfter=${first.at('createdAt')}&to=${email}`)).toEqual([second.at('id')]);
  });

  it('keep nothing of what is to be forgotten once it is sent, and hold it encrypted before', async () => {
    const secret = 'correct-horse-battery';
    const sent = await send({
      keep: 'NOTHING',
      subject: `About ${secret}`,
      data: { code: secret },
      scheduledAt: ahead(HOUR),
    });
    const id = sent.at('id');
    expect(sent.at('subject')).toBeNull();
    const row = async () =>
      JSON.stringify(await system.database.query('select * from messaging.messages where id = $1', [id]));
    expect(await row()).not.toContain(secret);
    await client.patch(`/messages/${id}`, { scheduledAt: ago(1_000) });
    await withStatus(id, 'SENT');
    const [left] = await system.database.query<{ left: boolean }>(
      'select content is not null or sealed_content is not null or subject is not null as left from messaging.messages where id = $1',
      [id],
    );
    expect(left).toEqual({ left: false });
    expect((await mailTo(sent.at('to'))).subject).toBe(`About ${secret}`);
  });

  it('are not sent after they expire', async () => {
    const sent = await send({ scheduledAt: ahead(HOUR), expiresAt: ahead(2 * HOUR) });
    await system.database.query(
      `update messaging.messages set expires_at = now() where id = '${sent.at('id')}'`,
    );
    await system.database.query(
      `update messaging.deliveries set next_attempt_at = now() where source_id = '${sent.at('id')}'`,
    );
    const message = await withStatus(sent.at('id'), 'EXPIRED');
    expect(message.at('failureReason')).toBe('expired');
  });

  it.each([
    [
      'a currency that there is not',
      { text: '{{ data.x | money: data.c }}', data: { code: '1', x: '5', c: 'ZZZZ' } },
      { text: expect.stringMatching(/cannot be filled in with this data: .*money/) },
    ],
    [
      'a time zone that there is not',
      { html: '<p>{{ data.at | date: "%H", data.zone }}</p>', data: { code: '1', at: 0, zone: 'Mars/Base' } },
      { html: expect.stringMatching(/cannot be filled in with this data: .*Mars/) },
    ],
    [
      'a loop over too much',
      {
        text: 'Hello {{ subscriber.first_name }}{% for i in data.all %}{{ i }} of {{ data.all.size }}{% endfor %}',
        data: { code: '1', all: Array.from({ length: 20_000 }, (_, i) => i) },
      },
      { text: expect.stringMatching(/cannot be filled in with this data: memory alloc limit/) },
    ],
    [
      'a subject whose tags come to nothing',
      { subject: '{{ data.items.first }}', data: { code: '1', items: [''] } },
      { subject: 'is empty with this data' },
    ],
    [
      'a subject that cannot be filled in',
      {
        subject: '{{ data.x | money: data.c }}',
        html: '<p>{{ data.x }}</p>',
        data: { code: '1', x: 5, c: 'ZZZZ' },
      },
      { subject: expect.stringMatching(/cannot be filled in with this data: .*money/) },
    ],
  ])('are refused when their own data makes them impossible: %s', async (_, message, errors) => {
    const { status, body } = await send(message);
    expect([status, body]).toEqual([422, expect.objectContaining({ errors })]);
  });

  it.each([
    [
      'an item of a list',
      { html: '{% for i in data.items %}<p>{{ i.qty }} x {{ i.name }}</p>{% endfor %}' },
      {
        items: [
          { qty: 1, name: 'Pen' },
          { qty: 2, nmae: 'Ink' },
        ],
      },
      'data.items[1].name',
    ],
    ['a name in brackets', { text: '{{ data["name"] }}' }, {}, 'data.name'],
    ['a name that lists have, too', { text: '{{ data.name.first }}' }, { name: {} }, 'data.name.first'],
    ['an index', { text: '{{ data.items[3].sku }}' }, { items: [] }, 'data.items[3].sku'],
    [
      'a value behind assign, in the subject',
      { subject: '{% assign y = data["x"] %}Hi {{ y }}' },
      {},
      'data.x',
    ],
    ['a list', { text: '{{ data.items.first.name }}' }, {}, 'data.items'],
  ])('are refused when the data lacks %s that they show', async (_, message, data, path) => {
    const { status, body } = await send({ ...message, data: { code: '1', ...data } });
    expect([status, body]).toEqual([
      422,
      expect.objectContaining({ errors: { [path]: 'is missing: the content shows it' } }),
    ]);
  });

  it('are refused when they show an object behind a filter, with merge tags that are plain and that are not', async () => {
    const object = 'is an object, which the content would show as nothing: show its fields';
    for (const filter of ['upcase', 'default: "-"', 'append: "!"']) {
      const { status, body } = await send({
        text: `{{ data.x | ${filter} }}`,
        data: { code: 1, x: { y: 1 } },
      });
      expect([status, body]).toEqual([422, expect.objectContaining({ errors: { 'data.x': object } })]);
    }
  });

  it('may lack what they show with a default, and what they do not show', async () => {
    const sent = await send({
      text: '{{ data["note"] | default: "-" }}{% if data.items.first %}{{ data.items[0].name }}{% endif %}{% for i in data.list %}{% if i["name"] %}{{ i["name"] }}{% endif %}{% endfor %}',
      data: { code: '1', items: [], list: [{}] },
    });
    expect([sent.status, sent.body]).toEqual([202, expect.anything()]);
  });

  it('are accepted where values of their reader, who is not known yet, decide', async () => {
    const email = somebody();
    const topic = await client.post('/topics', { name: 'Prices', doubleOptInEnabled: false });
    const consent = { source: 'form' };
    await client.post('/subscribers', {
      email,
      firstName: 'Ada',
      topicKeys: [topic.at('topicKey')],
      consent,
    });
    const text =
      '{% if subscriber.first_name %}{% assign code = "EUR" %}{% else %}{% assign code = "" %}{% endif %}{{ data.x | money: code }}';
    const sent = await send({ to: email, text, data: { code: '1', x: 5 } });
    expect([sent.status, sent.body]).toEqual([202, expect.anything()]);
    expect((await mailTo(email)).text).toContain('€5.00');
  });

  it('are refused as a whole, with each fault named', async () => {
    const faults = async (message: object) => {
      const { status, body } = await send(message);
      return [status, (body as { errors?: unknown }).errors];
    };
    expect(await faults({ data: {} })).toEqual([422, { 'data.code': 'is missing: the content shows it' }]);
    expect(await faults({ subject: '{{ nobody.knows }}', data: { code: 1 } })).toEqual([
      422,
      { subject: 'has {{ nobody.knows }}, which messages do not have' },
    ]);
    expect(
      await faults({
        subject: '{{ nobody.knows }}',
        html: '<p>{{ data.name }} {{ event.total }}</p>',
        headers: { 'X-Order': 'No. {{ data.order }}' },
        data: {},
      }),
    ).toEqual([
      422,
      {
        subject: 'has {{ nobody.knows }}, which messages do not have',
        html: 'has {{ event.total }}, which messages do not have',
        'data.name': 'is missing: the content shows it',
        'data.order': 'is missing: the content shows it',
        'data.code': 'is missing: the content shows it',
      },
    ]);
    const order = { id: 4711 };
    expect(
      await faults({
        text: '{{ data.order }}{{ data.all }}{{ data.few }}',
        data: { code: 1, order, all: [order], few: [1] },
      }),
    ).toEqual([
      422,
      {
        'data.order': 'is an object, which the content would show as nothing: show its fields',
        'data.all': 'is an object, which the content would show as nothing: show its fields',
      },
    ]);
    expect(
      await faults({
        subject: '{{ data.title }}',
        html: '<p>{{ data.order }}</p>',
        data: { title: ' ', code: 1, order },
      }),
    ).toEqual([
      422,
      {
        subject: 'is empty with this data',
        'data.order': 'is an object, which the content would show as nothing: show its fields',
      },
    ]);
    expect(await faults({ subject: 'a\r\nBcc: eve@example.com' })).toEqual([
      400,
      { subject: 'must not contain control characters' },
    ]);
    expect(await faults({ scheduledAt: ahead(31 * 24 * HOUR) })).toEqual([
      422,
      { scheduledAt: 'must be at most 30 days ahead' },
    ]);
    expect(await faults({ scheduledAt: ahead(2 * HOUR), expiresAt: ahead(HOUR) })).toEqual([
      422,
      { expiresAt: 'must be after scheduledAt' },
    ]);
    expect(await faults({ cc: Array.from({ length: 11 }, somebody) })).toEqual([400, expect.anything()]);
    const to = somebody();
    expect(await faults({ to, cc: [to] })).toEqual([400, { 'cc[0]': 'is a recipient already' }]);
    const name = 'Ada\r\nBcc: eve@example.com';
    const named = { email: somebody(), name };
    expect(await faults({ to: named, cc: [named], bcc: 'all' })).toEqual([
      400,
      {
        'to.name': 'must not contain control characters',
        'cc[0].name': 'must not contain control characters',
        bcc: 'must be a list',
      },
    ]);
    expect(await faults({ replyTo: Array.from({ length: 6 }, somebody) })).toEqual([
      400,
      { replyTo: 'must be an address, or a list of at most 5' },
    ]);
    const empty = await client.post('/messages', {});
    expect([empty.status, empty.at('errors')]).toEqual([
      400,
      {
        to: 'is required',
        purpose: 'is required',
        subject: 'is required',
        text: 'is required where there is no contentJson, html or mjml',
      },
    ]);
    expect(await faults({ text: null })).toEqual([
      400,
      { text: 'is required where there is no contentJson, html or mjml' },
    ]);
    const ofHeaders = { 'X-Mailwright-Id': '1', From: 'eve@example.com' };
    const [status, errors] = await faults({ headers: ofHeaders });
    expect([status, Object.keys(errors as object)]).toEqual([
      422,
      ['headers["X-Mailwright-Id"]', 'headers["From"]'],
    ]);
    expect(await faults({ headers: { 'X-A': '{{ data.none }}' } })).toEqual([
      422,
      expect.objectContaining({ 'data.none': 'is missing: the content shows it' }),
    ]);
    const withScript = JSON.stringify({
      blocks: [{ type: 'html', html: '<p>Hi</p><script>alert(1)</script>' }],
    });
    expect(await faults({ contentJson: withScript })).toEqual([
      422,
      {
        contentJson: expect.stringMatching(
          /^has what no mail can carry: contentJson\.blocks\[0\]\.html: <script>/,
        ),
      },
    ]);
    expect(await faults({ to: 'nobody' })).toEqual([
      400,
      { to: 'must be an e-mail address, or an object with email and name' },
    ]);
    expect(await faults({ purpose: null })).toEqual([400, { purpose: expect.anything() }]);
  });

  it('do not go to suppressed addresses, nor more than twenty a day to one', async () => {
    const email = somebody();
    await client.post('/suppressions', { email, reason: 'HARD_BOUNCE' });
    expect((await send({ to: email })).body).toMatchObject({
      status: 409,
      type: expect.stringMatching(/suppressed$/),
    });
    const often = somebody();
    for (let mail = 0; mail < 20; mail += 1) expect((await send({ to: often })).status).toBe(202);
    const one = await send({ to: often });
    expect(one.status).toBe(429);
    expect(Number(one.headers.get('retry-after'))).toBeGreaterThan(80_000);
  });

  it('tell what became of them, and what they said, for as long as it is kept', async () => {
    const sent = await send({ to: `complained+${(count += 1)}@example.com` });
    const id = sent.at('id');
    await withStatus(id, 'COMPLAINED');
    const events = await client.get(`/messages/${id}/events`);
    expect(events.at<{ type: string }[]>('data').map(({ type }) => type)).toEqual([
      'QUEUED',
      'ATTEMPTED',
      'SENT',
      'COMPLAINED',
    ]);
    expect(events.at('data', 1, 'reply')).toMatch(/^250 /);
    const first = await client.get(`/messages/${id}/events?size=3`);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const rest = await client.get(next.slice(next.indexOf('/messages/')));
    expect([...first.at<object[]>('data'), ...rest.at<object[]>('data')]).toEqual(events.at('data'));
    expect((await client.get(`/messages/${id}/content`)).body).toEqual({
      subject: 'Your code: 123456',
      html: null,
      text: 'Hello you, your code is 123456.',
      data: PASSWORD.data,
      attachments: [],
    });
    const cancelled = await send({ scheduledAt: ahead(HOUR), keep: 'NOTHING' });
    const path = `/messages/${cancelled.at('id')}`;
    for (const _ of ['sealed', 'gone']) {
      const content = await client.get(`${path}/content`);
      expect([content.status, content.at('detail')]).toEqual([404, expect.stringContaining('not kept')]);
      await client.post(`${path}/cancel`);
    }
    const types = (await client.get(`${path}/events?fields=type`)).at('data');
    expect(types).toEqual([{ type: 'QUEUED' }, { type: 'CANCELLED' }]);
    for (const part of ['events', 'content'])
      expect((await client.get(`/messages/nobody/${part}`)).status).toBe(404);
  });

  it('are counted by tag, apart from campaigns', async () => {
    const other = await (await system.project()).client('TEST');
    const tags = { 'a@example.com': ['x', 'y'], 'bounced@example.com': ['x'], 'complained@example.com': [] };
    const ids: string[] = [];
    for (const [to, tagged] of Object.entries(tags)) {
      const message = { ...PASSWORD, to, tags: tagged, cc: ['copy@example.com'] };
      ids.push((await other.post('/messages', message)).at('id'));
    }
    for (const [index, status] of ['SENT', 'BOUNCED', 'COMPLAINED'].entries())
      await eventually(
        `it is ${status}`,
        async () => (await other.get(`/messages/${ids[index]}`)).at('status') === status,
      );
    const statistics = await other.get('/statistics?by=tag');
    const none = {
      sent: 0,
      delivered: 0,
      hardBounced: 0,
      softBounced: 0,
      bounced: 0,
      complained: 0,
      opened: 0,
    };
    const rows = statistics.at<{ key: string | null }[]>('rows');
    expect(rows.toSorted((a, b) => (a.key ?? '').localeCompare(b.key ?? ''))).toMatchObject([
      { ...none, key: null, sent: 1, delivered: 1, complained: 1 },
      { ...none, key: 'x', sent: 2, delivered: 1, hardBounced: 1, bounced: 1 },
      { ...none, key: 'y', sent: 1, delivered: 1 },
    ]);
    const totals = { ...none, sent: 3, delivered: 2, hardBounced: 1, bounced: 1, complained: 1 };
    expect(statistics.at('totals')).toMatchObject(totals);
    expect((await other.get('/statistics?by=relay')).at('totals')).toMatchObject(none);
  });
});
