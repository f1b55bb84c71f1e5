import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import { describeError, LOGGER, OutgoingHttp, postOutcome, webhookHeaders } from '#platform';
import { WebhookEndpoints } from '../endpoints/webhook-endpoints.service.js';
import { nextAttemptAt } from './retry-schedule.js';
import type { DueWebhook, WebhookOutcome } from './webhook-deliveries.query.js';

const SHOWN_ANSWER = 200;

/** How one try went. */
interface Attempt {
  readonly status: number | null;
  /** Null: it was taken. */
  readonly error: string | null;
  readonly isFinal: boolean;
}

/** Posts webhooks, signed (Standard Webhooks 1.0). */
@Injectable()
export class WebhookClient {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly http: OutgoingHttp,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** One try. What fails with one webhook holds up no other one: it never rejects. */
  async post(webhook: DueWebhook): Promise<WebhookOutcome> {
    const at = this.clock.now();
    const startedAt = performance.now();
    const { status, error, isFinal } = await this.#tryToPost(webhook, at);
    const next = error === null || isFinal ? null : nextAttemptAt(webhook.attempt, at);
    return {
      delivery: webhook,
      at,
      durationMs: performance.now() - startedAt,
      status,
      error,
      nextAttemptAt: next,
    };
  }

  async #tryToPost(webhook: DueWebhook, at: Date): Promise<Attempt> {
    try {
      return await this.#attempt(webhook, at);
    } catch (error) {
      const reason = describeError(error);
      this.logger.error({ error: reason, endpoint: webhook.endpointId }, 'a webhook could not be posted');
      return { status: null, error: reason, isFinal: false };
    }
  }

  async #attempt(webhook: DueWebhook, at: Date): Promise<Attempt> {
    const body = JSON.stringify({
      type: webhook.type,
      timestamp: webhook.occurredAt.toISOString(),
      data: webhook.data ?? {},
    });
    const secrets = this.endpoints.secretsOf(webhook);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Mailwright-Webhooks/1',
      ...webhookHeaders(secrets, { id: webhook.eventId, at, body }),
    };
    const request = { method: 'POST', url: webhook.url, headers, body } as const;
    const { verdict, answer, fault } = await postOutcome(this.http.request(request));
    // An endpoint's name may lead elsewhere tomorrow.
    if (answer === null) return { status: null, error: fault?.message ?? null, isFinal: false };
    const error = verdict === 'taken' ? null : `HTTP ${answer.status}: ${shown(answer.body)}`.trim();
    return { status: answer.status, error, isFinal: verdict === 'final' };
  }
}

/** The beginning of an answer, as text that PostgreSQL can keep. */
function shown(body: string): string {
  return body.slice(0, SHOWN_ANSWER).replaceAll('\u0000', '').toWellFormed();
}
