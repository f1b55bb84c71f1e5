import { describe, expect, it } from '@jest/globals';
import { Wording } from '#wording';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { MergeTemplateError } from '../content.errors.js';
import { SAMPLE_VALUES } from '../merge/merge-values.js';
import { footerOf } from '../processes/content-processes.service.js';
import { compileContent, type ContentInput } from './content-compiler.js';
import type { ContentBlock } from './content-document.js';

const footer = footerOf({ senderName: 'Shop', postalAddress: 'Street 1' }, new Wording('en'));
const CUSTOM = { city: 'Bed & Breakfast', age: 41 };

/** The parts of the mail as their reader gets them. */
async function read(blocks: ContentBlock[], changes: Partial<ContentInput> = {}) {
  const document = { blocks };
  const input = { subject: 'Hello', previewText: null, document, contentText: null, footer, ...changes };
  const { subject, html, text } = await compileContent(input);
  const values = { ...SAMPLE_VALUES, custom: CUSTOM };
  return {
    subject: compileMergeTemplate(subject, 'header').render(values),
    html: compileMergeTemplate(html, 'html').render(values),
    text: compileMergeTemplate(text, 'none').render(values),
  };
}

const mjml = (words: string): ContentBlock => ({
  type: 'mjml',
  mjml: `<mjml><mj-body><mj-section><mj-column><mj-text>${words}</mj-text></mj-column></mj-section></mj-body></mjml>`,
});

describe('entities that an editor wrote inside of a tag', () => {
  const written = [
    '{% if custom.city == "Bed &amp; Breakfast" %}[inn]{% endif %}',
    '{% if custom.age &gt; 40 %}[old]{% endif %}',
    '{% if custom.city == &quot;Bed &amp; Breakfast&quot; %}[quoted]{% endif %}',
    '{{ custom.none | default: "[friends &amp; family]" }}',
    '{{ custom.none | default: &#39;[Gr&uuml;&szlig;e]&#39; }}',
    '{{&nbsp;subscriber.first_name&nbsp;| append:&nbsp;"[nbsp]" }}',
    '{{ custom.none | default: "[&amp;amp;]" }}',
  ].join(' ');
  const html = '[inn] [old] [quoted] [friends &amp; family] [Grüße] Ada[nbsp] [&amp;amp;]';
  const plain = '[inn] [old] [quoted] [friends & family] [Grüße] Ada[nbsp] [&amp;]';

  it.each<[string, ContentBlock[]]>([
    ['a text block', [{ type: 'text', html: `<p>${written}</p>` }]],
    ['an html block', [{ type: 'html', html: `<table><tr><td>${written}</td></tr></table>` }]],
    ['a heading', [{ type: 'heading', level: 2, text: written }]],
    ['a button', [{ type: 'button', label: written, url: 'https://a.example/' }]],
    ['an mjml block', [mjml(written)]],
  ])('mean in %s what they mean around it, in both parts', async (_, blocks) => {
    const mail = await read(blocks);
    expect(mail.html).toContain(html);
    expect(mail.text.replaceAll(/\s+/g, ' ')).toContain(plain);
  });

  it('mean the same in an attribute and in a link', async () => {
    const tag = '{% if custom.city == &quot;Bed &amp; Breakfast&quot; %}inn{% endif %}';
    const mail = await read([
      { type: 'html', html: `<p title="${tag}">x</p><a href="https://a.example/?at=${tag}&amp;x=1">y</a>` },
      { type: 'image', src: 'https://a.example/x.png', alt: tag },
    ]);
    expect(mail.html).toContain('title="inn"');
    expect(mail.html).toContain('alt="inn"');
    expect(mail.html).toContain('href="https://a.example/?at=inn&amp;x=1"');
  });

  it('stay as they are in what is no HTML: subject, preview text and the text part', async () => {
    const tag = '{{ custom.none | default: "a &amp; b" }}';
    const mail = await read([], { document: null, subject: tag, previewText: tag, contentText: tag });
    expect(mail.subject).toBe('a &amp; b');
    expect(mail.html.match(/a &amp;amp; b/g)).toHaveLength(4);
    expect(mail.text).toContain('a &amp; b\n');
  });

  it.each([
    '{{ custom.city &#125;&#125;<script>alert(1)</script>{{ custom.city }}',
    '{{ custom.city &rcub;&rcub;<script>alert(1)</script>{{ custom.city }}',
    '{% if true %&#125;<img src=x onerror=alert(1)>{% endif %}',
  ])('do not end a tag, which would let markup past the sanitiser: %s', async (early) => {
    for (const block of [{ type: 'text' as const, html: early }, mjml(early)])
      await expect(read([block])).rejects.toThrow(MergeTemplateError);
  });
});
