import { Get, Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type Invoice, InvoicesQuery } from '#billing';
import { Clock } from '#kernel';
import { type Config, CONFIG, LOGGER } from '#platform';
import { invoicePage } from './invoice-page.js';
import { InvoicePdfMaker } from './invoice-pdf-maker.js';
import type { InvoiceSettings } from './invoice-text.js';
import { notFoundPage } from './not-found-page.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage, sendPdf } from './page-reply.js';
import { LANGUAGE_PARAMETER, viewOf } from './page-view.js';
import { PageViews } from './page-views.service.js';
import { PublicPage } from './public-page.decorator.js';

const PDF = '.pdf';

/** Shows an invoice to anybody who has its link: as a page, or as a PDF when `.pdf` follows the token. */
@PublicPage('i')
export class InvoiceController {
  readonly #settings: InvoiceSettings;
  readonly #pdfs: InvoicePdfMaker;

  constructor(
    private readonly links: PageLinks,
    private readonly views: PageViews,
    private readonly invoices: InvoicesQuery,
    private readonly clock: Clock,
    @Inject(LOGGER) logger: Logger,
    @Inject(CONFIG) config: Config,
  ) {
    this.#pdfs = new InvoicePdfMaker(logger);
    this.#settings = {
      taxName: config.INVOICE_TAX_NAME,
      paymentNote: config.INVOICE_PAYMENT_NOTE?.replaceAll('|', '\n') ?? null,
    };
  }

  @Get(':token')
  async show(
    @Param('token') name: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const isPdf = name.endsWith(PDF);
    const token = isPdf ? name.slice(0, -PDF.length) : name;
    const link = await this.links.open(token, 'invoice');
    const invoice = link && (await this.#find(link));
    if (link === null || invoice === null) return sendPage(reply, notFoundPage(viewOf(request)));
    const view = await this.views.of(request, link);
    const { wording } = view;
    const now = this.clock.now();
    const pdfHref = `${token}${PDF}?${LANGUAGE_PARAMETER}=${wording.locale}`;
    if (!isPdf) return sendPage(reply, invoicePage(view, invoice, this.#settings, now, pdfHref));
    const { locale, overrides } = wording;
    const pdf = await this.#pdfs.make({ invoice, settings: this.#settings, locale, overrides, now });
    sendPdf(reply, pdf, `${invoice.invoiceNumber}.pdf`);
  }

  async #find({ scope, id, expired }: PageLink): Promise<Invoice | null> {
    const invoice = expired ? null : await this.invoices.byPublicId(scope, id);
    return invoice?.status === 'DRAFT' ? null : invoice;
  }
}
