import { Inject, Injectable } from '@nestjs/common';
import { EnvironmentsQuery, ProjectsQuery } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import { type LinkKind, LinkTokens } from '#platform';
import type { PageSender } from './page-layout.js';

/** What a good token leads to. */
export interface PageLink {
  readonly scope: ProjectScope;
  /** The confirmation, delivery, subscriber, invoice or campaign that the link is about. */
  readonly id: string;
  readonly expired: boolean;
  readonly sender: PageSender;
}

/** Turns the token of a page's address into whose page it is. */
@Injectable()
export class PageLinks {
  constructor(
    @Inject(LinkTokens) private readonly tokens: LinkTokens,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** null when the token isn't ours, is of another kind, or its project is gone. Nothing is looked up before its MAC holds. */
  async open(token: string, kind: LinkKind): Promise<PageLink | null> {
    const claims = this.tokens.verify(token, kind);
    if (claims === null) return null;
    const scope = await this.environments.find(claims.environmentId);
    if (scope === null) return null;
    const project = await this.projects.ofScope(scope);
    if (project === null) return null;
    return {
      scope,
      id: claims.id,
      expired: claims.expiresAt !== null && claims.expiresAt <= this.clock.now(),
      sender: { name: project.senderName, postalAddress: project.postalAddress },
    };
  }
}
