import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import {
  describeError,
  LOGGER,
  Loop,
  Notifications,
  OutgoingHttp,
  postOutcome,
  webhookHeaders,
} from '#platform';
import { WebhookEndpoints } from '../endpoints/webhook-endpoints.service.js';
import { WEBHOOKS_CHANNEL } from '../events/webhook-publisher.service.js';
import { PostsUnderWay } from './posts-under-way.js';
import { nextAttemptAt } from './retry-schedule.js';
import { type DueWebhook, WebhookDeliveriesQuery, type WebhookOutcome } from './webhook-deliveries.query.js';

const LOOK_EVERY_MS = 2_000;
/** Posts of a process. */
const AT_ONCE = 64;
/** One that answers slowly, or not at all, leaves room for others. */
const AT_ONCE_OF_ONE = 16;
/** What becomes due while answers are waited for is posted so soon. */
const LOOK_AGAIN_MS = 250;
/** The receiver does not want them any more (Standard Webhooks, "Disabling endpoints"). */
const GONE = 410;
const SHOWN_ANSWER = 200;

/** How one try went. */
interface Attempt {
  readonly status: number | null;
  /** Null: it was taken. */
  readonly error: string | null;
  readonly isFinal: boolean;
}

/** Posts webhooks until their receivers have taken them: at least once, for three days. */
@Injectable()
export class WebhookSender {
  readonly #loop: Loop;
  #stopListening: () => void = () => undefined;
  #isStopping = false;

  constructor(
    @Inject(WebhookDeliveriesQuery) private readonly deliveries: WebhookDeliveriesQuery,
    @Inject(WebhookEndpoints) private readonly endpoints: WebhookEndpoints,
    @Inject(OutgoingHttp) private readonly http: OutgoingHttp,
    @Inject(Notifications) private readonly notifications: Notifications,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      LOOK_EVERY_MS,
      () => this.pass(),
      (error) => logger.error({ error: describeError(error) }, 'sending webhooks failed'),
    );
  }

  start(): void {
    this.#stopListening = this.notifications.listen(WEBHOOKS_CHANNEL, () => this.#loop.wake());
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopListening();
    await this.#loop.stop();
  }

  /** Posts all that is due now, and what becomes due meanwhile: no slow answer keeps others waiting. */
  async pass(): Promise<void> {
    const posts = new PostsUnderWay();
    for (;;) {
      for (const webhook of await this.#claim(posts)) posts.add(webhook.endpointId, this.#post(webhook));
      if (posts.isEmpty) return;
      await this.#settle(await posts.ended(LOOK_AGAIN_MS));
    }
  }

  async #claim(posts: PostsUnderWay): Promise<readonly DueWebhook[]> {
    const limit = AT_ONCE - posts.count;
    if (this.#isStopping || limit === 0) return [];
    return await this.deliveries.claim({ limit, limitOfOne: AT_ONCE_OF_ONE, busy: posts.ofEndpoints });
  }

  async #settle(outcomes: readonly WebhookOutcome[]): Promise<void> {
    await this.deliveries.settle(outcomes);
    for (const { status, delivery } of outcomes) {
      if (status === GONE)
        await this.endpoints.disable(delivery, delivery.endpointId, 'It answered 410 Gone.');
    }
  }

  async #post(webhook: DueWebhook): Promise<WebhookOutcome> {
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

  /** What fails with one webhook holds up no other one. */
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
