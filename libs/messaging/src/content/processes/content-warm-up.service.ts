import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Notifications } from '#platform';
import { CONTENT_CHANNEL } from './content.channel.js';
import { ContentProcesses } from './content-processes.service.js';

/** Starts what compiles content while that is still being written or checked, so that a campaign does not wait for it. */
@Injectable()
export class ContentWarmUp implements OnApplicationBootstrap, OnApplicationShutdown {
  #stopListening: () => void = () => undefined;

  constructor(
    private readonly notifications: Notifications,
    private readonly processes: ContentProcesses,
  ) {}

  onApplicationBootstrap(): void {
    // Null says that a message may have been missed: then it starts when it is needed.
    this.#stopListening = this.notifications.listen(CONTENT_CHANNEL, (payload) => {
      if (payload !== null) this.processes.warm();
    });
  }

  onApplicationShutdown(): void {
    this.#stopListening();
  }
}
