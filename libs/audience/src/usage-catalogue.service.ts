import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { InUseError, type ProjectScope, type ResourceUser, type UserKind } from '#kernel';
import { Database } from '#platform';

/**
 * Users that keep a thing from being taken away, and the state in which they do. A thing that a draft names may go: `schedule`,
 * `send` and `activate` then refuse it. Automations also count while PAUSED with people inside, whom they take on later.
 */
const USES = {
  topic: {
    campaign: 'its topics, while scheduled or under way',
    automation: 'its trigger, mails, steps and rules, while active',
    segment: 'its rules, while one of the other two uses it',
  },
  segment: {
    campaign: 'its segments, while scheduled or under way',
    automation: 'its trigger, steps and rules, while active',
    segment: 'its rules, always',
  },
  'custom field': {
    campaign: 'merge tags, in any language, while scheduled or under way',
    automation:
      'merge tags of its mails, webhooks and updates of fields, fields that it updates, and its rules, while active',
    segment: 'its rules, always',
    template: 'merge tags of what is in use of it, in any language, while published',
  },
  'default of a custom field': {
    campaign: 'merge tags, in any language, while scheduled or under way',
    automation: 'merge tags of its mails, webhooks and updates of fields, while active',
    template: 'merge tags of what is in use of it, in any language, while published',
  },
  option: {
    automation: 'its rules, and values that it sets fields to, while active',
    segment: 'its rules, always',
  },
  template: {
    automation: 'its mails, while active',
    campaign: 'its content, until it has ended, also as a draft',
    template: 'its layout and partials, while published',
    topic: 'the mail that asks for its confirmations, until it is deleted',
  },
  'sending domain': {
    campaign: 'scheduled or under way',
    automation: 'with a mail, while active',
  },
} as const satisfies Record<string, Partial<Record<UserKind, string>>>;

/** Things of one kind that are to be taken away. */
export type UsedThings =
  | { readonly kind: 'topic' | 'segment'; readonly ids: readonly string[] }
  | { readonly kind: 'custom field'; readonly key: string }
  | { readonly kind: 'default of a custom field'; readonly key: string }
  | { readonly kind: 'option'; readonly key: string; readonly values: readonly string[] }
  | { readonly kind: 'template'; readonly id: string; readonly templateKey: string }
  /** The project's. */
  | { readonly kind: 'sending domain' };

export interface Use extends ResourceUser {
  /** The id, key or option that the user names; empty for the sending domain. */
  readonly of: string;
}

/** Finds the users of one kind, in the states of `USES`; joins the caller's transaction. */
export interface UserSource {
  readonly users: UserKind;
  usesOf(scope: ProjectScope, things: UsedThings): Promise<readonly Use[]>;
}

/** Finds the users of a thing before it is taken away. Contexts register at start, since the audience knows no other context. */
@Injectable()
export class UsageCatalogueService {
  readonly #sources: UserSource[] = [];

  constructor(private readonly database: Database) {}

  register(source: UserSource): void {
    this.#sources.push(source);
  }

  /**
   * Lets nothing that others name be taken away until the transaction ends. A new user takes it before any topic or segment is
   * locked; it names, checks and commits as if alone.
   */
  async hold(scope: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock_shared(${lockOf(scope)})`.execute(this.database.tables());
  }

  /** Lets nobody begin to use anything until the transaction ends. Before the thing itself is locked: see `hold`. */
  async close(scope: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock(${lockOf(scope)})`.execute(this.database.tables());
  }

  /** Throws InUseError. `what` begins its sentence: “The topic”. After `close`. */
  async refuseIfUsed(scope: ProjectScope, what: string, things: UsedThings): Promise<void> {
    refuse(what, await this.#usesOf(scope, things));
  }

  /** The same for a thing that is turned off: rules of segments go on working. */
  async refuseIfNeededActive(scope: ProjectScope, what: string, things: UsedThings): Promise<void> {
    refuse(what, ofSends(await this.#usesOf(scope, things)));
  }

  /** The used ones of these segments. */
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
