import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Get, Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type Invoice, InvoicesQuery } from '#billing';
import { Clock, NotFoundError, UnavailableError } from '#kernel';
import { type Config, CONFIG, describeError, LOGGER } from '#platform';
import type { Wording } from '#wording';
import { html, type Html } from '../../html.js';
import { page, type Page, signs } from '../page-layout.js';
import { type PageLink, PageLinksService } from '../page-links.service.js';
import { LANGUAGE_PARAMETER, type PageView, say } from '../page-view.js';
import { PublicPage, sendPage, sendPdf } from '../public-page.js';
import {
  amountOf,
  dayOf,
  type InvoiceSettings,
  isOverdue,
  isToPay,
  partyText,
  spanOf,
  statusOf,
  sumsOf,
} from './invoice-text.js';

/** An invoice as a page; `pdfHref` links to its PDF. */
export function invoicePage(
  view: PageView,
  invoice: Invoice,
  settings: InvoiceSettings,
  now: Date,
  pdfHref: string,
): Page {
  const { seller, buyer } = invoice;
  const number = invoice.invoiceNumber ?? '';
  const { wording } = view;
  const status = statusOf(invoice, now, wording);
  const sender = { name: seller.name, postalAddress: '', logoUrl: null, color: null };
  return page(
    { ...view, sender },
    {
      heading: wording.text('invoice.heading', { number }),
      shown: say(view, 'invoice.heading', { number: html`<bdi class="number">${number}</bdi>` }),
      sign: signOf(invoice, now),
      wide: true,
      body: html`<p class="standing">
          ${say(view, status.key, { ...status.values, amount: html`<bdi>${status.values.amount}</bdi>` })}
        </p>
        <dl class="facts">
          ${fact(wording.text('invoice.from'), partyText(seller))}
          ${fact(wording.text('invoice.to'), partyText(buyer))}
          ${fact(wording.text('invoice.date'), dayOf(invoice.issuedAt, wording))}
          ${fact(wording.text('invoice.due'), dayOf(invoice.dueAt, wording))}
        </dl>
        ${linesOf(invoice, settings, wording)}
        ${isToPay(invoice) && settings.paymentNote !== null ? html`<p class="note"><bdi>${settings.paymentNote}</bdi></p>` : null}
        <p class="unprinted"><a href="${pdfHref}">${wording.text('invoice.download')}</a></p>`,
    },
  );
}

function fact(name: string, value: string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd><bdi>${value}</bdi></dd>
  </div>`;
}

function linesOf(invoice: Invoice, settings: InvoiceSettings, wording: Wording): Html {
  const sum = (name: string, cents: number) =>
    html`<tr>
      <th scope="row">${name}</th>
      <td class="amount"><bdi>${amountOf(invoice, cents, wording)}</bdi></td>
    </tr>`;
  return html`<table>
    <thead>
      <tr>
        <th scope="col">${wording.text('invoice.for')}</th>
        <th scope="col" class="amount">${wording.text('invoice.amount')}</th>
      </tr>
    </thead>
    <tbody>
      ${invoice.lines.map(
        (line) =>
          html`<tr>
            <td><bdi>${line.description}</bdi><span class="status">${spanOf(line, wording)}</span></td>
            <td class="amount"><bdi>${amountOf(invoice, line.amountCents, wording)}</bdi></td>
          </tr>`,
      )}
    </tbody>
    <tfoot>
      ${sumsOf(invoice, settings, wording).map(({ name, cents }) => sum(name, cents))}
    </tfoot>
  </table>`;
}

function signOf(invoice: Invoice, now: Date): Html {
  if (invoice.status === 'PAID') return signs.done;
  if (invoice.status === 'UNCOLLECTIBLE' || isOverdue(invoice, now)) return signs.late;
  return invoice.status === 'VOID' ? signs.lost : signs.letter;
}

/** Task of the thread. */
export interface InvoicePdfOrder {
  readonly invoice: Invoice;
  readonly settings: InvoiceSettings;
  readonly locale: Wording['locale'];
  readonly overrides: Wording['overrides'];
  readonly now: Date;
}

export interface InvoicePdfResult {
  readonly pdf: Uint8Array<ArrayBuffer>;
  /** Groups of code points that no font has, such as `U+1E9xx`. */
  readonly unprintable: readonly string[];
}

const TIMEOUT_MS = 30_000;
const MEMORY_MB = 256;
const RETRY_AFTER_SECONDS = 5;

/**
 * Makes invoices into PDFs, one at a time and each in a thread of its own: the fonts of a large script take a second of CPU
 * and some 60 MB, of which neither the loop nor the memory of the api shall see anything.
 */
export class InvoicePdfMaker {
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly logger: Pick<Logger, 'warn' | 'error'>) {}

  /** Throws `UnavailableError` when it took too long or too much. */
  make(order: InvoicePdfOrder): Promise<Buffer> {
    const made = this.#last.then(() => this.#make(order));
    this.#last = made.catch(() => undefined);
    return made;
  }

  async #make(order: InvoicePdfOrder): Promise<Buffer> {
    const thread = new Worker(new URL('invoice-pdf.thread.js', import.meta.url), {
      workerData: order,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    const invoice = order.invoice.invoiceNumber;
    try {
      const [{ pdf, unprintable }] = (await once(thread, 'message', {
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })) as [InvoicePdfResult];
      if (unprintable.length > 0) {
        const words =
          'The PDF of an invoice shows a replacement for characters that no font has; its page shows them';
        this.logger.warn({ invoice, codePoints: unprintable }, words);
      }
      return Buffer.from(pdf);
    } catch (error) {
      this.logger.error({ invoice, error: describeError(error) }, 'the PDF of an invoice was not made');
      throw new UnavailableError('The PDF could not be made in time.', RETRY_AFTER_SECONDS);
    } finally {
      await thread.terminate();
    }
  }
}

const PDF = '.pdf';

/** Shows an invoice to anybody who has its link: as a page, or as a PDF when `.pdf` follows the token. */
@PublicPage('i')
export class InvoiceController {
  readonly #settings: InvoiceSettings;
  readonly #pdfs: InvoicePdfMaker;

  constructor(
    private readonly links: PageLinksService,
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
    const invoice = await this.#find(link);
    if (invoice === null) throw new NotFoundError();
    const view = await this.links.view(request, link);
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
