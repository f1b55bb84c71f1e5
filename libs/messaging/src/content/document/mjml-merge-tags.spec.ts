import { describe, expect, it } from '@jest/globals';
import { Wording } from '#wording';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { SAMPLE_VALUES } from '../merge/merge-values.js';
import { footerOf } from '../processes/content-processes.service.js';
import { compileContent } from './content-compiler.js';

const footer = footerOf({ senderName: 'Shop', postalAddress: 'Street 1' }, new Wording('en'));

const compiled = (mjml: string) =>
  compileContent({ subject: 'Hello', previewText: null, document: { mjml }, contentText: null, footer });

const inBody = (body: string): string => `<mjml><mj-body>${body}</mj-body></mjml>`;
const section = (content: string): string => `<mj-section>${content}</mj-section>`;
const column = (content: string): string => `<mj-column>${content}</mj-column>`;
const text = (words: string): string => `<mj-text>${words}</mj-text>`;
const inColumn = (content: string): string => inBody(section(column(content)));
const IF = '{% if custom.vip %}';

/** Both parts as their reader gets them. */
async function read(mjml: string, custom: Readonly<Record<string, unknown>>) {
  const mail = await compiled(mjml);
  expect(mail.removed).toEqual([]);
  const values = { ...SAMPLE_VALUES, custom };
  return {
    html: compileMergeTemplate(mail.html, 'html').render(values),
    text: compileMergeTemplate(mail.text, 'none').render(values),
  };
}

describe('conditions and loops around MJML components', () => {
  const guarded = (component: string) => `${text('All')}${IF}${component}{% endif %}`;

  it.each([
    ['a section', inBody(`${section(column(text('All')))}${IF}${section(column(text('VIP')))}{% endif %}`)],
    [
      'a wrapper',
      inBody(
        `${section(column(text('All')))}${IF}<mj-wrapper>${section(column(text('VIP')))}</mj-wrapper>{% endif %}`,
      ),
    ],
    [
      'a section in a wrapper',
      inBody(
        `<mj-wrapper>${section(column(text('All')))}${IF}${section(column(text('VIP')))}{% endif %}</mj-wrapper>`,
      ),
    ],
    ['a hero', inBody(`${section(column(text('All')))}${IF}<mj-hero>${text('VIP')}</mj-hero>{% endif %}`)],
    ['what a hero holds', inBody(`<mj-hero>${guarded(text('VIP'))}</mj-hero>`)],
    ['a column', inBody(section(`${column(text('All'))}${IF}${column(text('VIP'))}{% endif %}`))],
    [
      'a column in a group',
      inBody(section(`<mj-group>${column(text('All'))}${IF}${column(text('VIP'))}{% endif %}</mj-group>`)),
    ],
    ['a text', inColumn(guarded(text('VIP')))],
    ['a button', inColumn(guarded('<mj-button href="https://a.example/">VIP</mj-button>'))],
    ['a table', inColumn(guarded('<mj-table><tr><td>VIP</td></tr></mj-table>'))],
    ['an image', inColumn(guarded('<mj-image src="https://a.example/x.png" alt="VIP" />'))],
    [
      'a social element',
      inColumn(
        `${text('All')}<mj-social>${IF}<mj-social-element name="x" href="https://a.example/">VIP</mj-social-element>{% endif %}</mj-social>`,
      ),
    ],
    [
      'a social element below others',
      inColumn(
        `${text('All')}<mj-social mode="vertical">${IF}<mj-social-element name="x" href="https://a.example/">VIP</mj-social-element>{% endif %}</mj-social>`,
      ),
    ],
    [
      'a link of a navbar',
      inColumn(
        `${text('All')}<mj-navbar hamburger="hamburger">${IF}<mj-navbar-link href="https://a.example/">VIP</mj-navbar-link>{% endif %}</mj-navbar>`,
      ),
    ],
    [
      'an element of an accordion',
      inColumn(
        `${text('All')}<mj-accordion>${IF}<mj-accordion-element><mj-accordion-title>VIP</mj-accordion-title></mj-accordion-element>{% endif %}</mj-accordion>`,
      ),
    ],
    [
      'the text of an accordion',
      inColumn(
        `<mj-accordion><mj-accordion-element><mj-accordion-title>All</mj-accordion-title>${IF}<mj-accordion-text>VIP</mj-accordion-text>{% endif %}</mj-accordion-element></mj-accordion>`,
      ),
    ],
    [
      'a carousel',
      inColumn(
        guarded('<mj-carousel><mj-carousel-image src="https://a.example/x.png" alt="VIP" /></mj-carousel>'),
      ),
    ],
    [
      'a section, in comments',
      inBody(
        `${section(column(text('All')))}<!-- ${IF} -->${section(column(text('VIP')))}<!-- {% endif %} -->`,
      ),
    ],
  ])('hold in both parts for %s', async (_, mjml) => {
    for (const vip of [true, false]) {
      const mail = await read(mjml, { vip });
      for (const part of [mail.html, mail.text]) {
        expect(part).toContain('All');
        expect(part.includes('VIP')).toBe(vip);
      }
    }
  });

  it('hold with else, in loops, and where they are nested', async () => {
    const mjml = inBody(
      `{% for item in custom.items %}${section(
        `${IF}${column(text('[{{ item }} for you]'))}{% else %}${column(text('[{{ item }}]'))}{% endif %}`,
      )}{% endfor %}`,
    );
    const shown = async (vip: boolean) => {
      const mail = await read(mjml, { vip, items: ['A', 'B'] });
      return [mail.html, mail.text].map((part) => part.match(/\[[^\]]*?(?:A|B)\b[^\]]*\]/g));
    };
    expect(await shown(true)).toEqual([
      ['[A for you]', '[B for you]'],
      ['[A for you]', '[B for you]'],
    ]);
    expect(await shown(false)).toEqual([
      ['[A]', '[B]'],
      ['[A]', '[B]'],
    ]);
  });

  it('leave the text part as it would be without what they guard', async () => {
    const all = section(column(text('All')));
    const mail = await read(inBody(`${all}${IF}${all}{% endif %}${all}`), { vip: false });
    expect(mail.text).toMatch(/^All\n\nAll\n\nShop\n/);
  });

  it('set values for the components behind them', async () => {
    const mjml = inBody(`{% assign code = "A1" %}${section(column(text('[{{ code }}]')))}`);
    const mail = await read(mjml, {});
    expect([mail.html, mail.text].every((part) => part.includes('[A1]'))).toBe(true);
  });

  it.each([
    ['outside of <mj-body>', `${IF}${inColumn(text('x'))}{% endif %}`],
    ['outside of <mj-body>', `<mjml>{% assign x = 1 %}<mj-body>${section('')}</mj-body></mjml>`],
    [
      'outside of <mj-body>',
      `<mjml><mj-head>${IF}<mj-style>.a{color:red}</mj-style>{% endif %}</mj-head><mj-body></mj-body></mjml>`,
    ],
    [
      'in <mj-carousel>',
      inColumn(
        `<mj-carousel>${IF}<mj-carousel-image src="https://a.example/x.png" />{% endif %}</mj-carousel>`,
      ),
    ],
    ['in <mj-image>', inColumn(`<mj-image src="https://a.example/x.png">${IF}${text('x')}{% endif %}`)],
  ])('are refused %s, where MJML would lose them: %s', async (place, mjml) => {
    await expect(compiled(mjml)).rejects.toThrow(`%} stands ${place}, `);
  });
});

describe('what stands between MJML components', () => {
  it.each([
    ['Hello', 'text between components: Hello'],
    ['{{ custom.code }}', 'text between components: {{ custom.code }}'],
    [`${IF}Hello{% endif %}`, 'text between components: Hello'],
    ['<img src="https://a.example/x.png">', '<img> between components'],
    ['<div><!-- a note --></div>', '<div> between components'],
  ])('is named where it is lost: %s', async (piece, named) => {
    const rest = section(column(text('x')));
    for (const mjml of [
      inBody(`${piece}${rest}`),
      inBody(section(`${column(text('x'))}${piece}`)),
      inColumn(`${text('x')}${piece}`),
      inColumn(`<mj-carousel><mj-carousel-image src="https://a.example/x.png" /></mj-carousel>${piece}`),
    ])
      expect((await compiled(mjml)).removed).toEqual([`mjml: ${named}`]);
  });

  it('is named where it is in a component that holds nothing', async () => {
    const { removed } = await compiled(inColumn(`<mj-image src="https://a.example/x.png">${text('Hello')}`));
    expect(removed).toEqual(['mjml: <mj-text> in <mj-image>']);
  });

  it('is not missed where it is a note', async () => {
    for (const note of ['<!-- a note -->', '{% comment %}a <b>note</b> {{ custom.x }}{% endcomment %}'])
      await expect(
        compiled(`${note}<mjml><mj-head>${note}</mj-head>${note}<mj-body>${note}</mj-body></mjml>`),
      ).resolves.toMatchObject({ removed: [] });
  });

  it('stays where it is a comment to Outlook', async () => {
    const comment = '<!--[if mso]><p>Outlook</p><![endif]-->';
    for (const mjml of [
      inBody(comment + section('')),
      inBody(section(comment)),
      inColumn(text('x') + comment),
      `<mjml><mj-head>${comment}</mj-head><mj-body>${section('')}</mj-body></mjml>`,
    ]) {
      const { html, removed } = await compiled(mjml);
      expect(html).toContain(comment);
      expect(removed).toEqual([]);
    }
    const others = `<!--[if !mso]><!-->${section(column(text('x')))}<!--<![endif]-->`;
    const { html } = await compiled(inBody(others));
    const body = html.slice(html.indexOf('<body'));
    expect(body).toMatch(
      /<!--\[if !mso\]><!-->[^]*x<\/div>[^]*<!--<!\[endif\]--><!-- -->\s*<!--\[if mso \| IE\]>/,
    );
    const image = `<mj-carousel>${comment}<mj-carousel-image src="https://a.example/x.png" /></mj-carousel>`;
    expect((await compiled(inColumn(image))).removed).toEqual([`mjml: ${comment} between components`]);
  });
});
