import { Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import {
  type FeedbackFormat,
  type FeedbackRequest,
  type ReadFeedback,
  UnreadableFeedbackError,
} from '../kinds/feedback.js';
import { kindRules } from '../kinds/kinds.js';
import { FeedbackDocuments } from './feedback-documents.service.js';
import { FeedbackEvents } from './feedback-events.service.js';
import { FeedbackMetrics } from './feedback-metrics.service.js';
import { FeedbackRelays } from './feedback-relays.query.js';

/** What a provider posted to a feedback address. */
export interface PostedFeedback {
  /** The kind, as the address has it. */
  readonly path: string;
  readonly token: string;
  readonly request: Omit<FeedbackRequest, 'receivedAt'>;
}

/** Why nothing was taken: no such address, no proof, or not what the provider sends. */
export type FeedbackRefusal = 'no-address' | 'no-proof' | 'unreadable';

/** Takes what providers post about the mail of a project's relays. */
@Injectable()
export class RelayFeedback {
  constructor(
    private readonly relays: FeedbackRelays,
    private readonly documents: FeedbackDocuments,
    private readonly events: FeedbackEvents,
    private readonly metrics: FeedbackMetrics,
    private readonly clock: Clock,
  ) {}

  /** Resolves once all of it is written down, and to why when nothing is. Throws `UnavailableError`. */
  async receive({ path, token, request }: PostedFeedback): Promise<'taken' | FeedbackRefusal> {
    const relay = await this.relays.find(path, token);
    const format = relay && kindRules(relay.kind).feedback;
    if (relay === null || format === null) return 'no-address';
    const received = { ...request, receivedAt: this.clock.now() };
    const proof = { key: relay.feedbackKey, fetchText: (url: string) => this.documents.text(url) };
    if (!(await format.isGenuine(received, proof))) {
      this.metrics.refused(relay.kind);
      return 'no-proof';
    }
    const read = readBy(format, received);
    if (read === null) return 'unreadable';
    if (read.confirmUrl !== undefined) await this.documents.get(read.confirmUrl);
    await this.events.take(relay, read, received.receivedAt);
    await this.relays.heard(relay, received.receivedAt);
    return 'taken';
  }
}

function readBy(format: FeedbackFormat, request: FeedbackRequest): ReadFeedback | null {
  try {
    return format.read(request);
  } catch (error) {
    if (error instanceof UnreadableFeedbackError) return null;
    throw error;
  }
}
