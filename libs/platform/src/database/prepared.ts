import { type Compilable, type CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { lasting } from './scoped-dialect.js';
import { isDistributed } from './session.js';

export const PREPARED_MARK = '/* prepared */';
/** In front of a template, or behind the first word of what a builder makes (`modifyFront`). */
const MARKED = /^(?:[a-z]+ )?\/\* prepared \*\//;
/** Of a pool. More texts than that are no few hot ones: those that come later are not prepared. */
const MAX_STATEMENTS = 100;
/** What a table has grown by in that time costs little to read once more. */
const MAX_PLAN_USES = 500;
const MAX_PLAN_AGE_MS = 10_000;

/**
 * Begins a statement, or follows its first word (`.modifyFront(prepared)`), that is asked again and again by the same text:
 * each connection parses it once, and plans it once for a while. The plan is made for any values, so each value must lead
 * to the same index. For statements that share a transaction with others; one that stands alone is a
 * `Database.statement`, which needs no transaction around it.
 */
export const prepared: RawBuilder<unknown> = sql.raw(PREPARED_MARK);

/**
 * Lets a connection prepare the statements that are marked. `names` is its pool's: a name stands for the same text on
 * each of its connections.
 *
 * A plan that was made while a table had one page, where every way of reading it costs the same, would read all of it
 * again and again when it has thousands; until the table is analysed nothing else makes PostgreSQL think again. So plans are
 * discarded from time to time.
 */
export function keepPrepared(client: pg.ClientBase, names: Map<string, string>): void {
  const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
  let [uses, since] = [0, performance.now()];
  const discardOldPlans = (): void => {
    uses += 1;
    if (uses <= MAX_PLAN_USES && performance.now() - since < MAX_PLAN_AGE_MS) return;
    [uses, since] = [1, performance.now()];
    // Where it fails, what follows on the same connection does, and that is waited for.
    void client.query('discard plans').catch(() => undefined);
  };
  Object.assign(client, {
    query: (text: unknown, values: unknown, ...rest: unknown[]) => {
      const name = typeof text === 'string' && MARKED.test(text) ? nameOf(text, names) : undefined;
      if (name === undefined) return query(text, values, ...rest);
      discardOldPlans();
      return query({ name, text, values }, ...rest);
    },
  });
}

function nameOf(text: string, names: Map<string, string>): string | undefined {
  if (!names.has(text) && names.size < MAX_STATEMENTS) names.set(text, `mailwright_${names.size + 1}`);
  return names.get(text);
}

/**
 * A typed query that is `prepared`, for what is asked very often: a builder needs up to a millisecond to make the text of a
 * query with joins, more than PostgreSQL to answer it. `build` is called once, with stand-ins for the values: it hands
 * them on as they are.
 */
export class PreparedQuery<DB, Values extends readonly unknown[], Row> {
  #compiled: CompiledQuery<Row> | undefined;
  #standIns: readonly object[] = [];

  constructor(private readonly build: (tables: Kysely<DB>, ...values: Values) => Compilable<Row>) {}

  async run(tables: Kysely<DB>, ...values: Values): Promise<readonly Row[]> {
    this.#compiled ??= this.#compile(tables, values.length);
    const parameters = this.#compiled.parameters.map((parameter) => {
      const position = this.#standIns.indexOf(parameter as object);
      return position === -1 ? parameter : values[position];
    });
    const { rows } = await tables.executeQuery<Row>({ ...this.#compiled, parameters });
    return rows;
  }

  #compile(tables: Kysely<DB>, length: number): CompiledQuery<Row> {
    this.#standIns = Array.from({ length }, () => ({}));
    const compiled = this.build(tables, ...(this.#standIns as unknown as Values)).compile();
    return { ...compiled, sql: `${PREPARED_MARK}${compiled.sql}` };
  }
}

/**
 * Connections for nothing but single statements, each prepared and a transaction of its own. On one server settings stay from one
 * statement to the next, so that a statement for the same scope as the one before is one round trip; the nodes of Citus are told
 * those of a transaction alone.
 */
export class SingleStatements {
  readonly #settings = new WeakMap<pg.PoolClient, string>();

  constructor(private readonly pool: pg.Pool) {}

  /** Runs it where `settings` of a transaction (`set local`), which set all that any other sets, are in force. */
  async run<Row>(settings: string, text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.pool.connect();
    try {
      if (isDistributed(client)) await client.query(`begin; ${settings}`);
      else if (this.#settings.get(client) !== settings) {
        await client.query(lasting(settings));
        this.#settings.set(client, settings);
      }
      const { rows } = await client.query(`${PREPARED_MARK}${text}`, [...values]);
      if (isDistributed(client)) await client.query('commit');
      client.release();
      return rows as Row[];
    } catch (error) {
      // It may be lost, or half set: it is not used again.
      client.release(true);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

/** Each set of questions is a statement to prepare: what would make more than these is asked one by one. */
const MAX_SETS = 50;

export interface Question {
  /** The compiled condition, which tells questions apart. */
  readonly text: string;
  readonly condition: RawBuilder<unknown>;
}

interface WaitingQuestion extends Question {
  readonly waiting: PromiseWithResolvers<boolean>;
}

type Ask = (statement: RawBuilder<Answers>) => Promise<readonly Answers[]>;
type Answers = Readonly<Record<string, boolean | null>>;

/** Puts what is asked at the same moment into one statement. */
export class AskedTogether {
  #questions = new Map<string, WaitingQuestion>();
  readonly #sets = new Set<string>();

  constructor(private readonly ask: Ask) {}

  holds(question: Question): Promise<boolean> {
    const waiting = Promise.withResolvers<boolean>();
    const asked = { ...question, waiting };
    // The same question with other values waits for nobody: it is asked by itself.
    if (this.#questions.has(question.text)) void this.#askFor([asked]);
    else {
      if (this.#questions.size === 0) setImmediate(() => this.#askAll());
      this.#questions.set(question.text, asked);
    }
    return waiting.promise;
  }

  #askAll(): void {
    // In one order, so that the same questions are the same statement.
    const questions = [...this.#questions.values()].toSorted((a, b) => (a.text < b.text ? -1 : 1));
    this.#questions = new Map();
    const set = questions.map(({ text }) => text).join();
    if (this.#sets.size < MAX_SETS) this.#sets.add(set);
    if (this.#sets.has(set)) void this.#askFor(questions);
    else for (const question of questions) void this.#askFor([question]);
  }

  async #askFor(questions: readonly WaitingQuestion[]): Promise<void> {
    const columns = questions.map(({ condition }, index) => sql`${condition} as ${sql.id(`q${index}`)}`);
    try {
      const [answers] = await this.ask(sql`select ${sql.join(columns)}`);
      for (const [index, { waiting }] of questions.entries())
        waiting.resolve(answers?.[`q${index}`] === true);
    } catch (error) {
      for (const { waiting } of questions) waiting.reject(error);
    }
  }
}
