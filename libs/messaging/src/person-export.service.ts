import { Injectable } from '@nestjs/common';
import { type AudiencePersonalData, PersonalDataService, type SubscriberRef } from '#audience';
import type { ProjectScope } from '#kernel';
import { WebhookLogService } from '#webhooks';
import { type MailPersonalData, MailPersonalDataService } from './mail-personal-data.service.js';

type WebhookEvents = ReturnType<WebhookLogService['eventsAbout']>;

/** Everything that is held about the owner of an address. */
export interface PersonExport extends Omit<AudiencePersonalData, 'owner'>, MailPersonalData {
  readonly webhookEvents: WebhookEvents;
}

/** Gathers what every context holds about a person (GDPR Art. 15). */
@Injectable()
export class PersonExportService {
  constructor(
    private readonly audience: PersonalDataService,
    private readonly mail: MailPersonalDataService,
    private readonly webhooks: WebhookLogService,
  ) {}

  /** Throws NotFoundError for a person who is not there; an address may be nobody's. */
  async of(scope: ProjectScope, ref: SubscriberRef): Promise<PersonExport> {
    const { owner, ...audience } = await this.audience.of(scope, ref);
    const messageIds = await this.mail.messageIdsOf(scope, owner);
    const webhookEvents = this.webhooks.eventsAbout(scope, { ...owner, messageIds });
    return { ...audience, ...this.mail.of(scope, owner), webhookEvents };
  }
}
