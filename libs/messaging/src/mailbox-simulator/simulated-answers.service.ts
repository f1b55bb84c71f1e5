import { Injectable } from '@nestjs/common';
import { EnvironmentsQuery } from '#access';
import { Database } from '#platform';
import { DeliveryFeedbackService } from '../engagement/delivery-feedback.service.js';
import { MailPagesService } from '../engagement/mail-pages.service.js';
import type { MailboxBehaviour, Simulation } from './mailbox-simulation.js';
import { takeSimulation } from './mailbox-simulations.query.js';

const READER = {
  how: 'ONE_CLICK',
  ipAddress: '127.0.0.1',
  userAgent: 'Mailwright mailbox simulator',
} as const;

/** Bounces, complains and unsubscribes as real mailboxes do, in the transaction that removes the note. */
@Injectable()
export class SimulatedAnswers {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly feedback: DeliveryFeedbackService,
    private readonly pages: MailPagesService,
  ) {}

  async answer(
    simulation: Simulation,
    behaviour: Exclude<MailboxBehaviour, 'opened' | 'clicked'>,
  ): Promise<void> {
    const scope = await this.environments.find(simulation.environmentId);
    if (scope === null) return;
    const { deliveryId } = simulation;
    await this.database.transaction(scope, async () => {
      if (!(await takeSimulation(this.database, simulation))) return;
      switch (behaviour) {
        case 'bounced':
          await this.feedback.bounced(scope, deliveryId, 'hard');
          return;
        case 'soft-bounced':
          await this.feedback.bounced(scope, deliveryId, 'mailbox');
          return;
        case 'complained':
          return this.feedback.complained(scope, deliveryId);
        case 'unsubscribed':
          return this.pages.unsubscribe(scope, { id: deliveryId }, 'topics', READER);
      }
    });
  }
}
