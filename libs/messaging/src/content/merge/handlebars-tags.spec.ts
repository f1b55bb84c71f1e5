import { describe, expect, it } from '@jest/globals';
import { MergeTemplateError } from '../content.errors.js';
import { contentFaults } from '../document/translated-content.js';
import { handlebarsFault } from './handlebars-tags.js';
import { compileMergeTemplate } from './merge-template.js';

describe('a tag of Handlebars', () => {
  it.each([
    ['{{#if data.vip}}', '{% if data.vip %} in Liquid'],
    ['{{~#if data.vip ~}}', '{% if data.vip %} in Liquid'],
    ['{{#unless data.vip}}', '{% unless data.vip %} in Liquid'],
    ['{{^vip}}', '{% unless vip %} in Liquid'],
    ['{{#each data.items}}', '{% for item in data.items %} in Liquid'],
    ['{{#items}}', '{% if items %} or {% for item in items %} in Liquid'],
    ['{{#iffy}}', '{% if iffy %} or {% for item in iffy %} in Liquid'],
    ['{{#with data.order}}', '{% assign item = data.order %} in Liquid'],
    ['{{/if}}', '{% endif %} in Liquid'],
    ['{{/each}}', '{% endfor %} in Liquid'],
    ['{{/items}}', '{% endif or endfor %} in Liquid'],
    ['{{else}}', '{% else %} in Liquid'],
    ['{{else if data.b}}', '{% elsif data.b %} in Liquid'],
    ['{{{ data.html }}', '{{ data.html }} in Liquid; values are always escaped'],
    ['{{& data.html}}', '{{ data.html }} in Liquid; values are always escaped'],
    ['{{! a note }}', '{% comment %} … {% endcomment %} in Liquid'],
    ['{{> footer}}', 'the part itself: merge tags include no files'],
    ['{{@index}}', 'forloop.index0, forloop.first or forloop.last of Liquid in a {% for %}'],
    ['{{this.name}}', '{{ item.name }} in a {% for item in … %} of Liquid'],
  ])('%s is told as %s', (tag, liquid) => {
    const fault = `has ${tag}, which is Handlebars: write ${liquid}`;
    expect(handlebarsFault(`<p>Hi</p>\n${tag}}<p>`)).toBe(fault);
    expect(() => compileMergeTemplate(`Hi\n${tag}}`, 'none')).toThrow(MergeTemplateError);
    expect(() => compileMergeTemplate(`Hi\n${tag}}`, 'html')).toThrow(fault);
  });

  it.each([
    '{{ subscriber.first_name | default: "there" }}',
    '{% if data.elsewhere %}{{ data.elsewhere }}{% else %}-{% endif %}',
    '{%- for item in data.items -%}{{- item.name -}}{% endfor %}',
    '<style>@media print{p{color:red}}</style>{"a":{"b":{}}}',
    '{{ data.this }}',
    '{% # a note %}',
  ])('is not seen in %s', (source) => {
    expect(handlebarsFault(source)).toBeNull();
  });

  it('is refused where content is saved, each by its path', () => {
    const text = (html: string) => JSON.stringify({ blocks: [{ type: 'text', html }] });
    const faults = contentFaults({
      subject: 'For {{#if vip}}you{{/if}}',
      previewText: '{{{x}}}',
      contentJson: text('{{#each items}}'),
      contentText: '{{> footer}}',
      translations: {
        de: {
          subject: 'Für {{else}}',
          previewText: null,
          contentJson: JSON.stringify({ html: '<p>{{! x}}</p>' }),
          contentText: null,
        },
      },
    });
    expect(Object.keys(faults).toSorted()).toEqual([
      'contentJson.blocks[0].html',
      'contentText',
      'previewText',
      'subject',
      'translations.de.html',
      'translations.de.subject',
    ]);
    expect(faults['contentJson.blocks[0].html']).toContain('{% for item in items %}');
  });
});
