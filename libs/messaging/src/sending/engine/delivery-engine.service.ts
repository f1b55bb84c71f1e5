import { Injectable } from '@nestjs/common';
import { withTimeout } from '#kernel';
import { Notifications } from '#platform';
import { DELIVERIES_CHANNEL } from '../../deliveries/deliveries.channel.js';
import { SlowedDestinations } from '../pacing/slowed-destinations.service.js';
import { InstallationSenders } from './installation-senders.service.js';
import { OwnRelaySenders } from './own-relay-senders.service.js';

/** Sends what is due, in every worker. */
@Injectable()
export class DeliveryEngine {
  #stopListening: () => void = () => undefined;

  constructor(
    private readonly installation: InstallationSenders,
    private readonly ownRelays: OwnRelaySenders,
    private readonly slowed: SlowedDestinations,
    private readonly notifications: Notifications,
  ) {}

  start(): void {
    const stops = [
      this.notifications.listen(DELIVERIES_CHANNEL, () => this.wake()),
      this.slowed.listen(this.notifications, () => this.wake()),
    ];
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
    this.installation.start();
    this.ownRelays.start();
  }

  wake(): void {
    this.installation.wake();
    this.ownRelays.wake();
  }

  /**
   * Resolves when what was on the wire is recorded and what was claimed is given back, or after `timeoutMs`:
   * what hangs on a wire then is found by its lease.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopListening();
    const ended = Promise.all([this.installation.stop(), this.ownRelays.stop()]);
    await withTimeout(ended, timeoutMs, () => undefined);
  }
}
