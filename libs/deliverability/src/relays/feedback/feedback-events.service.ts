import { Inject, Injectable } from '@nestjs/common';
import { type ProjectScope } from '#kernel';
import { Database, publish } from '#platform';
import type { ReportFacts } from '../../bounces/report-facts.js';
import { ReportsService } from '../../bounces/reports.service.js';
import { ReturnPaths } from '../../bounces/return-path.js';
import type { FeedbackEvent } from '../kinds/feedback.js';
import type { RelayKind } from '../relay-terms.js';
import { addressMark } from './address-mark.js';
import { type FeedbackByMessageId, MessagesReported } from './feedback.events.js';
import { FeedbackMetrics, type FeedbackResult } from './feedback-metrics.js';
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
    @Inject(Database) private readonly database: Database,
    @Inject(ReportsService) private readonly reports: ReportsService,
    @Inject(ReturnPaths) private readonly paths: ReturnPaths,
    @Inject(FeedbackMetrics) private readonly metrics: FeedbackMetrics,
  ) {}

  /** All of a request in one transaction. An event by the provider's id alone waits until its delivery is found. */
  async take(
    { scope, kind }: FeedbackRelay,
    events: readonly FeedbackEvent[],
    receivedAt: Date,
  ): Promise<void> {
    const sorted: Sorted = { known: [], toFind: [] };
    for (const event of events) this.metrics.count(kind, this.#sort(scope, event, sorted));
    const { known, toFind } = sorted;
    if (known.length === 0 && toFind.length === 0) return;
    await this.database.transaction(scope, async () => {
      await this.record(scope, known);
      const chunks = Array.from({ length: Math.ceil(toFind.length / MESSAGES_AN_EVENT) }, (_, n) =>
        toFind.slice(n * MESSAGES_AN_EVENT, (n + 1) * MESSAGES_AN_EVENT),
      );
      const told = { receivedAt: receivedAt.toISOString(), hasUniqueIds: hasUniqueIds(kind) };
      await publish(this.database, scope, ...chunks.map((reports) => MessagesReported({ ...told, reports })));
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

/** Queue ids of mail servers come again. */
const hasUniqueIds = (kind: RelayKind) => kind !== 'SMTP';
