import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Invoice } from '#billing';
import { UnavailableError } from '#kernel';
import { describeError } from '#platform';
import type { Wording } from '#wording';
import type { InvoiceSettings } from './invoice-text.js';

/** What the thread gets. */
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
 * Makes invoices into PDFs, one at a time and each in a thread of its own: the fonts of a large script take a second of CPU and some
 * 60 MB, of which neither the loop nor the memory of the api shall see anything.
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
