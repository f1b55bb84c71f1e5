import { Injectable } from '@nestjs/common';
import { EnvironmentsQuery, ProjectsQuery, ProjectWordings } from '#access';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { type LinkedMail, type LinkKind, LinkTokens } from '#platform';
import { nameOf, type PageSender, type SenderView, wantedLocales } from './page-view.js';
import type { FastifyRequest } from 'fastify';

/** The target of a valid token. */
export interface PageLink {
  readonly scope: ProjectScope;
  /** The confirmation, delivery, subscriber, invoice or campaign that the link is about. */
  readonly id: string;
  readonly mail: LinkedMail | null;
  readonly expired: boolean;
  readonly sender: PageSender;
}

/** Resolves the token of a page's address to its project and target, and finds the words for its reader. */
@Injectable()
export class PageLinksService {
  constructor(
    private readonly tokens: LinkTokens,
    private readonly environments: EnvironmentsQuery,
    private readonly projects: ProjectsQuery,
    private readonly wordings: ProjectWordings,
    private readonly clock: Clock,
  ) {}

  /** Verifies the MAC before any look-up. Throws `NotFoundError` for a foreign token or kind, or where the project is gone. */
  async open(token: string, kind: LinkKind): Promise<PageLink> {
    const claims = this.tokens.verify(token, kind);
    if (claims === null) throw new NotFoundError();
    const scope = await this.environments.find(claims.environmentId);
    if (scope === null) throw new NotFoundError();
    const project = await this.projects.ofScope(scope);
    if (project === null) throw new NotFoundError();
    return {
      scope,
      id: claims.id,
      mail: claims.mail ?? null,
      expired: claims.expiresAt !== null && claims.expiresAt <= this.clock.now(),
      sender: {
        name: project.senderName,
        postalAddress: project.postalAddress,
        contact: project.contactEmail ?? project.replyTo ?? project.defaultFromEmail,
        contactEmail: project.contactEmail,
        privacyUrl: project.privacyUrl,
        timeZone: project.timeZone,
        logoUrl: project.logoUrl,
        color: project.color,
      },
    };
  }

  /**
   * The language is, in this order: the one chosen on the page, the first of `known` (the subscriber's, the mail's), the
   * browser's, the project's.
   */
  async view(
    request: FastifyRequest,
    { scope, sender }: PageLink,
    known: readonly (string | null)[] = [],
  ): Promise<SenderView> {
    const wanted = wantedLocales(request, known);
    const { wording, version } = await this.wordings.of(scope, wanted);
    return { wording, version, locale: nameOf(wording, wanted), sender };
  }
}
