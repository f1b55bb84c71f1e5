import { Injectable } from '@nestjs/common';
import { ErasedAddresses, type PageReader, PreferencesService } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type LinkedMail } from '#platform';
import { addressDigestOf } from './erased-mails.query.js';
import { findMailOfLink, type MailOfLink, topicsAbout } from './mail-of-link.query.js';

/** The mail that a link belongs to. */
export interface LinkToMail {
  /** The delivery's. */
  readonly id: string;
  /** What else the token says. */
  readonly mail?: LinkedMail | null;
}

/**
 * Who has the address of a mail now. `nobody`: the subscriber was erased. `unknown`: so long ago that a later one with the
 * address cannot be found.
 */
export type MailReader = PageReader | 'nobody' | 'unknown';

interface MailAndReader extends Pick<MailOfLink, 'locale' | 'topicIds'> {
  readonly reader: MailReader;
  readonly messageId?: string;
}

/** Finds the mails of links, and who has their addresses now. In the open transaction. */
@Injectable()
export class LinkedMails {
  constructor(
    private readonly database: Database,
    private readonly people: PreferencesService,
    private readonly erased: ErasedAddresses,
    private readonly clock: Clock,
  ) {}

  /** Of a mail that is no longer kept, what the token and its subscriber say; null without such a mail. */
  async find(
    scope: ProjectScope,
    { id, mail: linked = null }: LinkToMail,
    lock?: 'lock',
  ): Promise<MailAndReader | null> {
    const kept = await findMailOfLink(this.database, scope, id, lock);
    if (kept !== null) return { ...kept, reader: await this.readerOf(scope, kept) };
    if (linked === null) return null;
    const reader = (await this.people.readerOf(scope, linked.subscriberId)) ?? 'unknown';
    const topicIds = await topicsAbout(this.database, scope, linked.aboutId);
    return { reader, locale: null, topicIds };
  }

  /** The mail's subscriber; where that one was erased, who signed up with the address since. */
  async readerOf(
    scope: ProjectScope,
    { id, subscriberId, addressKey }: Pick<MailOfLink, 'id' | 'subscriberId' | 'addressKey'>,
  ): Promise<MailReader> {
    const reader = subscriberId === null ? null : await this.people.readerOf(scope, subscriberId);
    if (reader !== null) return reader;
    const digest =
      subscriberId === null
        ? await addressDigestOf(this.database, scope, id, this.clock.now())
        : this.erased.digestOf(scope, addressKey);
    if (digest === null) return 'unknown';
    const ownerId = await this.erased.ownerOf(scope, digest);
    return (ownerId === null ? null : await this.people.readerOf(scope, ownerId)) ?? 'nobody';
  }
}
