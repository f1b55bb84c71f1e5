import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { UnsubscribeAddresses } from '#deliverability';
import {
  type Config,
  CONFIG,
  type LinkedMail,
  LinkTokens,
  MailSeals,
  type SealedMail,
  type TrackedMail,
  TrackingTokens,
} from '#platform';
import { SEAL_PARAMETER, sealable, type ShownValues } from '../merge/merge-values.js';
import { placeName } from './link-tracking.js';
import type { MailLinks } from '../../deliveries/delivery.js';

/** Makes the links of mails: signed tokens below the base of the project's links. */
@Injectable()
export class MailLinksService {
  readonly #bounceHost: string;

  constructor(
    private readonly tokens: LinkTokens,
    private readonly trackingTokens: TrackingTokens,
    private readonly unsubscribes: UnsubscribeAddresses,
    private readonly seals: MailSeals,
    @Inject(CONFIG) { BOUNCE_HOST }: Config,
  ) {
    this.#bounceHost = BOUNCE_HOST;
  }

  confirm(
    linkBase: string,
    { environmentId }: ProjectScope,
    confirmationId: string,
    expiresAt: Date,
  ): Required<Pick<MailLinks, 'confirm'>> {
    const token = this.tokens.sign({ kind: 'confirm', environmentId, id: confirmationId, expiresAt });
    return { confirm: `${linkBase}/c/${token}` };
  }

  /** The tokens of a mail's pixel and of its `links` tracked links, by the names that its template has for them. */
  tracking(mail: TrackedMail, links: number): Record<string, string> {
    const tokens: Record<string, string> = {};
    this.trackingTokens.sign(mail, links + 1).forEach((token, place) => {
      tokens[placeName(place)] = token;
    });
    return tokens;
  }

  /**
   * The address to which a mail unsubscribes: below the sender's domain, or at the bounce server itself where mail to that
   * domain does not reach us.
   */
  unsubscribeAddress(
    { environmentId }: ProjectScope,
    deliveryId: string,
    returnPathHost: string | null,
  ): string {
    return this.unsubscribes.addressOf({ environmentId, deliveryId }, returnPathHost ?? this.#bounceHost);
  }

  /**
   * Links of a mail that its reader can leave. They stay good: an old mail's unsubscribe link must work, the mail kept or not.
   * Its view link takes along, sealed, the values that the mail shows.
   */
  ofDelivery(
    linkBase: string,
    { environmentId }: ProjectScope,
    deliveryId: string,
    mail: LinkedMail,
    shown: ShownValues,
  ): Required<Pick<MailLinks, 'unsubscribe' | 'preferences' | 'view'>> {
    const { subscriberId } = mail;
    const token = this.tokens.sign({ kind: 'view', environmentId, id: deliveryId, expiresAt: null });
    return {
      ...this.leaving(linkBase, { environmentId }, deliveryId, mail),
      view: `${linkBase}/v/${token}${this.#sealed({ environmentId, deliveryId, subscriberId }, shown)}`,
    };
  }

  /** The same without the view: a mail that has no page on the web. */
  leaving(
    linkBase: string,
    { environmentId }: Pick<ProjectScope, 'environmentId'>,
    deliveryId: string,
    mail: LinkedMail,
  ): Required<Pick<MailLinks, 'unsubscribe' | 'preferences'>> {
    const sign = (kind: 'unsubscribe' | 'preferences', id: string, more = {}) =>
      this.tokens.sign({ kind, environmentId, id, expiresAt: null, ...more });
    return {
      unsubscribe: `${linkBase}/u/${sign('unsubscribe', deliveryId, { mail })}`,
      preferences: `${linkBase}/p/${sign('preferences', mail.subscriberId)}`,
    };
  }

  #sealed(mail: SealedMail, shown: ShownValues): string {
    const text = sealable(shown);
    return text === null ? '' : SEAL_PARAMETER + this.seals.seal(mail, text);
  }

  /** Values that a mail showed, by the seal in its view link; null where there is none, or it is of another mail. */
  shownIn(mail: SealedMail, sealed: string): ShownValues | null {
    const text = this.seals.open(mail, sealed);
    return text === null ? null : (JSON.parse(text) as ShownValues);
  }
}
