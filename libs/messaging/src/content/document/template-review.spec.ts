import { describe, expect, it } from '@jest/globals';
import { reviewTemplate } from './template-review.js';

interface Content {
  readonly html?: string;
  readonly text?: string;
}

/** Faults of a template that asks for a confirmation. */
async function faultsOf({ html, text }: Content) {
  const written = html === undefined ? null : JSON.stringify({ html });
  const content = { subject: 'Confirm', previewText: null, contentJson: written, contentText: text ?? null };
  const review = await reviewTemplate({
    content,
    kind: 'OPT_IN',
    variables: [],
    customKeys: [],
    written,
  });
  return review.faults;
}

const LINK = '<a href="{{ links.confirm }}">Confirm</a>';
const LACKING = 'must show {{ links.confirm }}, the link that confirms';
const UNSEEN = `${LACKING}, as it is and where its reader sees it`;

describe('a template that asks for a confirmation', () => {
  it.each([
    ['a link', LINK],
    ['a link with parameters', '<a href="{{ links.confirm }}?utm_source=mail">Confirm</a>'],
    [
      'a picture that is a link',
      '<a href="{{ links.confirm }}"><img src="https://a.example/x.png" alt="Yes"></a>',
    ],
    ['its address', '<p>Open {{ links.confirm }}.</p>'],
    ['one of two', `{% if project.name == "x" %}${LINK}{% else %}<b>${LINK}</b>{% endif %}`],
    [
      'a link in colours',
      `<p style="background:#036;color:#fff">${LINK.replace('<a', '<a style="color:#fff"')}</p>`,
    ],
    ['a link beside braces', `<p>{{ "{{ x" }} {{ "{% x" }}</p>${LINK}`],
    ['a link that a filter leaves', '<a href="{{ links.confirm | strip }}">Confirm</a>'],
  ])('may show it as %s', async (_, html) => {
    expect(await faultsOf({ html })).toEqual({});
  });

  it.each([
    ['nothing', '<p>x</p>', LACKING],
    ['a hidden link', LINK.replace('<a', '<a style="display:none"'), UNSEEN],
    ['a link in what is hidden', `<div hidden>${LINK}</div>`, UNSEEN],
    ['a link that a style sheet hides', `<style>a{visibility:hidden}</style>${LINK}`, UNSEEN],
    ['a white link on white', LINK.replace('<a', '<a style="color:#fff"'), UNSEEN],
    ['a link without words', '<p>Hello</p><a href="{{ links.confirm }}"></a>', UNSEEN],
    ['a link in a condition that never holds', `{% if false %}${LINK}{% endif %}`, UNSEEN],
    ['a comment', `{% comment %}${LINK}{% endcomment %}`, UNSEEN],
    ['a link that is cut', '<a href="{{ links.confirm | truncate: 20 }}">Confirm</a>', UNSEEN],
    ['a link that is cut late', '<a href="{{ links.confirm | truncate: 120 }}">Confirm</a>', UNSEEN],
    ['a link in capitals', '<a href="{{ links.confirm | upcase }}">Confirm</a>', UNSEEN],
    ['a link in small letters', '<a href="{{ links.confirm | downcase }}">Confirm</a>', UNSEEN],
    ['a link with more behind it', '<a href="{{ links.confirm }}x">Confirm</a>', UNSEEN],
    ['an address with more behind it', '<p>{{ links.confirm }}/x</p>', UNSEEN],
  ])('must not have %s in its place', async (_, html, fault) => {
    expect(await faultsOf({ html })).toEqual({ html: fault });
  });

  it('must show it in its text part as well', async () => {
    expect(await faultsOf({ html: LINK, text: 'Yes: {{ links.confirm }}' })).toEqual({});
    expect(await faultsOf({ html: LINK, text: 'Press the button.' })).toEqual({ contentText: LACKING });
    for (const text of [
      '{% if false %}{{ links.confirm }}{% endif %}',
      '{{ links.confirm | truncate: 20 }}',
      '{{ links.confirm | upcase }}',
      '{{ links.confirm }}x',
    ])
      expect(await faultsOf({ html: LINK, text })).toEqual({ contentText: UNSEEN });
  });

  it('may be text alone, which is linked', async () => {
    expect(await faultsOf({ text: 'Yes: {{ links.confirm }}' })).toEqual({});
    expect(await faultsOf({ text: 'Yes' })).toEqual({ contentText: LACKING });
    expect(await faultsOf({ text: '{{ links.confirm | upcase }}' })).toEqual({ contentText: UNSEEN });
  });

  it('names a merge tag that is wrong alone', async () => {
    expect(await faultsOf({ html: `{% if %}${LINK}` })).toEqual({
      html: expect.stringContaining('has a merge tag that is wrong'),
    });
  });
});
