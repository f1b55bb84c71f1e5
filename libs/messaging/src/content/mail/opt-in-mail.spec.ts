import { describe, expect, it } from '@jest/globals';
import { linksOf } from '../document/content-view.js';
import { optInMail } from './opt-in-mail.js';
import { brandColours, SHIPPED_LOCALES } from '#kernel';
import { Wording } from '#wording';

const INPUT = {
  wording: new Wording('en'),
  logoUrl: null,
  color: null,
  senderName: 'Shop Ltd',
  postalAddress: 'Street 1\n10115 Berlin',
  topicNames: ['News', 'Offers & more'],
  confirmUrl: 'https://mail.example/c/tok?a=1&b=2',
  expiresAt: new Date('2026-11-27T13:05:00.000Z'),
  timeZone: 'Europe/Berlin',
  now: new Date('2026-11-25T13:05:00.000Z'),
  privacyUrl: null,
  contactEmail: null,
};

describe('the opt-in mail', () => {
  it('says in plain words who asks, for which topics, how to confirm, until when and what if not', () => {
    const { subject, text } = optInMail(INPUT);
    expect(subject).toBe('Please confirm your subscription to Shop Ltd');
    expect(text).toBe(`Someone, most likely you, asked Shop Ltd to send you emails about:

- News
- Offers & more

To receive them, please confirm that this is your address. The link works until 27 November 2026 at 14:05 CET.

Continue: https://mail.example/c/tok?a=1&b=2

If you did not ask for this, do nothing: you will not be subscribed.

--
Shop Ltd
Street 1
10115 Berlin
`);
  });

  it('has one link, the confirmation, and the postal address in its HTML', () => {
    const { html } = optInMail(INPUT);
    expect(linksOf(html)).toEqual([INPUT.confirmUrl]);
    expect(html).toContain('<bdi>Shop Ltd</bdi><br><bdi>Street 1</bdi><br><bdi>10115 Berlin</bdi>');
    expect(html).toContain('>Offers &amp; more</td>');
    expect(html.toLowerCase()).not.toContain('unsubscribe');
  });

  it('escapes whatever names it is given, and keeps the subject on one line', () => {
    const attack = '"><script>alert(1)</script>\r\nBcc: eve@evil.example';
    const { subject, html } = optInMail({
      ...INPUT,
      senderName: attack,
      postalAddress: attack,
      topicNames: [attack],
      confirmUrl: 'https://mail.example/"><script>',
    });
    expect(html).not.toContain('<script');
    expect(subject).not.toMatch(/[\r\n]/);
  });

  it('refuses a confirmation address that is no web address', () => {
    expect(() => optInMail({ ...INPUT, confirmUrl: 'javascript:alert(1)' })).toThrow(TypeError);
  });

  it('runs from right to left where its language does, in the words of the project', () => {
    const wording = new Wording('he', {
      'optIn.button': "אישור & '<'b>",
      'optIn.subject': 'נא לאשר: {project}',
    });
    const { subject, html } = optInMail({ ...INPUT, wording });
    expect(subject).toBe('נא לאשר: Shop Ltd');
    expect(html).toContain('<html lang="he" dir="rtl">');
    expect(html).toContain('text-align:right');
    expect(html).toContain('>אישור &amp; &lt;b&gt;</a>');
  });

  it('has the logo and the colour of its sender, which can be read in the dark as well', () => {
    const { html } = optInMail({ ...INPUT, logoUrl: 'https://cdn.example/"a.png', color: '#ff5722' });
    expect(html).toContain('<img src="https://cdn.example/&quot;a.png" alt="Shop Ltd"');
    const { light, dark } = brandColours('#ff5722');
    expect(html).toContain(`background-color:${light.accent}"`);
    expect(html).toContain(`color:${light.onAccent};`);
    expect(html).toContain(`.mw-button { background-color: ${dark.accent} !important; }`);
    expect(optInMail({ ...INPUT, logoUrl: 'http://cdn.example/a.png' }).html).not.toContain('<img');
  });

  it('puts a space between its sentences where its language has one', () => {
    const inJapanese = optInMail({ ...INPUT, wording: new Wording('ja') });
    for (const part of [inJapanese.html, inJapanese.text]) expect(part).toContain('ください。リンクの');
  });

  it("says until when its link works, by the reader's clock and in the reader's language", () => {
    const timeZone = 'Asia/Tokyo';
    const saying = (locale: 'en' | 'ja' | 'de') =>
      optInMail({ ...INPUT, timeZone, wording: new Wording(locale) }).text;
    expect(saying('en')).toContain('until 27 November 2026 at 22:05 GMT+9.');
    expect(saying('ja')).toContain('2026年11月27日 22:05 JST');
    expect(saying('de')).toContain('bis 27. November 2026 um 22:05');
  });

  it('goes on saying for how long, in the words of a project that has its own for that', () => {
    const own = { 'optIn.expiry': 'Good for {hours, plural, one {# hour} other {# hours}}.' };
    const saying = (overrides: object) => optInMail({ ...INPUT, wording: new Wording('en', overrides) }).text;
    expect(saying(own)).toContain('Good for 48 hours.');
    expect(saying({ ...own, 'optIn.until': 'Good until {date}.' })).toContain('Good until 27 November');
    const inAnHour = { ...INPUT, now: new Date('2026-11-27T12:05:00.000Z'), wording: new Wording('en', own) };
    expect(optInMail(inAnHour).text).toContain('Good for 1 hour.');
  });

  it('leads to the privacy policy and names whom to write to, where the sender says', () => {
    const privacyUrl = 'https://shop.example/privacy?a=1&b=2';
    const { html, text } = optInMail({ ...INPUT, privacyUrl, contactEmail: 'data@shop.example' });
    expect(linksOf(html)).toEqual([INPUT.confirmUrl, privacyUrl]);
    expect(html).toContain('Contact: data@shop.example');
    expect(text).toContain(`10115 Berlin\nPrivacy policy: ${privacyUrl}\nContact: data@shop.example\n`);
  });

  it('has a button that leads on, and does not say that it confirms', () => {
    for (const locale of SHIPPED_LOCALES) {
      const wording = new Wording(locale);
      const { html } = optInMail({ ...INPUT, wording });
      expect(html).not.toContain(`>${wording.text('confirm.button')}</a>`);
      expect(wording.text('confirm.heading')).not.toBe(wording.text('optIn.heading'));
    }
  });
});
