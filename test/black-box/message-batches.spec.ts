import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const PASSWORD = {
  purpose: 'The person asked to reset their password.',
  subject: 'Your code: {{ data.code }}',
  text: 'Your code is {{ data.code }}.',
  data: { code: '123456' },
};

describe('batches of messages', () => {
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
  const messageTo = (to: unknown = somebody(), more: object = {}) => ({ to, ...PASSWORD, ...more });
  const send = (messages: readonly unknown[], mode?: string, headers = {}) =>
    client.post('/messages/batch', { messages, ...(mode && { mode }) }, { headers });
  const accepted = async () => {
    const [row] = await system.database.query<{ messages: number; mails: number; tags: number }>(
      `select (select count(*)::int from messaging.messages where environment_id = $1) as messages,
        (select count(*)::int from messaging.deliveries where environment_id = $1) as mails,
        (select count(*)::int from messaging.message_tags where environment_id = $1) as tags`,
      [project.test.environmentId],
    );
    return row!;
  };

  it('are accepted in order, and each message is sent to all of its recipients', async () => {
    const before = await accepted();
    const people = Array.from({ length: 100 }, somebody);
    const sent = await send(
      people.map((to, index) => messageTo(to, { tags: [`batch-${index % 2}`], data: { code: index } })),
    );
    expect(sent.status).toBe(202);
    const results = sent.at<{ index: number; message: { id: string; to: string } }[]>('results');
    expect(results.map(({ index, message }) => [index, message.to])).toEqual(
      people.map((to, index) => [index, to]),
    );
    expect(await accepted()).toEqual({
      messages: before.messages + 100,
      mails: before.mails + 100,
      tags: before.tags + 100,
    });
    const subject = await eventually('the mail of one of them', async () => {
      const inbox = await client.get(`/test-inbox/messages?to=${encodeURIComponent(people[42]!)}`);
      return inbox.at<string | undefined>('data', 0, 'subject') ?? null;
    });
    expect(subject).toBe('Your code: 42');
  });

  it('of all or none name each fault of each message, and leave nothing', async () => {
    const before = await accepted();
    const [one, blocked] = [somebody(), somebody()];
    await client.post('/suppressions', { email: blocked, reason: 'HARD_BOUNCE' });
    const refused = await send([
      messageTo(),
      messageTo('nobody', { purpose: '' }),
      messageTo(somebody(), { data: {}, headers: { From: 'eve@example.com' } }),
      messageTo(one, { cc: [one] }),
      'no message',
    ]);
    expect(refused.status).toBe(422);
    expect(refused.at('errors')).toEqual({
      'messages[1].to': 'must be an e-mail address, or an object with email and name',
      'messages[1].purpose': 'must not be empty',
      'messages[2].headers["From"]': expect.any(String),
      'messages[2].data.code': 'is missing: the content shows it',
      'messages[3].cc[0]': 'is a recipient already',
      'messages[4]': 'must be an object',
    });
    const suppressed = await send([
      messageTo(),
      messageTo(somebody(), { cc: [somebody()], bcc: [blocked] }),
      messageTo(blocked),
    ]);
    expect(suppressed.body).toMatchObject({
      status: 422,
      errors: { 'messages[1].bcc[0]': 'is suppressed', 'messages[2].to': 'is suppressed' },
    });
    const single = await client.post('/messages', messageTo(somebody(), { cc: [somebody(), blocked] }));
    expect(single.body).toMatchObject({ status: 409, recipients: { 'cc[1]': 'is suppressed' } });
    expect(single.body).not.toHaveProperty('errors');
    expect(await accepted()).toEqual(before);
  });

  it('of each by itself accept what is right, and have a problem for what is not', async () => {
    const blocked = somebody();
    await client.post('/suppressions', { email: blocked, reason: 'HARD_BOUNCE' });
    const before = await accepted();
    const answer = await send(
      [
        messageTo(),
        messageTo('nobody'),
        messageTo(blocked),
        messageTo(somebody(), { data: {} }),
        messageTo(),
      ],
      'EACH',
    );
    expect(answer.status).toBe(200);
    const type = (slug: string) => expect.stringMatching(new RegExp(`/problems/${slug}$`));
    expect(answer.at('results')).toEqual([
      { index: 0, message: expect.objectContaining({ status: 'QUEUED' }) },
      {
        index: 1,
        problem: expect.objectContaining({
          status: 422,
          type: type('domain-validation'),
          errors: { 'messages[1].to': expect.any(String) },
        }),
      },
      {
        index: 2,
        problem: expect.objectContaining({
          status: 409,
          type: type('suppressed'),
          recipients: { 'messages[2].to': 'is suppressed' },
        }),
      },
      {
        index: 3,
        problem: expect.objectContaining({
          status: 422,
          errors: { 'messages[3].data.code': 'is missing: the content shows it' },
        }),
      },
      { index: 4, message: expect.objectContaining({ status: 'QUEUED' }) },
    ]);
    expect((await accepted()).messages).toBe(before.messages + 2);
    const none = await send([messageTo('nobody')], 'EACH');
    expect([none.status, none.at('results', 0, 'problem', 'status')]).toEqual([200, 422]);
  });

  it('count with all others towards what one address gets a day, also when they come at once', async () => {
    const often = somebody();
    const many = Array.from({ length: 22 }, () => messageTo(often));
    const whole = await send(many);
    expect(whole.body).toMatchObject({
      status: 429,
      recipients: { 'messages[20].to': expect.any(String), 'messages[21].to': expect.any(String) },
    });
    expect(Number(whole.headers.get('retry-after'))).toBeGreaterThan(80_000);
    const answers = await Promise.all([
      send(many.slice(0, 15), 'EACH'),
      send(many.slice(0, 15), 'EACH'),
      ...Array.from({ length: 5 }, () => client.post('/messages', messageTo(often))),
    ]);
    const messages = answers.flatMap((answer) =>
      'results' in (answer.body as object)
        ? answer.at<object[]>('results')
        : answer.status === 202
          ? [{ message: {} }]
          : [],
    );
    expect(messages.filter((result) => 'message' in result)).toHaveLength(20);
    const refused = answers.flatMap(
      ({ body }) => (body as { results?: { problem?: { status: number } }[] }).results ?? [],
    );
    expect(new Set(refused.flatMap(({ problem }) => problem?.status ?? []))).toEqual(new Set([429]));
  });

  it('count as so many messages for the limit of a minute', async () => {
    const own = await project.client('TEST');
    const post = (messages: number) =>
      own.post('/messages/batch', { messages: Array.from({ length: messages }, () => messageTo()) });
    const left = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining'));
    expect(left(await post(100))).toBe(500);
    expect(left(await own.post('/messages', messageTo()))).toBe(499);
    for (const remaining of [399, 299, 199, 99]) expect(left(await post(100))).toBe(remaining);
    const before = await accepted();
    const refused = await post(100);
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(await accepted()).toEqual(before);
  });

  it('are answered once for an Idempotency-Key', async () => {
    const before = await accepted();
    const messages = [messageTo(), messageTo()];
    const first = await send(messages, 'EACH', { 'Idempotency-Key': 'batch-1' });
    const again = await send(messages, 'EACH', { 'Idempotency-Key': 'batch-1' });
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await accepted()).messages).toBe(before.messages + 2);
  });

  it('have 1 to 100 messages', async () => {
    for (const messages of [[], Array.from({ length: 101 }, () => messageTo())])
      expect((await send(messages)).body).toMatchObject({
        status: 400,
        errors: { messages: expect.any(String) },
      });
    expect((await send([messageTo()], 'SOME')).body).toMatchObject({
      status: 400,
      errors: { mode: expect.any(String) },
    });
  });
});
