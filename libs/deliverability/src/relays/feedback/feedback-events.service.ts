import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type ProjectScope } from '#kernel';
import { Database, publish } from '#platform';
import { inSets } from '../../bounces/in-sets.js';
import type { ReportFacts } from '../../bounces/report-facts.js';
import { ReportsService } from '../../bounces/reports.service.js';
import { ReturnPaths } from '../../bounces/return-path.js';
import type { FeedbackEvent, OnceToken, ReadFeedback } from '../kinds/feedback.js';
import { kindRules } from '../kinds/kinds.js';
import { addressMark } from './address-mark.js';
import { type FeedbackByMessageId, MessagesReported } from './feedback.events.js';
import { FeedbackMetrics, type FeedbackResult } from './feedback-metrics.service.js';
import type { FeedbackRelay } from './feedback-relays.query.js';
import { factsOfFeedback } from './reported-feedback.js';

/** An event whose delivery is known. */
export interface FeedbackOnDelivery {
  readonly deliveryId: string;
  /** Null for a reader who unsubscribed. */
  readonly facts: ReportFacts | null;
}

interface Sorted {
  readonly known: FeedbackOnDelivery[];
  readonly toFind: FeedbackByMessageId[];
}

/** So many are looked for by one job. */
const MESSAGES_AN_EVENT = 500;

/** Takes down what providers tell of mails: the same facts, with the same consequences, as reports to the return path. */
@Injectable()
export class FeedbackEvents {
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
  async take(relay: FeedbackRelay, { events, onceToken }: ReadFeedback, receivedAt: Date): Promise<void> {
    const { scope, kind } = relay;
    const sorted: Sorted = { known: [], toFind: [] };
    for (const event of events) this.metrics.count(kind, this.#sort(scope, event, sorted));
    const { known, toFind } = sorted;
    if (known.length === 0 && toFind.length === 0 && onceToken === undefined) return;
    const { idIsUnique } = kindRules(kind);
    const told = { receivedAt: receivedAt.toISOString(), idIsUnique };
    await this.database.transaction(scope, async () => {
      if (onceToken !== undefined && !(await this.#isFirst(relay, onceToken))) return;
      await this.record(scope, known);
      const sets = inSets(toFind, MESSAGES_AN_EVENT).map((reports) => MessagesReported({ ...told, reports }));
      await publish(this.database, scope, ...sets);
    });
  }

  /** Keeps and tells what was not known before. */
  async record(scope: ProjectScope, feedback: readonly FeedbackOnDelivery[]): Promise<void> {
    const unsubscribed = feedback.filter(({ facts }) => facts === null).map(({ deliveryId }) => deliveryId);
    await this.reports.takeAll(
      scope,
      feedback.flatMap(({ deliveryId, facts }) => (facts === null ? [] : [{ ...facts, deliveryId }])),
    );
    await this.reports.unsubscribeAll(scope, [...new Set(unsubscribed)]);
  }

  async #isFirst({ scope, id }: FeedbackRelay, { value, until }: OnceToken): Promise<boolean> {
    const { numAffectedRows } = await sql`
      insert into deliverability.feedback_tokens (relay_id, token, environment_id, good_until)
      values (${id}, ${value}, ${scope.environmentId}, ${until}) on conflict (relay_id, token, environment_id) do nothing
    `.execute(this.database.tables());
    return numAffectedRows === 1n;
  }

  /** A mail of another project, whose events come to this one from an account that both use, is left alone. */
  #sort({ environmentId }: ProjectScope, event: FeedbackEvent, { known, toFind }: Sorted): FeedbackResult {
    if (event.kind === 'delivered') return 'delivered';
    const claims = event.token === null ? null : this.paths.readToken(event.token);
    if (claims !== null && claims.environmentId !== environmentId) return 'foreign';
    if (claims !== null) {
      known.push({ deliveryId: claims.deliveryId, facts: factsOfFeedback(event) });
      return 'taken';
    }
    const { providerMessageId: messageId, address } = event;
    if (messageId === null) return 'unknown';
    const mark = address === null ? null : addressMark(address);
    toFind.push({ messageId, addressMark: mark, facts: factsOfFeedback(event) });
    return 'by-message-id';
  }
}
