import { sql } from 'kysely';
import pg from 'pg';
import { audienceEntities, UsageCatalogueService } from '#audience';
import { DeliveryActivityQuery } from '#messaging';
import { newId } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database } from '#platform';
import { ActivityCatalogue, RuleCatalogueQuery } from '../libs/audience/src/rules/rule-catalogue.query.js';
import { SegmentEvaluationsService } from '../libs/audience/src/segments/segment-evaluations.service.js';
import { SubscriberRulesService } from '../libs/audience/src/rules/subscriber-rules.service.js';
import { SegmentRepository } from '../libs/audience/src/segments/segment.repository.js';
import { plannedForRules } from '../libs/audience/src/rules/set-plans.query.js';
import { type AudienceData, fillAudience, type Query } from './support/audience-data.js';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { type MeasuredRule, measuredRules } from './support/segment-rules.js';

/**
 * Ten rules, each counted and written down as members of a segment, against the SQL that somebody who knows the
 * tables writes by hand, run as their owner with the same memory. Both must find the same people.
 */
const SUBSCRIBERS = Number(process.env['ROWS'] ?? 200_000);
const EVENTS = SUBSCRIBERS * 5;
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const ONLY = process.env['RULE'];
const EXPLAIN = process.env['EXPLAIN'] === '1';

const server = await startBenchServer();
const { url } = server.database;
const pool = new pg.Pool({ connectionString: url, max: 1, options: '-c work_mem=64MB -c timezone=UTC' });
// Its connection is ended by the server's stop, which may come first.
pool.on('error', () => undefined);
const query: Query = async (text, values) => (await pool.query(text, values)).rows;
const database = await Database.connect({
  url,
  poolSize: 2,
  applicationName: 'bench',
  entities: audienceEntities,
});

try {
  const began = performance.now();
  const data = await fillAudience(query, { subscribers: SUBSCRIBERS, events: EVENTS });
  process.stdout.write(
    `${SUBSCRIBERS} subscribers, ${EVENTS} events in ${((performance.now() - began) / 1_000).toFixed(0)} s\n`,
  );
  const clock = new ManualClock(data.now);
  const activity = new ActivityCatalogue();
  new DeliveryActivityQuery(database, activity).onModuleInit();
  const predicates = new SubscriberRulesService(
    database,
    new RuleCatalogueQuery(database, activity),
    activity,
  );
  const evaluations = new SegmentEvaluationsService(
    database,
    new SegmentRepository(database),
    predicates,
    new UsageCatalogueService(database),
    clock,
  );
  const measuring = { data, predicates, evaluations, fixed: await insertStatic(data) };
  for (const rule of measuredRules(data, measuring.fixed)) {
    if (ONLY === undefined || rule.name === ONLY) await measure(rule, measuring);
  }
} finally {
  await database.close();
  await pool.end();
  await server.database.drop();
  await server.stop();
}

interface Measuring {
  readonly data: AudienceData;
  readonly predicates: SubscriberRulesService;
  readonly evaluations: SegmentEvaluationsService;
  readonly fixed: { readonly id: string; readonly key: string };
}

interface Run {
  readonly ms: number;
  readonly found: number;
}

async function measure(rule: MeasuredRule, measuring: Measuring): Promise<void> {
  const { data } = measuring;
  const rules = JSON.stringify({ version: 1, where: rule.where });
  const counts = await alternate(
    rule,
    () => countByRules(rules, measuring),
    () => countByHand(rule, data),
  );
  const writes = await alternate(
    rule,
    () => writeByRules(rules, measuring),
    () => writeByHand(rule, measuring),
  );
  process.stdout.write(
    `${rule.name}: ${counts.found} people\n  count  ${counts.line}\n  write  ${writes.line}\n`,
  );
  if (EXPLAIN) process.stdout.write(`${await explained(rules, measuring)}\n`);
}

/** A warm-up, then pairs; the two must agree on how many there are. */
async function alternate(rule: MeasuredRule, ours: () => Promise<Run>, byHand: () => Promise<Run>) {
  const pairs: [number, number][] = [];
  let found = 0;
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const [one, other] = [await ours(), await byHand()];
    if (one.found !== other.found)
      throw new Error(`${rule.name}: ${one.found} by rules, ${other.found} by hand`);
    found = one.found;
    if (pair > 0) pairs.push([one.ms, other.ms]);
  }
  const of = (pick: (pair: [number, number]) => number, digits: number) => spread(pairs.map(pick), digits);
  return {
    found,
    line: `${of(([a]) => a, 0)} ms against ${of(([, b]) => b, 0)} ms, ratio ${of(([a, b]) => a / b, 2)}`,
  };
}

async function timed(work: () => Promise<number>): Promise<Run> {
  const began = performance.now();
  const found = await work();
  return { ms: performance.now() - began, found };
}

/** Counts as a preview or a campaign's estimate does: from the text of the rules to the number. */
function countByRules(rules: string, { data: { scope, now }, predicates }: Measuring): Promise<Run> {
  return timed(() =>
    database.transaction(scope, async () => {
      const predicate = await predicates.ofRules(scope, await predicates.read(scope, rules, null), now);
      const counted = sql<{ count: number }>`
        select count(*) from audience.scoped_subscribers b where b.environment_id = ${scope.environmentId} and ${predicate}
      `;
      const { rows } = await plannedForRules(database, scope, predicate, () =>
        counted.execute(database.tables()),
      );
      return rows[0]!.count;
    }),
  );
}

async function explained(rules: string, { data: { scope, now }, predicates }: Measuring): Promise<string> {
  return database.transaction(scope, async () => {
    const predicate = await predicates.ofRules(scope, await predicates.read(scope, rules, null), now);
    const plan = sql<Record<string, string>>`
      explain (analyze, costs off, timing off, buffers off)
      select count(*) from audience.scoped_subscribers b where b.environment_id = ${scope.environmentId} and ${predicate}
    `;
    const { rows } = await plannedForRules(database, scope, predicate, () => plan.execute(database.tables()));
    return rows.map((row) => `    ${Object.values(row)[0]}`).join('\n');
  });
}

function countByHand({ sql: condition }: MeasuredRule, { scope, now }: AudienceData): Promise<Run> {
  return timed(async () => {
    const rows = await query<{ count: string }>(
      `select count(*) from audience.subscribers b where b.environment_id = $1 and $2::timestamptz is not null and ${condition}`,
      [scope.environmentId, now],
    );
    return Number(rows[0]?.count);
  });
}

/** The first evaluation of a segment. */
async function writeByRules(rules: string, { data: { scope }, evaluations, fixed }: Measuring): Promise<Run> {
  const id = await insertSegment(scope.environmentId, rules, [fixed.id]);
  const run = await timed(async () => {
    await evaluations.evaluate(scope, id);
    const rows = await query<{ member_count: string }>(
      'select member_count from audience.segments where id = $1',
      [id],
    );
    return Number(rows[0]?.member_count);
  });
  await removeSegment(id);
  return run;
}

async function writeByHand(
  { sql: condition }: MeasuredRule,
  { data: { scope, now } }: Measuring,
): Promise<Run> {
  const id = await insertSegment(scope.environmentId, '{}', []);
  const run = await timed(async () => {
    const { rowCount } = await pool.query(
      `insert into audience.segment_members (subscriber_id, segment_id, environment_id, added_at)
       select b.id, '${id}', $1, $2 from audience.subscribers b where b.environment_id = $1 and ${condition}`,
      [scope.environmentId, now],
    );
    return rowCount ?? 0;
  });
  await removeSegment(id);
  return run;
}

async function insertSegment(
  environmentId: number,
  rules: string | null,
  uses: readonly string[],
): Promise<string> {
  const id = newId();
  await query(
    `insert into audience.segments (id, environment_id, segment_key, name, type, status, rules, member_count, is_due, created_at, updated_at)
     values ($1, $2, 'BENCH-' || $3::text, 'Bench', $4, 'ACTIVE', $5, 0, false, now(), now())`,
    [id, environmentId, id, rules === null ? 'STATIC' : 'DYNAMIC', rules],
  );
  for (const used of uses)
    await query('insert into audience.segment_references values ($1, $2, $3)', [id, used, environmentId]);
  return id;
}

async function removeSegment(id: string): Promise<void> {
  await query('delete from audience.segments where id = $1', [id]);
  await query('vacuum audience.segment_members');
  await query('checkpoint');
}

/** One in fifty. */
async function insertStatic({ scope }: AudienceData): Promise<Measuring['fixed']> {
  const id = await insertSegment(scope.environmentId, null, []);
  await query(
    `insert into audience.segment_members select b.id, $1, $2, now() from audience.subscribers b
     where b.environment_id = $2 and abs(hashtext(b.subscriber_key)) % 50 = 0`,
    [id, scope.environmentId],
  );
  await query('vacuum analyze audience.segment_members');
  return { id, key: `BENCH-${id}` };
}
