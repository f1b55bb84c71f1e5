import { describe, expect, it } from '@jest/globals';
import { Wording } from '#wording';
import { footerOf } from '../processes/content-processes.service.js';
import { compileContent, type CompiledContent } from './content-compiler.js';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { SAMPLE_VALUES } from '../merge/merge-values.js';
import { MAX_PAGE_BYTES, parseContentDocument } from './content-document.js';

const FOOTER = footerOf({ senderName: 'Shop', postalAddress: 'Street 1' }, new Wording('en'));
const LEAVE =
  '<a href="{{ links.unsubscribe }}">Leave</a> {{ project.postal_address }} <a href="{{ links.view }}">View</a>';

const compiled = (
  html: string,
  changes: { previewText?: string; isMessage?: boolean } = {},
): Promise<CompiledContent> =>
  compileContent({
    subject: 'Hello {{ subscriber.first_name }}',
    previewText: changes.previewText ?? null,
    language: 'de',
    document: { html },
    contentText: null,
    footer: { ...FOOTER, isEmpty: changes.isMessage === true },
  });
const page = (body: string, head = '') =>
  `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n` +
  `<html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" lang="en" dir="ltr"><head><title>Mine</title><meta charset="utf-8">${head}</head><body>${body}</body></html>`;

describe('a mail that is a whole page', () => {
  it('keeps doctype, root, title, meta, classes, ids and roles', async () => {
    const { html, removed } = await compiled(
      page(
        `<table role="presentation" class="outer" id="top" bgcolor="#eeeeee" background="https://cdn.example/a.png"><tr><td>Hi</td></tr></table>${LEAVE}`,
        '<meta name="viewport" content="width=device-width"><meta name="x-apple-disable-message-reformatting"><meta http-equiv="X-UA-Compatible" content="IE=edge">',
      ),
    );
    expect(removed).toEqual([]);
    expect(html).toMatch(/^<!DOCTYPE html PUBLIC "-\/\/W3C\/\/DTD XHTML 1\.0 Transitional\/\/EN"/);
    for (const kept of [
      '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" lang="en" dir="ltr">',
      '<title>Mine</title>',
      '<meta name="viewport" content="width=device-width" />',
      '<meta name="x-apple-disable-message-reformatting" />',
      '<meta http-equiv="X-UA-Compatible" content="IE=edge" />',
      '<table role="presentation" class="outer" id="top" bgcolor="#eeeeee" background="https://cdn.example/a.png">',
    ])
      expect(html).toContain(kept);
  });

  it.each([
    '<!--[if mso]><table width="600"><tr><td><![endif]-->',
    '<!--[if (gte mso 9)|(IE)]><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml><![endif]-->',
    `<!--[if mso]>\n  <v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href='https://a.example' style="height:40px;v-text-anchor:middle;width:200px;" arcsize="10%" stroke="f" fillcolor="#d62828">\n<w:anchorlock/><center STYLE="color:#fff">Go!</center></v:roundrect>\n<![endif]-->`,
    '<!--[if mso]><style type="text/css">body, td { font-family: Arial, sans-serif !important; }</style><![endif]-->',
    '<!--[if !mso]><!--><b>Others</b><!--<![endif]-->',
    '<!-- a note -->',
  ])('keeps a comment byte for byte: %s', async (comment) => {
    const { html, removed } = await compiled(page(`<p>x</p>${comment}<p>y</p>${LEAVE}`));
    expect(removed).toEqual([]);
    expect(html).toContain(comment);
  });

  it('says in attributes what its style sheets say, beside them', async () => {
    const sheet = '.a { color: #ff0000; padding: 4px } .a b { font-weight: 400 }';
    const { html } = await compiled(
      page(`<p class="a" style="margin:0">x <b>y</b></p>${LEAVE}`, `<style>${sheet}</style>`),
    );
    expect(html).toMatch(/<style>\.a *\{/);
    expect(html).toContain('<p class="a" style="color: #ff0000; padding: 4px; margin: 0;">');
    expect(html).toContain('<b style="font-weight: 400;">');
  });

  it.each([
    ['a narrow screen', '@media (max-width: 480px) { .a { width: 100% } }'],
    ['a dark one', '@media (prefers-color-scheme: dark) { .a { width: auto } }'],
    ['a finger above it', '.a:hover { width: 1px }'],
    ['what the program can', '@supports (display: grid) { .a { width: 2px } }'],
  ])('leaves to the sheets what another rule says for %s', async (_, rule) => {
    const { html } = await compiled(
      page(`<p class="a">x</p>${LEAVE}`, `<style>.a { width: 600px; color: #ff0000 } ${rule}</style>`),
    );
    expect(html).toContain('<p class="a" style="color: #ff0000;">');
  });

  it('says in attributes what a rule for a narrow screen outdoes by !important', async () => {
    const sheet = '.a { width: 600px } @media (max-width: 480px) { .a { width: 100% !important } }';
    const { html } = await compiled(page(`<p class="a">x</p>${LEAVE}`, `<style>${sheet}</style>`));
    expect(html).toContain('<p class="a" style="width: 600px;">');
  });

  it('names everything that it takes away', async () => {
    const { removed } = await compiled(
      page(
        '<script src="https://a.example/x.js"></script><form action="https://a.example"><input type="text"></form><p onclick="x()">x</p>' +
          '<a href="javascript:x()">x</a><iframe src="https://a.example"></iframe>',
        '<link rel="stylesheet" href="https://a.example/x.css"><meta http-equiv="refresh" content="0"><style>@import url(https://a.example/y.css);</style>',
      ),
    );
    expect(removed.toSorted()).toEqual(
      [
        'html: <form>',
        'html: <iframe https://a.example>',
        'html: <input>',
        'html: <link https://a.example/x.css>',
        'html: <meta http-equiv="refresh">',
        'html: <script https://a.example/x.js>',
        'html: @import url(https://a.example/y.css)',
        'html: href="javascript:x()"',
        'html: onclick="x()"',
      ].toSorted(),
    );
  });

  it('gets what it lacks: root, encoding, title, language, preview and footer', async () => {
    const { html, text } = await compiled('<p>Hi {{ subscriber.first_name }}</p>', { previewText: 'Soon' });
    expect(html).toMatch(
      /^<!doctype html>\n<html lang="de"><head><meta charset="utf-8"><title>Hello \{\{ subscriber\.first_name \}\}<\/title><\/head><body><div style="display:none[^"]*">Soon<\/div><p>Hi/,
    );
    expect(html).toMatch(
      /<div class="mw-footer"[^>]*>.*Street 1.*\{\{ links\.unsubscribe \}\}.*<\/div><\/body><\/html>$/s,
    );
    expect(text).toContain('Hi {{ subscriber.first_name }}');
    expect(text).toContain('{{ links.unsubscribe }}');
  });

  it('gets no footer where it is a message, or shows one itself', async () => {
    expect((await compiled('<p>Hi</p>', { isMessage: true })).html).not.toContain('mw-footer');
    expect((await compiled(`<p>Hi</p>${LEAVE}`)).html).not.toContain('mw-footer');
  });

  it.each(['<?xml version="1.0" encoding="UTF-8"?>\n', '<!-- a note -->\n', ' \n'])(
    'keeps a doctype behind %j',
    async (ahead) => {
      const { html, removed } = await compiled(`${ahead}${page(`<p>x</p>${LEAVE}`)}`);
      expect(removed).toEqual([]);
      expect(html).toMatch(/^<!DOCTYPE html PUBLIC "-\/\/W3C\/\/DTD XHTML 1\.0 Transitional\/\/EN"/);
      expect(html.match(/<!doctype/gi)).toHaveLength(1);
    },
  );

  it('names a doctype that holds merge tags, and has its own instead', async () => {
    const { html, removed } = await compiled(`<!doctype html{% if custom.x %} x{% endif %}><p>x</p>${LEAVE}`);
    expect(html).toMatch(/^<!doctype html>\n<html/);
    expect(removed).toEqual(['html: <!doctype html{% if custom.x %} x{% endif %}>']);
  });

  it('takes no body in a comment for its own', async () => {
    const twice = `<html><head></head><!--[if mso]><body class="mso"><![endif]--><!--[if !mso]><!--><body class="x"><!--<![endif]--><p>Hi</p></body></html>`;
    const { html } = await compiled(twice, { previewText: 'Soon' });
    expect(html).toContain('<!--[if mso]><body class="mso"><![endif]-->');
    expect(html).toMatch(/<body class="x"><div style="display:none[^"]*">Soon<\/div>/);
  });

  it.each([
    '<html>{% if custom.x %}<body>SECRET</body>{% else %}<body>public</body>{% endif %}</html>',
    '{% if custom.x %}<html><body>SECRET</body></html>{% endif %}',
    '<html><head>{% if custom.x %}</head><body>SECRET{% endif %}</body></html>',
    '<html><body>{% for x in custom.y %}SECRET</body>{% endfor %}</html>',
    '<html><body>{% if custom.x %}SECRET</body>{% else %}<body>public{% endif %}</body></html>',
  ])(
    'refuses a condition or loop that does not end where it begins, in the body or outside: %s',
    async (html) => {
      await expect(compiled(html)).rejects.toThrow('stands around <body>');
    },
  );

  it('refuses the same in the head of MJML', async () => {
    const mjml = `<mjml><mj-head><mj-raw>{% if custom.x %}</mj-raw></mj-head><mj-body><mj-raw>{% endif %}</mj-raw></mj-body></mjml>`;
    const input = { subject: 'Hello', previewText: null, document: { mjml }, contentText: null };
    await expect(compileContent({ ...input, footer: FOOTER })).rejects.toThrow('stands around <body>');
  });

  it('takes conditions in the head, and values that are set there, in both parts', async () => {
    const head =
      '{% assign code = "A1" %}{% capture words %}<b>Hello</b> {{ code }}{% endcapture %}{% if custom.x %}<style>p{margin:0}</style>{% endif %}';
    for (const source of [
      page(`<p>[{{ words }}, {{ code }}]</p>${LEAVE}`, head),
      `${head}${page(`<p>[{{ words }}, {{ code }}]</p>${LEAVE}`)}`,
    ]) {
      const { html, text, removed } = await compiled(source);
      expect(removed).toEqual([]);
      const shown = compileMergeTemplate(text, 'none').render(SAMPLE_VALUES);
      expect(shown).toMatch(/^\[Hello A1, A1\]\n/);
      expect(compileMergeTemplate(html, 'html').render(SAMPLE_VALUES)).toContain('A1, A1]');
    }
  });

  it('keeps conditions around attributes, declarations and rows', async () => {
    const { html } = await compiled(
      page(
        `<table>{% for item in custom.items %}<tr><td style="{% if item.red %}color:red;{% endif %}padding:0">{{ item.name }}</td></tr>{% endfor %}</table>${LEAVE}`,
        '<style>td { border: 0 }</style>',
      ),
    );
    expect(html).toContain('{% for item in custom.items %}<tr>');
    expect(html).toMatch(
      /<td style="[^"]*border: 0; \{% if item\.red %\} ?color:red;\{% endif %\} ?padding:0/,
    );
  });

  it('is refused beyond 512 KB, empty, or with control characters', () => {
    const errorOf = (html: string) => parseContentDocument(JSON.stringify({ html })).errors;
    expect(errorOf('x'.repeat(MAX_PAGE_BYTES))).toBeUndefined();
    expect(errorOf('x'.repeat(MAX_PAGE_BYTES + 1))).toEqual({ html: 'must be at most 524288 characters' });
    expect(errorOf('ä'.repeat(MAX_PAGE_BYTES / 2 + 1))).toEqual({ html: 'must be at most 524288 bytes' });
    expect(errorOf('')).toEqual({ html: 'is required' });
    expect(errorOf('a\u0000b')).toEqual({ html: 'must not contain control characters' });
    expect(parseContentDocument('{"html":"x","theme":{}}').errors).toEqual({ theme: 'is not a known field' });
  });
});

describe('a mail that is whole MJML', () => {
  it('is compiled as an mjml block is, and names what it loses by the field', async () => {
    const { html, removed } = await compileContent({
      subject: 'Hello',
      previewText: null,
      document: {
        mjml: '<mjml><mj-body><mj-section><mj-column><mj-text>Hi <script>x</script></mj-text></mj-column></mj-section></mj-body></mjml>',
      },
      contentText: null,
      footer: FOOTER,
    });
    expect(html).toContain('Hi');
    expect(html).toContain('{{ links.unsubscribe }}');
    expect(removed).toEqual(['mjml: <script>']);
  });
});
