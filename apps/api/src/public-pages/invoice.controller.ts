import { Get, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Invoice, InvoicesQuery } from '#billing';
import { Clock } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { invoicePage } from './invoice-page.js';
import { invoicePdf } from './invoice-pdf.js';
import type { InvoiceWording } from './invoice-text.js';
import { notFoundPage } from './not-found-page.js';
import { PageLinks } from './page-links.service.js';
import { sendPage, sendPdf } from './page-reply.js';
import { PublicPage } from './public-page.decorator.js';

const PDF = '.pdf';

/** Shows an invoice to anybody who has its link: as a page, or as a PDF when `.pdf` follows the token. */
@PublicPage('i')
export class InvoiceController {
  readonly #wording: InvoiceWording;

  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(InvoicesQuery) private readonly invoices: InvoicesQuery,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) config: Config,
  ) {
    this.#wording = {
      taxName: config.INVOICE_TAX_NAME,
      paymentNote: config.INVOICE_PAYMENT_NOTE?.replaceAll('|', '\n') ?? null,
    };
  }

  @Get(':token')
  async show(@Param('token') name: string, @Res() reply: FastifyReply): Promise<void> {
    const isPdf = name.endsWith(PDF);
    const token = isPdf ? name.slice(0, -PDF.length) : name;
    const invoice = await this.#find(token);
    if (invoice === null) return sendPage(reply, notFoundPage);
    const now = this.clock.now();
    if (!isPdf) return sendPage(reply, invoicePage(invoice, this.#wording, now, `${token}${PDF}`));
    sendPdf(reply, await invoicePdf(invoice, this.#wording, now), `${invoice.invoiceNumber}.pdf`);
  }

  async #find(token: string): Promise<Invoice | null> {
    const link = await this.links.open(token, 'invoice');
    if (link === null || link.expired) return null;
    const invoice = await this.invoices.byPublicId(link.scope, link.id);
    return invoice === null || invoice.status === 'DRAFT' ? null : invoice;
  }
}
