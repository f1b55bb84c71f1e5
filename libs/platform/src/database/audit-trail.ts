import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type ChangeSet,
  type EntityMetadata,
  type EventSubscriber,
  type FlushEventArgs,
  type Platform,
  ReferenceKind,
} from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { newId, networkOf } from '#kernel';
import { named } from './statement.js';
import { redact } from '../logger.js';

/** Outcome of a request that changes something, or would have. */
export const AUDIT_OUTCOMES = ['SUCCEEDED', 'REFUSED', 'FAILED', 'REPLAYED'] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

export const AUDIT_ACTORS = ['KEY', 'OPERATOR', 'SYSTEM'] as const;

/** Settings by the names of their properties. */
export type AuditedSettings = Readonly<Record<string, unknown>>;

/** The request or command that an entry tells of. */
export interface AuditedCall {
  readonly environmentId: number;
  readonly actor: {
    readonly type: (typeof AUDIT_ACTORS)[number];
    readonly keyId: string | null;
    /** IP address of the caller, of which the network alone is kept. */
    readonly address: string | null;
  };
  readonly requestId: string | null;
  /** `createTopic` of the API, `key:create` of the command line. */
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string | null;
  /** Reads the id of what was made from the result of the transaction that made it. */
  targetIdOf?(this: void, made: unknown): string | null;
  /** Length of the list of a bulk request. */
  readonly items: number | null;
}

interface Change {
  before: AuditedSettings | null;
  after: AuditedSettings | null;
}

/** Types of targets that have the id of a person. */
const OF_PEOPLE: ReadonlySet<string> = new Set(['subscriber', 'suppression']);

/** Ids and keys as we make them: what else a caller names may be an address, or anything. */
const ID = /^[\w-]{1,64}$/;

/** The text where it is an id or a key. */
export const auditedId = (text: unknown): string | null =>
  typeof text === 'number' || (typeof text === 'string' && ID.test(text)) ? String(text) : null;

/**
 * The audit log's entry of the call that runs at the moment. It is written by the first transaction of the call that writes, in
 * the message of its COMMIT, so that none is there without the other; and apart where the call was refused or changed nothing.
 */
export class AuditTrail {
  static readonly #current = new AsyncLocalStorage<AuditTrail | undefined>();

  readonly environmentId: number;
  #targetId: string | null;
  #madeId: string | null = null;
  #change: Change | null = null;
  #isWritten = false;
  #isClosed = false;

  constructor(private readonly call: AuditedCall) {
    this.environmentId = call.environmentId;
    this.#targetId = null;
  }

  /** The trail of the running call, if it is audited. */
  static get current(): AuditTrail | undefined {
    return this.#current.getStore();
  }

  /** Runs `work` of the operator's call in an environment, whose log tells of it, too, if it changes something. */
  static inEnvironment<T>(environmentId: number, work: () => Promise<T>): Promise<T> {
    const call = this.current?.call;
    if (call === undefined) return work();
    const actor = { type: 'OPERATOR', keyId: null, address: null } as const;
    return new AuditTrail({ ...call, environmentId, actor }).run(work);
  }

  /** Runs `work` on its own: what it writes is only being prepared, and leaves no entry. */
  static apart<T>(work: () => T): T {
    return this.#current.run(undefined, work);
  }

  /** Runs `work`, and what it begins, under this trail. */
  run<T>(work: () => T): T {
    return AuditTrail.#current.run(this, work);
  }

  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Still to be written by a transaction. */
  get isWanted(): boolean {
    return !this.#isWritten && !this.#isClosed;
  }

  /** Names the person whom a call is about by their id, where the path may name them by an address. */
  concerns(subscriberId: string | null): void {
    if (OF_PEOPLE.has(this.call.targetType)) this.#targetId ??= subscriberId;
  }

  /** Names what the running transaction makes, where its result does not. */
  made(id: string): void {
    this.#madeId = id;
  }

  /** Notes settings before and after; those of several writes of one call are joined. */
  changes(before: AuditedSettings | null, after: AuditedSettings | null): void {
    const earlier = this.#change;
    this.#change = {
      before: before === null ? (earlier?.before ?? null) : { ...before, ...earlier?.before },
      after: after === null ? null : { ...earlier?.after, ...after },
    };
  }

  /** Forgets what a transaction made or changed that was rolled back. */
  forgetChanges(): void {
    if (!this.isWanted) return;
    this.#change = null;
    this.#madeId = null;
  }

  /** Statement that writes the entry of a change, with the result of its transaction. */
  ofChange(result: unknown): RawBuilder<unknown> {
    return this.#entry('SUCCEEDED', null, result);
  }

  /** Statement that writes an entry apart; a change that was not committed is none. */
  ofOutcome(outcome: AuditOutcome, problem: string | null): RawBuilder<unknown> {
    return this.#entry(outcome, problem, undefined);
  }

  /** The entry is committed. */
  written(): void {
    this.#isWritten = true;
  }

  /** The call has ended, or is going to be refused: no transaction of it writes an entry any more. */
  close(): void {
    this.#isClosed = true;
  }

  #entry(outcome: AuditOutcome, problem: string | null, result: unknown): RawBuilder<unknown> {
    const { environmentId, actor, requestId, action, targetType, targetId, targetIdOf, items } = this.call;
    const { before, after } =
      outcome === 'SUCCEEDED' && this.#change !== null ? this.#change : { before: null, after: null };
    const entry = {
      actor: actor.type,
      keyId: actor.keyId,
      network: actor.address === null ? null : networkOf(actor.address),
      requestId,
      action,
      targetType,
      targetId: this.#targetId ?? this.#madeId ?? auditedId(targetIdOf?.(result)) ?? targetId,
      items,
      outcome,
      problem,
      before,
      after,
    };
    return sql`${named('record_audit_entry')}
      insert into platform.audit_inbox (environment_id, occurred_at, id, entry)
      values (${environmentId}, platform.now(), ${newId()}, ${JSON.stringify(entry)})`;
  }
}

/** Tables of settings, whose changes are kept with their values. */
const SETTINGS: ReadonlySet<string> = new Set([
  'access.api_keys',
  'access.projects',
  'access.tenants',
  'audience.custom_fields',
  'audience.topics',
  'billing.subscriptions',
  'deliverability.relays',
  'deliverability.sending_domains',
  'messaging.templates',
  'webhooks.endpoints',
]);

/** Marks of rows that are no settings: ids, times, and how work goes. */
const NO_SETTING =
  /^(?:id|(?:environment|project|tenant|content|planVersion|pendingPlanVersion)Id|(?:created|updated|anchored|checksStarted|nextCheck|lastChecked|lastUsed|lastFeedback|retry)At|announced\w+|failures|revision|lastVersion|prefix|lastFour)$/;
/** Secrets, content of mails, and people. */
const HIDDEN = /^draft$|box$|secret$|hash$|token$|password$|^feedbackId$|^buyer/i;
const MAX_CHARACTERS = 1_000;
const CHANGED = 'changed';

/** Tells the running call's trail of settings that the unit of work writes. */
export class SettingsAudit implements EventSubscriber {
  onFlush({ em, uow }: FlushEventArgs): void {
    const trail = AuditTrail.current;
    if (trail?.isWanted !== true) return;
    for (const set of uow.getChangeSets()) {
      if (!SETTINGS.has(`${set.meta.schema}.${set.meta.tableName}`)) continue;
      const { before, after } = changeOf(set, em.getPlatform());
      trail.changes(before, after);
    }
  }
}

function changeOf(
  { meta, type, payload, originalEntity, entity }: ChangeSet<object>,
  platform: Platform,
): Change {
  const values = (names: readonly string[], from: unknown) =>
    auditedSettings(valuesOf(meta, platform, names, from as AuditedSettings));
  if (type.startsWith('delete')) return { before: values(Object.keys(meta.properties), entity), after: null };
  const names = Object.keys(payload);
  const before = type.startsWith('create') ? null : values(names, originalEntity ?? {});
  return { before, after: values(names, payload) };
}

/** Values of columns as the program has them, not as PostgreSQL is sent them. */
function valuesOf(
  { properties }: EntityMetadata,
  platform: Platform,
  names: readonly string[],
  from: AuditedSettings,
): AuditedSettings {
  const columns = names.filter(
    (name) => properties[name]?.kind === ReferenceKind.SCALAR && properties[name].persist !== false,
  );
  const entries = columns.map((name) => {
    const value = from[name] ?? null;
    const type = properties[name]?.customType;
    return [name, value === null ? null : (type?.convertToJSValue(value, platform) ?? value)] as const;
  });
  return Object.fromEntries(entries);
}

/** Settings without secrets, addresses, content and long texts, of which is said only that they changed. */
export function auditedSettings(settings: AuditedSettings): AuditedSettings {
  const kept = Object.entries(settings).filter(([name]) => !NO_SETTING.test(name));
  return Object.fromEntries(
    kept.map(([name, value]) =>
      HIDDEN.test(name)
        ? [name.replace(/(?:Box|Hash)$/, ''), value === null ? null : CHANGED]
        : [name, shown(value)],
    ),
  );
}

function shown(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return text.length > MAX_CHARACTERS || redact(text) !== text ? CHANGED : (JSON.parse(text) as unknown);
}
