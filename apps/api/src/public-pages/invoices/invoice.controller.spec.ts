import { inflateSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import type { Invoice } from '#billing';
import * as fc from '#testing/random/properties';
import { Wording } from '#wording';
import { invoicePdf } from './invoice-pdf.js';
import { invoicePage, InvoicePdfMaker } from './invoice.controller.js';

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
    [{ status: 'VOID' }, 'This invoice was cancelled. No payment is due.'],
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
      fc.string({ unit: fc.codePoint, minLength: 1, maxLength: 30 }),
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
  /** Characters of the last PDF that no font had. */
  let missing: readonly string[] = [];
  const made = async (of: Invoice, language = wording) => {
    const { pdf, unprintable } = await invoicePdf(of, settings, language, BEFORE);
    missing = unprintable;
    return pdf;
  };
  const streamsOf = (pdf: Buffer) => {
    const text = pdf.toString('latin1');
    return [...text.matchAll(/\/FlateDecode[^>]*>>\s*stream\r?\n([\s\S]*?)\r?\nendstream/g)].map(
      ([, data = '']) => inflateSync(Buffer.from(data, 'latin1')).toString('latin1'),
    );
  };

  it('is one page whose letters, Polish ones too, can be selected and searched', async () => {
    const pdf = await made(invoice);
    const text = pdf.toString('latin1');
    expect(text).toMatch(/^%PDF-1\.\d/);
    expect(text.match(/\/Type \/Page\b/g)).toHaveLength(1);
    expect(text).toContain('/ToUnicode');
    const maps = streamsOf(pdf).filter((stream) => stream.includes('beginbfrange'));
    // Ż (U+017B) and ł (U+0142) are in the map from glyphs to characters.
    expect(maps.some((map) => /<017b>/i.test(map) && /<0142>/i.test(map))).toBe(true);
  });

  /** Text in the order in which it is drawn, a line for each baseline: by the fonts' maps from glyphs to characters. */
  const drawnLines = (pdf: Buffer): readonly string[] => {
    const file = pdf.toString('latin1');
    const objectOf = (id = '') => new RegExp(`\\n${id} 0 obj\\n([\\s\\S]*?)\\nendobj`).exec(file)?.[1] ?? '';
    const fonts = new Map<string, readonly string[]>();
    for (const [, name = '', id] of file.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
      const map = objectOf(/\/ToUnicode (\d+) 0 R/.exec(objectOf(id))?.[1]);
      const data = /stream\r?\n([\s\S]*?)\r?\nendstream/.exec(map)?.[1] ?? '';
      const text = inflateSync(Buffer.from(data, 'latin1')).toString('latin1');
      const ranges = [...text.matchAll(/<[0-9a-f]+> <[0-9a-f]+> \[(.*?)\]/g)].flatMap(([, range = '']) =>
        range.split('> <').map((codes) => {
          const units = (codes.match(/[0-9a-f]{4}/gi) ?? []).map((unit) => Number.parseInt(unit, 16));
          return String.fromCharCode(...units);
        }),
      );
      fonts.set(name, ranges);
    }
    const lines = new Map<string, string>();
    for (const stream of streamsOf(pdf)) {
      for (const [, text = ''] of stream.matchAll(/\bBT\b([\s\S]*?)\bET\b/g)) {
        const y = / (\S+) Tm/.exec(text)?.[1] ?? '';
        const font = fonts.get(/\/(F\d+) /.exec(text)?.[1] ?? '') ?? [];
        // Marks that are raised or lowered make several arrays of one text.
        const arrays = [...text.matchAll(/\[(.*?)\] TJ/g)].map(([, glyphs = '']) => glyphs).join('');
        const codes = [...arrays.matchAll(/<([0-9a-f]+)>/g)].flatMap(
          ([, hex = '']) => hex.match(/.{4}/g) ?? [],
        );
        const drawn = codes.map((code) => font[Number.parseInt(code, 16)] ?? '').join('');
        lines.set(y, (lines.get(y) ?? '') + drawn);
      }
    }
    return [...lines.values()];
  };

  const boughtBy = async (name: string, language = wording) => {
    const buyer = { name, address: null, taxId: null };
    return drawnLines(await made({ ...invoice, buyer }, language)).join('\n');
  };

  it.each([
    '株式会社山田製作所（東京）',
    '上海某某科技有限公司',
    '臺灣積體電路製造',
    '주식회사 한국무역',
    'แสงทอง',
    'நிறுவனம்',
    'కంపెనీ',
    'የኢትዮጵያ ኩባንያ',
    'Հայկական ՍՊԸ',
    'ქართული კომპანია',
    'Ελληνική Εταιρεία',
    'Café 😀 & Söhne',
  ])('shows the buyer %s by name', async (name) => {
    expect(await boughtBy(name)).toContain(name);
    expect(missing).toEqual([]);
  });

  it.each([
    ['Devanagari', 'भारत व्यापार प्राइवेट लिमिटेड'],
    ['Bengali', 'বাংলাদেশ ট্রেডিং'],
    ['Gujarati', 'ગુજરાત ટ્રેડિંગ'],
    ['Gurmukhi', 'ਪੰਜਾਬ ਟਰੇਡਿੰਗ'],
    ['Kannada', 'ಕನ್ನಡ ಸಂಸ್ಥೆ'],
    ['Khmer', 'ក្រុមហ៊ុន ខ្មែរ'],
    ['Lao', 'ບໍລິສັດ ລາວ'],
    ['Malayalam', 'മലയാളം കമ്പനി'],
    ['Myanmar', 'မြန်မာ ကုမ္ပဏီ'],
    ['Oriya', 'ଓଡ଼ିଶା ଟ୍ରେଡିଂ'],
    ['Sinhala', 'ශ්‍රී ලංකා සමාගම'],
    ['Thaana', 'ދިވެހި ކުންފުނި'],
    ['Tibetan', 'བོད་ཡིག་ཚོང་ལས'],
  ])('has letters for a buyer in %s, in whatever order they are drawn', async (_script, name) => {
    const drawn = new Set(await boughtBy(name));
    const letters = Array.from(name.normalize('NFC')).filter((letter) => /\p{L}/u.test(letter));
    expect(letters.filter((letter) => !drawn.has(letter))).toEqual([]);
    expect(missing).toEqual([]);
  });

  it('runs Hebrew and Arabic from right to left, and what is Latin or a number in them from left to right', async () => {
    expect(await boughtBy('גן עדן (2026) Ltd')).toContain('Ltd (2026) ןדע ןג');
    expect(await boughtBy('שלום')).toContain('םולש');
    expect(await boughtBy('دار ۱۲۳')).toContain('۱۲۳ راد');
  });

  it.each(['zh', 'zh-Hant', 'ja', 'ko', 'ar', 'he'] as const)(
    'is in the language of its reader, %s too',
    async (locale) => {
      const language = new Wording(locale);
      const drawn = await boughtBy('Ann', language);
      const word = language.text('invoice.subtotal').normalize('NFC');
      expect([drawn, Array.from(drawn).toReversed().join('')].some((text) => text.includes(word))).toBe(true);
      expect(missing).toEqual([]);
    },
  );

  it('is made in a thread of its own, which logs what letters no font has, and not whose name it is', async () => {
    expect(await boughtBy('𞤀𞤣𞤤𞤢𞤥 Ltd')).toContain('\ufffd Ltd');
    const log: unknown[] = [];
    const keep = (...words: unknown[]) => void log.push(words);
    const pdfs = new InvoicePdfMaker({ warn: keep, error: keep });
    const order = { settings, locale: 'en', overrides: {}, now: BEFORE } as const;
    const of = (name: string) => ({ ...order, invoice: { ...invoice, buyer: { ...invoice.buyer, name } } });
    const [unknown, known] = await Promise.all([pdfs.make(of('𞤀𞤣𞤤𞤢𞤥 Ltd')), pdfs.make(of('山田太郎'))]);
    for (const pdf of [unknown, known]) expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    expect(drawnLines(known).join('\n')).toContain('山田太郎');
    expect(log).toEqual([
      [{ invoice: 'ACME-2026-000042', codePoints: ['U+1E9xx'] }, expect.stringContaining('no font has')],
    ]);
  });

  it('is made whatever a name contains', async () => {
    const scripts = fc.constantFrom(
      'arab',
      'ਟਰੇਡਿੰ',
      'ཀྲྀཾ',
      'ខ្ញុំ',
      'ގެ',
      '\u202e',
      '\u200d',
      '\ufe0f',
      '\ud800',
      '\u0000',
      '\n',
    );
    const names = fc.array(fc.oneof(scripts, fc.string({ unit: fc.codePoint, maxLength: 3 })), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(names, async (parts) => {
        const pdf = await made({ ...invoice, buyer: { ...invoice.buyer, name: parts.join('') } });
        expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
      }),
      { numRuns: 20 },
    );
  });

  it('goes on over as many pages as its lines need', async () => {
    const lines = Array.from({ length: 60 }, () => ({ ...line, description: 'Pro', amountCents: 1 }));
    const pdf = await made({ ...invoice, lines });
    expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length).toBeGreaterThan(2);
  });
});
