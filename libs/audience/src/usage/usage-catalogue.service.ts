import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { InUseError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { type Use, type UsedThings, type UserSource, USES } from './uses.js';

/**
 * Asks everybody who may use a thing before it is taken away. Contexts register at start, since the audience knows no other
 * context.
 */
@Injectable()
export class UsageCatalogue {
  readonly #sources: UserSource[] = [];

  constructor(private readonly database: Database) {}

  register(source: UserSource): void {
    this.#sources.push(source);
  }

  /**
   * Until the transaction ends, nothing that others name is taken away. For whoever begins to use: it names, checks and
   * commits as if alone, and then it counts as a user. Before any topic or segment is locked.
   */
  async hold(scope: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock_shared(${lockOf(scope)})`.execute(this.database.tables());
  }

  /** Until the transaction ends, nobody begins to use anything. Before the thing itself is locked: see `hold`. */
  async close(scope: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock(${lockOf(scope)})`.execute(this.database.tables());
  }

  /** Throws InUseError. `what` begins its sentence: “The topic”. After `close`. */
  async refuseIfUsed(scope: ProjectScope, what: string, things: UsedThings): Promise<void> {
    refuse(what, await this.#usesOf(scope, things));
  }

  /** The same for what is turned off: rules of segments go on working. */
  async refuseIfNeededActive(scope: ProjectScope, what: string, things: UsedThings): Promise<void> {
    refuse(what, ofSends(await this.#usesOf(scope, things)));
  }

  /** Of these segments, those that are used. */
  async segmentsInUse(scope: ProjectScope, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    return new Set((await this.#usesOf(scope, { kind: 'segment', ids })).map((use) => use.of));
  }

  /** The campaigns and automations that use one of these segments. */
  async sendsBy(scope: ProjectScope, segmentIds: readonly string[]): Promise<readonly Use[]> {
    return ofSends(await this.#usesOf(scope, { kind: 'segment', ids: segmentIds }));
  }

  async #usesOf(scope: ProjectScope, things: UsedThings): Promise<readonly Use[]> {
    const uses: Use[] = [];
    for (const source of this.#sources)
      if (source.users in USES[things.kind]) uses.push(...(await source.usesOf(scope, things)));
    return uses;
  }
}

const ofSends = (uses: readonly Use[]): readonly Use[] => uses.filter(({ kind }) => kind !== 'segment');

function refuse(what: string, uses: readonly Use[]): void {
  const users = new Map(uses.map((use) => [`${use.kind} ${use.key}`, use]));
  if (users.size > 0) throw new InUseError(what, [...users.values()]);
}

const lockOf = ({ environmentId }: ProjectScope) =>
  sql<number>`hashtextextended(${`uses:${environmentId}`}, 0)`;
