import { firstOf } from '#kernel';
import type { WebhookOutcome } from './webhook-deliveries.query.js';

/** Posts whose answers are waited for, each by itself. */
export class PostsUnderWay {
  readonly #running = new Map<Promise<WebhookOutcome>, Promise<void>>();
  readonly #ofEndpoints = new Map<string, number>();
  readonly #ended: WebhookOutcome[] = [];

  get count(): number {
    return this.#running.size;
  }

  /** No answer is waited for, and none was not asked for yet. */
  get isEmpty(): boolean {
    return this.#running.size === 0 && this.#ended.length === 0;
  }

  /** How many each endpoint has. */
  get ofEndpoints(): ReadonlyMap<string, number> {
    return this.#ofEndpoints;
  }

  /** A post that never rejects. */
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

  /** Those that have ended since they were asked for, once there is one; after `waitMs` none. */
  async ended(waitMs: number): Promise<readonly WebhookOutcome[]> {
    if (this.#ended.length === 0) await firstOf(this.#running.values(), waitMs);
    return this.#ended.splice(0);
  }

  #count(endpointId: string, change: number): void {
    const count = (this.#ofEndpoints.get(endpointId) ?? 0) + change;
    if (count === 0) this.#ofEndpoints.delete(endpointId);
    else this.#ofEndpoints.set(endpointId, count);
  }
}
