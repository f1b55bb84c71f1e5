import { Injectable } from '@nestjs/common';
import { CustomFieldsQuery, type Recipient, templateDefaults } from '#audience';
import { Clock, newId } from '#kernel';
import { ContentProcessesService } from '../../content/processes/content-processes.service.js';
import type { MailParts, RenderedMail } from '../../content/mail/mail-renderer.js';
import { MergeTemplateError } from '../../content/content.errors.js';
import {
  type CampaignMail,
  composeCampaignMail,
  fromNameOf,
  type MailOfRecipient,
  type ShownMail,
  valuesOf,
} from './campaign-mail.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import { MailLinksService } from '../../content/mail/mail-links.service.js';

/** The result of rendering mails with logic ahead. */
interface Ahead {
  /** When a mail may be asked for again that there was no time for; null for one that can be composed. */
  heldUntil(deliveryId: string): Date | null;
  compose(one: MailOfRecipient): OutgoingMail;
}

/** Fills mails in: plain ones here, those with logic in a process of its own. */
@Injectable()
export class MailRenderingService {
  constructor(
    private readonly processes: ContentProcessesService,
    private readonly links: MailLinksService,
    private readonly fields: CustomFieldsQuery,
    private readonly clock: Clock,
  ) {}

  /** Somebody who does not exist, for a preview or a test mail: the links made for it lead to nobody. */
  async sampleRecipient(
    { scope, topics }: Pick<CampaignMail, 'scope' | 'topics'>,
    email: string,
  ): Promise<Recipient> {
    return {
      subscriberId: newId(),
      email,
      externalId: null,
      firstName: 'Ada',
      lastName: 'Lovelace',
      phone: null,
      locale: null,
      timeZone: null,
      customFields: templateDefaults(await this.fields.definitions(scope)),
      topicNames: topics.map(({ name }) => name),
      obstacle: null,
      pausedUntil: null,
    };
  }

  /** For a look. @throws {MergeTemplateError} @throws {ContentCompileError} */
  async show(mail: CampaignMail, one: ShownMail): Promise<MailParts> {
    const values = valuesOf(mail, one, this.links);
    const { plain, parts } = mail.template;
    const rendered = plain === null ? await this.processes.renderOne(mail.scope, parts, values) : null;
    return {
      subject: rendered?.subject ?? plain?.subject.render(values) ?? '',
      fromName: fromNameOf(mail, values, rendered) ?? mail.sender.name,
      html: rendered?.html ?? plain?.html.render(values) ?? '',
      text: rendered?.text ?? plain?.text.render(values) ?? '',
    };
  }

  /** A line beside the mail, such as its preview text, as its reader would see it. @throws {MergeTemplateError} */
  async line(mail: CampaignMail, source: string, one: ShownMail): Promise<string> {
    const parts = { subject: source, fromName: '', html: '', text: '' };
    return (await this.processes.fillIn(mail.scope, parts, valuesOf(mail, one, this.links))).subject;
  }

  /** One that was sent, as it was then if its view link says so, of which `sealed` is a part. */
  async showAgain(
    mail: CampaignMail,
    one: Omit<ShownMail, 'shown'>,
    sealed: string | null,
  ): Promise<MailParts & { readonly isOfToday: boolean }> {
    const { environmentId } = mail.scope;
    const { subscriberId } = one.recipient;
    const whose = { environmentId, deliveryId: one.deliveryId, subscriberId };
    const shown = sealed === null ? null : this.links.shownIn(whose, sealed);
    const isOfToday = shown === null && mail.template.shows.length > 0;
    return { ...(await this.show(mail, { ...one, shown })), isOfToday };
  }

  /** One mail, for the wire. @throws {MergeTemplateError} @throws {ContentCompileError} */
  async compose(mail: CampaignMail, one: MailOfRecipient): Promise<OutgoingMail> {
    const { plain, parts } = mail.template;
    const values = valuesOf(mail, one, this.links);
    const rendered = plain === null ? await this.processes.renderOne(mail.scope, parts, values) : null;
    return composeCampaignMail(mail, one, this.links, rendered);
  }

  /** Many mails, for the wire. @throws {ContentCompileError} */
  async ahead(mail: CampaignMail, all: readonly ShownMail[]): Promise<Ahead> {
    const { plain, parts } = mail.template;
    if (plain !== null)
      return { heldUntil: () => null, compose: (one) => composeCampaignMail(mail, one, this.links) };
    const values = all.map((one) => valuesOf(mail, one, this.links));
    const { rendered, waitMs, eachMs } = await this.processes.renderAhead(mail.scope, parts, values);
    const now = this.clock.now().getTime();
    const places = new Map(all.map(({ deliveryId }, place) => [deliveryId, place]));
    return {
      heldUntil: (deliveryId) => {
        const late = (places.get(deliveryId) ?? 0) - rendered.length;
        return late < 0 ? null : new Date(now + waitMs + late * eachMs);
      },
      compose: (one) =>
        composeCampaignMail(mail, one, this.links, soundOf(rendered[places.get(one.deliveryId) ?? -1])),
    };
  }
}

function soundOf(mail: RenderedMail | { readonly fault: string } | undefined): RenderedMail {
  if (mail === undefined) throw new Error('The mail was not rendered.');
  if ('fault' in mail) throw new MergeTemplateError(mail.fault);
  return mail;
}
