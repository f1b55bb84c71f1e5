import { inflateSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { Wording } from '#wording';
import type { Invoice } from '#billing';
import * as fc from '#testing/properties';
import { invoicePage } from './invoice-page.js';
import { invoicePdf } from './invoice-pdf.js';

const at = (text: string) => new Date(text);
const line = { periodStart: at('2026-02-14T10:00:00Z'), periodEnd: at('2026-02-28T10:00:00Z') };
const invoice: Invoice = {
  id: 1,
  publicId: '019aa3b5-0000-7000-8000-000000000000',
  externalId: null,
  status: 'OPEN',
  billingReason: 'subscription_update',
  currency: 'EUR',
  amountCents: 4_247,
  invoiceNumber: 'ACME-2026-000042',
  dueAt: at('2026-02-21T10:00:00Z'),
  paidAt: null,
  createdAt: at('2026-02-14T10:00:00Z'),
  issuedAt: at('2026-02-14T10:00:00Z'),
  subtotalCents: 3_453,
  taxRateBp: 2_300,
  taxCents: 794,
  balanceCents: 0,
  creditedCents: 0,
  seller: { name: 'Mailwright Ltd', address: '1 Harbour Road\nDublin', taxId: 'VAT IE1234567X' },
  buyer: { name: 'Żółw sp. z o.o.', address: null, taxId: null },
  lines: [
    { ...line, description: 'Unused time of Standard', amountCents: -1_450 },
    { ...line, description: 'Remaining time of Pro', amountCents: 4_903 },
  ],
};
const wording = new Wording('en');
const view = { wording, locale: 'en', sender: null };
const settings = { taxName: 'VAT', paymentNote: 'IBAN IE29 AIBK' };
const BEFORE = at('2026-02-20T00:00:00Z');
const AFTER = at('2026-02-21T10:00:00Z');

const textOf = (of: Invoice, now = BEFORE) =>
  invoicePage(view, of, settings, now, 'x.pdf')
    .html.toString()
    .replaceAll(/<style>.*?<\/style>/gs, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

describe('The page of an invoice', () => {
  it('says who sells what to whom, for how much, with which tax, and how to pay it', () => {
    const text = textOf(invoice);
    for (const part of [
      'Invoice ACME-2026-000042',
      '42.47 EUR due on 21 February 2026',
      'Mailwright Ltd 1 Harbour Road Dublin VAT IE1234567X',
      'Żółw sp. z o.o.',
      'Unused time of Standard 14 Feb 2026 – 28 Feb 2026 −14.50 EUR',
      'Remaining time of Pro 14 Feb 2026 – 28 Feb 2026 49.03 EUR',
      'Subtotal 34.53 EUR VAT 23% 7.94 EUR Total 42.47 EUR',
      'IBAN IE29 AIBK',
    ]) {
      expect(text).toContain(part);
    }
  });

  it.each([
    [{ status: 'PAID', paidAt: at('2026-02-15T00:00:00Z') }, '42.47 EUR paid on 15 February 2026'],
    [{ status: 'VOID' }, 'This invoice was withdrawn. Nothing is to be paid.'],
    [{ status: 'UNCOLLECTIBLE' }, '42.47 EUR was due on 21 February 2026 and was not paid'],
  ] as const)('of one that is %j says so', (change, text) => {
    expect(textOf({ ...invoice, ...change })).toContain(text);
  });

  it('keeps amounts and the number in their order where the page runs from right to left', () => {
    const arabic = { ...view, wording: new Wording('ar'), locale: 'ar' };
    const markup = invoicePage(arabic, invoice, settings, BEFORE, 'x.pdf').html.toString();
    for (const text of ['−14.50 EUR', '42.47 EUR']) expect(markup).toContain(`<bdi>${text}</bdi>`);
    expect(markup).toContain('<bdi class="number">ACME-2026-000042</bdi>');
  });

  it('says from when on it is overdue, and asks for no payment of one that is paid', () => {
    expect(textOf(invoice, AFTER)).toContain('42.47 EUR overdue since 21 February 2026');
    expect(textOf({ ...invoice, status: 'PAID', paidAt: AFTER })).not.toContain('IBAN');
  });

  it('shows names as text, whatever they contain', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
      fc.constantFrom('<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '</title>'),
    );
    const tags = (of: Invoice) =>
      invoicePage(view, of, settings, BEFORE, 'x.pdf')
        .html.toString()
        .match(/<[^>]*>/g);
    fc.assert(
      fc.property(text, text, (name, description) => {
        const lines = invoice.lines.map((of) => ({ ...of, description }));
        const changed = {
          ...invoice,
          lines,
          buyer: { ...invoice.buyer, name },
          seller: { ...invoice.seller, name },
        };
        expect(tags(changed)).toEqual(tags(invoice));
      }),
    );
  });
});

describe('The PDF of an invoice', () => {
  const streamsOf = (pdf: Buffer) => {
    const text = pdf.toString('latin1');
    return [...text.matchAll(/\/FlateDecode[^>]*>>\s*stream\r?\n([\s\S]*?)\r?\nendstream/g)].map(
      ([, data = '']) => inflateSync(Buffer.from(data, 'latin1')).toString('latin1'),
    );
  };

  it('is one page whose letters, Polish ones too, can be selected and searched', async () => {
    const pdf = await invoicePdf(invoice, settings, wording, BEFORE);
    const text = pdf.toString('latin1');
    expect(text).toMatch(/^%PDF-1\.\d/);
    expect(text.match(/\/Type \/Page\b/g)).toHaveLength(1);
    expect(text).toContain('/ToUnicode');
    const maps = streamsOf(pdf).filter((stream) => stream.includes('beginbfrange'));
    // Ż (U+017B) and ł (U+0142) are in the map from glyphs to characters.
    expect(maps.some((map) => /<017b>/i.test(map) && /<0142>/i.test(map))).toBe(true);
  });

  it('goes on over as many pages as its lines need', async () => {
    const lines = Array.from({ length: 60 }, () => ({ ...line, description: 'Pro', amountCents: 1 }));
    const pdf = await invoicePdf({ ...invoice, lines }, settings, wording, BEFORE);
    expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length).toBeGreaterThan(2);
  });
});
