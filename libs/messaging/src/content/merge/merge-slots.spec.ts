import { describe, expect, it } from '@jest/globals';
import {
  anything,
  array,
  assert,
  boolean,
  constant,
  constantFrom,
  dictionary,
  double,
  integer,
  oneof,
  property,
  record,
  runs,
  string,
} from '#testing/properties';
import { compileWithEngine } from './merge-engine.js';
import { compileSlots } from './merge-slots.js';
import { templatePieces } from './merge-tags.js';
import { compileMergeTemplate } from './merge-template.js';

describe('slots and Liquid', () => {
  const scalar = oneof(
    string({ unit: 'grapheme' }),
    string({
      unit: constantFrom(
        '<',
        '>',
        '"',
        "'",
        '&',
        '{',
        '}',
        '%',
        '\r',
        '\n',
        '\u0000',
        ' ',
        'a',
        'Z',
        ':',
        '/',
      ),
    }),
    constantFrom('https://a.example/?a=1&b=2', 'javascript:alert(1)', ' mailto:a@b.example ', ''),
    integer(),
    double({ noNaN: true }),
    boolean(),
    constant(null),
  );
  const text = string({ unit: 'grapheme' });
  const optional = oneof(text, constant(null));
  const values = record({
    subscriber: record({
      email: text,
      first_name: optional,
      last_name: optional,
      phone: optional,
      locale: optional,
      time_zone: optional,
    }),
    custom: dictionary(
      constantFrom('plan', 'age', 'tags', 'url', 'a-b', '_x'),
      oneof(scalar, array(scalar), anything({ withNullPrototype: false })),
      { noNullPrototype: true },
    ),
    topic: record({ name: text, key: text }),
    campaign: record({ name: text, key: text }),
    project: record({ name: text, postal_address: text }),
    links: record({ unsubscribe: text, preferences: text, view: text }),
  });
  const name = constantFrom(
    'subscriber.email',
    'subscriber.first_name',
    'custom.plan',
    'custom.tags',
    'custom.url',
    'custom.a-b',
    'custom._x',
    'custom.missing',
    'topic.name',
    'links.view',
  );
  const filter = constantFrom(
    '',
    '',
    ' | default: "there"',
    "|default:'<x> y'",
    ' | default: 7',
    ' | default: -1.50',
    ' | upcase',
    ' | downcase ',
    '| capitalize',
    ' | strip',
    ' | escape',
    ' | newline_to_br',
  );
  const tag = array(filter, { maxLength: 3 }).chain((filters) =>
    name.map((path) => `{{ ${path}${filters.join('')} }}`),
  );
  const literal = constantFrom(
    'Hello ',
    '<p>',
    '</p>\n',
    '<a href="',
    '">',
    '<img alt="x" src=\'',
    "' title='",
    '{ ',
    '}}',
    ' é😀 ',
    '<a href="https://a.example/',
    ' href="',
  );
  const template = array(oneof(tag, literal), { maxLength: 12 }).map((parts) => parts.join(''));

  it.each(['html', 'none', 'header'] as const)(
    'give the same for plain tags when escaping is %s',
    (escaping) => {
      assert(
        property(template, values, (source, merge) => {
          const pieces = templatePieces(source);
          const slots = compileSlots(pieces, escaping);
          expect(slots).not.toBeNull();
          expect(slots?.render(merge)).toBe(compileWithEngine(pieces, escaping).render(merge));
        }),
        { numRuns: runs(500) },
      );
    },
  );

  it('never let a value add markup, whatever the value', () => {
    assert(
      property(values, (merge) => {
        const html = compileMergeTemplate(
          '<p title="{{ custom.plan }}">{{ custom.tags }}</p><a href="{{ custom.url }}">{% if true %}{{ custom.plan }}{% endif %}</a>',
          'html',
        ).render(merge);
        expect(html.match(/[<>"]/g)?.join('')).toBe('<""><><""><>');
        expect(html).toMatch(/<a href="(?:#|https?:\/\/[^"]*|mailto:[^"]*|tel:[^"]*)">/i);
      }),
      { numRuns: runs(300) },
    );
  });
});
