import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { logFailure, LOGGER, Loop, Notifications } from '#platform';
import { WebhookEndpoints } from '../endpoints/webhook-endpoints.service.js';
import { WEBHOOKS_CHANNEL } from '../events/webhook-publisher.service.js';
import { PostsUnderWay } from './posts-under-way.js';
import { WebhookClient } from './webhook-client.service.js';
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

/** Posts webhooks until their receivers have taken them: at least once, for three days. */
@Injectable()
export class WebhookSender {
  readonly #loop: Loop;
  #stopListening: () => void = () => undefined;
  #isStopping = false;

  constructor(
    private readonly deliveries: WebhookDeliveriesQuery,
    private readonly endpoints: WebhookEndpoints,
    private readonly client: WebhookClient,
    private readonly notifications: Notifications,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#loop = new Loop(
      LOOK_EVERY_MS,
      () => this.pass(),
      (error) => logFailure(logger, error, 'sending webhooks failed'),
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
      for (const webhook of await this.#claim(posts))
        posts.add(webhook.endpointId, this.client.post(webhook));
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
}
