import { Injectable } from '@nestjs/common';
import type { DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import { AutomationMailPreparation } from './automation-mail-preparation.service.js';
import { SingleMailPreparation } from './single-mail-preparation.service.js';

/** Mails that belong to no campaign's sending. Those of automations may be many at once, and must not hold up a confirmation. */
export type SinglesKind = 'AUTOMATION' | 'FEW';

/** Makes the mails that belong to no campaign's sending. */
@Injectable()
export class SinglesPreparation {
  constructor(
    private readonly few: SingleMailPreparation,
    private readonly automations: AutomationMailPreparation,
    private readonly pacing: DeliveryPacing,
  ) {}

  async prepare(works: readonly DeliveryWork[], which: SinglesKind): Promise<PreparedDelivery[]> {
    // Whether what may have arrived is sent again is not a question of the turn.
    const fresh = works.filter(({ delivery }) => !delivery.interrupted);
    const interrupted = works.filter(({ delivery }) => delivery.interrupted);
    const { going, held } = await this.pacing.admitSingles(fresh, which);
    const mails = which === 'AUTOMATION' ? this.automations : this.few;
    return [...held, ...(await mails.prepare([...interrupted, ...going]))];
  }
}
