import { describe, expect, it } from '@jest/globals';
import { linksOf } from '../document/content-links.js';
import { optInMail } from './opt-in-mail.js';
import { brandColours } from '#kernel';
import { Wording } from '#wording';

const INPUT = {
  wording: new Wording('en'),
  logoUrl: null,
  color: null,
  projectName: 'Shop',
  senderName: 'Shop Ltd',
  postalAddress: 'Street 1\n10115 Berlin',
  topicNames: ['News', 'Offers & more'],
  confirmUrl: 'https://mail.example/c/tok?a=1&b=2',
  expiresInHours: 48,
};

describe('the opt-in mail', () => {
  it('says in plain words who asks, for which topics, how to confirm, until when and what if not', () => {
    const { subject, text } = optInMail(INPUT);
    expect(subject).toBe('Please confirm your subscription to Shop');
    expect(text).toBe(`Someone, most likely you, asked Shop to send you mail about:

- News
- Offers & more

To receive it, please confirm that this is your address. The link works for 48 hours.

Confirm: https://mail.example/c/tok?a=1&b=2

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
    expect(html).toContain('Shop Ltd<br>Street 1<br>10115 Berlin');
    expect(html).toContain('<li dir="auto">Offers &amp; more</li>');
    expect(html.toLowerCase()).not.toContain('unsubscribe');
  });

  it('escapes whatever names it is given, and keeps the subject on one line', () => {
    const attack = '"><script>alert(1)</script>\r\nBcc: eve@evil.example';
    const { subject, html } = optInMail({
      ...INPUT,
      projectName: attack,
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
    expect(subject).toBe('נא לאשר: Shop');
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

  it('says hour for one hour', () => {
    expect(optInMail({ ...INPUT, expiresInHours: 1 }).text).toContain('works for 1 hour.');
  });
});
