import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { firstOf } from '#kernel';
import { describeError, isUnavailability, LOGGER, Loop, Notifications } from '#platform';
import { RUNS_CHANNEL } from '../runs/runs.channel.js';
import { type DueVersion, RunsQuery } from '../runs/runs.query.js';
import { WaitingWork } from '../runs/waiting-work.query.js';
import { type WebhookCall, WebhookCalls } from './webhook-calls.service.js';
import { WebhookClient } from './webhook-client.service.js';

const POLL_MS = 500;
/** Calls at once, of one automation. */
const AT_ONCE = 32;
/** What becomes due while answers are waited for is called so soon. */
const LOOK_AGAIN_MS = 250;
/** Another worker has just taken the calls that are due: so long they are left to it. */
const REST_MS = 1_000;

/** Makes the calls of webhook steps, in every worker: apart from all other steps, which no slow answer holds up. */
@Injectable()
export class WebhookCaller {
  readonly #loop: Loop;
  /** By version. They outlast a pass that fails. */
  readonly #calling = new Map<number, Promise<void>>();
  #stopListening: () => void = () => undefined;
  #stopping = false;

  constructor(
    @Inject(WaitingWork) private readonly waiting: WaitingWork,
    @Inject(RunsQuery) private readonly runs: RunsQuery,
    @Inject(WebhookCalls) private readonly calls: WebhookCalls,
    @Inject(WebhookClient) private readonly client: WebhookClient,
    @Inject(Notifications) private readonly notifications: Notifications,
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

  /** Calls that are being made end, within the time that each may take. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopListening();
    await this.#loop.stop();
    await Promise.all(this.#calling.values());
  }

  /** Makes all calls that are due, and those that become due meanwhile: no slow answer keeps other automations waiting. */
  async pass(): Promise<void> {
    const restingUntil = new Map<number, number>();
    for (;;) {
      for (const version of await this.#due()) {
        const { versionId } = version;
        const isResting = performance.now() < (restingUntil.get(versionId) ?? 0);
        if (this.#calling.has(versionId) || isResting) continue;
        const leave = (made: number) => {
          this.#calling.delete(versionId);
          if (made === 0) restingUntil.set(versionId, performance.now() + REST_MS);
        };
        this.#calling.set(versionId, this.#callAll(version).then(leave));
      }
      if (this.#calling.size === 0) return;
      await firstOf(this.#calling.values(), LOOK_AGAIN_MS);
    }
  }

  async #due(): Promise<readonly DueVersion[]> {
    if (this.#stopping || !(await this.waiting.isCalling())) return [];
    return await this.runs.due(true);
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

  /** What fails here, and not there, holds up nobody else. Without the database it is repeated when the lease ends. */
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
    const fields = { error: describeError(error), ...what };
    this.logger.error(fields, 'the webhook of an automation could not be called');
  }
}
