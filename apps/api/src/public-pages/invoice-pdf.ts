import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Invoice } from '#billing';
import { projectRoot } from '#platform';
import { Wording } from '#wording';
import {
  amountOf,
  dayOf,
  type InvoiceSettings,
  isToPay,
  partyText,
  spanOf,
  standingOf,
  sumsOf,
} from './invoice-text.js';

/** Points; A4 is 595 × 842. */
const MARGIN = 56;
const AMOUNT_WIDTH = 110;
const GAP = 18;
const INK = '#1e2329';
const QUIET = '#59616b';
const EDGE = '#ddd7cc';

/** Languages whose letters the fonts lack, or that PDFKit would set from the wrong side: their invoices are in English. */
const UNPRINTABLE: ReadonlySet<string> = new Set(['ar', 'he', 'ja', 'ko', 'zh']);

// The fonts that every PDF reader has lack most of the world's letters.
const FONTS = join(projectRoot(), 'assets/fonts');

/** An invoice as a PDF of A4 pages, with text that can be selected and searched. */
export async function invoicePdf(
  invoice: Invoice,
  settings: InvoiceSettings,
  wanted: Wording,
  now: Date,
): Promise<Buffer> {
  const wording = UNPRINTABLE.has(wanted.locale) ? new Wording('en') : wanted;
  // Loaded with the first invoice: most processes never need these 14 MB.
  const { default: PdfDocument } = await import('pdfkit');
  const document = new PdfDocument({
    size: 'A4',
    margin: MARGIN,
    lang: wording.locale,
    displayTitle: true,
    info: {
      Title: wording.text('invoice.heading', { number: invoice.invoiceNumber ?? '' }),
      Author: invoice.seller.name,
      CreationDate: invoice.issuedAt ?? invoice.createdAt,
    },
  });
  document
    .registerFont('regular', join(FONTS, 'DejaVuSansCondensed.ttf'))
    .registerFont('bold', join(FONTS, 'DejaVuSansCondensed-Bold.ttf'));
  const sheet = new Sheet(document, wording);
  const { key, values } = standingOf(invoice, now, wording);
  sheet.head(invoice, wording.text(key, values));
  sheet.lines(invoice, settings);
  if (isToPay(invoice) && settings.paymentNote !== null) sheet.note(settings.paymentNote);
  document.end();
  return buffer(document);
}

/** Lays out the parts of an invoice from top to bottom. */
class Sheet {
  readonly #right: number;

  constructor(
    private readonly document: PDFKit.PDFDocument,
    private readonly wording: Wording,
  ) {
    this.#right = document.page.width - MARGIN;
  }

  head(invoice: Invoice, standing: string): void {
    const { document, wording } = this;
    document.font('bold').fontSize(11).fillColor(INK).text(invoice.seller.name, MARGIN, MARGIN);
    document
      .moveDown(1.5)
      .fontSize(22)
      .text(wording.text('invoice.heading', { number: invoice.invoiceNumber ?? '' }));
    document.moveDown(0.3).fontSize(11).text(standing);
    document.moveDown(1.8);
    this.#besides(
      { name: wording.text('invoice.from'), text: partyText(invoice.seller) },
      { name: wording.text('invoice.to'), text: partyText(invoice.buyer) },
    );
    this.#besides(
      { name: wording.text('invoice.date'), text: dayOf(invoice.issuedAt, wording) },
      { name: wording.text('invoice.due'), text: dayOf(invoice.dueAt, wording) },
    );
    document.moveDown(1);
  }

  lines(invoice: Invoice, settings: InvoiceSettings): void {
    const { wording } = this;
    const amount = (cents: number) => amountOf(invoice, cents, wording);
    this.#row({ text: wording.text('invoice.for'), amount: wording.text('invoice.amount'), quiet: true });
    for (const line of invoice.lines) {
      this.#row({
        text: line.description,
        below: spanOf(line, wording),
        amount: amount(line.amountCents),
      });
    }
    const sums = sumsOf(invoice, settings, wording);
    for (const [index, { name, cents }] of sums.entries())
      this.#row({ text: name, amount: amount(cents), strong: index === sums.length - 1 });
  }

  note(text: string): void {
    this.document.moveDown(1.5).font('regular').fontSize(10).fillColor(INK).text(text, MARGIN);
  }

  /** Two labelled texts, side by side. */
  #besides(...columns: readonly { readonly name: string; readonly text: string }[]): void {
    const { document } = this;
    const width = (this.#right - MARGIN) / columns.length - GAP;
    const top = document.y;
    let bottom = top;
    columns.forEach(({ name, text }, index) => {
      const left = MARGIN + index * (width + GAP);
      document.font('regular').fontSize(9).fillColor(QUIET).text(name, left, top, { width });
      document
        .fontSize(10)
        .fillColor(INK)
        .text(text, left, document.y + 2, { width });
      bottom = Math.max(bottom, document.y);
    });
    document.x = MARGIN;
    document.y = bottom + GAP;
  }

  #row(row: {
    readonly text: string;
    readonly below?: string;
    readonly amount: string;
    readonly quiet?: boolean;
    readonly strong?: boolean;
  }): void {
    const { document } = this;
    const width = this.#right - MARGIN - AMOUNT_WIDTH - GAP;
    const size = row.quiet === true ? 9 : row.strong === true ? 12 : 10;
    document.font(row.strong === true ? 'bold' : 'regular').fontSize(size);
    const height = document.heightOfString(row.text, { width }) + (row.below === undefined ? 0 : 14);
    if (document.y + height + GAP > document.page.height - MARGIN) document.addPage();
    const top = document.y;
    document.fillColor(row.quiet === true ? QUIET : INK).text(row.text, MARGIN, top, { width });
    if (row.below !== undefined) document.fontSize(9).fillColor(QUIET).text(row.below, { width });
    const bottom = document.y;
    document.fontSize(size).fillColor(row.quiet === true ? QUIET : INK);
    document.text(row.amount, this.#right - AMOUNT_WIDTH, top, { width: AMOUNT_WIDTH, align: 'right' });
    if (row.strong !== true) {
      document
        .moveTo(MARGIN, bottom + 6)
        .lineTo(this.#right, bottom + 6)
        .lineWidth(0.5)
        .stroke(EDGE);
    }
    document.x = MARGIN;
    document.y = bottom + 14;
  }
}
