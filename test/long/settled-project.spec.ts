import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { ApiClient } from '#testing/http/api-client';
import type { TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import type { RunningSystem } from '#testing/programs/system';
import {
  muchReadBy,
  startWatchedSystem,
  type WatchedPostgres,
  type WatchedStatement,
  type WatchedSystem,
} from '#testing/postgres/watched-postgres';
import { ProjectLife } from './growing-project.fixture.js';
import { LOGGED_PERSON, settle, type SettledProject } from './settled-project.fixture.js';

const PEOPLE = Number(process.env['SETTLED_PEOPLE'] ?? 10_000);
const ENVIRONMENTS = Number(process.env['SETTLED_ENVIRONMENTS'] ?? 50);
/** The short form leaves out what is empty, and two of the same size. */
const IS_WHOLE = process.env['SETTLED'] === 'whole';
/** People of each of the environments beside. */
const FEW = 100;
const SIZE = 20;
/** People who come, get mail and leave in a project that has many. */
const NEWCOMERS = 60;
/** So often that a prepared statement has a plan for any values. */
const TIMES = 6;
const HOUR_MS = 3_600_000;

/** Bounds on a statement whatever it returns: rows of its project, its key, counters. */
const ROWS = 5_000;
const PAGES = 600;
/** For each row that it returns, in all nodes of its plan together. */
const ROWS_EACH = 25;
const PAGES_EACH = 15;
/** For each row that is passed over before the page, or counted. */
const ROWS_PASSED = 4;
const PAGES_PASSED = 4;
/** For each person of whom rules are asked. */
const ROWS_OF_RULES = 15;

/** Statements that trim a test inbox: what came lately, and the newest that stay. */
const TRIMS = /(?:delete|distinct "environment_id") from "?messaging"?\."?test_inbox_messages/;

interface List {
  readonly path: string;
  /** Its total is counted by reading who matches, in an index. */
  readonly isCounted?: true;
  /** Everybody or all that is found is read for each page. */
  readonly isSearch?: true;
  /** All mails of the campaign are read for each page. */
  readonly isWalked?: true;
  /** A page by its number passes over no more than a mark's. */
  readonly isMarked?: true;
}

/** Activity of one type of each table, and of one that nobody has. */
const ACTIVITY = [
  'subscriber.updated',
  'consent.granted',
  'event.recorded',
  'email.sent',
  'email.opened',
  'email.complained',
  'automation.entered',
];

function listsOfPerson(email: string): readonly List[] {
  return [
    { path: `/subscribers/${email}/consent-records`, isCounted: true },
    { path: `/subscribers/${email}/activity`, isSearch: true },
    ...ACTIVITY.map((type): List => ({
      path: `/subscribers/${email}/activity?type=${type}`,
      isSearch: true,
    })),
  ];
}

/** Every list with each of its filters. */
function listsOf(settled: SettledProject): readonly List[] {
  const { topicKey, campaignKey, segmentId, importId, automationId, endpointId } = settled;
  const [ago, soon] = [-3, 1].map((hours) =>
    encodeURIComponent(new Date(Date.now() + hours * HOUR_MS).toISOString()),
  );
  return [
    ...[settled.email, settled.busyEmail].flatMap((email) => (email === null ? [] : listsOfPerson(email))),
    { path: '/subscribers', isMarked: true },
    { path: '/subscribers?status=ACTIVE' },
    { path: '/subscribers?status=UNSUBSCRIBED' },
    { path: `/subscribers?topicKey=${topicKey}` },
    { path: `/subscribers?topicKey=${topicKey}&status=ACTIVE` },
    { path: '/subscribers?q=person.77', isSearch: true },
    { path: '/subscribers?q=ada', isSearch: true },
    { path: `/subscribers?q=person.77&status=ACTIVE&topicKey=${topicKey}`, isSearch: true },
    { path: `/subscribers?createdAfter=${ago}`, isCounted: true },
    { path: `/subscribers?createdBefore=${ago}`, isCounted: true },
    { path: `/subscribers?createdBefore=${ago}&status=ACTIVE`, isCounted: true },
    { path: `/subscribers?createdAfter=${ago}&topicKey=${topicKey}`, isCounted: true },
    { path: `/subscribers?updatedAfter=${ago}`, isSearch: true },
    { path: `/subscribers?updatedAfter=${soon}` },
    { path: `/subscribers?updatedAfter=${ago}&status=ACTIVE`, isSearch: true },
    { path: `/subscribers?updatedAfter=${soon}&status=ACTIVE` },
    { path: `/subscribers?updatedAfter=${soon}&topicKey=${topicKey}` },
    { path: `/subscribers?createdAfter=${soon}` },
    { path: `/subscribers?createdAfter=${ago}&createdBefore=${soon}&topicKey=${topicKey}`, isCounted: true },
    { path: '/topics', isCounted: true },
    { path: '/topics?status=ACTIVE', isCounted: true },
    { path: '/segments', isCounted: true },
    { path: `/segments/${segmentId}/members` },
    { path: '/suppressions' },
    { path: '/suppressions?reason=HARD_BOUNCE' },
    { path: `/subscriber-imports/${importId}/errors`, isCounted: true },
    { path: '/campaigns', isCounted: true },
    { path: '/campaigns?status=DRAFT', isCounted: true },
    { path: `/campaigns?topicKey=${topicKey}`, isCounted: true },
    { path: `/campaigns/${campaignKey}/deliveries`, isCounted: true },
    { path: `/campaigns/${campaignKey}/deliveries?status=SENT` },
    { path: `/campaigns/${campaignKey}/deliveries?status=FAILED`, isCounted: true },
    { path: `/campaigns/${campaignKey}/deliveries?status=PENDING`, isCounted: true },
    { path: `/campaigns/${campaignKey}/deliveries?email=person.7@example.com` },
    { path: `/campaigns/${campaignKey}/deliveries?opened=true`, isWalked: true },
    { path: `/campaigns/${campaignKey}/deliveries?opened=false`, isCounted: true },
    { path: `/campaigns/${campaignKey}/deliveries?clicked=true` },
    { path: `/campaigns/${campaignKey}/deliveries?link=1` },
    { path: `/campaigns/${campaignKey}/deliveries?bounced=true` },
    { path: `/campaigns/${campaignKey}/deliveries?opened=true&status=SENT`, isWalked: true },
    { path: '/automations', isCounted: true },
    { path: '/automations?status=PAUSED', isCounted: true },
    { path: `/automations/${automationId}/executions` },
    { path: '/messages', isCounted: true },
    { path: `/messages/${settled.messageId}/events`, isCounted: true },
    { path: '/messages?status=SENT', isCounted: true },
    { path: '/messages?status=BOUNCED', isCounted: true },
    { path: '/messages?to=person.7@example.com' },
    { path: '/messages?tag=receipt', isCounted: true },
    { path: '/messages?tag=rare' },
    { path: '/messages?templateKey=APIT-1', isCounted: true },
    { path: '/messages?templateKey=APIT-2' },
    { path: `/messages?createdAfter=${ago}`, isCounted: true },
    { path: '/templates', isCounted: true },
    { path: '/templates?kind=MESSAGE', isCounted: true },
    { path: '/templates?kind=PARTIAL' },
    { path: '/templates?alias=template-7' },
    { path: `/templates/${settled.templateKey}/versions`, isCounted: true },
    { path: '/test-inbox/messages', isCounted: true },
    { path: '/test-inbox/messages?kind=CAMPAIGN', isCounted: true },
    { path: '/test-inbox/messages?kind=OPT_IN' },
    { path: '/test-inbox/messages?to=person.7@example.com' },
    { path: '/events' },
    { path: '/events?type=email.sent', isSearch: true },
    { path: `/events?subscriberId=${LOGGED_PERSON}`, isSearch: true },
    { path: '/audit-log' },
    { path: `/audit-log?from=${ago}&to=${soon}`, isCounted: true },
    { path: `/audit-log?keyId=${LOGGED_PERSON}`, isCounted: true },
    { path: '/audit-log?action=createTopic', isCounted: true },
    { path: '/audit-log?targetType=topic&targetId=APIT-1', isCounted: true },
    { path: '/audit-log?outcome=REFUSED', isCounted: true },
    { path: '/audit-log?requestId=none' },
    { path: '/requests', isCounted: true },
    { path: '/requests?status=404', isCounted: true },
    { path: '/requests?requestId=none' },
    { path: '/webhook-endpoints', isCounted: true },
    { path: `/webhook-endpoints/${endpointId}/deliveries`, isCounted: true },
    { path: `/webhook-endpoints/${endpointId}/deliveries?event=email.sent`, isCounted: true },
    { path: `/webhook-endpoints/${endpointId}/deliveries?event=email.clicked` },
    { path: `/webhook-endpoints/${endpointId}/deliveries?state=DELIVERED`, isCounted: true },
    { path: `/webhook-endpoints/${endpointId}/deliveries?state=FAILED`, isCounted: true },
    { path: `/webhook-endpoints/${endpointId}/deliveries?state=PENDING` },
    { path: `/webhook-endpoints/${endpointId}/deliveries?from=${ago}&to=${soon}`, isCounted: true },
    { path: `/webhook-endpoints/${endpointId}/deliveries?from=${soon}` },
    { path: '/media', isCounted: true },
    { path: '/relays', isCounted: true },
    { path: '/api-keys', isCounted: true },
    { path: '/billing/invoices', isCounted: true },
    { path: '/credits/transactions' },
  ];
}

/** Parameters of all lists. */
const PAGING = ['page', 'size', 'after', 'fields'];

interface ApiDocument {
  readonly paths: Readonly<
    Record<
      string,
      { readonly get?: { readonly parameters?: readonly { readonly in: string; readonly name: string }[] } }
    >
  >;
}

/** A request, and what its statements may pass over or count. */
interface Step {
  readonly name: string;
  readonly from: Date;
  readonly passed: number;
}

interface Member {
  readonly environmentId: number;
  readonly client: ApiClient;
  readonly settled: SettledProject;
}

describe('lists of a project whose statistics are settled', () => {
  let watched: WatchedSystem;
  let postgres: WatchedPostgres;
  let database: TestDatabase;
  let system: RunningSystem;
  const steps: Step[] = [];
  let first: Member;

  beforeAll(async () => {
    watched = await startWatchedSystem();
    ({ postgres, database, system } = watched);
  });

  afterAll(() => watched?.stop());

  async function member(people: number): Promise<Member> {
    const project = await system.project('LISTS');
    const settled = await settle(database, project.test, people);
    await eventually('its list is marked', async () => {
      const left = await database.query(
        'select from audience.counter_deltas where environment_id = $1 limit 1',
        [project.test.environmentId],
      );
      return left.length === 0;
    });
    return { environmentId: project.test.environmentId, client: await project.client('TEST'), settled };
  }

  /** Lets a fresh api plan all anew: plans may be ten seconds old, in which no test should wait. */
  async function renewPlans(): Promise<void> {
    await system.api.stop();
    const api = await startProgram('api', { ...system.variables, PORT: String(system.api.port) });
    system = { ...system, api };
  }

  async function ask(client: ApiClient, state: string, path: string, passed: (total: number) => number) {
    const known = steps.length;
    steps.push({ name: `${state}: ${path}`, from: new Date(), passed: 0 });
    const answer = await client.get(path);
    expect([path, answer.status]).toEqual([path, 200]);
    const total = answer.at<number>('pagination', 'totalElements');
    steps[known] = { ...steps[known]!, passed: passed(total) };
    return answer;
  }

  /** The first page again and again, then one in the middle, the last one, and one behind a cursor. */
  async function read(client: ApiClient, state: string, list: List): Promise<void> {
    const { path, isCounted, isSearch, isWalked, isMarked } = list;
    const at = (rest: string) => `${path}${path.includes('?') ? '&' : '?'}size=${SIZE}${rest}`;
    const walked = isWalked ? PEOPLE : 0;
    const counted = (total: number) => (isCounted || isSearch ? total : walked);
    let answer = await ask(client, state, at(''), counted);
    for (let time = 1; time < TIMES; time += 1) answer = await ask(client, state, at(''), counted);
    const pages = answer.at<number>('pagination', 'totalPages');
    for (const page of new Set([Math.floor(pages / 2), Math.max(0, pages - 1)]))
      await ask(client, state, at(`&page=${page}`), (total) => (isMarked ? 0 : page * SIZE) + counted(total));
    const walk = await ask(client, state, at('&after='), counted);
    const next = walk.at<string | null>('pagination', 'next');
    if (next !== null) await ask(client, state, at(`&after=${next}`), (total) => (isSearch ? total : walked));
  }

  async function readAll({ client, settled }: Member, state: string): Promise<void> {
    await postgres.watch(database, true);
    for (const list of listsOf(settled)) await read(client, state, list);
    await postgres.watch(database, false);
  }

  /** Statements that touched more than they may, the worst of each text. */
  async function excessive(from: Date, program = /^mailwright-/): Promise<string[]> {
    const found = new Map<string, { readonly by: number; readonly said: string }>();
    for await (const statement of postgres.statements(from)) {
      if (!program.test(statement.program)) continue;
      // One that ended in the millisecond in which a step began belongs to the step before: a request takes longer to come here.
      const step = steps.findLast((each) => each.from < statement.at);
      if (step === undefined) continue;
      if (asksEverybody(statement)) continue;
      const by = excessOf(statement, step);
      if (by > 1 && by > (found.get(statement.text)?.by ?? 0))
        found.set(statement.text, { by, said: described(statement, step) });
    }
    return [...found.values()].toSorted((a, b) => b.by - a.by).map(({ said }) => said);
  }

  /** Rules of the large project, and test inboxes cut to their 10 000, which the worker asks while something else is done. */
  const asksEverybody = ({ text, program, parameters, rows }: WatchedStatement): boolean =>
    program === 'mailwright-worker' &&
    rows < PEOPLE * ROWS_OF_RULES &&
    (TRIMS.test(text) ||
      (/audience\.scoped_subscribers/.test(text) &&
        new RegExp(`= '${first.environmentId}'(?:,|$)`).test(parameters)));

  /** Does what an owner does with a project, among all that it has, while its statements are watched. */
  async function live({ client }: Member, state: string, people: number): Promise<void> {
    const life = new ProjectLife(client, (name, work) => {
      steps.push({ name: `${state}: ${name}`, from: new Date(), passed: 3 * (people + NEWCOMERS) });
      return work();
    });
    await postgres.watch(database, true);
    await life.begin();
    await life.year(NEWCOMERS);
    await postgres.watch(database, false);
  }

  /** Erases a person, whom the worker takes out of all that the project has. */
  async function erase({ client, environmentId }: Member, state: string, email: string): Promise<void> {
    await postgres.watch(database, true);
    steps.push({ name: `${state}: erase`, from: new Date(), passed: 0 });
    expect((await client.delete(`/subscribers/${email}`)).status).toBe(204);
    await eventually('the person is erased', async () => {
      const left = await database.query(
        `select from messaging.deliveries where environment_id = $1 and address_key = $2 limit 1`,
        [environmentId, email],
      );
      return left.length === 0;
    });
    await postgres.watch(database, false);
  }

  it('are all that the API has, each with all of its filters', () => {
    const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as ApiDocument;
    const asked = new Map<string, Set<string>>();
    const ids = {
      topicKey: 'T',
      campaignKey: 'C',
      segmentId: 'S',
      importId: 'I',
      automationId: 'A',
      messageId: 'M',
      templateKey: 'T',
      endpointId: 'W',
      email: 'E',
      busyEmail: 'B',
    };
    for (const { path } of listsOf(ids)) {
      const { pathname, searchParams } = new URL(path, 'http://api');
      const route = pathname.replaceAll(/\/[A-Z](?=\/)/g, '/{}');
      asked.set(route, new Set([...(asked.get(route) ?? []), ...searchParams.keys()]));
    }
    const had = Object.entries(paths).flatMap(([path, { get }]) => {
      const names = (get?.parameters ?? []).filter((each) => each.in === 'query').map(({ name }) => name);
      const filters = names.filter((name) => !PAGING.includes(name)).toSorted();
      const route = path.replace('/api/v1', '').replaceAll(/\{\w+\}/g, '{}');
      return names.includes('page') ? [{ route, filters }] : [];
    });
    for (const { route, filters } of had)
      expect({ route, filters: [...(asked.get(route) ?? [])].toSorted() }).toEqual({ route, filters });
  });

  it(
    'read little while it is empty, and before the first statistics',
    async () => {
      const from = new Date();
      // Half empty, as where people left: before statistics the planner goes by the size of an index.
      await database.query('alter index audience.subscribers_newest set (fillfactor = 40)');
      if (IS_WHOLE) await readAll(await member(0), 'empty');
      first = await member(PEOPLE);
      await renewPlans();
      await readAll(first, 'filled');
      expect(await excessive(from, /api/)).toEqual([]);
    },
    HOUR_MS,
  );

  it(
    'read a few rows for each that they return, alone in its installation',
    async () => {
      await database.query('vacuum (analyze)');
      const from = new Date();
      await readAll(first, 'alone');
      expect(await excessive(from, /api/)).toEqual([]);
    },
    HOUR_MS,
  );

  it(
    'are not the only ones: all else that is done in it does, too',
    async () => {
      const from = new Date();
      await live(first, 'alone', PEOPLE);
      expect(await excessive(from)).toEqual([]);
    },
    HOUR_MS,
  );

  (IS_WHOLE ? it : it.skip)(
    'read as few beside another one of its size',
    async () => {
      const second = await member(PEOPLE);
      const from = new Date();
      await readAll(second, 'one of two, not analysed');
      await database.query('vacuum (analyze)');
      await readAll(second, 'one of two');
      expect(await excessive(from, /api/)).toEqual([]);
    },
    HOUR_MS,
  );

  it(
    'read as few beside many small ones, and those do as well',
    async () => {
      const small = await Promise.all(Array.from({ length: ENVIRONMENTS }, () => member(FEW)));
      await database.query('vacuum (analyze)');
      const from = new Date();
      await readAll(first, 'large among many');
      await readAll(small[0]!, 'small among many');
      await live(small[1]!, 'small among many', FEW);
      await erase(first, 'large among many', 'person.11@example.com');
      expect(await excessive(from)).toEqual([]);
    },
    HOUR_MS,
  );
});

/** Factor by which a statement touched more than it may. Writes have indexes, triggers and their plans: no pages are counted. */
function excessOf({ rows, pages, plan, program, text }: WatchedStatement, { passed }: Step): number {
  const given = Math.max(Number(plan['Actual Rows']), writtenBy(plan));
  const isRead =
    program === 'mailwright-api' && writtenBy(plan) === 0 && !/^select [a-z_.*]+ from access\./.test(text);
  return Math.max(
    rows / (ROWS + ROWS_EACH * given + ROWS_PASSED * passed),
    isRead ? pages / (PAGES + PAGES_EACH * given + PAGES_PASSED * passed) : 0,
  );
}

/** The most rows that one of its parts wrote. */
function writtenBy(node: WatchedStatement['plan']): number {
  const own = node['Node Type'] === 'ModifyTable' ? Number(node['Actual Rows']) : 0;
  return Math.max(own, ...(node.Plans ?? []).map(writtenBy));
}

function described(statement: WatchedStatement, { name, passed }: Step): string {
  const { rows, pages, plan, text } = statement;
  return `${name}: ${Math.round(rows)} rows (${muchReadBy(statement, ROWS / 10)}), ${pages} pages for ${String(plan['Actual Rows'])}, past ${passed}: ${text}`;
}
