import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCliForJson } from '#testing/programs/operator-cli';
import type { TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import { type RunningSystem, SECRETS, type SystemProject } from '#testing/programs/system';
import {
  muchReadBy,
  startWatchedSystem,
  type WatchedPostgres,
  type WatchedStatement,
  type WatchedSystem,
} from '#testing/postgres/watched-postgres';
import { ProjectLife } from './growing-project.fixture.js';
import type { Step } from './project-requests.fixture.js';

const PEOPLE = Number(process.env['GROWTH_PEOPLE'] ?? 800);
const FEW = 5;
/**
 * Bound on a statement: so many rows for each of the people, since a table of one or two pages is read as a whole.
 * A quadratic statement touches as many for each as there are people.
 */
const ROWS_EACH = 150;
/**
 * Bound on one of many like it, for each row that it gives or writes: the median, since how many a batch has, how many
 * of those it changes, and how often a plan of ten seconds ago is still used (`prepared`), is up to the machine. A
 * quadratic statement touches at least as many each time as there are people.
 */
const ROWS_OF_ONE = PEOPLE * 0.6;
/** So many alike are one for each, or for each few, of the people. */
const MANY = PEOPLE / 20;

/** Lets two months pass. */
const AGEING = [
  `update audience.imports set created_at = created_at - interval '60 days', completed_at = completed_at - interval '60 days'`,
  `update messaging.test_inbox_messages set received_at = received_at - interval '60 days'`,
  `update audience.consents set token_expires_at = token_expires_at - interval '60 days' where token_expires_at is not null`,
  `update audience.segment_transitions set occurred_at = occurred_at - interval '60 days'`,
  'delete from platform.schedule',
];
const LEFT = `exists (select from audience.import_errors)
  or exists (select from messaging.test_inbox_messages where received_at < now() - interval '31 days')
  or exists (select from audience.consents where status = 'PENDING_CONFIRMATION' and token_expires_at < now())
  or exists (select from audience.segment_transitions where occurred_at < now() - interval '31 days')`;

interface Life {
  readonly project: SystemProject;
  readonly life: ProjectLife;
}

/** Statements of one text. */
interface Kind {
  readonly text: string;
  readonly during: Set<string>;
  rows: number;
  most: number;
  /** The most that a part of one's plan touched. */
  widest: number;
  /** Nodes that read it, in the plan of the one that touched the most. */
  readers: string;
  /** Rows that each touched for one that it gave or wrote. */
  readonly ofOne: number[];
}

describe('a project that grows quickly', () => {
  let watched: WatchedSystem;
  let postgres: WatchedPostgres;
  let database: TestDatabase;
  let system: RunningSystem;
  const steps: { readonly name: string; readonly from: Date }[] = [];

  beforeAll(async () => {
    watched = await startWatchedSystem();
    ({ postgres, database, system } = watched);
  });

  afterAll(() => watched?.stop());

  const step: Step = async (name, work) => {
    steps.push({ name, from: new Date() });
    return await work();
  };

  async function begin(key: string): Promise<Life> {
    const project = await system.project(key);
    const life = new ProjectLife(await project.client('TEST'), step);
    await life.begin();
    return { project, life };
  }

  /** Statements that were run since then, by their text. */
  async function kinds(
    from: Date,
    isMeant: (statement: WatchedStatement) => boolean = () => true,
  ): Promise<Kind[]> {
    const found = new Map<string, Kind>();
    for await (const statement of postgres.statements(from)) {
      if (!isMeant(statement)) continue;
      const { text, at, rows } = statement;
      const kind = found.get(text) ?? {
        text,
        during: new Set(),
        rows: 0,
        most: 0,
        widest: 0,
        readers: '',
        ofOne: [],
      };
      kind.during.add(steps.findLast((one) => one.from <= at)?.name ?? '');
      kind.rows += rows;
      kind.widest = Math.max(kind.widest, statement.widest);
      if (rows > kind.most) {
        kind.most = rows;
        kind.readers = muchReadBy(statement, PEOPLE / 2);
      }
      kind.ofOne.push(rows / Math.max(1, Number(statement.plan['Actual Rows']), writtenBy(statement.plan)));
      found.set(text, kind);
    }
    return [...found.values()];
  }

  const described = ({ text, during, ofOne, rows, most, readers }: Kind): string =>
    `${Math.round(most)} rows at most (${readers}), ${Math.round(rows)} for ${ofOne.length}, during ${[...during].slice(0, 3).join(', ')}: ${text}`;

  /** Lets it do everything with many people, and answers with what read too much. */
  async function grown({ life }: Life): Promise<string[]> {
    const from = new Date();
    await postgres.watch(database, true);
    await life.year(PEOPLE);
    await postgres.watch(database, false);
    return excessive(from);
  }

  async function excessive(from: Date): Promise<string[]> {
    const found = await kinds(from);
    const isExcessive = ({ most, ofOne }: Kind) =>
      most > PEOPLE * ROWS_EACH || (ofOne.length > MANY && median(ofOne) > ROWS_OF_ONE);
    return found.filter(isExcessive).map(described);
  }

  let old: Life;

  it('is small at first, and its statistics tell so', async () => {
    old = await begin('OLD');
    for (let year = 0; year < 2; year++) await old.life.year(FEW);
    await database.query('analyze');
    await old.life.year(FEW);
    const [{ statistics } = { statistics: 0 }] = await database.query<{ statistics: number }>(
      `select reltuples::int as statistics from pg_class where oid = 'audience.subscribers'::regclass`,
    );
    expect(statistics).toBeLessThan(PEOPLE / 10);
  });

  it('reads a few rows for each of its people, whose statements were planned for five', async () => {
    expect(await grown(old)).toEqual([]);
  }, 600_000);

  it('does so when there was nothing of it yet as the statistics were gathered', async () => {
    expect(await grown(await begin('NEW'))).toEqual([]);
  }, 600_000);

  it('is counted through by the operator, and cleared up after, without reading it again for each row', async () => {
    await postgres.watch(database, true);
    const from = new Date();
    steps.push({ name: 'checks', from });
    const variables = { DATABASE_URL: database.url, ...SECRETS };
    for (const command of ['check:counters', 'check:statistics', 'check:automations'])
      await runCliForJson(variables, [command]);
    steps.push({ name: 'clearing up', from: new Date() });
    await system.worker.stop();
    for (const statement of AGEING) await database.query(statement);
    system.worker = await startProgram('worker', system.variables);
    await eventually('all is cleared up', async () => {
      const rows = await database.query<{ isLeft: boolean }>(`select ${LEFT} as "isLeft"`);
      return rows[0]?.isLeft === false;
    });
    await postgres.watch(database, false);
    expect(await excessive(from)).toEqual([]);
  });

  it('is not read by the small one beside it, once the statistics know it', async () => {
    await database.query('analyze');
    const { life, project } = await begin('TINY');
    await life.year(FEW);
    const from = new Date();
    await postgres.watch(database, true);
    await life.year(FEW);
    await postgres.watch(database, false);
    const ofTiny = new RegExp(`= '${project.test.environmentId}'(?:,|$)`);
    const found = await kinds(
      from,
      ({ program, parameters }) => program === 'mailwright-api' || ofTiny.test(parameters),
    );
    // Bound for each part: a batch of its own rows passes through several, and the machine's speed decides how large it is.
    expect(found.filter(({ widest }) => widest > PEOPLE / 2).map(described)).toEqual([]);
  });
});

/** The most rows that one of its parts wrote and told of. */
function writtenBy(node: WatchedStatement['plan']): number {
  const own = node['Node Type'] === 'ModifyTable' ? Number(node['Actual Rows']) : 0;
  return Math.max(own, ...(node.Plans ?? []).map(writtenBy));
}

function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)]!;
}
