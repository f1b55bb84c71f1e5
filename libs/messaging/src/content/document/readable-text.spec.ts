import { describe, expect, it } from '@jest/globals';
import { readableText } from './readable-text.js';

const page = (body: string, head = ''): string =>
  `<!doctype html><html><head>${head}</head><body>${body}<a href="{{ links.unsubscribe }}">Leave</a></body></html>`;
const FOLLOWS = '<meta name="color-scheme" content="light dark">';
const unreadable = async (body: string, head?: string): Promise<readonly string[] | undefined> =>
  (await readableText(page(body, head)))?.unreadable;

describe('text on its background', () => {
  it.each([
    ['white on the white page', '<p style="color:#fff">x</p>'],
    [
      'white on a background that a rule sets to white',
      '<p class="a" style="color:#fff">x</p>',
      '<style>.a{background:#fff}</style>',
    ],
    [
      'a rule that is important',
      '<p class="a" style="color:#000">x</p>',
      '<style>.a{color:#fefefe !important}</style>',
    ],
    [
      'grey on grey, by name, rgb and hsl',
      '<div style="background:silver"><p style="color:rgb(190,190,190)">x</p></div>',
    ],
    ['hsl', '<div style="background-color:hsl(0 0% 10%)"><p style="color:#111">x</p></div>'],
    ['black on a cell by its attribute', '<table bgcolor="000000"><tr><td>x</td></tr></table>'],
    ['white by the element for fonts', '<font color="white">x</font>'],
    ['letters that let everything through', '<p style="color:rgba(0,0,0,.05)">x</p>'],
    [
      'the white link of a button without its colour',
      '<a href="https://a.example" style="color:#ffffff">x</a>',
    ],
    ['the value of a merge tag', '<p style="color:#fff">{{ custom.x }}</p>'],
  ])('cannot be read: %s', async (_, body, head = '') => {
    const found = await unreadable(body, head);
    expect(found).toHaveLength(1);
    expect(found?.[0]).toMatch(/^"(?:x|\{\{ custom\.x \}\})" \(#[\da-f]{6} on #[\da-f]{6}\)$/);
  });

  it.each([
    ['white on blue, by the shorthand', '<td style="background:#003366;color:#fff">x</td>'],
    [
      'white on blue, by a rule',
      '<p class="a" style="color:#fff">x</p>',
      '<style>.a{background:#003366}</style>',
    ],
    [
      'white on blue, by an element around it',
      '<table bgcolor="#003366"><tr><td><p style="color:#fff">x</p></td></tr></table>',
    ],
    ['white over an image', '<p style="color:#fff;background:url(https://a.example/x.png)">x</p>'],
    ['white over a gradient', '<p style="color:#fff;background-image:linear-gradient(#000,#111)">x</p>'],
    [
      'white over the image of a cell',
      '<table background="https://a.example/x.png"><tr><td style="color:#fff">x</td></tr></table>',
    ],
    ['a colour of a merge tag', '<p style="color:{{ custom.colour }}">x</p>'],
    [
      'a colour that a merge tag decides',
      '<p style="color:{% if custom.x %}#fff{% else %}#000{% endif %}">x</p>',
    ],
    [
      'hidden preview text',
      '<div style="display:none;color:#fff">x</div><div style="max-height:0;overflow:hidden;color:#fff">x</div>',
    ],
    [
      'text of one pixel',
      '<div style="font-size:1px;color:#fff">x</div><div style="opacity:0;color:#fff">x</div>',
    ],
    ['blanks', '<p style="color:#fff">&nbsp;&zwnj;&#8199;</p>'],
    ['a title', '', '<title style="color:#fff">x</title>'],
    [
      'a rule for phones alone',
      '<p class="a">x</p>',
      '<style>@media (max-width:480px){.a{color:#fff}}</style>',
    ],
    ['a rule for paper', '<p class="a">x</p>', '<style>@media print{.a{color:#fff}}</style>'],
    ['text that Outlook alone reads', '<!--[if mso]><p style="color:#fff">x</p><![endif]-->'],
    ['light grey', '<p style="color:#bbbbbb">x</p>'],
  ])('is not called unreadable: %s', async (_, body, head = '') => {
    await expect(unreadable(body, head)).resolves.toEqual([]);
  });

  it('is looked at with the font names of its style attribute, written with character references', async () => {
    const dark =
      '<style>@media (prefers-color-scheme: dark){.a{background:#111}.a p{color:#eee!important}}</style>';
    const font = 'font-family:&#39;Segoe UI&#39;,Arial;color:#222';
    await expect(unreadable(`<div class="a"><p style="${font}">x</p></div>`, dark)).resolves.toEqual([]);
  });

  it('is looked at in the dark, where a mail says that it has a dark look', async () => {
    const dark = '<style>@media (prefers-color-scheme: dark){.a{background:#111}}</style>';
    await expect(unreadable('<p class="a" style="color:#222">x</p>', dark)).resolves.toEqual([
      '"x" (#222222 on #111111) in dark',
    ]);
    await expect(unreadable('<p style="color:#222">x</p>', FOLLOWS)).resolves.toEqual([
      '"x" (#222222 on #121212) in dark',
    ]);
    await expect(unreadable('<p style="background:#fff">x</p>', FOLLOWS)).resolves.toEqual([
      '"x" (#ffffff on #ffffff) in dark',
    ]);
    await expect(unreadable('<p>x</p>', FOLLOWS)).resolves.toEqual([]);
    await expect(unreadable('<p style="color:#222">x</p>')).resolves.toEqual([]);
  });

  it.each([
    '<style>.f{display:none}</style>',
    '<style>.f a{visibility:hidden}</style>',
    '<style>a[href*=unsubscribe],.f a{opacity:0}</style>',
    '<style>.f{max-height:0;overflow:hidden}</style>',
    '<style>.f *{font-size:0 !important}</style>',
    '<style>.f a{color:#fff}</style>',
    '<style>@media (prefers-color-scheme: dark){.f{display:none}}</style>',
  ])('is not there for the unsubscribe link: %s', async (head) => {
    const html = `<html><head>${head}</head><body><div class="f"><p><a href="{{ links.unsubscribe }}">Leave</a></p></div></body></html>`;
    await expect(readableText(html)).resolves.toMatchObject({ showsLink: false });
    await expect(readableText(html.replace(head, ''))).resolves.toMatchObject({ showsLink: true });
  });

  it('is not judged where the style sheets would cost too much', async () => {
    const rules = Array.from({ length: 300 }, (_, at) => `.a${at}{color:#111;background:#fff}`).join('');
    const body = '<p>x</p>'.repeat(200);
    await expect(readableText(page(body, `<style>${rules}</style>`))).resolves.toBeNull();
  });
});
