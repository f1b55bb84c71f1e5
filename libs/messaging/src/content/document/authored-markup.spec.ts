import { describe, expect, it } from '@jest/globals';
import { Wording } from '#wording';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { SAMPLE_VALUES } from '../merge/merge-values.js';
import { footerOf } from '../processes/content-processes.service.js';
import { contentIdsIn } from './content-ids.js';
import { compileContent, type CompiledContent } from './content-compiler.js';
import type { ContentBlock, SimpleBlock } from './content-document.js';

const FOOTER = footerOf({ senderName: 'Shop', postalAddress: 'Street 1' }, new Wording('en'));

function compiled(...blocks: ContentBlock[]): Promise<CompiledContent> {
  return compileContent({
    subject: 'Hello',
    previewText: null,
    document: { blocks },
    contentText: null,
    footer: FOOTER,
  });
}
const block = (html: string): SimpleBlock => ({ type: 'html', html });
const inMjml = (body: string, head = ''): ContentBlock => ({
  type: 'mjml',
  mjml: `<mjml><mj-head>${head}</mj-head><mj-body><mj-section><mj-column>${body}</mj-column></mj-section></mj-body></mjml>`,
});
const filledIn = async (html: string, custom: Readonly<Record<string, unknown>>): Promise<string> =>
  compileMergeTemplate((await compiled(block(html))).html, 'html').render({ ...SAMPLE_VALUES, custom });

/** Declarations in mails, among them all that MJML, React Email, Outlook and hand-made templates write. */
const DECLARATIONS = [
  'background:#003366',
  'background:#036 url(https://cdn.example/a.png) no-repeat center/cover',
  'background-color:rgba(0,51,102,.9)',
  "background-image:url('https://cdn.example/a.png')",
  'background-image:linear-gradient(90deg,#003366,#0b57d0)',
  'background-position:center top',
  'background-repeat:no-repeat',
  'background-size:cover',
  'border:1px solid #ccc',
  'border-bottom:1px solid #ccc',
  'border-collapse:separate',
  'border-left:1px solid #ccc',
  'border-radius:4px',
  'border-right:1px solid #ccc',
  'border-spacing:0',
  'border-top:1px solid #ccc',
  'border-top-left-radius:4px',
  'box-shadow:0 1px 2px rgba(0,0,0,.2)',
  'box-sizing:border-box',
  'caption-side:bottom',
  'clear:both',
  'color:#ffffff',
  'column-count:2',
  'cursor:pointer',
  'direction:rtl',
  'display:inline-block',
  'empty-cells:hide',
  'filter:alpha(opacity=50)',
  'flex:1 1 auto',
  'float:left',
  'font:bold 16px/1.5 Arial, sans-serif',
  'font-family:Burlingame,Arial',
  'font-feature-settings:"kern" 1',
  'font-size:16px',
  'font-stretch:condensed',
  'font-style:italic',
  'font-variant:small-caps',
  'font-weight:700',
  'gap:8px',
  'height:auto !important',
  'hyphens:none',
  'letter-spacing:.5px',
  'line-height:1.5',
  'list-style:none',
  'list-style-position:inside',
  'list-style-type:square',
  'margin:0 auto',
  'margin-bottom:-4px',
  'max-height:100px',
  'max-width:calc(100% - 16px)',
  'min-height:48px',
  'min-width:100%',
  'mso-hide:all',
  'mso-line-height-rule:exactly',
  'mso-padding-alt:12px 24px',
  'mso-table-lspace:0pt',
  'object-fit:cover',
  'opacity:.9',
  'outline:none',
  'overflow:hidden',
  'overflow-wrap:anywhere',
  'padding:12px 24px',
  'position:relative',
  'table-layout:fixed',
  'tab-size:4',
  'text-align:center',
  'text-decoration:none',
  'text-indent:1em',
  'text-overflow:ellipsis',
  'text-rendering:optimizeLegibility',
  'text-shadow:0 1px 0 #fff',
  'text-transform:uppercase',
  'transform:rotate(2deg)',
  'unicode-bidi:embed',
  'vertical-align:middle',
  'visibility:hidden',
  'white-space:nowrap',
  'width:100%',
  'word-break:break-word',
  'word-spacing:2px',
  'z-index:1',
  '-ms-text-size-adjust:100%',
  '-ms-interpolation-mode:bicubic',
  '-webkit-font-smoothing:antialiased',
  '-webkit-text-size-adjust:none',
  '*zoom:1',
  '--brand:#003366',
];

describe('CSS that an author writes', () => {
  it.each(DECLARATIONS)(
    'arrives, in an attribute and in a style sheet, in HTML and in MJML: %s',
    async (css) => {
      const written = css.replaceAll('"', "'");
      const attribute = css.replaceAll('"', '&quot;');
      const { html, removed } = await compiled(
        block(`<style>.one{${css}}</style><div class="one"><span style="${attribute}">x</span></div>`),
      );
      expect(html).toContain(`<span style="${written}">`);
      expect(html).toContain(`.one{${written}}`);
      const mjml = await compiled(
        inMjml(`<mj-text><span style="${attribute}">x</span></mj-text>`, `<mj-style>.one{${css}}</mj-style>`),
      );
      expect(mjml.html).toContain(`<span style="${written}">`);
      expect(mjml.html).toContain(`.one{${written}}`);
      expect([...removed, ...mjml.removed]).toEqual([]);
    },
  );

  it.each([
    ['behavior:url(x.htc)', 'behavior:url(x.htc)'],
    ['-moz-binding:url(https://a.example/x.xml)', '-moz-binding:url(https://a.example/x.xml)'],
    ['width:expression(alert(1))', 'width:expression(alert(1))'],
    ['background:url(javascript:alert(1))', 'background:url(javascript:alert(1))'],
    ['background:url(data:image/png;base64,AAAA)', 'background:url(data:image/png;base64,AAAA)'],
    ['background:url(//cdn.example/a.png)', 'background:url(//cdn.example/a.png)'],
    ['background:image-set("ftp://a.example/x" 1x)', "background:image-set('ftp://a.example/x' 1x)"],
    ['position:fixed', 'position:fixed'],
    ['POSITION: sticky', 'POSITION: sticky'],
    ['position:absolute', 'position:absolute'],
    ['color:rgb(1,2', 'color:rgb(1,2;'],
  ])('goes alone when it is dangerous, and is named: %s', async (css, named) => {
    const attribute = css.replaceAll('"', '&quot;');
    const { html, removed } = await compiled(block(`<p style="color:#111111;${attribute};">x</p>`));
    expect(html).toMatch(/<p style="[^"]*color: #111111;">/);
    expect(html).not.toContain(named);
    expect(removed).toEqual([`contentJson.blocks[0].html: ${named}`]);
  });

  it('keeps the rest of a style sheet of which a rule or a declaration is dangerous', async () => {
    const sheet = `@import url("https://a.example/x.css");
      /* a note */ @charset "utf-8";
      @font-face { font-family: Own; src: url(https://cdn.example/own.woff2) format("woff2") }
      @media only screen and (max-width:480px) { .a { width: 100% !important; behavior: url(x.htc) } }
      @media (prefers-color-scheme: dark) { .a, .b > td:first-child { background: #111 !important } }
      [data-ogsc] .a { color: #eee } u + .body .a { margin: 0 } @keyframes k { from { opacity: 0 } to { opacity: 1 } }`;
    for (const [where, content] of [
      ['html', block(`<style>${sheet}</style><p class="a">x</p>`)],
      ['mjml', inMjml('<mj-text>x</mj-text>', `<mj-style><![CDATA[${sheet}]]></mj-style>`)],
    ] as const) {
      const { html, removed } = await compiled(content);
      const head = html.slice(0, html.indexOf('</head>'));
      expect(head).toContain(
        "@font-face{font-family: Own;src: url(https://cdn.example/own.woff2) format('woff2')}",
      );
      expect(head).toContain('@media only screen and (max-width:480px){.a{width: 100% !important}');
      expect(head).toContain('.a, .b > td:first-child{background: #111 !important}');
      expect(head).toContain('[data-ogsc] .a{color: #eee}');
      expect(head).toContain('u + .body .a{margin: 0}');
      expect(head).toContain('@keyframes k{from{opacity: 0}');
      expect(html).not.toMatch(/@import|behavior/);
      expect(removed).toEqual([
        `contentJson.blocks[0].${where}: @import url('https://a.example/x.css')`,
        `contentJson.blocks[0].${where}: behavior: url(x.htc)`,
      ]);
    }
  });

  it('keeps names of fonts that are not ASCII or hold "url"', async () => {
    const { html, removed } = await compiled(
      block(`<span style="font-family:&quot;メイリオ&quot;,Meiryo,Burlingame,'Open Sans'">x</span>`),
    );
    expect(html).toContain(`style="font-family:'メイリオ',Meiryo,Burlingame,'Open Sans'"`);
    expect(removed).toEqual([]);
  });
});

describe('merge tags in styles', () => {
  const TABLE = (style: string) => `<table><tr><td style="${style}">x</td></tr></table>`;

  it('fill in colours, lengths, fonts and the ends of addresses', async () => {
    const html = await filledIn(
      TABLE(
        'background:{{ custom.colour | default: "#036" }};width:{{ custom.width }}px;color:#{{ custom.hex }};' +
          'font-family:{{ custom.font }};background-image:url(https://cdn.example/{{ custom.path }}.png)',
      ),
      { colour: 'rgb(1, 2, 3)', width: 200, hex: 'ff0000', font: 'Open Sans, Arial', path: 'a/b' },
    );
    expect(html).toContain(
      'style="background:rgb(1, 2, 3);width:200px;color:#ff0000;font-family:Open Sans, Arial;background-image:url(https://cdn.example/a/b.png)"',
    );
  });

  it.each([
    'red;background:url(https://evil.example/x)',
    'url(https://evil.example/x)',
    'expression(alert(1))',
    'red}</style><script>alert(1)</script>',
    'red/*',
    '"x',
    '\\72 ed',
  ])('leave out a value that is more than one: %j', async (colour) => {
    const html = await filledIn(
      `<style>.a{color:{{ custom.colour }};margin:0}</style>${TABLE('color:{{ custom.colour }};padding:0')}`,
      { colour },
    );
    expect(html).toContain('.a{color:;margin:0}');
    expect(html).toContain('<td style="color:;padding:0">');
  });

  it('decide about declarations, alone and within one', async () => {
    const style =
      '{% if custom.vip %}background:#003366;{% else %}background:#eee;{% endif %}color:{% if custom.vip %}#fff{% else %}#111{% endif %}';
    for (const [vip, background, colour] of [
      [true, '#003366', '#fff'],
      [false, '#eee', '#111'],
    ] as const) {
      const html = await filledIn(`<p style="${style}">x</p>${TABLE(style)}`, { vip });
      const styles = [...html.matchAll(/<(?:p|td) style="([^"]*background[^"]*)"/g)].map(([, css]) =>
        (css ?? '').replaceAll(/\s+/g, ''),
      );
      expect(styles).toHaveLength(2);
      for (const css of styles) expect(css).toContain(`background:${background};color:${colour}`);
    }
  });

  it('work in MJML: in its colours and in its style sheets', async () => {
    const { html, removed } = await compiled(
      inMjml(
        '<mj-button background-color="{{ custom.colour }}" color="{{ custom.text | default: \'#fff\' }}" href="https://a.example">Buy</mj-button>',
        '<mj-style>.a { color: {{ custom.colour }} }</mj-style>',
      ),
    );
    const shown = compileMergeTemplate(html, 'html').render({
      ...SAMPLE_VALUES,
      custom: { colour: '#003366' },
    });
    expect(shown).toContain('background:#003366');
    expect(shown).toContain('color:#fff');
    expect(shown).toContain('.a{color: #003366}');
    expect(shown).not.toContain('#414141');
    expect(removed).toEqual([]);
  });
});

describe('markup that an author writes', () => {
  it('keeps links whose merge tags decide where they lead, in both parts', async () => {
    for (const link of [
      '<a {% if custom.vip %}href="https://a.example/vip"{% else %}href="https://a.example/all"{% endif %} class="x">Go</a>',
      '<a {% if custom.vip %} href="https://a.example/vip" {% else %} href="https://a.example/all" {% endif %} class="x">Go</a>',
    ]) {
      const { html, text, removed } = await compiled(block(link));
      expect(removed).toEqual([]);
      for (const [vip, end] of [
        [true, 'vip'],
        [false, 'all'],
      ] as const) {
        const values = { ...SAMPLE_VALUES, custom: { vip } };
        expect(compileMergeTemplate(html, 'html').render(values)).toMatch(
          new RegExp(`<a\\s+href="https://a.example/${end}"\\s+class="x"`),
        );
        expect(compileMergeTemplate(text, 'none').render(values)).toMatch(
          new RegExp(`^Go <https://a.example/${end}>\n`),
        );
      }
    }
  });

  it('keeps what styles, anchors and screen readers go by', async () => {
    const markup =
      '<table class="card wide" id="offers" role="presentation" bgcolor="#003366" background="https://cdn.example/a.png" data-x="1" aria-label="Offers" summary="s">' +
      '<tbody><tr><td nowrap valign="top">x</td></tr></tbody></table><a name="more"></a><a href="#offers">Offers</a>' +
      '<a href="sms:+15550100?body=Hi">SMS</a><a href="whatsapp://send?phone=15550100">WhatsApp</a>' +
      '<img src="https://cdn.example/a.png" alt="a" usemap="#m" hspace="2"><map name="m"><area shape="rect" coords="0,0,1,1" href="https://a.example"></map>' +
      '<details open><summary>More</summary><label>y</label></details>';
    const { html, removed } = await compiled(block(markup));
    expect(removed).toEqual([]);
    for (const attribute of markup.matchAll(/ ([a-z-]+="[^"]*"|nowrap|open)/g))
      expect(html).toContain(attribute[1] ?? '');
  });

  it.each([
    'hidden',
    'hidden=""',
    'HIDDEN',
    'hidden="hidden"',
    'style="display:none"',
    'style="color:red; DISPLAY: none; mso-hide:all"',
  ])('keeps what is hidden hidden, in both parts: %s', async (attribute) => {
    const markup = `<p>Hello</p><p ${attribute}>INTERNAL</p><table><tr><td ${attribute}>INTERNAL</td></tr></table>`;
    const page = { subject: 'Hello', previewText: null, contentText: null, footer: FOOTER };
    for (const mail of [
      await compiled(block(markup)),
      await compiled(
        inMjml(`<mj-text>${markup}</mj-text><mj-raw><tr ${attribute}><td>INTERNAL</td></tr></mj-raw>`),
      ),
      await compileContent({ ...page, document: { html: `<html><body>${markup}</body></html>` } }),
    ]) {
      expect(mail.removed).toEqual([]);
      const hidden = String.raw`[^>]*(?:hidden(?:="(?:hidden)?")?|display: ?none[^"]*")[^>]*>INTERNAL`;
      expect(mail.html).toMatch(new RegExp(`<p ${hidden}`, 'i'));
      expect(mail.html).toMatch(new RegExp(`<td ${hidden}`, 'i'));
      expect(mail.text).toContain('Hello');
      expect(mail.text).not.toContain('INTERNAL');
    }
  });

  it('shows in the text part what a merge tag hides from some', async () => {
    const { text } = await compiled(
      block('<p>Hello</p><div style="{% if subscriber.first_name %}display:none{% endif %}">Tell us</div>'),
    );
    expect(text).toContain('Tell us');
  });

  it('names `hidden` on an MJML component, which knows no such thing', async () => {
    const { removed } = await compiled(inMjml('<mj-text hidden>INTERNAL</mj-text>'));
    expect(removed).toEqual(['contentJson.blocks[0].mjml: <mj-text hidden="">']);
  });

  it('keeps comments to Outlook as they are, and takes from them what is dangerous', async () => {
    const button =
      '<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://a.example" style="height:40px;v-text-anchor:middle" arcsize="10%" fillcolor="#0b57d0"><w:anchorlock/><center style="color:#ffffff">Buy</center></v:roundrect><![endif]-->';
    const ghost =
      '<!--[if mso | IE]><table width="600"><tr><td width="300"><![endif]-->left<!--[if mso | IE]></td></tr></table><![endif]-->';
    const others = '<!--[if !mso]><!--><a href="https://a.example">Buy</a><!--<![endif]--><!-- a note -->';
    const both = `${button}<p>or</p>${ghost}${others}`;
    const { html, removed } = await compiled(block(both));
    expect(removed).toEqual([]);
    for (const part of [
      button,
      ...ghost.split('left'),
      '<!--[if !mso]><!-->',
      '<!--<![endif]-->',
      '<!-- a note -->',
    ])
      expect(html).toContain(part);
    const raw = await compiled(inMjml(`<mj-raw>${both}</mj-raw><mj-text>${ghost}</mj-text>`));
    expect(raw.html).toContain(button);
    expect(raw.removed).toEqual([]);
    const hostile = await compiled(
      block('<p>x</p><!--[if mso]><b onclick="alert(1)">y</b><script>alert(1)</script><![endif]-->'),
    );
    expect(hostile.html).toContain('<!--[if mso]><b>y</b>alert(1)<![endif]-->');
    expect(hostile.removed).toEqual([
      'contentJson.blocks[0].html: onclick="alert(1)"',
      'contentJson.blocks[0].html: <script>',
      'contentJson.blocks[0].html: </script>',
    ]);
  });

  it('keeps a condition that stands in comments', async () => {
    const html = await filledIn(
      '<!-- {% if custom.vip %} --><p>Only for VIPs</p><!-- {% endif %} --><p>All</p>',
      {
        vip: false,
      },
    );
    expect(html).not.toContain('Only for VIPs');
  });

  it('takes a whole page, its background and style sheets', async () => {
    const { html, removed } = await compiled(
      block(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Page</title><link rel="preload" href="https://a.example/x.png" as="image"><style>.a{margin:0}</style></head>' +
          '<body bgcolor="#003366" style="color:#fff" class="a"><p>x</p></body></html>',
      ),
    );
    expect(html).toContain('<div class="mw-body a" style="background-color:#003366;color:#fff">');
    expect(html.slice(0, html.indexOf('</head>'))).toContain('.a{margin:0}');
    expect(html).not.toContain('Page');
    expect(removed).toEqual([]);
  });

  it('lets style sheets of the author decide about links, paragraphs and the page', async () => {
    const { html } = await compiled(
      block(
        '<style>body { background: #003366; font-family: Georgia } .button a { color: #ffffff } @media (prefers-color-scheme: dark) { body { background: #111111 !important } }</style><body style="background:#003366"><p class="lead">x</p><div class="button"><a href="https://a.example">Buy</a></div></body>',
      ),
    );
    expect(html).toContain('<a href="https://a.example">Buy</a>');
    expect(html).toContain('<p class="lead">x</p>');
    expect(html.indexOf('a{color:#0b57d0}')).toBeLessThan(html.indexOf('.button a{'));
    expect(html).toMatch(/<body class="mw-page" style="word-spacing:normal;">/);
    expect(html).toContain('body,.mw-body{background: #111111 !important}');
    expect(html).toContain('<meta name="color-scheme" content="light dark">');
    expect(html).not.toMatch(/mw-own"[^]{0,120}font-family:-apple/);
  });

  it('keeps addresses of background images and what the head of MJML says', async () => {
    const { html, removed } = await compiled({
      type: 'mjml',
      mjml: `<mjml><mj-head><mj-raw><meta name="color-scheme" content="light dark"></mj-raw></mj-head><mj-body><mj-section background-url="https://cdn.example/it's (2).jpg"><mj-column><mj-text>x</mj-text></mj-column></mj-section></mj-body></mjml>`,
    });
    expect(html).toContain('<meta name="color-scheme" content="light dark"');
    expect(html).toContain('https://cdn.example/it%27s%20%282%29.jpg');
    expect(removed).toEqual([]);
  });

  it('keeps classes, text in CDATA and comments in MJML', async () => {
    const { html, removed } = await compiled(
      inMjml(
        '<mj-text css-class="own"><p class="lead" id="top">Hi</p><![CDATA[<b>bold</b> & more]]></mj-text><mj-raw><!-- keep me --></mj-raw>',
      ),
    );
    expect(html).toContain('<p class="lead" id="top"');
    expect(html).toContain('class="own"');
    expect(html).toContain('<b>bold</b> &amp; more');
    expect(html).toContain('<!-- keep me -->');
    expect(removed).toEqual([]);
  });

  it('names what goes, with its path', async () => {
    const { removed } = await compiled(
      { type: 'text', html: '<h2>Title</h2><p onclick="x()">x</p>' },
      {
        type: 'columns',
        columns: [
          { blocks: [] },
          { blocks: [{ type: 'divider' }, block('<form action="/x"><input></form>')] },
        ],
      },
      block(
        '<iframe src="https://a.example"></iframe><link rel="stylesheet" href="https://a.example/x.css"><img srcset="https://a.example/2.png 2x" src="https://a.example/1.png" alt="">',
      ),
    );
    expect(removed).toEqual([
      'contentJson.blocks[0].html: <h2>',
      'contentJson.blocks[0].html: onclick="x()"',
      'contentJson.blocks[1].columns[1].blocks[1].html: <form>',
      'contentJson.blocks[1].columns[1].blocks[1].html: <input>',
      'contentJson.blocks[2].html: <iframe https://a.example>',
      'contentJson.blocks[2].html: <link https://a.example/x.css>',
      'contentJson.blocks[2].html: srcset="https://a.example/2.png 2x"',
    ]);
    const mjml = await compiled(
      inMjml(
        '<mj-text color="red;background:url(x)" width="{{ custom.w }}px">x</mj-text><mj-include path="x.mjml" />',
        '<mj-font name="Raleway" href="https://fonts.example/css?family=Raleway" />',
      ),
    );
    expect(mjml.removed).toEqual([
      'contentJson.blocks[0].mjml: <mj-font https://fonts.example/css?family=Raleway>',
      'contentJson.blocks[0].mjml: <mj-text color="red;background:url(x)">',
      'contentJson.blocks[0].mjml: <mj-text width="{{ custom.w }}px">',
      'contentJson.blocks[0].mjml: <mj-include>',
    ]);
  });

  it('refuses a merge tag between the attributes of an MJML component, which would lose it', async () => {
    await expect(
      compiled(inMjml('<mj-button {% if custom.vip %}href="https://a.example"{% endif %}>Go</mj-button>')),
    ).rejects.toThrow('<mj-button> has a merge tag between its attributes');
  });

  it('leaves dark mode alone where the author chose colours', async () => {
    const dark = async (html: string) => (await compiled(block(html))).html.includes('prefers-color-scheme');
    await expect(dark('<p>x</p>')).resolves.toBe(true);
    for (const html of [
      '<p style="background:#ffffff">x</p>',
      '<font color="#333333">x</font>',
      '<table bgcolor="#ffffff"><tr><td>x</td></tr></table>',
      '<style>p{color:#333}</style><p>x</p>',
    ])
      await expect(dark(html)).resolves.toBe(false);
  });
});

describe('files of the mail', () => {
  const mailOf = (one: ContentBlock, showsFiles: boolean): Promise<CompiledContent> =>
    compileContent({
      subject: 'Hello',
      previewText: null,
      document: { blocks: [one] },
      contentText: null,
      footer: FOOTER,
      showsFiles,
    });

  it.each<[string, ContentBlock]>([
    ['an image', { type: 'image', src: 'cid:logo@shop', alt: 'Logo' }],
    ['an html block', block('<img src="cid:logo@shop" alt="Logo">')],
    ['a table', block('<table background="cid:logo@shop"><tr><td>x</td></tr></table>')],
    ['words for Outlook', block('<!--[if mso]><v:fill src="cid:logo@shop" /><![endif]--><p>x</p>')],
    ['MJML', inMjml('<mj-image src="cid:logo@shop" alt="Logo" />')],
  ])('are shown by %s where the mail carries files, and only there', async (_, one) => {
    const { html, removed } = await mailOf(one, true);
    expect([contentIdsIn(html), removed]).toEqual([['logo@shop'], []]);
    if (one.type === 'image') await expect(mailOf(one, false)).rejects.toThrow('unsafe src');
    else {
      const without = await mailOf(one, false);
      expect(contentIdsIn(without.html)).toEqual([]);
      expect(without.removed).toEqual([expect.stringContaining('cid:logo@shop')]);
    }
  });

  it.each([
    '<a href="cid:logo">x</a>',
    '<img src="cid:{{ data.name }}">',
    '<img src="{{ data.scheme }}cid:x\u0001">',
    '<td style="background:url(cid:logo)">x</td>',
  ])('are nothing else: %s', async (html) => {
    const { html: mail, removed } = await mailOf(block(`<table><tr><td>${html}</td></tr></table>`), true);
    expect([contentIdsIn(mail), removed.length > 0 || mail.includes('{{ data.scheme }}')]).toEqual([
      [],
      true,
    ]);
  });
});
