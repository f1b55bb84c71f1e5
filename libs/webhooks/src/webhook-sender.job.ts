import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, withTimeout, nextTry } from '#kernel';
import {
  describeError,
  logFailure,
  LOGGER,
  Loop,
  Notifications,
  OutgoingHttp,
  postOutcome,
  traced,
  type TracedWork,
} from '#platform';
import {
  type DueWebhook,
  WebhookDeliveryRepository,
  type WebhookOutcome,
} from './webhook-delivery.repository.js';
import { beginningOf, WebhookEndpointsService, webhookPost } from './webhook-endpoints.service.js';
import { WEBHOOKS_CHANNEL } from './webhook-publisher.service.js';

const POLL_MS = 2_000;
/** Posts of a process. */
const MAX_POSTS = 64;
/** Posts to one endpoint: a slow one leaves room for others. */
const MAX_POSTS_OF_ENDPOINT = 16;
/** While answers are waited for, webhooks that become due are looked for this often. */
const POLL_WHILE_POSTING_MS = 250;
/** The receiver does not want them any more (Standard Webhooks, "Disabling endpoints"). */
const GONE = 410;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Waits before the second and every later try: 3 days and 3 hours together (Standard Webhooks, "Retry schedule"). */
const WAITS_MS = [
  5_000,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
/** Spreads each wait by ± 10 %, so that not all tries come at once. */
const SPREAD = 0.1;

const KEPT_ANSWER = 200;

/** Outcome of one try; `error` is null when it was accepted. */
type Attempt = Pick<WebhookOutcome, 'status' | 'error'> & { readonly isFinal: boolean };

/** Posts webhooks, signed (Standard Webhooks 1.0), until their receivers accept them: at least once, for three days. */
@Injectable()
export class WebhookSender {
  readonly #loop: Loop;
  #isStopping = false;

  constructor(
    private readonly deliveries: WebhookDeliveryRepository,
    private readonly endpoints: WebhookEndpointsService,
    private readonly http: OutgoingHttp,
    notifications: Notifications,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.pass(),
      (error) => logFailure(logger, error, 'sending webhooks failed'),
      [(wake) => notifications.listen(WEBHOOKS_CHANNEL, wake)],
    );
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop.stop();
  }

  /** Posts all that is due, and what becomes due meanwhile: no slow answer delays others. */
  async pass(): Promise<void> {
    const posts = new PostsInFlight();
    for (;;) {
      for (const webhook of await this.#claim(posts)) posts.add(webhook.endpointId, this.#post(webhook));
      if (posts.isEmpty) return;
      await this.#settle(await posts.ended(POLL_WHILE_POSTING_MS));
    }
  }

  async #claim(posts: PostsInFlight): Promise<readonly DueWebhook[]> {
    const limit = MAX_POSTS - posts.count;
    if (this.#isStopping || limit === 0) return [];
    return await this.deliveries.claim({ limit, limitOfOne: MAX_POSTS_OF_ENDPOINT, busy: posts.ofEndpoints });
  }

  async #settle(outcomes: readonly WebhookOutcome[]): Promise<void> {
    await this.deliveries.settle(outcomes);
    for (const { status, delivery } of outcomes) {
      if (status === GONE)
        await this.endpoints.disable(delivery, delivery.endpointId, 'It answered 410 Gone.');
    }
  }

  /** Makes one try. Never rejects: a fault with one webhook delays no other. */
  async #post(webhook: DueWebhook): Promise<WebhookOutcome> {
    const at = this.clock.now();
    const startedAt = performance.now();
    const { status, error, isFinal } = await traced(posting(webhook), async (span) => {
      const attempt = await this.#attempt(webhook, at);
      span?.set({ 'http.response.status_code': attempt.status });
      if (attempt.error !== null) span?.fail(attempt.status === null ? 'no-answer' : String(attempt.status));
      return attempt;
    });
    const durationMs = performance.now() - startedAt;
    const isLast = error === null || isFinal;
    const nextAttemptAt = isLast ? null : nextTry(WAITS_MS, webhook.attempt, at, SPREAD);
    return { delivery: webhook, at, durationMs, status, error, nextAttemptAt };
  }

  async #attempt(webhook: DueWebhook, at: Date): Promise<Attempt> {
    try {
      return await this.#request(webhook, at);
    } catch (error) {
      const reason = describeError(error);
      this.logger.error({ error: reason, endpoint: webhook.endpointId }, 'a webhook could not be posted');
      return { status: null, error: reason, isFinal: false };
    }
  }

  async #request(webhook: DueWebhook, at: Date): Promise<Attempt> {
    const { eventId: id, type, occurredAt, sequence, data } = webhook;
    const to = { url: webhook.url, secrets: this.endpoints.secretsOf(webhook), at };
    const request = webhookPost(to, { id, type, occurredAt, sequence, data: data ?? {} });
    const { verdict, answer, fault } = await postOutcome(this.http.request(request));
    // Never final: an endpoint's name may lead elsewhere tomorrow.
    if (answer === null) return { status: null, error: fault?.message ?? null, isFinal: false };
    const error =
      verdict === 'taken' ? null : `HTTP ${answer.status}: ${beginningOf(answer.body, KEPT_ANSWER)}`.trim();
    return { status: answer.status, error, isFinal: verdict === 'final' };
  }
}

const posting = (webhook: DueWebhook): TracedWork => ({
  name: 'webhook',
  kind: 'client',
  parent: webhook.traceparent,
  attributes: {
    'mailwright.endpoint_id': webhook.endpointId,
    'mailwright.event_id': webhook.eventId,
    'mailwright.event_type': webhook.type,
    'mailwright.attempt': webhook.attempt,
    'mailwright.environment_id': webhook.environmentId,
  },
});

/** Posts whose answers are waited for, and outcomes that were not taken yet. */
class PostsInFlight {
  readonly #running = new Map<Promise<WebhookOutcome>, Promise<void>>();
  readonly #ofEndpoints = new Map<string, number>();
  readonly #ended: WebhookOutcome[] = [];

  get count(): number {
    return this.#running.size;
  }

  get isEmpty(): boolean {
    return this.#running.size === 0 && this.#ended.length === 0;
  }

  /** Count by endpoint. */
  get ofEndpoints(): ReadonlyMap<string, number> {
    return this.#ofEndpoints;
  }

  /** Adds a post that never rejects. */
  add(endpointId: string, post: Promise<WebhookOutcome>): void {
    this.#count(endpointId, 1);
    this.#running.set(post, this.#follow(endpointId, post));
  }

  async #follow(endpointId: string, post: Promise<WebhookOutcome>): Promise<void> {
    const outcome = await post;
    this.#running.delete(post);
    this.#count(endpointId, -1);
    this.#ended.push(outcome);
  }

  /** Takes the outcomes so far, once there is one; none after `waitMs`. */
  async ended(waitMs: number): Promise<readonly WebhookOutcome[]> {
    if (this.#ended.length === 0)
      await withTimeout(Promise.race(this.#running.values()), waitMs, () => undefined);
    return this.#ended.splice(0);
  }

  #count(endpointId: string, change: number): void {
    const count = (this.#ofEndpoints.get(endpointId) ?? 0) + change;
    if (count === 0) this.#ofEndpoints.delete(endpointId);
    else this.#ofEndpoints.set(endpointId, count);
  }
}
