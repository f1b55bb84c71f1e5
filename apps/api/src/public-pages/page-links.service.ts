import { Injectable } from '@nestjs/common';
import type { RawBuilder } from 'kysely';
import { EnvironmentsQuery, readingWordedProject, type WordedProject, wordingOf } from '#access';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database, type LinkedMail, type LinkKind, LinkTokens } from '#platform';
import { nameOf, type PageSender, type SenderView, wantedLocales } from './page-view.js';
import type { FastifyRequest } from 'fastify';

/** The target of a valid token. */
export interface PageLink {
  readonly scope: ProjectScope;
  /** The confirmation, delivery, subscriber, invoice, campaign or export that the link is about. */
  readonly id: string;
  readonly mail: LinkedMail | null;
  /** Null for a link that stays good. */
  readonly expiresAt: Date | null;
  readonly expired: boolean;
}

/** Resolves the token of a page's address to its environment and target, and finds the sender and the words for its reader. */
@Injectable()
export class PageLinksService {
  constructor(
    private readonly database: Database,
    private readonly tokens: LinkTokens,
    private readonly environments: EnvironmentsQuery,
    private readonly clock: Clock,
  ) {}

  /** Verifies the MAC before any look-up. Throws `NotFoundError` for a foreign token or kind. */
  async open(token: string, kind: LinkKind): Promise<PageLink> {
    const claims = this.tokens.verify(token, kind);
    if (claims === null) throw new NotFoundError();
    const scope = await this.environments.find(claims.environmentId);
    if (scope === null) throw new NotFoundError();
    return {
      scope,
      id: claims.id,
      mail: claims.mail ?? null,
      expiresAt: claims.expiresAt,
      expired: claims.expiresAt !== null && claims.expiresAt <= this.clock.now(),
    };
  }

  /** Statement that reads the sender, for the message of what the page shows; see `viewBy`. */
  reading({ scope }: PageLink): RawBuilder<WordedProject> {
    return readingWordedProject(scope);
  }

  /** Reads the sender alone; see `viewBy`. */
  async view(request: FastifyRequest, link: PageLink, known: readonly (string | null)[] = []) {
    const [senders] = await this.database.transaction(link.scope, () =>
      this.database.together(this.reading(link)),
    );
    return viewBy(senders, request, known);
  }
}

/**
 * The language is, in this order: the one chosen on the page, the first of `known` (the subscriber's, the mail's), the
 * browser's, the project's. Throws `NotFoundError` where the project is gone.
 */
export function viewBy(
  [project]: readonly WordedProject[],
  request: FastifyRequest,
  known: readonly (string | null)[] = [],
): SenderView {
  if (project === undefined) throw new NotFoundError();
  const wanted = wantedLocales(request, known);
  const { wording, version } = wordingOf(project, wanted);
  return { wording, version, locale: nameOf(wording, wanted), sender: senderOf(project) };
}

function senderOf(project: WordedProject): PageSender {
  return {
    name: project.senderName,
    postalAddress: project.postalAddress,
    contact: project.contactEmail ?? project.replyTo ?? project.defaultFromEmail,
    contactEmail: project.contactEmail,
    privacyUrl: project.privacyUrl,
    timeZone: project.timeZone,
    logoUrl: project.logoUrl,
    color: project.color,
  };
}
