import { Injectable } from '@nestjs/common';
import type { Environment, ProjectScope } from '#kernel';
import type { DeliveryKind } from '../../deliveries/delivery.js';
import type { DeliverySource } from '../delivery-source.js';
import { CampaignPreparation } from '../preparation/campaign-preparation.service.js';
import { SinglesPreparation } from '../preparation/singles-preparation.service.js';
import { CampaignClosingService } from './campaign-closing.service.js';
import { CampaignSource } from './campaign-source.js';
import { DeliveryClaimsQuery } from './delivery-claims.query.js';
import type { MailOwner } from './mail-owner.query.js';
import { SinglesSource } from './singles-source.js';

/** What there is to send. Confirmations, automations and campaigns apart, so that neither holds up a confirmation. */
@Injectable()
export class DeliverySources {
  constructor(
    private readonly claims: DeliveryClaimsQuery,
    private readonly finish: CampaignClosingService,
    private readonly singles: SinglesPreparation,
    private readonly campaigns: CampaignPreparation,
  ) {}

  /** Of all projects but for what goes by relays of their own. */
  of(environment: Environment): DeliverySource[] {
    const owner = { environment, scope: null };
    return [
      new SinglesSource(owner, ['OPT_IN', 'TEST'], this.claims, this.singles),
      new SinglesSource(owner, ['AUTOMATION'], this.claims, this.singles),
      this.#campaignsOf(owner),
    ];
  }

  /** Of one project's stream that goes by relays of its own. */
  ofStream(scope: ProjectScope, stream: DeliveryKind): DeliverySource {
    const owner = { environment: scope.environment, scope };
    return stream === 'CAMPAIGN'
      ? this.#campaignsOf(owner)
      : new SinglesSource(owner, [stream], this.claims, this.singles);
  }

  #campaignsOf(owner: MailOwner): DeliverySource {
    return new CampaignSource(owner, this.claims, this.finish, this.campaigns);
  }
}
