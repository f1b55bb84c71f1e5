import type pg from 'pg';

/** Before the statement reaches the server, or when it is done and its answer is on the way. */
export type Moment = 'before' | 'after';

type Query = (...parameters: unknown[]) => Promise<unknown>;

/**
 * Lets what works on a pool die at a statement: from it on no statement comes through, and the connections are cut by
 * the server, so that it undoes what is not committed. To the server that is a process that was killed.
 */
export class DyingWorker {
  /** Promises that resolve when their connection is lost. */
  readonly #ends = new WeakMap<pg.PoolClient, Promise<void>>();
  /** Statements until it dies; null as long as it is to live. */
  #left: number | null = null;
  #moment: Moment = 'before';
  #count = 0;

  constructor(
    pool: pg.Pool,
    private readonly cut: (pid: number) => Promise<unknown>,
  ) {
    pool.on('acquire', (client) => this.#watch(client));
  }

  /** Does the work and dies at its `statement`th statement, beginning with 1; resolves to how many were tried. */
  async dies(
    work: () => Promise<void>,
    { statement, moment }: { readonly statement: number; readonly moment: Moment },
  ): Promise<number> {
    this.#left = statement;
    this.#moment = moment;
    this.#count = 0;
    try {
      await Promise.allSettled([work()]);
    } finally {
      this.#left = null;
    }
    return this.#count;
  }

  #watch(client: pg.PoolClient): void {
    if (this.#ends.has(client)) return;
    this.#ends.set(client, new Promise((resolve) => client.once('end', resolve)));
    const query = client.query.bind(client) as Query;
    Object.assign(client, { query: (...parameters: unknown[]) => this.#run(client, query, parameters) });
  }

  async #run(client: pg.PoolClient, query: Query, parameters: unknown[]): Promise<unknown> {
    if (this.#left === null) return query(...parameters);
    this.#count += 1;
    this.#left -= 1;
    if (this.#left > 0) return query(...parameters);
    const isDone = this.#left === 0 && this.#moment === 'after';
    if (isDone) await query(...parameters);
    await this.cut((client as pg.PoolClient & { readonly processID: number }).processID);
    // Only asked for by then: on a busy machine the pool would give it to somebody who lives.
    await this.#ends.get(client);
    if (isDone) throw new Error('Connection terminated unexpectedly');
    return query(...parameters);
  }
}
