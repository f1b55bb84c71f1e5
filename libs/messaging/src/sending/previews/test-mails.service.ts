import { Injectable } from '@nestjs/common';
import { SuppressionsService } from '#audience';
import type { CheckCode, PreSendCheck } from '#deliverability';
import { DomainValidationError, type EmailAddress, type ProjectScope } from '#kernel';
import { PreSendRejectedError } from '../../campaigns/campaign.errors.js';
import { CampaignRepository } from '../../campaigns/campaign.repository.js';
import { PreSendAnalysisService } from '../../campaigns/pre-send-analysis.service.js';
import { TestDeliveriesService } from '../queueing/test-deliveries.service.js';

/** Recipients, topics and quota don't matter to a test mail. */
const CHECKED: readonly CheckCode[] = [
  'sender-domain-verified',
  'subscription-active',
  'content-empty',
  'merge-tags',
];

/** Asks for test mails of a campaign. */
@Injectable()
export class TestMailsService {
  constructor(
    private readonly campaigns: CampaignRepository,
    private readonly analysis: PreSendAnalysisService,
    private readonly suppressions: SuppressionsService,
    private readonly deliveries: TestDeliveriesService,
  ) {}

  /**
   * Has a copy with sample data sent to each address, in the translation for readers with this language. `DomainValidationError` for one that is suppressed: it gets no
   * mail at all; `PreSendRejectedError` when the campaign cannot become a mail; `TooManyTestMailsError`.
   */
  async send(
    scope: ProjectScope,
    campaignKey: string,
    addresses: readonly EmailAddress[],
    locale: string | null = null,
  ): Promise<void> {
    const campaign = await this.campaigns.named(scope, campaignKey);
    await this.#refuseSuppressed(scope, addresses);
    campaign.refuseUnlessAllowed('test');
    const { checks } = await this.analysis.of(scope, campaignKey);
    refuseFailed(checks);
    const recipients = [...new Map(addresses.map((address) => [address.key, address])).values()];
    await this.deliveries.add(scope, campaign.id, recipients, locale);
  }

  async #refuseSuppressed(scope: ProjectScope, addresses: readonly EmailAddress[]): Promise<void> {
    const errors: Record<string, string> = {};
    for (const [index, { key }] of addresses.entries()) {
      if (await this.suppressions.isSuppressed(scope, key)) errors[`emails[${index}]`] = 'is suppressed';
    }
    if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
  }
}

function refuseFailed(checks: readonly PreSendCheck[]): void {
  const made = checks.filter(({ code }) => CHECKED.includes(code));
  if (made.some(({ result }) => result === 'FAIL')) throw new PreSendRejectedError(made);
}
