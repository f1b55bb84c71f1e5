import { describe, expect, it } from '@jest/globals';
import { isTooMuchStyle, parseContentDocument } from './content-document.js';

const errorsOf = (content: unknown): unknown => parseContentDocument(JSON.stringify(content)).errors;

const NO_SCHEME = 'must begin with https://, http://, mailto:, tel:, sms:, whatsapp:, # or a merge tag';

const EVERY_BLOCK = {
  blocks: [
    { type: 'heading', level: 1, text: 'Hello {{ subscriber.first_name | default: "there" }}' },
    { type: 'text', html: '<p>Some <strong>text</strong></p>' },
    { type: 'image', src: 'https://cdn.example/a.png', alt: '', href: '{{ custom.url }}', width: 300 },
    {
      type: 'button',
      label: 'Read',
      url: 'https://shop.example/?who={{ subscriber.email }}',
      color: '#0b57d0',
    },
    { type: 'divider' },
    { type: 'spacer', height: 24 },
    { type: 'html', html: '<table><tr><td>x</td></tr></table>' },
    {
      type: 'columns',
      columns: [{ blocks: [{ type: 'text', html: 'left' }] }, { blocks: [{ type: 'divider' }] }],
    },
  ],
  theme: {
    fontFamily: "'Open Sans', Arial",
    textColor: '#111',
    backgroundColor: '#ffffff',
    linkColor: '#0b57d0',
    width: 640,
  },
};

describe('parseContentDocument', () => {
  it('reads every kind of block and the theme', () => {
    expect(parseContentDocument(JSON.stringify(EVERY_BLOCK))).toEqual({ document: EVERY_BLOCK });
  });

  it('reads an mjml block that stands alone', () => {
    const content = { blocks: [{ type: 'mjml', mjml: '<mjml><mj-body></mj-body></mjml>' }] };
    expect(parseContentDocument(JSON.stringify(content))).toEqual({ document: content });
  });

  it.each([
    ['', 'is not valid JSON'],
    ['{"blocks":[', 'is not valid JSON'],
    ['[]', 'must be an object'],
    ['null', 'must be an object'],
    ['"blocks"', 'must be an object'],
  ])('names contentJson itself when the text is no JSON object: %j', (text, fault) => {
    expect(parseContentDocument(text)).toEqual({ errors: { contentJson: fault } });
  });

  it('refuses text that no mail can carry, wherever it stands', () => {
    expect(
      errorsOf({
        blocks: [
          { type: 'heading', level: 1, text: 'a\u0000b' },
          { type: 'text', html: '<p>a\ud800b</p>' },
          { type: 'image', src: 'https://cdn.example/a.png', alt: 'a\u0007b' },
          { type: 'button', label: 'a\u0085b', url: 'https://shop.example/a\u007fb' },
          { type: 'html', html: '<p>\tFine:\r\nlayout, \u{1f600}.</p>' },
        ],
      }),
    ).toEqual({
      'contentJson.blocks[0].text': 'must not contain control characters',
      'contentJson.blocks[1].html': 'is not valid Unicode',
      'contentJson.blocks[2].alt': 'must not contain control characters',
      'contentJson.blocks[3].label': 'must not contain control characters',
      'contentJson.blocks[3].url': 'must not contain control characters',
    });
  });

  it('takes files for images only where the mail carries files', () => {
    const image = { type: 'image', src: 'cid:logo', alt: '' };
    const content = { blocks: [image, { type: 'columns', columns: [{ blocks: [] }, { blocks: [image] }] }] };
    const fault = 'must be an http or https URL, or begin with a merge tag';
    expect(errorsOf(content)).toEqual({
      'contentJson.blocks[0].src': fault,
      'contentJson.blocks[1].columns[1].blocks[0].src': fault,
    });
    expect(parseContentDocument(JSON.stringify(content), true)).toEqual({ document: content });
    const inTag = { blocks: [{ ...image, src: 'cid:{{ data.name }}' }] };
    expect(parseContentDocument(JSON.stringify(inTag), true).errors).toHaveProperty([
      'contentJson.blocks[0].src',
    ]);
  });

  it('reports all faults at once, each with its path', () => {
    expect(
      errorsOf({
        blocks: [
          { type: 'heading', level: 4, text: 'x' },
          { type: 'heading', level: 1.5, text: '', colour: 'red' },
          { type: 'video', url: 'https://example.com' },
          { text: 'no type' },
          { type: 'button', label: 'x', url: 'javascript:alert(1)', color: 'red' },
          { type: 'image', src: 'mailto:a@b.example', alt: 3 },
          'just text',
          { type: 'columns', columns: [{ blocks: [{ type: 'columns', columns: [] }] }] },
        ],
        theme: { width: 100, textColor: '#12345', size: 1 },
        version: 2,
      }),
    ).toEqual({
      'contentJson.blocks[0].level': 'must be at most 3',
      'contentJson.blocks[1].level': 'must be an integer',
      'contentJson.blocks[1].text': 'is required',
      'contentJson.blocks[1].colour': 'is not a known field',
      'contentJson.blocks[2].type':
        'must be one of heading, text, image, button, divider, spacer, html, columns, mjml',
      'contentJson.blocks[3].type': 'is required',
      'contentJson.blocks[4].url': 'must be an http, https, mailto, tel, sms or whatsapp link',
      'contentJson.blocks[4].color': 'must be a hex colour such as #0b57d0',
      'contentJson.blocks[5].src': 'must be an http or https URL, or begin with a merge tag',
      'contentJson.blocks[5].alt': 'must be a string',
      'contentJson.blocks[6]': 'must be an object',
      'contentJson.blocks[7].columns': 'must hold at least 2 entries',
      'contentJson.blocks[7].columns[0].blocks[0].type':
        'must be one of heading, text, image, button, divider, spacer, html',
      'contentJson.theme.width': 'must be at least 320',
      'contentJson.theme.textColor': 'must be a hex colour such as #0b57d0',
      'contentJson.theme.size': 'is not a known field',
      'contentJson.version': 'is not a known field',
    });
  });

  it('requires blocks', () => {
    expect(errorsOf({})).toEqual({ 'contentJson.blocks': 'is required' });
    expect(errorsOf({ blocks: {} })).toEqual({ 'contentJson.blocks': 'must be an array' });
  });

  it('refuses an mjml block beside others or without a body', () => {
    const mjml = { type: 'mjml', mjml: '<mjml><mj-body></mj-body></mjml>' };
    expect(errorsOf({ blocks: [{ type: 'divider' }, mjml] })).toEqual({
      'contentJson.blocks[1]': 'an mjml block must be the only block',
    });
    expect(errorsOf({ blocks: [{ type: 'mjml', mjml: '<mj-text>x</mj-text>' }] })).toEqual({
      'contentJson.blocks[0].mjml': 'must hold <mjml> with an <mj-body>',
    });
  });

  it('counts blocks inside columns towards the limit of 200', () => {
    const blocks = Array.from({ length: 101 }, () => ({ type: 'divider' }));
    const columns = { type: 'columns', columns: [{ blocks }, { blocks: [{ type: 'divider' }] }] };
    expect(errorsOf({ blocks: [...blocks.slice(0, 97), columns] })).toBeUndefined();
    expect(errorsOf({ blocks: [...blocks, columns] })).toEqual({
      'contentJson.blocks': 'must hold at most 200 blocks',
    });
  });

  it.each([
    ['https://example.com/{{ custom.path }}', null],
    ['{{ custom.url | default: "https://example.com" }}', null],
    ['mailto:team@example.com', null],
    ['#offers', null],
    ['#{{ custom.part }}', null],
    ['sms:+15550100?body=Hello', null],
    ['whatsapp://send?phone=15550100', null],
    ['#', 'must be a full URL, beginning with https://'],
    ['/relative', 'must be a full URL, beginning with https://'],
    ['https://', 'is not a valid URL'],
    ['java{{ custom.x }}script:alert(1)', NO_SCHEME],
    ['{% if custom.vip %}https://a.example{% endif %}', NO_SCHEME],
    ['data:text/html,x', 'must be an http, https, mailto, tel, sms or whatsapp link'],
    ['java\tscript:alert(1)', 'must be an http, https, mailto, tel, sms or whatsapp link'],
    ['https://example.com/{{ custom.path', 'holds a merge tag that is not closed'],
    [' ', 'is empty'],
  ])('judges the button link %j', (url, fault) => {
    const errors = errorsOf({ blocks: [{ type: 'button', label: 'Go', url }] });
    expect(errors).toEqual(fault === null ? undefined : { 'contentJson.blocks[0].url': fault });
  });
});

const source = (css: string, elements = 1) =>
  `<mjml><mj-head><mj-style inline="inline">${css}</mj-style></mj-head><mj-body>${'<mj-text>x</mj-text>'.repeat(elements)}</mj-body></mjml>`;
const many = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join('');

describe('The style sheets of a mail', () => {
  it('are read once, whatever they hold and lack: a request to save them holds up no other', () => {
    // Read again from every character they would take hours.
    for (const css of [
      'a'.repeat(3_000_000),
      '@media '.repeat(400_000),
      '}'.repeat(3_000_000),
      'a '.repeat(1_500_000),
    ])
      expect(isTooMuchStyle(source(css))).toBe(false);
    const oversized = JSON.stringify({ blocks: [{ type: 'mjml', mjml: source('a'.repeat(900_000)) }] });
    expect(parseContentDocument(oversized).errors).toEqual({
      'contentJson.blocks[0].mjml': 'must be at most 100000 characters',
    });
  });

  it('may hold 1 500 rules for screens', () => {
    const css = many(1_500, (index) => `@media (max-width:${index}px){.a${index}{color:red}}`);
    expect(isTooMuchStyle(source(css, 10))).toBe(false);
  });

  it('are too much when they hold too many rules for so many elements', () => {
    const css = many(1_000, (index) => `.a${index}{color:red;padding:1px}`);
    expect([isTooMuchStyle(source(css, 10)), isTooMuchStyle(source(css, 400))]).toEqual([false, true]);
    expect(isTooMuchStyle(source('a ~ b ~ c ~ d{color:red}', 1_000))).toBe(true);
  });
});
