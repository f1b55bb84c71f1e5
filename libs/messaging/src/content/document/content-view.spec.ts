import { describe, expect, it } from '@jest/globals';
import { Wording } from '#wording';
import { compileContent } from './content-compiler.js';
import { authoredLinks, hasLink, isEmptyContent, linkFault, linksOf } from './content-view.js';
import { hasLinkInText } from './mail-footer.js';
import { footerOf } from '../processes/content-processes.service.js';

describe('links of the content', () => {
  it('are every href and src, decoded, with merge tags as written', () => {
    const html = `<a href="https://a.example/?x=1&amp;y={{ custom.y | default: "z" }}">x</a>
      <img src='https://a.example/x.png'><a href="{{ links.view }}">v</a>{{ custom.x | default: '<a href="https://no.example">' }}
      <!-- <a href="https://comment.example">x</a> --><a>none</a>`;
    expect(linksOf(html)).toEqual([
      'https://a.example/?x=1&y={{ custom.y | default: "z" }}',
      'https://a.example/x.png',
      '{{ links.view }}',
    ]);
  });

  it('are found in every block as the author wrote them', () => {
    expect(
      authoredLinks({
        blocks: [
          { type: 'text', html: '<a href="javascript:alert(1)">x</a>' },
          { type: 'image', src: 'https://a.example/1.png', alt: '', href: 'https://a.example/2' },
          { type: 'divider' },
          {
            type: 'columns',
            columns: [
              { blocks: [{ type: 'button', label: 'x', url: 'https://a.example/3' }] },
              { blocks: [{ type: 'html', html: '<img src="https://a.example/4.png">' }] },
            ],
          },
        ],
      }),
    ).toEqual([
      'javascript:alert(1)',
      'https://a.example/1.png',
      'https://a.example/2',
      'https://a.example/3',
      'https://a.example/4.png',
    ]);
    expect(
      authoredLinks({
        blocks: [
          { type: 'mjml', mjml: '<mjml><mj-body><mj-button href="https://a.example/5" /></mj-body></mjml>' },
        ],
      }),
    ).toEqual(['https://a.example/5']);
  });

  it.each([
    'https://a.example',
    'http://a.example:8080/x?y=1#z',
    'https://münchen.example/straße',
    'https://a.example/{{ custom.path }}?q={{ custom.q | default: "a b" }}',
    '{{ links.unsubscribe }}',
    '{{ custom.url }}/more',
    'mailto:a@b.example?subject=Hi',
    'tel:+493012345',
  ])('are fine as %s', (url) => {
    expect(linkFault(url)).toBeNull();
  });

  it.each([
    '',
    '#',
    '/path',
    'www.example.com',
    '//a.example',
    'https:a.example',
    'https://',
    'https:///x',
    'https://a..example',
    'https://a b.example',
    'https://[::1',
    'ftp://a.example',
    'javascript:alert(1)',
    'java\nscript:alert(1)',
    '\u0001javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    'data:text/html,x',
    'mailto:',
    'tel:',
    'java{{ custom.x }}script:alert(1)',
    '{% if true %}javascript:{% endif %}x',
  ])('are at fault as %j', (url) => {
    expect(linkFault(url)).toEqual(expect.any(String));
  });
});

describe('an unsubscribe link', () => {
  it.each([
    ['<a href="{{ links.unsubscribe }}">x</a>', true],
    ["<a class='x' href='{{links.unsubscribe}}'>x</a>", true],
    ['<a href="{{ links.unsubscribe | default: "x" }}">x</a>', true],
    ['<a href="{{ links.preferences }}">x</a>', false],
    ['<p>{{ links.unsubscribe }}</p>', false],
    ['<!-- <a href="{{ links.unsubscribe }}">x</a> -->', false],
    ['<img src="{{ links.unsubscribe }}">', false],
    ['<a href="https://a.example/?{{ links.unsubscribe }}">x</a>', false],
    ['<a href="{{ links.unsubscribe }}"><img src="https://a.example/leave.png" alt="Leave"></a>', true],
    ['<a href="{{ links.unsubscribe }}">{{ custom.leave }}</a>', true],
    [
      '<a href="{{ links.unsubscribe }}"><b><img src="https://a.example/leave.png" alt="Leave"></b></a>',
      true,
    ],
    ['<a href="{{ links.unsubscribe }}"> <b></b></a>', false],
    [
      '<a href="{{ links.unsubscribe }}"><b><img src="https://a.example/x" style="display:none"></b></a>',
      false,
    ],
    ['<p><img src="https://a.example/x"></p><a href="{{ links.unsubscribe }}"></a>', false],
    [
      '<a href="{{ links.unsubscribe }}"><i style="display:none"><b><img src="https://a.example/x"></b></i></a>',
      false,
    ],
    ['<p style="color: red; display: none"><a href="{{ links.unsubscribe }}">x</a></p>', false],
  ])('%s: %s', (html, expected) => {
    expect(hasLink(html, 'unsubscribe')).toBe(expected);
  });

  it('is the bare address in a text part', () => {
    expect(hasLinkInText('Leave: {{ links.unsubscribe }}', 'unsubscribe')).toBe(true);
    expect(hasLinkInText('links.unsubscribe {{ links.view }}', 'unsubscribe')).toBe(false);
  });
});

describe('empty content', () => {
  const compile = async (html: string): Promise<boolean> => {
    const compiled = await compileContent({
      subject: 'Hello',
      previewText: 'Preview',
      document: { blocks: [{ type: 'html', html }] },
      contentText: null,
      footer: footerOf({ senderName: 'Shop', postalAddress: 'Street 1' }, new Wording('en')),
    });
    return isEmptyContent(compiled.html, compiled.text);
  };

  it.each([
    '<p> &nbsp; <br></p>',
    '<script>alert(1)</script>',
    '{% comment %}x{% endcomment %}'.replace('x', ''),
  ])('is %j, whatever the footer and the preview say', async (html) => {
    await expect(compile(html)).resolves.toBe(true);
  });

  it.each(['<p>x</p>', '{{ custom.body }}', '<img src="https://a.example/x.png" alt="">'])(
    'is not %j',
    async (html) => {
      await expect(compile(html)).resolves.toBe(false);
    },
  );

  it('is judged by the text when there is no HTML', () => {
    expect(isEmptyContent('', ' \n')).toBe(true);
    expect(isEmptyContent('', 'x')).toBe(false);
  });
});
