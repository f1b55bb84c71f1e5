import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { type Config, CONFIG, LinkTokens } from '#platform';
import type { InvoiceSummary } from './invoice.js';

const DAY_MS = 86_400_000;
const GOOD_FOR_DAYS = 30;

/** The addresses of invoices' pages. */
@Injectable()
export class InvoiceLinks {
  constructor(
    private readonly tokens: LinkTokens,
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Good for 30 days at least, and the same all day long. Null for a draft: it has no page. */
  urlOf(scope: ProjectScope, invoice: Pick<InvoiceSummary, 'status' | 'publicId'>): string | null {
    if (invoice.status === 'DRAFT') return null;
    const today = Math.ceil(this.clock.now().getTime() / DAY_MS);
    const token = this.tokens.sign({
      kind: 'invoice',
      environmentId: scope.environmentId,
      id: invoice.publicId,
      expiresAt: new Date((today + GOOD_FOR_DAYS) * DAY_MS),
    });
    return `${this.config.PUBLIC_URL}/i/${token}`;
  }
}
