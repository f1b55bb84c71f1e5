import { buffer } from 'node:stream/consumers';
import PdfDocument from 'pdfkit';
import type { Invoice } from '#billing';
import type { Wording } from '#wording';
import {
  amountOf,
  dayOf,
  type InvoiceSettings,
  isToPay,
  partyText,
  spanOf,
  statusOf,
  sumsOf,
} from './invoice-text.js';
import { PdfFonts } from './pdf-fonts.js';
import { type Direction, PdfText, type TextLayout, type TextStyle } from './pdf-text.js';

/** Points; A4 is 595 × 842. */
const MARGIN = 56;
const AMOUNT_WIDTH = 110;
const GAP = 18;
const INK = '#1e2329';
const QUIET = '#59616b';
const EDGE = '#ddd7cc';

const LABEL: TextStyle = { weight: 'regular', size: 9, colour: QUIET };
const BODY: TextStyle = { weight: 'regular', size: 10, colour: INK };
const SENDER: TextStyle = { weight: 'bold', size: 11, colour: INK };
const HEADING: TextStyle = { weight: 'bold', size: 22, colour: INK };
const TOTAL: TextStyle = { weight: 'bold', size: 12, colour: INK };

/**
 * An invoice as a PDF of A4 pages, in its reader's language, with text that can be selected and searched, and groups of
 * code points that no font has.
 */
export async function invoicePdf(
  invoice: Invoice,
  settings: InvoiceSettings,
  wording: Wording,
  now: Date,
): Promise<{ readonly pdf: Buffer; readonly unprintable: readonly string[] }> {
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
  const fonts = new PdfFonts(document, wording.locale);
  const sheet = new Sheet(document, new PdfText(document, fonts), wording);
  await sheet.head(invoice, now);
  await sheet.lines(invoice, settings);
  if (isToPay(invoice) && settings.paymentNote !== null) await sheet.note(settings.paymentNote);
  document.end();
  return { pdf: await buffer(document), unprintable: blocksOf(fonts.unprintable) };
}

/** Lays out the parts of an invoice from top to bottom; from right to left where its language is. */
class Sheet {
  readonly #width: number;
  #top = MARGIN;

  constructor(
    private readonly document: PDFKit.PDFDocument,
    private readonly text: PdfText,
    private readonly wording: Wording,
  ) {
    this.#width = document.page.width - 2 * MARGIN;
  }

  async head(invoice: Invoice, now: Date): Promise<void> {
    const { wording } = this;
    await this.#write(invoice.seller.name, SENDER, 'own');
    this.#top += GAP;
    const number = isolated(invoice.invoiceNumber ?? '');
    await this.#write(wording.text('invoice.heading', { number }), HEADING);
    this.#top += 4;
    const { key, values } = statusOf(invoice, now, wording);
    const { amount, date } = values;
    await this.#write(wording.text(key, { amount: isolated(amount), date: isolated(date) }), SENDER);
    this.#top += GAP + 4;
    await this.#besides(
      { name: wording.text('invoice.from'), text: partyText(invoice.seller) },
      { name: wording.text('invoice.to'), text: partyText(invoice.buyer) },
    );
    await this.#besides(
      { name: wording.text('invoice.date'), text: dayOf(invoice.issuedAt, wording) },
      { name: wording.text('invoice.due'), text: dayOf(invoice.dueAt, wording) },
    );
    this.#top += GAP;
  }

  async lines(invoice: Invoice, settings: InvoiceSettings): Promise<void> {
    const { wording } = this;
    const amount = (cents: number) => isolated(amountOf(invoice, cents, wording));
    await this.#row({
      text: wording.text('invoice.for'),
      amount: wording.text('invoice.amount'),
      style: LABEL,
    });
    for (const line of invoice.lines) {
      await this.#row({
        text: isolated(line.description),
        below: spanOf(line, wording),
        amount: amount(line.amountCents),
        style: BODY,
      });
    }
    const sums = sumsOf(invoice, settings, wording);
    for (const [index, { name, cents }] of sums.entries())
      await this.#row({ text: name, amount: amount(cents), style: index === sums.length - 1 ? TOTAL : BODY });
  }

  async note(text: string): Promise<void> {
    this.#top += GAP;
    await this.#write(text, BODY, 'own');
  }

  /** Lines over the whole width, on as many pages as they need. */
  async #write(text: string, style: TextStyle, direction: Direction = this.wording.direction): Promise<void> {
    const { lines } = await this.text.layOut(text, style, this.#width, direction);
    for (const line of lines) {
      this.#makeRoom(line.height);
      this.#draw(
        { style, lines: [line], height: line.height },
        { left: 0, width: this.#width, top: this.#top },
      );
      this.#top += line.height;
    }
  }

  /** Two labelled texts, side by side. */
  async #besides(...columns: readonly { readonly name: string; readonly text: string }[]): Promise<void> {
    const width = this.#width / columns.length - GAP;
    const laidOut = await Promise.all(
      columns.map(async ({ name, text }) => ({
        name: await this.text.layOut(name, LABEL, width, this.wording.direction),
        text: await this.text.layOut(text, BODY, width, 'own'),
      })),
    );
    const height = Math.max(...laidOut.map(({ name, text }) => name.height + 2 + text.height));
    this.#makeRoom(height);
    for (const [index, { name, text }] of laidOut.entries()) {
      const left = index * (width + GAP);
      this.#draw(name, { left, width, top: this.#top });
      this.#draw(text, { left, width, top: this.#top + name.height + 2 });
    }
    this.#top += height + GAP;
  }

  async #row(row: {
    readonly text: string;
    readonly below?: string;
    readonly amount: string;
    readonly style: TextStyle;
  }): Promise<void> {
    const { style } = row;
    const width = this.#width - AMOUNT_WIDTH - GAP;
    const text = await this.text.layOut(row.text, style, width, this.wording.direction);
    const below =
      row.below === undefined
        ? null
        : await this.text.layOut(row.below, LABEL, width, this.wording.direction);
    const amount = await this.text.layOut(row.amount, style, AMOUNT_WIDTH, this.wording.direction);
    const height = text.height + (below?.height ?? 0);
    this.#makeRoom(height + GAP);
    this.#draw(text, { left: 0, width, top: this.#top });
    if (below !== null) this.#draw(below, { left: 0, width, top: this.#top + text.height });
    this.#draw(amount, {
      left: this.#width - AMOUNT_WIDTH,
      width: AMOUNT_WIDTH,
      top: this.#top,
      atEnd: true,
    });
    const bottom = this.#top + height;
    if (style !== TOTAL) {
      this.document
        .moveTo(MARGIN, bottom + 6)
        .lineTo(MARGIN + this.#width, bottom + 6)
        .lineWidth(0.5)
        .stroke(EDGE);
    }
    this.#top = bottom + 14;
  }

  #makeRoom(height: number): void {
    if (this.#top + height <= this.document.page.height - MARGIN || this.#top === MARGIN) return;
    this.document.addPage();
    this.#top = MARGIN;
  }

  /** `left` counts from the side where lines begin. */
  #draw(layout: TextLayout, box: { left: number; width: number; top: number; atEnd?: boolean }): void {
    const rightToLeft = this.wording.direction === 'rtl';
    const x = rightToLeft ? MARGIN + this.#width - box.left - box.width : MARGIN + box.left;
    const align = rightToLeft === (box.atEnd === true) ? 'left' : 'right';
    this.text.draw(layout, { x, y: box.top, width: box.width, align });
  }
}

/** Keeps the order of a value within a text of another direction. */
function isolated(value: string): string {
  return `\u2068${value}\u2069`;
}

/** In groups of 256, such as `U+1E9xx`: which script is missing, and not what was written. */
function blocksOf(characters: ReadonlySet<string>): readonly string[] {
  const blocks = [...characters].flatMap((grapheme) =>
    Array.from(
      grapheme,
      (character) =>
        `U+${Math.floor((character.codePointAt(0) ?? 0) / 256)
          .toString(16)
          .toUpperCase()}xx`,
    ),
  );
  return [...new Set(blocks)].sort();
}
