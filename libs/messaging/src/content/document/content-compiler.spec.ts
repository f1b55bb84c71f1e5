import { describe, expect, it } from '@jest/globals';
import { compileContent, type ContentInput } from './content-compiler.js';
import { coloursOf } from '#kernel';
import type { ContentBlock, ContentBlocks } from './content-document.js';
import { hasLink } from './content-view.js';
import { hasLinkInText } from './mail-footer.js';
import { contrastRatio, readableOn, themeOf } from './mjml-document.js';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { MergeTemplateError } from '../content.errors.js';
import { SAMPLE_VALUES } from '../merge/merge-values.js';
import { Wording } from '#wording';
import { footerOf } from '../processes/content-processes.service.js';

const ENGLISH = new Wording('en');
const FOOTER = footerOf({ senderName: 'Shop & Söhne', postalAddress: 'Street 1\n10115 Berlin' }, ENGLISH);
const ADDRESS = '{{ project.postal_address }}';
const UNSUBSCRIBE = '<a href="{{ links.unsubscribe }}">Leave</a>';

function input(blocks: ContentBlock[], changes: Partial<ContentInput> = {}): ContentInput {
  const document = { blocks };
  return { subject: 'Hello', previewText: null, document, contentText: null, footer: FOOTER, ...changes };
}

const occurrences = (text: string, part: string): number => text.split(part).length - 1;

describe('compiled content', () => {
  it.each([
    '{{ subscriber.first_name | default: "there" }}',
    "{{ custom.plan | default: 'a > b & <c>' }}",
    '{{ custom.plan | default: "}}" }}',
    '{%- if custom.age >= 18 and custom.plan == "pro" -%}',
    '{{custom.umlaut|default:"äöü 😀"}}',
    '{{   links.view\n}}',
  ])('keeps the merge tag %j byte for byte in text, attributes, URLs, subject and MJML', async (tag) => {
    const end = tag.startsWith('{%') ? '{% endif %}' : '';
    const compiled = await compileContent(
      input(
        [
          { type: 'heading', level: 1, text: `H1:${tag}${end}` },
          {
            type: 'text',
            html: `<p>T1:${tag}${end}</p><a href="https://a.example/?x=${tag}${end}&y=1">x</a>`,
          },
          { type: 'image', src: `https://a.example/${tag}${end}.png`, alt: `A1:${tag}${end}` },
          { type: 'button', label: `B1:${tag}${end}`, url: `https://b.example/${tag}${end}` },
          { type: 'html', html: `<table><tr><td title="C1:${tag}${end}">x</td></tr></table>` },
        ],
        { subject: `S1:${tag}${end}`, previewText: `P1:${tag}${end}` },
      ),
    );
    expect(compiled.subject).toBe(`S1:${tag}${end}`);
    for (const before of ['<title>S1:', 'P1:', '>H1:', '>T1:', 'alt="A1:', 'B1:', 'title="C1:']) {
      expect(compiled.html).toContain(`${before}${tag}${end}`);
    }
    expect(compiled.html).toContain(`href="https://a.example/?x=${tag}${end}&amp;y=1"`);
    expect(compiled.html).toContain(`src="https://a.example/${tag}${end}.png"`);
    expect(compiled.html).toContain(`href="https://b.example/${tag}${end}"`);
    for (const part of [`H1:${tag}`, `T1:${tag}`, `A1:${tag}`, `https://b.example/${tag}`]) {
      expect(compiled.text).toContain(part);
    }
    const mjml = await compileContent(
      input([
        {
          type: 'mjml',
          mjml: `<mjml><mj-body><mj-section><mj-column><mj-text>${tag}${end}</mj-text><mj-button href="https://c.example/${tag}${end}">x</mj-button></mj-column></mj-section></mj-body></mjml>`,
        },
      ]),
    );
    expect(mjml.html).toContain(`>${tag}${end}</div>`);
    expect(mjml.html).toContain(`href="https://c.example/${tag}${end}"`);
  });

  it('makes a template of literal text only where the author wrote a tag', async () => {
    const safe = await compileContent(
      input([{ type: 'text', html: '&#123;&#123; custom.secret }} and {&#37; raw %} {{ custom.plan }}' }], {
        footer: footerOf({ senderName: 'The {{ custom.x }} Shop', postalAddress: '{% raw %}' }, ENGLISH),
      }),
    );
    for (const part of [safe.html, safe.text]) {
      expect([...compileMergeTemplate(part, 'html').variables].sort()).toEqual([
        'custom.plan',
        'links.preferences',
        'links.unsubscribe',
        'links.view',
      ]);
    }
  });

  it('adds to each part what it does not show itself: the postal address, the unsubscribe link, or both', async () => {
    const cases = [
      { html: 'Hi', contentText: null, adds: ['address links', 'address links'] },
      { html: 'Hi', contentText: 'Own text', adds: ['address links', 'address links'] },
      { html: UNSUBSCRIBE, contentText: null, adds: ['address', 'address'] },
      { html: UNSUBSCRIBE, contentText: 'Own text', adds: ['address', 'address links'] },
      { html: 'Hi', contentText: 'Leave: {{links.unsubscribe}}', adds: ['address links', 'address'] },
      {
        html: 'Read about {{ links.unsubscribe }}',
        contentText: null,
        adds: ['address links', 'address links'],
      },
      { html: ADDRESS, contentText: ADDRESS, adds: ['links', 'links'] },
      { html: `${ADDRESS} ${UNSUBSCRIBE}`, contentText: 'Own text', adds: ['', 'address links'] },
      {
        html: 'STREET 1<br>10115&nbsp;Berlin',
        contentText: 'Street 1, 10115 Berlin',
        adds: ['links', 'links'],
      },
      {
        html: `<p style="display:none">${ADDRESS}</p>${UNSUBSCRIBE}`,
        contentText: ADDRESS,
        adds: ['address', 'links'],
      },
      {
        html: `<p title="${ADDRESS}">${UNSUBSCRIBE}</p>`,
        contentText: 'Street 12, 10115 Berlin',
        adds: ['address', 'address links'],
      },
    ];
    for (const { html, contentText, adds } of cases) {
      const { html: inHtml, text } = await compileContent(input([{ type: 'html', html }], { contentText }));
      const added = [
        [inHtml.includes('Söhne<br>'), inHtml.includes('>Unsubscribe</a>')],
        [text.includes('Söhne\n'), /^Unsubscribe[: ]/m.test(text)],
      ].map(([address, links]) => [address && 'address', links && 'links'].filter(Boolean).join(' '));
      expect([html, contentText, added]).toEqual([html, contentText, adds]);
      expect(hasLink(inHtml, 'unsubscribe')).toBe(true);
      expect(hasLinkInText(text, 'unsubscribe')).toBe(true);
    }
  });

  it('leads to the mail on the web, once, with or without a footer of its own', async () => {
    const leaves = `${ADDRESS} ${UNSUBSCRIBE}`;
    const own = '<a href="{{ links.view }}">Look</a>';
    for (const html of ['Hi', leaves, `${leaves} ${own}`, own]) {
      const shown = await compileContent(input([{ type: 'html', html }], { contentText: 'Own text' }));
      expect([html, shown.html.match(/links\.view/g)]).toEqual([html, ['links.view']]);
      expect(shown.text).toContain('View in browser: {{ links.view }}');
      const text = 'Look: {{ links.view }}';
      const itself = await compileContent(input([{ type: 'html', html }], { contentText: text }));
      expect(itself.text.match(/links\.view/g)).toHaveLength(1);
    }
  });

  it('escapes the sender in the footer and shows each line of the address', async () => {
    const { html, text } = await compileContent(input([{ type: 'text', html: 'Hi' }]));
    expect(html).toContain('Shop &amp; Söhne<br>Street 1<br>10115 Berlin');
    expect(text).toContain('Shop & Söhne\nStreet 1\n10115 Berlin');
    expect(html).toContain('href="{{ links.preferences }}"');
  });

  it('adds the footer to an mjml block, whose head and body are kept', async () => {
    const mjml = `<mjml><mj-head><mj-style inline="inline">.x { color: #123456 }</mj-style></mj-head>
      <mj-body><mj-section><mj-column><mj-text css-class="x">Hello</mj-text></mj-column></mj-section></mj-body></mjml>`;
    const { html } = await compileContent(input([{ type: 'mjml', mjml }], { previewText: 'Soon <b>' }));
    expect(html).toContain('color: #123456');
    expect(html).toContain('10115 Berlin');
    expect(html).toContain('Soon &lt;b&gt;');
    const german = await compileContent(
      input([{ type: 'mjml', mjml: mjml.replace('<mjml', '<mjml lang="de"') }]),
    );
    expect(german.html).toContain('<html lang="de"');
  });

  it('writes a table into the text part row by row, its cells apart', async () => {
    const html =
      '<p>Order</p><table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td><b>3 €</b></td></tr></table><p>Thanks</p>';
    const { text } = await compileContent(input([{ type: 'html', html }]));
    expect(text).toMatch(/^Order\n+Item Price\nTea 3 €\n+Thanks\n/);
    const mjml =
      '<mjml><mj-body><mj-section><mj-column><mj-text>Hi</mj-text><mj-button href="https://a.example/">Go</mj-button></mj-column></mj-section></mj-body></mjml>';
    expect((await compileContent(input([{ type: 'mjml', mjml }]))).text).toMatch(
      /^Hi\n\nGo <https:\/\/a\.example\/>\n/,
    );
  });

  it('makes the text part from the HTML: words, links and image texts, no preview, no title', async () => {
    const { text } = await compileContent(
      input(
        [
          { type: 'heading', level: 1, text: 'Big & bold' },
          { type: 'text', html: '<p>One <a href="https://a.example/">two</a></p><ul><li>three</li></ul>' },
          { type: 'image', src: 'https://a.example/x.png', alt: 'A cat' },
        ],
        { previewText: 'PREVIEW', subject: 'SUBJECT' },
      ),
    );
    expect(text).toMatch(/^Big & bold\n\nOne two <https:\/\/a\.example\/>\n\n \* three\n\nA cat\n/);
    expect(text).not.toMatch(/PREVIEW|SUBJECT|x\.png/);
  });

  it('makes a simple HTML part when there is only text, with its links clickable', async () => {
    const contentText =
      'Dear {{ subscriber.first_name }} <3,\nsee https://a.example/?a=1&b=2.\n\nBye {{ links.unsubscribe }}';
    for (const document of [null, { blocks: [] }]) {
      const { html, text } = await compileContent(input([], { document, contentText }));
      const footer = 'Shop & Söhne\nStreet 1\n10115 Berlin\n\nView in browser: {{ links.view }}\n';
      expect(text).toBe(`${contentText}\n\n--\n${footer}`);
      expect(html).toContain(
        'Dear {{ subscriber.first_name }} &lt;3,<br>see <a href="https://a.example/?a=1&amp;b=2"',
      );
      expect(html).toMatch(/<a href="\{\{ links\.unsubscribe \}\}"[^>]*>\{\{ links\.unsubscribe \}\}<\/a>/);
      expect(occurrences(html, '10115 Berlin')).toBe(1);
    }
  });

  it('is readable by everybody: language, title, presentation tables, image texts, 16 px, contrast, dark mode', async () => {
    const { html } = await compileContent(
      input(
        [
          { type: 'text', html: 'Hello' },
          { type: 'image', src: 'https://a.example/x.png', alt: 'A "cat"' },
          { type: 'button', label: 'Go', url: 'https://a.example', color: '#ffee00' },
        ],
        { language: 'de', subject: 'Hallo' },
      ),
    );
    expect(html).toContain('<html lang="de"');
    expect(html).toContain('<title>Hallo</title>');
    for (const [table] of html.matchAll(/<table[^>]*>/g)) expect(table).toContain('role="presentation"');
    expect(html).toContain('alt="A &quot;cat&quot;"');
    expect(html).toContain('<meta name="color-scheme" content="light dark">');
    const theme = themeOf(undefined);
    for (const colour of [theme.textColor, theme.linkColor]) {
      expect(contrastRatio(colour, theme.backgroundColor)).toBeGreaterThanOrEqual(4.5);
    }
    expect(readableOn('#ffee00')).toBe('#111111');
    expect(html).toContain('color:#111111');
    const textSizes = [...html.matchAll(/class="mw-text"[^]*?font-size:(\d+)px;line/g)].map((match) =>
      Number(match[1]),
    );
    expect(Math.min(...textSizes)).toBe(16);
  });

  it('claims no language that nobody named', async () => {
    const blocks: ContentBlock[] = [{ type: 'text', html: 'Bonjour' }];
    const mjml =
      '<mjml><mj-body><mj-section><mj-column><mj-text>Bonjour</mj-text></mj-column></mj-section></mj-body></mjml>';
    for (const each of [blocks, [{ type: 'mjml' as const, mjml }]]) {
      const { html } = await compileContent(input(each));
      expect([...html.matchAll(/\slang="([^"]*)"/g)].map(([, language]) => language)).toEqual([
        'und',
        'und',
        // The footer is in ours.
        'en',
      ]);
    }
  });

  it('leads to the privacy policy and names the contact in its footer, unless the author does', async () => {
    const told = { privacyUrl: 'https://shop.example/privacy?a=1&b=2', contactEmail: 'data@shop.example' };
    const footer = footerOf({ senderName: 'Shop', postalAddress: 'Street 1', ...told }, ENGLISH);
    const { html, text } = await compileContent(input([], { contentText: 'Hello', footer }));
    expect(html).toMatch(/<a href="https:\/\/shop\.example\/privacy\?a=1&amp;b=2"[^>]*>Privacy policy<\/a>/);
    expect(html).toContain('Contact: data@shop.example');
    expect(text).toContain(`Privacy policy: ${told.privacyUrl}\nContact: data@shop.example`);
    const own = `Privacy: ${told.privacyUrl}, data@shop.example`;
    const written = await compileContent(input([], { contentText: own, footer }));
    expect(written.text).not.toContain('Privacy policy:');
    expect(written.text).not.toContain('Contact:');
  });

  it('has a footer in the words of a language, in its direction', async () => {
    const texts = {
      'footer.unsubscribe': "إلغاء & '<'b>",
      'footer.unsubscribeLink': "إلغاء: {url} '{'% raw %'}'",
    };
    const footer = footerOf({ senderName: 'Shop', postalAddress: 'Street 1' }, new Wording('ar', texts));
    const { html, text } = await compileContent(input([], { contentText: 'مرحبا', footer }));
    expect(html).toMatch(
      /<p lang="ar" dir="rtl"[^>]*><a href="{{ links.unsubscribe }}"[^>]*>إلغاء &amp; &lt;b&gt;</,
    );
    expect(text).toContain('إلغاء: {{ links.unsubscribe }} { % raw %}\n');
    expect(text).toContain('{{ links.view }}');
  });

  it('offers the view in a browser once', async () => {
    const own = await compileContent(input([{ type: 'text', html: '<a href="{{ links.view }}">Web</a>' }]));
    expect(own.html.match(/links\.view/g)).toHaveLength(1);
    expect(own.html).toContain('{{ links.unsubscribe }}');
  });

  it.each([
    ['rtl', 'right', 'שלום Acme, יש לנו חדשות'],
    ['rtl', 'right', 'Acme {{ subscriber.first_name }}: مرحبا بكم في متجرنا'],
    ['ltr', 'left', 'Hello مرحبا and welcome'],
    ['ltr', 'left', 'Привет'],
    ['ltr', 'left', '2026 – 50 %'],
    ['rtl', 'right', 'مرحبا https://www.acme.example/a-long-path/to-the/offer?of=the-week'],
    ['rtl', 'right', 'שלום, כתבו אל service-of-the-shop@acme.example או www.acme.example/service'],
  ])('runs %s, from the %s, when most letters of it do: %s', async (direction, start, words) => {
    const { html } = await compileContent(
      input([
        { type: 'heading', level: 1, text: words },
        { type: 'text', html: `<ul><li>${words}</li></ul>` },
        { type: 'button', label: words, url: 'https://a.example' },
      ]),
    );
    expect(html).toMatch(new RegExp(`<html [^>]*dir="${direction}"`));
    expect(new Set([...html.matchAll(/direction:(\w+)/g)].map(([, each]) => each))).toEqual(
      new Set([direction]),
    );
    expect([...html.matchAll(/class="mw-text"[^]*?text-align:(\w+)/g)].map(([, align]) => align)).toEqual([
      start,
      start,
      start,
    ]);
    expect(html).toContain(direction === 'rtl' ? 'padding: 0 24px 0 0' : 'padding: 0 0 0 24px');
  });

  it('hides the preview text as what is not displayed, not as white or tiny letters', async () => {
    const { html } = await compileContent(input([{ type: 'text', html: 'Hi' }], { previewText: 'Soon' }));
    expect(html).toMatch(
      /<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">Soon(?:&zwnj;&nbsp;){146}<\/div>/,
    );
    expect(html).not.toMatch(/font-size:1px|opacity:0|[;"]color:#ffffff/);
  });

  it('has the project’s colour on its links and buttons as the pages have, or ours, and the author’s before it', async () => {
    const blocks: ContentBlock[] = [
      { type: 'text', html: '<a href="https://a.example">x</a>' },
      { type: 'button', label: 'Go', url: 'https://a.example' },
      { type: 'button', label: 'Own', url: 'https://a.example', color: '#123456' },
    ];
    const looks = async (color: string | null, theme?: ContentBlocks['theme']) => {
      const { html } = await compileContent(
        input([], { document: { blocks, theme }, footer: { ...FOOTER, color } }),
      );
      const buttons = [...html.matchAll(/bgcolor="(#\w+)"/g)].map(([, colour]) => colour);
      const [link] = /(?<=<a href="https:\/\/a.example" style="color: )#\w+/.exec(html) ?? [];
      return { link, buttons, html };
    };
    const house = coloursOf(null);
    expect(await looks(null)).toMatchObject({
      link: house.light.link,
      buttons: [house.light.accent, '#123456'],
    });
    const red = coloursOf('#d92d20');
    const { html, ...colours } = await looks('#d92d20');
    expect(colours).toEqual({ link: red.light.link, buttons: [red.light.accent, '#123456'] });
    expect(html).toContain(`.mw-text a { color: ${red.dark.accent} !important; }`);
    expect(html).toContain(`background-color: ${red.dark.accent} !important; color: ${red.dark.onAccent}`);
    expect(html.match(/class="mw-button"/g)).toHaveLength(1);
    expect(await looks('#d92d20', { linkColor: '#00aa00' })).toMatchObject({
      link: '#00aa00',
      buttons: ['#00aa00', '#123456'],
    });
  });

  it.each(['#d92d20', '#e8710a', '#17594a', '#1a73e8', null])(
    'is read on every background that an author gives it: %s',
    (brand) => {
      for (const backgroundColor of ['#ffffff', '#000', '#16181c', '#777777', '#d92d20', '#ffe']) {
        const { linkColor, buttonColor } = themeOf({ backgroundColor }, brand);
        expect(contrastRatio(linkColor, backgroundColor)).toBeGreaterThanOrEqual(4.5);
        expect(contrastRatio(buttonColor, backgroundColor)).toBeGreaterThanOrEqual(3);
        expect(contrastRatio(readableOn(buttonColor), buttonColor)).toBeGreaterThanOrEqual(4.4);
      }
    },
  );

  it('gives a mail address with a subject as what mail programs take, in the text part', async () => {
    const html =
      '<p><a href="mailto:shop@acme.example?subject=Hi%20there&amp;body=x">Write</a> or <a href="mailto:shop@acme.example">us</a></p>';
    const { text } = await compileContent(input([{ type: 'text', html }]));
    expect(text).toMatch(
      /^Write <mailto:shop@acme\.example\?subject=Hi%20there&body=x> or us\s<shop@acme\.example>\n/,
    );
  });

  it('has no blank lines in the text part where only a tag stood', async () => {
    const values = { ...SAMPLE_VALUES, custom: { items: ['Tea', 'Cup'], none: [] } };
    const filled = async (blocks: ContentBlock[], contentText: string | null = null) => {
      const { text } = await compileContent(input(blocks, { contentText }));
      return compileMergeTemplate(text, 'none').render(values).split('\nShop &', 1)[0];
    };
    const loop = (open: string, close: string) =>
      `${open}{% for item in custom.items %}${close}${open}* {{ item }}${close}${open}{% endfor %}${close}`;
    const author = `Items:\n\n${loop('', '\n')}{% if custom.none.size > 0 %}\nNever\n{% endif %}\nBye`;
    expect(await filled([], author)).toBe('Items:\n\n* Tea\n* Cup\nBye\n\n--');
    const paragraphs = `<p>Items:</p>${loop('<p>', '</p>')}<p>{% if custom.none.size > 0 %}</p><p>Never</p><p>{% endif %}</p><p>Bye</p>`;
    expect(await filled([{ type: 'text', html: paragraphs }])).toBe('Items:\n\n* Tea\n\n* Cup\n\nBye\n');
    const rows =
      '<p>Items:</p><table>{% for item in custom.items %}<tr><td>{{ item }}</td></tr>{% endfor %}</table><p>Bye</p>';
    expect(await filled([{ type: 'html', html: rows }])).toBe('Items:\n\nTea\nCup\n\nBye\n');
    const list =
      '<p>Items:</p><ul>{% for item in custom.items %}<li>{{ item }}</li>{% endfor %}</ul><p>Bye</p>';
    expect(await filled([{ type: 'text', html: list }])).toBe('Items:\n\n * Tea\n * Cup\n\nBye\n');
    const { html } = await compileContent(input([], { contentText: author }));
    expect(compileMergeTemplate(html, 'html').render(values)).toMatch(
      /Items:<\/p>\s*<p[^>]*>\* Tea<br>\* Cup<br>Bye<\/p>/,
    );
  });

  it('uses the author’s theme and then leaves dark mode to the reader’s program', async () => {
    const theme = {
      fontFamily: '"Open Sans", Arial',
      textColor: '#222222',
      backgroundColor: '#fafafa',
      linkColor: '#aa0000',
      width: 500,
    };
    const document = {
      blocks: [{ type: 'text' as const, html: '<a href="https://a.example">x</a>' }],
      theme,
    };
    const { html } = await compileContent(input([], { document }));
    expect(html).toContain('color: #aa0000');
    expect(html).toContain('background-color:#fafafa');
    expect(html).toContain('max-width:500px');
    expect(html).toContain('Open Sans');
    expect(html).not.toContain('prefers-color-scheme');
  });

  it('stays below the 102 KB at which Gmail clips, for a long newsletter', async () => {
    const story: ContentBlock[] = [
      { type: 'heading', level: 2, text: 'A story of the week' },
      { type: 'image', src: 'https://a.example/x.png', alt: 'Picture' },
      { type: 'text', html: `<p>${'Some words about it. '.repeat(20)}</p>` },
      { type: 'button', label: 'Read on', url: 'https://a.example/story' },
    ];
    const { html } = await compileContent(input(Array.from({ length: 12 }, () => story).flat()));
    expect(Buffer.byteLength(html)).toBeLessThan(102 * 1024);
  });

  it('says which merge tag is not closed', async () => {
    await expect(compileContent(input([{ type: 'text', html: 'Hi {{ custom.x' }]))).rejects.toThrow(
      MergeTemplateError,
    );
  });
});
