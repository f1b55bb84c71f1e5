import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { Wording } from '#wording';
import { compileMail } from '../document/content-compiler.js';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { trackHtml } from './link-tracking.js';
import { footerOf } from '../processes/content-processes.service.js';

const shared = {
  campaign: { name: 'May & June', key: 'APIT-001' },
  project: { name: 'News', postal_address: 'Street 1, 10115 Berlin' },
};
const track = (html: string) => trackHtml(html, { baseUrl: 'https://m.example', shared, places: 1_000 });

describe('tracked HTML', () => {
  it('leads web links past the tracker and ends its body with the pixel', () => {
    const { html, targets } = track(
      '<body><a class="x" href="https://a.example/?a=1&amp;utm_source=m">A</a></body>',
    );
    expect(targets).toEqual(['https://a.example/?a=1&utm_source=m']);
    expect(html).toContain('<a class="x" href="https://m.example/l/{{ tracking.place_1 }}">A</a>');
    expect(html).toMatch(/<img src="https:\/\/m\.example\/o\/\{\{ tracking\.place_0 \}\}"[^>]*><\/body>$/);
  });

  it('gives equal addresses one place, whatever way their attributes are written', () => {
    const { html, targets } = track(
      `<a href='https://a.example/'>1</a><A HREF="https://a.example/">2</A><a href="https://b.example/">3</a>`,
    );
    expect(targets).toEqual(['https://a.example/', 'https://b.example/']);
    expect(html.match(/place_1 /g)).toHaveLength(2);
  });

  it('ends its body with the pixel behind letters that lower case makes longer', () => {
    expect(track(`<body>${'İ'.repeat(9)}</body></html>`).html).toMatch(/\/><\/body><\/html>$/);
  });

  it.each([
    'mailto:ada@example.com',
    'tel:+4930123',
    '#top',
    '/relative',
    'javascript:alert(1)',
    '{{ links.unsubscribe }}',
    '{{ links.preferences }}',
    '{{ links.view }}',
    '{{ custom.shop_url }}',
    'https://a.example/?u={{ subscriber.email }}',
    'https://a.example/?a=1&unknown;=2',
    'https://',
  ])('leaves %s as it is', (url) => {
    const before = `<p><a href="${url}">x</a></p>`;
    const { html, targets } = track(before);
    expect(targets).toEqual([]);
    expect(html.startsWith(before)).toBe(true);
  });

  it.each([
    'https://a.example/news',
    'www.acme.com',
    'acme.com',
    'Acme.com/news',
    'Shop at <b>acme.co.uk</b>.',
    '&nbsp;bücher.de!',
    '<span>http://10.0.0.1/</span>',
    'https://{{ project.name }}.example.com',
  ])('leaves a link alone that shows an address: %s', (text) => {
    const before = `<p><a class="x" href="https://a.example/?a=1" title="A > B">${text}</a></p>`;
    const { html, targets } = track(before);
    expect(targets).toEqual([]);
    expect(html.startsWith(before)).toBe(true);
  });

  it.each([
    'Read more',
    'hello@acme.com',
    'Version 2.0',
    'e.g. this one',
    'Node.js',
    '3.14 or 10.000',
    '<img src="https://a.example/i.png" alt="acme.com">',
    'The end.And more',
    '{{ project.name }}',
    '',
  ])('follows a link that shows none: %s', (text) => {
    const { targets } = track(`<a href="https://a.example/">${text}</a> acme.com`);
    expect(targets).toEqual(['https://a.example/']);
  });

  it('fills in what is the same for everybody', () => {
    const { targets } = track(
      '<a href="https://a.example/?utm_campaign={{ campaign.key }}&amp;p={{ project.name | downcase }}">x</a>',
    );
    expect(targets).toEqual(['https://a.example/?utm_campaign=APIT-001&p=news']);
  });

  it('writes an address outside of ASCII as a header can hold it', () => {
    expect(track('<a href="https://bücher.example/ä?ö=1">x</a>').targets).toEqual([
      'https://xn--bcher-kva.example/%C3%A4?%C3%B6=1',
    ]);
  });

  it('touches neither images nor text that looks like a link', () => {
    const { html, targets } = track(
      '<img src="https://a.example/i.png"><p>href="https://b.example"</p><abbr href="https://c.example">',
    );
    expect(targets).toEqual([]);
    expect(html).toContain('<p>href="https://b.example"</p>');
  });

  it('keeps the address to the byte: escaped in HTML and led past the tracker, it comes out as it went in', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        const escaped = url.replaceAll('&', '&amp;').replaceAll("'", '&#39;');
        expect(track(`<a href="${escaped}">x</a>`).targets).toEqual([url]);
      }),
    );
  });
});

describe('a compiled campaign', () => {
  const content = {
    subject: 'News',
    previewText: null,
    contentText: null,
    contentJson: JSON.stringify({
      blocks: [
        {
          type: 'text',
          html: '<p>Hello {{ subscriber.first_name }}, <a href="https://a.example/one?x=1&amp;y=2">one</a></p>',
        },
        { type: 'button', label: 'Two', url: 'https://a.example/two' },
        { type: 'image', src: 'https://a.example/i.png', alt: 'i', href: 'https://a.example/three' },
      ],
    }),
  };
  const footer = footerOf({ senderName: 'Acme', postalAddress: '1 Main Street' }, new Wording('en'));

  it('leaves alone the visit of a privacy policy', async () => {
    const untracked = 'https://acme.example/privacy';
    const sender = { senderName: 'Acme', postalAddress: '1 Main Street', privacyUrl: untracked };
    const told = footerOf(sender, new Wording('en'));
    const tracking = { baseUrl: 'https://m.example', shared, places: 1_000, untracked };
    const { html, targets } = await compileMail(content, told, tracking);
    expect(html).toContain(`href="${untracked}"`);
    expect(targets).not.toContain(untracked);
  });

  it('tracks the links of all blocks in HTML, and leaves the text part alone', async () => {
    const { html, text, targets } = await compileMail(content, footer, {
      baseUrl: 'https://m.example',
      shared,
      places: 1_000,
    });
    expect(targets).toEqual([
      'https://a.example/one?x=1&y=2',
      'https://a.example/two',
      'https://a.example/three',
    ]);
    const values = {
      subscriber: {
        email: 'a@b.example',
        external_id: null,
        first_name: 'Ada',
        last_name: null,
        phone: null,
        locale: null,
        time_zone: null,
      },
      custom: {},
      topic: { name: '', key: '' },
      ...shared,
      links: {
        unsubscribe: 'https://m.example/u/x',
        preferences: 'https://m.example/p/x',
        view: 'https://m.example/v/x',
      },
      tracking: { place_0: 'PIXEL', place_1: 'ONE', place_2: 'TWO', place_3: 'THREE' },
    };
    const rendered = compileMergeTemplate(html, 'html').render(values);
    expect([...rendered.matchAll(/href="([^"]*)"/g)].map(([, url]) => url)).toEqual([
      'https://m.example/l/ONE',
      'https://m.example/l/TWO',
      'https://m.example/l/THREE',
      'https://m.example/u/x',
      'https://m.example/p/x',
      'https://m.example/v/x',
    ]);
    expect(rendered).toContain('src="https://m.example/o/PIXEL"');
    expect(compileMergeTemplate(text, 'none').render(values)).toContain('https://a.example/two');
  });

  it('has neither pixel nor tracked links without tracking', async () => {
    const { html, targets } = await compileMail(content, footer);
    expect(targets).toBeNull();
    expect(html).not.toContain('tracking.place_0');
  });
});
