import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from '#testing/http/api-client';
import { advanceTime, createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { prepareProject, SECRETS } from '#testing/programs/system';

const APIS = 3;
const EVERY_MS = 5;
const AT_ONCE = 24;
/** In each phase. */
const REQUESTS = Number(process.env['ROTATION_REQUESTS'] ?? 800);
const HOUR_MS = 3_600_000;
const REVOKED_WITHIN_MS = 5_000;
/** Writes of all apis together while the test runs, beside what the requests themselves change. */
const MOST_WRITES = 60;

interface Answered {
  readonly begunAt: number;
  readonly status: number;
}

describe('a key that is rotated under load, before three apis', () => {
  let database: TestDatabase;
  let apis: RunningProgram[];
  let owner: ApiClient;
  let turn = 0;

  beforeAll(async () => {
    database = await createTestDatabase();
    const variables = {
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '3',
      TRUST_PROXY: 'true',
      ...SECRETS,
    };
    apis = await Promise.all(Array.from({ length: APIS }, () => startProgram('api', variables)));
    owner = await (await prepareProject(database, addressOf(apis[0]!))).client('TEST');
  });

  afterAll(async () => {
    await Promise.all((apis ?? []).map((api) => api.stop()));
    await database?.drop();
  });

  const addressOf = ({ port }: RunningProgram) => `http://127.0.0.1:${port}`;

  /** One request with each key, to one api after the other; who cannot be counted in time asks again. */
  const ask = (keys: readonly string[]) => Promise.all(keys.map(askOnce));

  async function askOnce(key: string): Promise<Answered> {
    const begunAt = performance.now();
    const address = addressOf(apis[(turn += 1) % APIS]!);
    // From many networks: the failures of one are limited.
    const from = `10.${turn >> 16}.${(turn >> 8) % 256}.${turn % 256}`;
    const headers = { 'x-api-key': key, 'x-forwarded-for': from };
    const answer = await fetch(`${address}/api/v1/api-keys/current`, { headers });
    await answer.arrayBuffer();
    return answer.status === 503 ? askOnce(key) : { begunAt, status: answer.status };
  }

  /** Answers by key to requests at 200 a second, or as many as the machine can; `meanwhile` runs in their middle. */
  async function underLoad(
    keys: readonly string[],
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ): Promise<Answered[][]> {
    const begun = performance.now();
    const asked: Promise<Answered[]>[] = [];
    let done: Promise<void> | undefined;
    for (let number = 0; number * keys.length < REQUESTS; number += 1) {
      const isDueIn = begun + number * keys.length * EVERY_MS - performance.now();
      if (isDueIn > 0) await delay(isDueIn);
      await asked.at(-AT_ONCE / keys.length);
      asked.push(ask(keys));
      if (number * keys.length >= REQUESTS / 2) done ??= meanwhile();
    }
    const answers = await Promise.all(asked);
    await done;
    const rate = Math.round((REQUESTS / (performance.now() - begun)) * 1_000);
    process.stdout.write(`${REQUESTS} requests, ${rate} a second\n`);
    return keys.map((_key, index) => answers.map((each) => each[index]!));
  }

  const statuses = (answers: readonly Answered[] = []) => [...new Set(answers.map(({ status }) => status))];
  const rotate = async (id: string, overlapHours: number) => {
    const rotated = await owner.post(`/api-keys/${id}/rotate`, { overlapHours });
    expect(rotated.status).toBe(201);
    return { id: rotated.at('id'), key: rotated.at('key') };
  };
  const passTime = async (milliseconds: number) => {
    await advanceTime(database, milliseconds);
    await Promise.all(apis.map((api) => api.readClock()));
  };

  it('works until its overlap ends, and not after; its successor works from its first moment', async () => {
    const made = await owner.post('/api-keys', { name: 'Shop', scopes: ['topics:read'] });
    const first = { id: made.at('id'), key: made.at('key') };
    let second = first;
    const [during] = await underLoad([first.key], async () => {
      second = await rotate(first.id, 1);
      for (let each = 0; each < APIS; each += 1) expect(statuses(await ask([second.key]))).toEqual([200]);
    });
    expect(statuses(during)).toEqual([200]);

    await passTime(HOUR_MS - 60_000);
    const [old, successor] = await underLoad([first.key, second.key]);
    expect([statuses(old), statuses(successor)]).toEqual([[200], [200]]);

    let endedAt = Number.POSITIVE_INFINITY;
    const [ended, kept] = await underLoad([first.key, second.key], async () => {
      await passTime(2 * 60_000 + HOUR_MS);
      endedAt = performance.now();
    });
    const after = (ended ?? []).filter(({ begunAt }) => begunAt > endedAt);
    expect(after.length).toBeGreaterThan(0);
    expect([statuses(after), statuses(kept)]).toEqual([[401], [200]]);

    let third = second;
    let rotatedAt = Number.POSITIVE_INFINITY;
    const [revoked] = await underLoad([second.key], async () => {
      third = await rotate(second.id, 0);
      rotatedAt = performance.now();
      expect(statuses(await ask([third.key, third.key, third.key]))).toEqual([200]);
    });
    const accepted = (revoked ?? []).filter(({ status }) => status === 200);
    const lateMs = Math.round((accepted.at(-1)?.begunAt ?? 0) - rotatedAt);
    process.stdout.write(`The last one was let in ${lateMs} ms after the rotation without an overlap.\n`);
    expect(lateMs).toBeLessThan(REVOKED_WITHIN_MS);
    expect(statuses(revoked?.slice(-3))).toEqual([401]);

    await ask([third.key]);
    const used = await eventually('the last use is written', async () => {
      const at = (await owner.get(`/api-keys/${third.id}`)).at<string | null>('lastUsedAt');
      return at !== null && at;
    });
    expect(Date.parse(used)).toBeGreaterThan(Date.now());
    const [{ writes } = { writes: Number.NaN }] = await database.query<{ writes: number }>(
      `select n_tup_upd::int as writes from pg_stat_user_tables where relname = 'api_keys'`,
    );
    process.stdout.write(`${writes} rows of keys were written for more than ${4 * REQUESTS} requests.\n`);
    expect(writes).toBeLessThan(MOST_WRITES);
  }, 600_000);
});
