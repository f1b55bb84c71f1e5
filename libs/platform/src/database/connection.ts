import { randomUUID } from 'node:crypto';
import { callbackify } from 'node:util';
import pg from 'pg';
import type { Outage } from '../lifecycle/outage.js';
import { isServerOutage, sqlStateOf } from './database-failure.js';
import { type AskedStatement, Message } from './message.js';
import { setLocal, type Settings, settingLocal } from './scope-settings.js';
import type { StatementNames } from './statement.js';

/** Role of the programs; row-level security shows each its rows (docs/internals/database.md#row-level-security). */
export type DatabaseRole = 'mailwright_app' | 'mailwright_system';

/** A connection on which row-level security would not hold. Nothing is asked on it. */
export class UnsafeSessionError extends Error {}

/** State of a connection before its first use. */
export interface SessionOptions {
  readonly role: DatabaseRole;
  /** PostgreSQL's settings, as `name = value`. */
  readonly settings: readonly string[];
  /** Server's names of statements. */
  readonly names: StatementNames;
  /** Notices when the server cannot be reached or refuses to work. */
  readonly outage?: Outage | undefined;
}

interface SessionRow {
  readonly user: string;
  readonly is_secured: boolean;
  readonly is_distributed: boolean;
  readonly pid: number;
  readonly token: string | null;
}

/** Name of the session itself: a pooler in transaction mode leads to another one. */
const TOKEN = `current_setting('mailwright.session', true) as token`;

/** Role, and state of row-level security; its tables are missing before the first migration. */
const SESSION = `select current_user as "user", pg_backend_pid() as pid, ${TOKEN}, current_setting('row_security') = 'on'
  and row_security_active(to_regclass('platform.jobs')) is not false as is_secured,
  exists (select 1 from pg_extension where extname = 'citus') as is_distributed`;

/** Citus finds the node of a statement when it plans it for its values. */
const CUSTOM_PLANS = 'set plan_cache_mode = force_custom_plan';

const POOLED = 'The session was given to another server process: a pooler is in transaction mode.';

/** A statement that another session prepared by the same name, or one that this session prepared elsewhere. */
const FOREIGN_STATEMENT: ReadonlySet<string> = new Set(['42P05', '26000']);

const BEGIN = /^begin\b/i;
const begin: AskedStatement = { name: 'begin', text: 'begin' };
const commit: AskedStatement = { name: 'commit', text: 'commit' };

/** A table grows little in that time. */
const MAX_PLAN_USES = 500;
const MAX_PLAN_AGE_MS = 10_000;

type Callback = (error: unknown, result?: pg.QueryResult) => void;

/**
 * Connection of a pool (`ConnectionPool`) or one that listens. It takes the role and settings of its session, keeps statements out
 * of a session of somebody else, prepares those with a name, and has the outage notice failures.
 */
export class Connection extends pg.Client {
  static readonly #open = new Set<Connection>();

  /** Process that PostgreSQL, or a pooler, named when the connection began; pg's types leave it out. */
  declare readonly processID: number;
  readonly #options: SessionOptions | undefined;
  #session: Pick<SessionRow, 'pid' | 'token'> | undefined;
  #isDistributed = false;
  #lastingSettings = '';
  /** Statements that go in front of the next one, in its message. */
  #ahead: readonly AskedStatement[] = [];
  #plans = { uses: 0, since: performance.now() };
  readonly #types: pg.CustomTypesConfig = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') => this.getTypeParser(oid, format),
  };

  constructor(config: pg.ClientConfig | undefined, options?: SessionOptions) {
    super(config);
    this.#options = options;
    Connection.#open.add(this);
    this.once('end', () => Connection.#open.delete(this));
  }

  /**
   * Cuts every connection of the process, for new ones in their place: after a pooler gave sessions away, their state is unknown,
   * and a listening one is deaf. Resolves when no pool takes one of them for usable.
   */
  static async cutAll(): Promise<void> {
    await Promise.all(
      [...Connection.#open].map((connection) => {
        const ended = new Promise<void>((resolve) => void connection.once('end', resolve));
        connection.connection.stream.destroy();
        return ended;
      }),
    );
  }

  /** True for a connection to the coordinator of a Citus cluster. */
  get isDistributed(): boolean {
    return this.#isDistributed;
  }

  /** True behind a pooler: PostgreSQL itself names the process that answers when a connection begins. */
  get isPooled(): boolean {
    return this.#session !== undefined && this.processID !== this.#session.pid;
  }

  /**
   * Sends the first message of a new connection, which takes role and settings, and checks them. Options of the connection's start
   * would be dropped by poolers. Throws `UnsafeSessionError`.
   */
  async begin({ role, settings }: SessionOptions): Promise<void> {
    const token = randomUUID();
    const all = [`role ${role}`, 'row_security = on', `mailwright.session = '${token}'`, ...settings];
    const results = await this.query([...all.map((setting) => `set ${setting}`), SESSION].join('; '));
    const session = lastRow<SessionRow>(results);
    refuseUnsafe(session, role);
    this.#session = { pid: session.pid, token };
    this.#isDistributed = session.is_distributed;
    if (this.#isDistributed) await this.query(CUSTOM_PLANS);
  }

  /** Looks again: throws `UnsafeSessionError` where the role is lost, or a pooler gives sessions away. */
  async check(role: DatabaseRole): Promise<void> {
    const { rows } = await this.query<SessionRow>(SESSION);
    refuseUnsafe(rows[0], role);
    if (this.#session?.token !== rows[0]?.token) throw new UnsafeSessionError(POOLED);
  }

  /** Makes settings (`set …`) for all later statements, without asking where they are the last that were made. */
  async keepSettings(settings: string): Promise<void> {
    if (this.#lastingSettings === settings) return;
    await this.query(settings);
    this.#lastingSettings = settings;
  }

  /** Begins a transaction with these settings, in the message of its first statements. */
  async open(settings: Settings): Promise<void> {
    // A pooler's session is known by its answer alone; nodes of Citus are told what SET says.
    if (this.isPooled || this.#isDistributed) await this.query(`begin; ${setLocal(settings)}`);
    else this.#ahead = [begin, settingLocal(settings)];
  }

  /** Sends statements of the open transaction in one message: see `Message`. */
  send(statements: readonly AskedStatement[]): Promise<readonly pg.QueryResult[]> {
    return this.#watched(() => this.#sendTogether(statements));
  }

  /** Commits, in one message with these last statements. */
  async commit(statements: readonly AskedStatement[] = []): Promise<readonly pg.QueryResult[]> {
    const isEmpty = this.#ahead.length > 0 && statements.length === 0;
    if (!isEmpty) return this.send([...statements, commit]);
    this.#ahead = [];
    return [];
  }

  async rollback(): Promise<void> {
    if (this.#ahead.length === 0) await this.query('rollback');
    this.#ahead = [];
  }

  /** As pg's. A statement with a name is parsed once by the connection, and planned once for a while, for any values. */
  override query<T extends pg.Submittable>(stream: T): T;
  override query<Row extends pg.QueryResultRow>(
    query: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>>;
  override query(query: string | pg.QueryConfig, values: unknown[] | Callback, callback?: Callback): void;
  override query(
    query: string | pg.QueryConfig | pg.Submittable,
    values?: unknown[] | Callback,
    callback?: Callback,
  ): unknown {
    if (typeof query === 'object' && 'submit' in query) return super.query(query);
    if (typeof values === 'function') return this.query(query, [], values);
    const answer = () => this.#ask(query, values);
    return callback === undefined ? answer() : callbackify(answer)(callback);
  }

  async #ask(query: string | pg.QueryConfig, values: unknown[] | undefined): Promise<pg.QueryResult> {
    // Without a pooler, at its beginning and in a transaction a session cannot change.
    const isSettled = !this.isPooled || this.getTransactionStatus() !== 'I';
    return this.#watched(() => (isSettled ? this.#send(query, values) : this.#askSecurely(query, values)));
  }

  async #watched<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (cause) {
      const isForeign = this.isPooled && FOREIGN_STATEMENT.has(sqlStateOf(cause) ?? '');
      const error = isForeign ? new UnsafeSessionError(POOLED, { cause }) : cause;
      if (error instanceof UnsafeSessionError || isServerOutage(error)) this.#options?.outage?.noticed(error);
      throw error;
    }
  }

  /**
   * Asks in a transaction that begins with a look at the session. Between transactions a pooler may be switched to transaction
   * mode, and lead to the role, the settings and the prepared statements of somebody else.
   */
  async #askSecurely(query: string | pg.QueryConfig, values: unknown[] | undefined): Promise<pg.QueryResult> {
    if (typeof query === 'string' && BEGIN.test(query)) return this.#beginSecurely(query);
    await this.#beginSecurely('begin');
    try {
      const result = await this.#send(query, values);
      await super.query('commit');
      return result;
    } catch (error) {
      await super.query('rollback').catch(() => undefined);
      throw error;
    }
  }

  async #beginSecurely(text: string): Promise<pg.QueryResult> {
    const results = await super.query(`${text}; select ${TOKEN}`);
    if (lastRow<SessionRow>(results)?.token === this.#session?.token) return results;
    // Its pool replaces it.
    void this.end().catch(() => undefined);
    throw new UnsafeSessionError(POOLED);
  }

  async #send(query: string | pg.QueryConfig, values: unknown[] | undefined): Promise<pg.QueryResult> {
    if (this.#ahead.length > 0) {
      const asked = typeof query === 'string' ? { text: query, values } : query;
      // Several statements in one text cannot be a part of a message.
      const isApart = asked.text.includes(';') && !asked.values?.length;
      const results = await this.#sendTogether(isApart ? [] : [asked]);
      if (!isApart) return results.at(-1)!;
    }
    if (typeof query === 'string' || query.name === undefined) return super.query(query, values);
    await this.#discardOldPlans();
    return super.query({ ...query, name: this.#options?.names.of(query.name, query.text) });
  }

  async #sendTogether(statements: readonly AskedStatement[]): Promise<readonly pg.QueryResult[]> {
    await this.#discardOldPlans();
    const ahead = this.#ahead;
    this.#ahead = [];
    const asked = [...ahead, ...statements].map(({ name, text, values }) => {
      const known = name === undefined ? undefined : this.#options?.names.of(name, text);
      return { text, values, ...(known !== undefined && { name: known }) };
    });
    const message = new Message(asked, this.#types);
    super.query(message);
    return (await message.results).slice(ahead.length);
  }

  /** A plan made while a table had one page would read all of it when it has thousands, until the table is analysed. */
  async #discardOldPlans(): Promise<void> {
    this.#plans.uses += 1;
    if (this.#plans.uses <= MAX_PLAN_USES && performance.now() - this.#plans.since < MAX_PLAN_AGE_MS) return;
    this.#plans = { uses: 1, since: performance.now() };
    await super.query('discard plans');
  }
}

/** First row of the last of several statements in one message, whose results the types know nothing of. */
function lastRow<Row>(results: unknown): Row | undefined {
  return (results as pg.QueryResult<Row & pg.QueryResultRow>[]).at(-1)?.rows[0];
}

function refuseUnsafe(session: SessionRow | undefined, role: DatabaseRole): asserts session is SessionRow {
  if (session?.user !== role)
    throw new UnsafeSessionError(
      `Statements would run as ${session?.user ?? 'nobody'} instead of ${role}, which row-level security is made for.`,
    );
  if (!session.is_secured)
    throw new UnsafeSessionError(
      `Row-level security does not hold for ${role}: may it pass it (BYPASSRLS), or own tables?`,
    );
}
