import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Counter, Registry } from 'prom-client';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database, enqueue, jobType } from '#platform';
import { factsOf, type ReportFacts } from '../bounces/report.js';
import { type DeliveryReport, inSets, ReportsService } from '../bounces/reports.service.js';
import { ReturnPaths } from '../bounces/return-path.js';
import type { FeedbackEvent, OnceToken, ReadFeedback } from './kinds/kind.js';
import type { RelayKind } from './kinds/kinds.js';

/** Fate of a mail by a provider's event: it arrived, came back, was called spam; null for a reader who unsubscribed. */
export type FeedbackFacts = ReportFacts | 'delivered' | null;

/** An event that names its mail by the provider's own id alone. */
export interface FeedbackByMessageId {
  readonly messageId: string;
  /** Mark of the address that the event names. */
  readonly addressMark: string | null;
  readonly facts: FeedbackFacts;
}

/** Finds the mails that a provider names by its own ids, and stores its reports on them. */
export const findReportedMessages = jobType<{
  /** ISO 8601. */
  receivedAt: string;
  /** Kind of the relay, which names the provider. */
  kind: RelayKind;
  /** Written instead of the kind by version 0.2.0: true if ids never repeat. */
  idIsUnique?: boolean;
  reports: readonly FeedbackByMessageId[];
}>('bounces.find_messages', 'bounces');

/**
 * Tells apart the few addresses whose mails a relay gave one id, and names nobody: millions have the same. For events, which
 * hold no address.
 */
export function addressMark(address: string): string {
  const parsed = parseEmailAddress(address);
  const key = 'address' in parsed ? parsed.address.key : address.trim().toLowerCase();
  return hash('sha256', key, 'hex').slice(0, 6);
}

/**
 * The facts of a provider's event, as of a report to the return path. It tells nothing of what destinations make of the
 * installation: a project could slow down others with what it posts.
 */
export function factsOfFeedback(event: FeedbackEvent): FeedbackFacts {
  if (event.kind === 'delivered') return 'delivered';
  if (event.kind === 'unsubscribed') return null;
  if (event.kind === 'complaint') return factsOf({ kind: 'complaint', originalMessageId: null }, null);
  const { basicCode, enhancedCode, excerpt, address } = event;
  const refusal = { code: basicCode ?? 0, enhancedCode, text: excerpt ?? '' };
  const report = { kind: 'bounce', class: event.class, refusal, recipient: address } as const;
  return { ...factsOf({ ...report, originalMessageId: null }, null), isDistrust: false };
}

/** Result of an event: `foreign` names a mail of another project, `unknown` none of ours. */
export type FeedbackResult = 'taken' | 'by-message-id' | 'delivered' | 'foreign' | 'unknown';

/** Counts providers' posts by kind of relay. */
@Injectable()
export class FeedbackMetrics {
  readonly #events: Counter<'kind' | 'result'>;
  readonly #refused: Counter<'kind'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#events = new Counter({
      name: 'mailwright_feedback_events_total',
      help: 'Events that providers posted, by kind of relay and what became of them.',
      labelNames: ['kind', 'result'],
      registers,
    });
    this.#refused = new Counter({
      name: 'mailwright_feedback_refused_total',
      help: 'Posts of events whose proof was wrong, by kind of relay.',
      labelNames: ['kind'],
      registers,
    });
  }

  count(kind: RelayKind, result: FeedbackResult): void {
    this.#events.inc({ kind, result });
  }

  refused(kind: RelayKind): void {
    this.#refused.inc({ kind });
  }
}

/** A relay whose provider posts events. */
export interface ReportingRelay {
  readonly scope: ProjectScope;
  readonly id: string;
  readonly kind: RelayKind;
}

/** An event whose delivery is known. */
export interface FeedbackOnDelivery {
  readonly deliveryId: string;
  readonly facts: FeedbackFacts;
}

const reportsIn = (feedback: readonly FeedbackOnDelivery[]): DeliveryReport[] =>
  feedback.flatMap(({ deliveryId, facts }) =>
    facts === null || facts === 'delivered' ? [] : [{ ...facts, deliveryId }],
  );

interface Sorted {
  readonly known: FeedbackOnDelivery[];
  readonly toFind: FeedbackByMessageId[];
}

/** Messages that one job looks for. */
const MESSAGES_A_JOB = 500;

/** Takes down what providers tell of mails: the same facts, with the same consequences, as reports to the return path. */
@Injectable()
export class FeedbackEventsService {
  constructor(
    private readonly database: Database,
    private readonly reports: ReportsService,
    private readonly paths: ReturnPaths,
    private readonly metrics: FeedbackMetrics,
  ) {}

  /**
   * All of a request in one transaction, and nothing of one that is a replay. An event by the provider's id alone waits until its
   * delivery is found.
   */
  async take(relay: ReportingRelay, { events, onceToken }: ReadFeedback, receivedAt: Date): Promise<void> {
    const { scope, kind } = relay;
    const sorted: Sorted = { known: [], toFind: [] };
    const hearsDelivered =
      events.some((event) => event.kind === 'delivered') && (await this.reports.hearsDelivered(scope));
    for (const event of events)
      this.metrics.count(
        kind,
        event.kind === 'delivered' && !hearsDelivered ? 'delivered' : this.#sort(scope, event, sorted),
      );
    const { known, toFind } = sorted;
    if (known.length === 0 && toFind.length === 0 && onceToken === undefined) return;
    const told = reportsIn(known);
    if (onceToken === undefined && told.length === known.length && toFind.length === 0) {
      await this.reports.takeTogether(scope, told);
      return;
    }
    await this.database.transaction(scope, async () => {
      if (onceToken !== undefined && !(await this.#isFirst(relay, onceToken))) return;
      await this.record(scope, known);
      const sets = inSets(toFind, MESSAGES_A_JOB).map((reports) =>
        findReportedMessages({ receivedAt: receivedAt.toISOString(), kind, reports }),
      );
      await enqueue(this.database, scope, ...sets);
    });
  }

  /** Keeps and tells what was not known before. */
  async record(scope: ProjectScope, feedback: readonly FeedbackOnDelivery[]): Promise<void> {
    const idsOf = (wanted: FeedbackFacts) =>
      new Set(feedback.flatMap(({ facts, deliveryId }) => (facts === wanted ? [deliveryId] : [])));
    await this.reports.delivered(scope, [...idsOf('delivered')]);
    await this.reports.takeAll(scope, reportsIn(feedback));
    await this.reports.unsubscribeAll(scope, [...idsOf(null)]);
  }

  async #isFirst({ scope, id }: ReportingRelay, { value, until }: OnceToken): Promise<boolean> {
    const { numAffectedRows } = await sql`
      insert into deliverability.feedback_tokens (relay_id, token, environment_id, good_until)
      values (${id}, ${value}, ${scope.environmentId}, ${until}) on conflict (relay_id, token, environment_id) do nothing
    `.execute(this.database.tables());
    return numAffectedRows === 1n;
  }

  /** A mail of another project, whose events come to this one from an account that both use, is left alone. */
  #sort(scope: ProjectScope, event: FeedbackEvent, { known, toFind }: Sorted): FeedbackResult {
    const claims = event.token === null ? null : this.paths.readToken(event.token);
    if (claims !== null && claims.environmentId !== scope.environmentId) return 'foreign';
    if (claims !== null) {
      known.push({ deliveryId: claims.deliveryId, facts: factsOfFeedback(event) });
      return event.kind === 'delivered' ? 'delivered' : 'taken';
    }
    const { providerMessageId: messageId, address } = event;
    if (messageId === null) return 'unknown';
    const mark = address === null ? null : addressMark(address);
    toFind.push({ messageId, addressMark: mark, facts: factsOfFeedback(event) });
    return 'by-message-id';
  }
}
