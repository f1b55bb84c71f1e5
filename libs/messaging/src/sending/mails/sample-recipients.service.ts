import { Injectable } from '@nestjs/common';
import { CustomFieldsQuery, type Recipient, templateDefaults } from '#audience';
import { newId } from '#kernel';
import type { CampaignMail } from './campaign-mail.js';

/** Somebody who does not exist, for a preview or a test mail: the links made for it lead to nobody. */
@Injectable()
export class SampleRecipients {
  constructor(private readonly fields: CustomFieldsQuery) {}

  async of({ scope, topics }: CampaignMail, email: string): Promise<Recipient> {
    return {
      subscriberId: newId(),
      email,
      firstName: 'Ada',
      lastName: 'Lovelace',
      phone: null,
      locale: null,
      timeZone: null,
      customFields: templateDefaults(await this.fields.definitions(scope)),
      topicNames: topics.map(({ name }) => name),
      obstacle: null,
    };
  }
}
