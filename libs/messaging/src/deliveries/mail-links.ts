import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, LinkTokens } from '#platform';
import type { MailLinks } from './delivery.js';

/** Makes the links of mails: signed tokens below the public URL. */
@Injectable()
export class MailLinkMaker {
  readonly #base: string;

  constructor(
    @Inject(LinkTokens) private readonly tokens: LinkTokens,
    @Inject(CONFIG) { PUBLIC_URL }: Config,
  ) {
    this.#base = PUBLIC_URL;
  }

  confirm(
    { environmentId }: ProjectScope,
    confirmationId: string,
    expiresAt: Date,
  ): Required<Pick<MailLinks, 'confirm'>> {
    const token = this.tokens.sign({ kind: 'confirm', environmentId, id: confirmationId, expiresAt });
    return { confirm: `${this.#base}/c/${token}` };
  }

  /** Of a mail that its reader can leave. They stay good: an old mail's unsubscribe link must work. */
  ofDelivery(
    { environmentId }: ProjectScope,
    deliveryId: string,
    subscriberId: string,
  ): Required<Pick<MailLinks, 'unsubscribe' | 'preferences' | 'view'>> {
    const sign = (kind: 'unsubscribe' | 'preferences' | 'view', id: string) =>
      this.tokens.sign({ kind, environmentId, id, expiresAt: null });
    return {
      unsubscribe: `${this.#base}/u/${sign('unsubscribe', deliveryId)}`,
      preferences: `${this.#base}/p/${sign('preferences', subscriberId)}`,
      view: `${this.#base}/v/${sign('view', deliveryId)}`,
    };
  }
}
