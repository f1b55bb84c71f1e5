import { type Compilable, type CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { lasting } from './scoped-dialect.js';
import { isDistributed } from './session.js';

export const PREPARED_MARK = '/* prepared */';
/** In front of a template, or behind the first word of what a builder makes (`modifyFront`). */
const MARKED = /^(?:[a-z]+ )?\/\* prepared \*\//;
/** Most names of a pool: later texts are not prepared. */
const MAX_STATEMENTS = 100;
/** A table grows little in that time. */
const MAX_PLAN_USES = 500;
const MAX_PLAN_AGE_MS = 10_000;

/**
 * Begins a statement, or follows its first word (`.modifyFront(prepared)`), that each connection parses once and plans once for a
 * while, for any values. For statements inside of a transaction; one that stands alone is a `Database.statement`.
 */
export const prepared: RawBuilder<unknown> = sql.raw(PREPARED_MARK);

/**
 * Has a connection prepare marked statements, by the names that its pool has for their texts. Plans are discarded from time to
 * time: one made while a table had one page would read all of it when it has thousands, until the table is analysed.
 */
export function keepPrepared(client: pg.ClientBase, names: Map<string, string>): void {
  const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
  let [uses, since] = [0, performance.now()];
  const discardOldPlans = (): void => {
    uses += 1;
    if (uses <= MAX_PLAN_USES && performance.now() - since < MAX_PLAN_AGE_MS) return;
    [uses, since] = [1, performance.now()];
    // A failure shows in the next query on the connection, which is awaited.
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
 * A typed, `prepared` query whose text is built once: a builder takes longer to make it than PostgreSQL to answer it. `build`
 * gets stand-ins for the values and hands them on as they are.
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
 * Connections for single statements, each prepared and a transaction of its own. Settings stay for the next one, so that a
 * statement of the same scope is one round trip; on Citus, whose nodes only know those of a transaction, they are set each time.
 */
export class SingleStatements {
  readonly #settings = new WeakMap<pg.PoolClient, string>();

  constructor(private readonly pool: pg.Pool) {}

  /** Runs a statement under `settings` of a transaction (`set local`), which set all that any other sets. */
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
      // Lost, or half set.
      client.release(true);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

/** Most sets of questions, each a statement to prepare: others are asked one by one. */
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

/** Asks conditions of the same moment in one statement. */
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
