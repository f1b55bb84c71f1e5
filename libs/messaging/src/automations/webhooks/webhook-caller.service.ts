import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { firstOf } from '#kernel';
import { describeError, isUnavailability, logFailure, LOGGER, Loop, Notifications } from '#platform';
import { RUNS_CHANNEL } from '../runs/runs.channel.js';
import { type DueVersion, WaitingWork } from '../runs/waiting-work.query.js';
import { type WebhookCall, WebhookCalls } from './webhook-calls.service.js';
import { WebhookClient } from './webhook-client.service.js';

const POLL_MS = 500;
/** Calls at once, of one automation. */
const AT_ONCE = 32;
/** While calls are under way, it looks this often for others that became due. */
const LOOK_AGAIN_MS = 250;
/** When another worker has just leased the calls that are due, it does not look for more of them this long. */
const PAUSE_MS = 1_000;

/** Calls webhooks, in every worker: apart from all other steps, so that no slow answer holds those up. */
@Injectable()
export class WebhookCaller {
  readonly #loop: Loop;
  /** By version. They outlast a pass that fails. */
  readonly #calling = new Map<number, Promise<void>>();
  #stopListening: () => void = () => undefined;
  #stopping = false;

  constructor(
    private readonly waiting: WaitingWork,
    private readonly calls: WebhookCalls,
    private readonly client: WebhookClient,
    private readonly notifications: Notifications,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.pass(),
      (error) => this.#complain(error),
    );
  }

  start(): void {
    this.#stopListening = this.notifications.listen(RUNS_CHANNEL, () => this.#loop.wake());
    this.#loop.start();
  }

  /** Waits for the calls that are under way, at most as long as a call may take. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopListening();
    await this.#loop.stop();
    await Promise.all(this.#calling.values());
  }

  /** Makes all calls that are due, and those that become due meanwhile: no slow answer holds up other automations. */
  async pass(): Promise<void> {
    const pausedUntil = new Map<number, number>();
    for (;;) {
      for (const version of await this.#due()) {
        const { versionId } = version;
        const isPaused = performance.now() < (pausedUntil.get(versionId) ?? 0);
        if (this.#calling.has(versionId) || isPaused) continue;
        const leave = (made: number) => {
          this.#calling.delete(versionId);
          if (made === 0) pausedUntil.set(versionId, performance.now() + PAUSE_MS);
        };
        this.#calling.set(versionId, this.#callAll(version).then(leave));
      }
      if (this.#calling.size === 0) return;
      await firstOf(this.#calling.values(), LOOK_AGAIN_MS);
    }
  }

  async #due(): Promise<readonly DueVersion[]> {
    if (this.#stopping || !(await this.waiting.isCalling())) return [];
    return await this.waiting.versions(true);
  }

  async #callAll({ scope, versionId }: DueVersion): Promise<number> {
    try {
      const calls = await this.calls.claim(scope, versionId, AT_ONCE);
      await Promise.all(calls.map((call) => this.#call(call)));
      return calls.length;
    } catch (error) {
      this.#complain(error);
      return 0;
    }
  }

  /** A fault of ours holds up no other call. When the database is unavailable, the call is repeated after the lease ends. */
  async #call(call: WebhookCall): Promise<void> {
    try {
      await this.calls.settle(call, await this.client.call(call));
    } catch (error) {
      this.#complain(error, { run: call.id, failures: call.attempts });
      if (!isUnavailability(error)) await this.#setAside(call, describeError(error));
    }
  }

  async #setAside(call: WebhookCall, reason: string): Promise<void> {
    try {
      await this.calls.setAside(call, reason);
    } catch (error) {
      this.#complain(error, { run: call.id });
    }
  }

  #complain(error: unknown, what: { readonly run?: string; readonly failures?: number } = {}): void {
    logFailure(this.logger, error, 'the webhook of an automation could not be called', what);
  }
}
