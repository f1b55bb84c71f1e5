import { describe, expect, it } from '@jest/globals';
import { SHIPPED_LOCALES } from '#kernel';
import { type MergeEscaping } from './merge-output.js';
import { compileMergeTemplate } from './merge-template.js';
import { MergeTemplateError } from '../content.errors.js';
import { SAMPLE_VALUES } from './merge-values.js';
import { trialFault } from './merge-review.js';

const NOW = '2026-11-26T23:30:00.000Z';

interface Look {
  readonly locale?: string;
  readonly timeZone?: string;
  readonly escaping?: MergeEscaping;
  readonly [field: string]: unknown;
}

/** As a reader of this language in this zone gets it. */
function shown(source: string, look: Look = {}): string {
  const { locale = 'en', timeZone = 'UTC', escaping = 'none', ...custom } = look;
  const reader = { locale, timeZone, now: NOW };
  return compileMergeTemplate(source, escaping).render({ ...SAMPLE_VALUES, custom, reader });
}

describe('dates in a mail', () => {
  it.each([
    ['de', 'Europe/Berlin', 'Freitag, 27. November 2026, 00:30'],
    ['de-AT', 'Europe/Vienna', 'Freitag, 27. November 2026, 00:30'],
    ['fr', 'America/Montreal', 'jeudi, 26. novembre 2026, 18:30'],
    ['pl', 'Europe/Warsaw', 'piątek, 27. listopada 2026, 00:30'],
    ['uk', 'Europe/Kyiv', 'пʼятниця, 27. листопада 2026, 01:30'],
    ['fi', 'Europe/Helsinki', 'perjantai, 27. marraskuuta 2026, 01:30'],
    ['ja', 'Asia/Tokyo', '金曜日, 27. 11月 2026, 08:30'],
    ['he', 'Asia/Jerusalem', 'יום שישי, 27. נובמבר 2026, 01:30'],
    ['en', 'Asia/Kolkata', 'Friday, 27. November 2026, 05:00'],
  ])('are in the language and zone of a reader of %s in %s', (locale, timeZone, expected) => {
    const tag = '{{ custom.at | date: "%A, %-d. %B %Y, %H:%M" }}';
    expect(shown(tag, { locale, timeZone, at: NOW })).toBe(expected);
    expect(shown(tag.replace('custom.at', '"now"'), { locale, timeZone })).toBe(expected);
  });

  it.each(SHIPPED_LOCALES)('know months and days of %s, beside a day and alone', (locale) => {
    for (let month = 1; month <= 12; month += 1) {
      const day = `2026-${String(month).padStart(2, '0')}-15`;
      const at = new Date(day);
      const intl = (options: Intl.DateTimeFormatOptions) =>
        new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options }).format(at);
      expect(shown('{{ custom.day | date: "%B|%b|%A|%a" }}', { locale, day }).split('|')).toEqual([
        intl({ month: 'long' }),
        intl({ month: 'short' }),
        intl({ weekday: 'long' }),
        intl({ weekday: 'short' }),
      ]);
      const beside = shown('{{ custom.day | date: "%d %B" }}', { locale, day }).slice(3);
      // Chinese says a number with a day; the month's name then stays what it is alone.
      const names = `${intl({ day: 'numeric', month: 'long' })} ${intl({ month: 'long' })}`;
      expect([names, names.includes(beside), /\p{L}/u.test(beside)]).toEqual([names, true, true]);
    }
  });

  it('are the day itself where the value is a day, and the hour itself where it has no zone', () => {
    for (const timeZone of ['UTC', 'Pacific/Kiritimati', 'America/Los_Angeles', 'Europe/Berlin']) {
      const show = (at: string, format: string) =>
        shown(`{{ custom.at | date: "${format}" }}`, { timeZone, at });
      expect(show('1990-05-17', '%d.%m.%Y %H:%M')).toBe('17.05.1990 00:00');
      expect(show('2026-03-29T02:30', '%d.%m.%Y %H:%M')).toBe('29.03.2026 02:30');
      expect(show('Nov 27, 2026 10:15', '%d.%m.%Y %H:%M')).toBe('27.11.2026 10:15');
    }
  });

  it.each([
    ['2026-02-30', '2026-02-30'],
    ['2026-02-30T10:00:00Z', '2026-02-30T10:00:00Z'],
    ['2026-13-01', '2026-13-01'],
    ['20261224', 'Thursday, December 24, 2026'],
    ['20261324', '20261324'],
    [1_795_000_000, 'Wednesday, November 18, 2026 at 11:06 AM'],
    [1_795_000_000_000, 'Wednesday, November 18, 2026 at 11:06 AM'],
  ])('are never made of what is none: %p', (at, expected) => {
    expect(shown('{{ custom.at | date: "full" }}', { at })).toBe(expected);
  });

  it('have all conversions of strftime, and refuse others whatever the value', () => {
    const format = '%F|%T|%D|%R|%V|%-V|%G|%%F|100%';
    const composed = '2027-01-03|23:30:00|01/03/27|23:30|53|53|2026|%F|100%';
    expect(shown(`{{ custom.at | date: "${format}" }}`, { at: '2027-01-03T23:30:00Z' })).toBe(composed);
    for (const wrong of ['%Q', '%E', '%.'])
      expect(trialFault(compileMergeTemplate(`{{ custom.at | date: "%Y ${wrong}" }}`, 'none'))).toContain(
        `date: ${wrong} is no conversion of strftime`,
      );
  });

  it('follow summer time, and a zone that the author names', () => {
    const show = (at: string, more = '') =>
      shown(`{{ custom.at | date: "%H:%M %z"${more} }}`, { timeZone: 'Europe/Berlin', at });
    expect(show('2026-07-01T10:00:00Z')).toBe('12:00 +0200');
    expect(show('2026-12-01T10:00:00+03:00')).toBe('08:00 +0100');
    expect(show('2026-12-01T10:00:00Z', ', "America/St_Johns"')).toBe('06:30 -0330');
    expect(show('2026-12-01T10:00:00Z', ', -60')).toBe('11:00 +0100');
    expect(shown('{{ 1795000000 | date: "%s %Z" }}', { timeZone: 'Europe/Berlin', locale: 'de' })).toBe(
      '1795000000 MEZ',
    );
  });

  it('are as long as their language writes them without a pattern', () => {
    const at = '2026-11-26T08:05:00Z';
    expect(shown('{{ custom.day | date }}', { locale: 'de', day: '2026-11-27' })).toBe('27. November 2026');
    expect(shown('{{ custom.at | date }}', { locale: 'en', at })).toBe('November 26, 2026 at 8:05 AM');
    expect(shown('{{ custom.day | date: "short" }}', { locale: 'de', day: '2026-11-27' })).toBe('27.11.26');
    expect(shown('{{ custom.day | date: "full" }}', { locale: 'fr', day: '2026-11-27' })).toBe(
      'vendredi 27 novembre 2026',
    );
    // Thailand counts years otherwise, which no pattern of strftime does.
    expect(
      shown('{{ custom.day | date: "%Y" }}/{{ custom.day | date }}', { locale: 'th', day: '2026-11-27' }),
    ).toContain('2026/27 พฤศจิกายน');
  });

  it('keep flags, widths and literal signs', () => {
    const show = (format: string) =>
      shown(`{{ custom.at | date: "${format}" }}`, { at: '2026-05-07T15:04:05Z' });
    expect(show('%^a|%^B|%10A|%-d|%e|%j|%%B|%y|%I %p %P')).toBe('THU|MAY|  Thursday|7| 7|127|%B|26|03 PM pm');
    expect(() => show('%9999999999A')).toThrow(MergeTemplateError);
  });

  it('stay as they are where the value is no date, and refuse a zone that there is none of', () => {
    expect(shown('{{ custom.at | date: "%Y" }}|{{ custom.none | date: "%Y" }}', { at: 'soon' })).toBe(
      'soon|',
    );
    const template = compileMergeTemplate('{{ custom.at | date: "%H", "Europe/Atlantis" }}', 'none');
    expect(trialFault(template)).toContain('Europe/Atlantis');
  });
});

describe('numbers in a mail', () => {
  it.each([
    ['en', '{{ custom.n | number }}', '1,234,567.891'],
    ['de', '{{ custom.n | number }}', '1.234.567,891'],
    ['fr', '{{ custom.n | number: 2 }}', '1\u202f234\u202f567,89'],
    ['hi', '{{ custom.n | number: 0 }}', '12,34,568'],
    ['de', '{{ custom.n | money: "EUR" }}', '1.234.567,89\u00a0€'],
    ['en', '{{ custom.n | money: "USD" }}', '$1,234,567.89'],
    ['ja', '{{ custom.n | money: "JPY" }}', '￥1,234,568'],
    ['de', '{{ custom.n | money: custom.currency }}', '1.234.567,89\u00a0CHF'],
    ['en', '{{ custom.text | money: "EUR" }}', '€12.50'],
    ['en', '{{ custom.exact | number }}', '12,345,678,901,234,567,890.12'],
    ['en', '{{ custom.n | times: 2 | number: 1 }}', '2,469,135.8'],
    ['en', '{{ custom.word | number }}{{ custom.none | money: custom.none }}', 'many'],
  ])('are written as in %s: %s', (locale, source, expected) => {
    const custom = {
      n: 1_234_567.891,
      text: '12.50',
      exact: '12345678901234567890.12',
      word: 'many',
      currency: 'chf',
    };
    expect(shown(source, { locale, ...custom })).toBe(expected);
  });

  it.each(['{{ custom.n | money }}', '{{ custom.n | money: "EURO" }}', '{{ custom.n | number: -1 }}'])(
    'refuse before anybody gets it %s',
    (source) => {
      expect(trialFault(compileMergeTemplate(source, 'none'))).toMatch(/must/);
    },
  );
});

describe('line breaks of a value', () => {
  const note = 'Bed <b>&\r\nBreakfast\n</p><script>';

  it('show in HTML, where the rest is escaped as ever, and nowhere as a tag else', () => {
    const tag = '{{ custom.note | newline_to_br }}';
    const html = 'Bed &lt;b&gt;&amp;<br>Breakfast<br>&lt;/p&gt;&lt;script&gt;';
    expect(shown(tag, { note, escaping: 'html' })).toBe(html);
    expect(shown(`{% if true %}${tag}{% endif %}`, { note, escaping: 'html' })).toBe(html);
    expect(shown(tag, { note })).toBe('Bed <b>&\nBreakfast\n</p><script>');
    expect(shown(tag, { note, escaping: 'header' })).toBe('Bed <b>& Breakfast </p><script>');
    expect(shown(`<a href="${tag}">`, { note: 'https://a.example/\n', escaping: 'html' })).toBe(
      '<a href="https://a.example/">',
    );
  });
});
