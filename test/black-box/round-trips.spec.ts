import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { createTestDatabase, isOnCitus, type TestDatabase } from '#testing/postgres/database';
import { type PostgresWire, watchPostgres } from '#testing/postgres/postgres-wire';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { prepareProject, SECRETS } from '#testing/programs/system';

const PAGE = readFileSync('docs/internals/performance.md', 'utf8');

/** The rows of the page's table: an operation, and the messages of each of its transactions. */
const TOLD = new Map(
  [...PAGE.matchAll(/^\| `((?:POST|PUT|PATCH|DELETE) [^`]+)`([^|]*)\| ([\d, ]+?) *\|/gm)].map(
    ([, operation, rest = '', messages]) => [`${operation}${rest.trimEnd()}`, messages?.trim()],
  ),
);

const messageTo = (name: string) => ({
  to: `${name}@example.com`,
  purpose: 'An order',
  subject: 'Receipt',
  text: 'Thank you.',
  tags: ['receipt'],
});

/** The message that a transaction begins with on Citus, whose nodes are told the settings of SET alone. */
const SETTINGS = isOnCitus ? 1 : 0;

describe('the round trips of the write paths', () => {
  let test: TestDatabase;
  let wire: PostgresWire;
  let api: RunningProgram;
  let client: ApiClient;
  let topicKey: string;
  let confirmedTopicKey: string;

  beforeAll(async () => {
    test = await createTestDatabase();
    wire = await watchPostgres(test.url);
    api = await startProgram('api', {
      DATABASE_URL: wire.url,
      ...SECRETS,
      REQUIRE_VERIFIED_DOMAIN: 'false',
    });
    const project = await prepareProject(test, `http://127.0.0.1:${api.port}`);
    client = await project.client('LIVE');
    const topics = ['News', 'Offers'].map(async (name, index) => {
      const { body } = await client.post('/topics', { name, doubleOptInEnabled: index === 1 });
      return body as { readonly topicKey: string };
    });
    const [news, offers] = await Promise.all(topics);
    [topicKey, confirmedTopicKey] = [news!.topicKey, offers!.topicKey];
    await signUp('warm@example.com', topicKey);
    await signUp('warmer@example.com', confirmedTopicKey);
  });

  afterAll(async () => {
    await api.stop();
    await wire.close();
    await test.drop();
  });

  const signUp = (email: string, key: string) =>
    client.post('/subscribers', { email, topicKeys: [key], consent: { source: 'spec' } });
  /** The messages of each transaction that an operation takes, of which it must be the only writer. */
  async function messagesOf(operate: () => Promise<{ readonly status: number }>): Promise<string> {
    wire.transactions();
    const answer = await operate();
    const sent = wire.transactions();
    if (process.env['SHOW_MESSAGES'] !== undefined)
      process.stderr.write(`${JSON.stringify(sent, null, 1)}\n`);
    expect(answer.status).toBeLessThan(300);
    return sent.map((messages) => messages.length - SETTINGS).join(', ');
  }

  /** The sender of messages is known for a second. */
  async function afterAnother<Answer>(operate: () => Promise<Answer>): Promise<Answer> {
    await operate();
    wire.transactions();
    return operate();
  }

  const operations: Readonly<Record<string, () => Promise<{ readonly status: number }>>> = {
    'POST /subscribers': () => signUp('ada@example.com', topicKey),
    'POST /subscribers, double opt-in': () => signUp('grace@example.com', confirmedTopicKey),
    'PATCH /subscribers/{email}': () => client.patch('/subscribers/ada@example.com', { firstName: 'Ada' }),
    'POST /subscribers/{email}/consents': () =>
      client.post('/subscribers/grace@example.com/consents', { topicKey, source: 'spec' }),
    'DELETE /subscribers/{email}/consents/{topicKey}': () =>
      client.delete(`/subscribers/ada@example.com/consents/${topicKey}`),
    'POST /subscribers/{email}/events': () =>
      client.post('/subscribers/ada@example.com/events', { name: 'order' }),
    'POST /subscriber-events/batch': () =>
      client.post('/subscriber-events/batch', {
        events: [1, 2].map((n) => ({ email: 'ada@example.com', name: 'order', uniqueId: `order-${n}` })),
      }),
    'POST /suppressions': () => client.post('/suppressions', { email: 'eve@example.com' }),
    'DELETE /subscribers/{email}': () => client.delete('/subscribers/ada@example.com'),
    'POST /messages': () => afterAnother(() => client.post('/messages', messageTo('ada'))),
    'POST /messages/batch': () =>
      afterAnother(() =>
        client.post('/messages/batch', { messages: ['ada', 'grace', 'eva'].map(messageTo) }),
      ),
    'POST /topics': () => client.post('/topics', { name: 'More' }),
    'POST /topics, with an Idempotency-Key': () =>
      client.post('/topics', { name: 'Most' }, { headers: { 'Idempotency-Key': 'once' } }),
  };

  it.each(Object.entries(operations))('are those of the page: %s', async (operation, operate) => {
    expect(await messagesOf(operate)).toBe(TOLD.get(operation));
  });

  it('are told for these operations alone', () => {
    expect([...TOLD.keys()]).toEqual(Object.keys(operations));
  });
});
