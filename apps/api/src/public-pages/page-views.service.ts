import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ProjectWordings } from '#access';
import type { PageLink } from './page-links.service.js';
import { nameOf, type SenderView, wantedLocales } from './page-view.js';

/** Finds the words for the readers of pages. */
@Injectable()
export class PageViews {
  constructor(private readonly wordings: ProjectWordings) {}

  /**
   * The language is, in this order: the one chosen on the page, the first of `known` (the subscriber's, the mail's), the
   * browser's, the project's.
   */
  async of(
    request: FastifyRequest,
    { scope, sender }: PageLink,
    known: readonly (string | null)[] = [],
  ): Promise<SenderView> {
    const wanted = wantedLocales(request, known);
    const { wording, version } = await this.wordings.of(scope, wanted);
    return { wording, version, locale: nameOf(wording, wanted), sender };
  }
}
