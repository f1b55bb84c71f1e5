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
} from '#testing/random/properties';
import type { MergeEscaping } from './merge-output.js';
import { compileMergeTemplate, compilePlainTemplate } from './merge-template.js';
import { MergeTemplateError } from '../content.errors.js';
import type { MergeValues } from './merge-values.js';
import { unknownVariables } from './merge-review.js';
import { compileWithEngine } from './merge-engine.js';
import { templatePieces } from './merge-tags.js';

const VALUES: MergeValues = {
  subscriber: {
    email: 'ann@mail.example',
    external_id: null,
    first_name: 'Ann',
    last_name: null,
    phone: null,
    locale: null,
    time_zone: null,
  },
  custom: { plan: 'pro', age: 41, vip: true, tags: ['a', 'b'], evil: '<b>"\'&</b>', born: '1990-05-17' },
  topic: { name: 'News', key: 'APIT-1' },
  campaign: { name: 'Spring', key: 'APIC-1' },
  project: { name: 'Shop', postal_address: 'Street 1, 10115 Berlin' },
  links: {
    unsubscribe: 'https://mail.example/u/tok?a=1&b=2',
    preferences: 'https://mail.example/p/tok',
    view: 'https://mail.example/v/tok',
  },
};

const render = (
  source: string,
  escaping: MergeEscaping = 'none',
  custom: Record<string, unknown> = {},
): string =>
  compileMergeTemplate(source, escaping).render({ ...VALUES, custom: { ...VALUES.custom, ...custom } });

describe('merge templates', () => {
  it.each([
    ['Hello {{ subscriber.first_name }}', 'Hello Ann'],
    ['Hello {{subscriber.last_name | default: "there"}}', 'Hello there'],
    ["{{ custom.missing | default: 'a|b' }}", 'a|b'],
    ['{{ custom.missing | default: 3.50 }}', '3.5'],
    ['{{ custom.age }} {{ custom.vip }} {{ custom.tags }}', '41 true a, b'],
    ['{{ custom.plan | upcase }} {{ topic.name | downcase }} {{ custom.plan | capitalize }}', 'PRO news Pro'],
    ['{% if custom.age > 18 %}adult{% else %}minor{% endif %}', 'adult'],
    ['{% for tag in custom.tags %}[{{ tag }}{{ forloop.index }}]{% endfor %}', '[a1][b2]'],
    ['{% assign who = subscriber.first_name | append: "!" %}{{ who }}', 'Ann!'],
    ['{{ custom.born | date: "%d.%m.%Y" }}', '17.05.1990'],
    ['a {{- custom.plan -}} b', 'aprob'],
    ['{{ custom.tags.size }} {{ custom.tags[1] }} {{ custom["plan"] }}', '2 b pro'],
    ['no tags, { one } and }}', 'no tags, { one } and }}'],
  ])('renders %s', (source, expected) => {
    expect(render(source)).toBe(expected);
  });

  it('escapes values in HTML, leaves them raw in text and strips control characters for headers', () => {
    expect(render('{{ custom.evil }}', 'html')).toBe('&lt;b&gt;&quot;&#39;&amp;&lt;/b&gt;');
    expect(render('{{ custom.evil }}', 'none')).toBe('<b>"\'&</b>');
    expect(render('{{ custom.x }}', 'header', { x: 'Hi\r\nBcc: eve@evil.example\u0000\u007f' })).toBe(
      'Hi Bcc: eve@evil.example',
    );
    expect(render('{% if custom.x %}{{ custom.x }}{% endif %}', 'header', { x: 'a\r\nb' })).toBe('a b');
  });

  it.each([
    '{{ custom.evil | escape }}',
    '{{ custom.evil | escape_once }}',
    '{{ custom.evil | append: "" }}',
    '{% assign x = custom.evil %}{{ x }}',
    '{% for i in (1..1) %}{{ custom.evil }}{% endfor %}',
    '{% case 1 %}{% when 1 %}{{ custom.evil }}{% endcase %}',
  ])('escapes once, whatever the author writes: %s', (source) => {
    expect(render(source, 'html')).toBe('&lt;b&gt;&quot;&#39;&amp;&lt;/b&gt;');
  });

  it.each([
    '{{ custom.evil | raw }}',
    '{% raw %}{{ "<script>" }}{% endraw %}',
    '{% echo custom.evil %}',
    '{% cycle custom.evil, "x" %}',
    '{% liquid echo custom.evil %}',
    '{% include "x" %}',
    '{% render "x" %}',
    '{% layout "x" %}{% block a %}{% endblock %}',
    '{% tablerow i in custom.tags %}{% endtablerow %}',
    '{% increment a %}',
    '{{ custom.plan | nosuchfilter }}',
    '{{ custom | json }}',
  ])('refuses what could pass a value round the escaping or read files: %s', (source) => {
    for (const escaping of ['html', 'none', 'header'] as const) {
      expect(() => compileMergeTemplate(source, escaping)).toThrow(MergeTemplateError);
    }
  });

  it.each([
    ['{{ 9 | divided_by: custom.zero }}', ''],
    ['{{ 9 | divided_by: custom.missing | round | plus: 1 }}', ''],
    ['{{ 9 | modulo: custom.zero | plus: 1 }}', ''],
    ['{{ 9 | divided_by: custom.zero | round | default: "none" }}', 'none'],
    ['{{ 9 | divided_by: custom.zero | append: "%" | upcase }}', '%'],
    ['{{ 9 | divided_by: custom.zero | number: 2 }}', ''],
    ['{{ 9 | divided_by: custom.zero | money: "EUR" | default: "free" }}', 'free'],
    ['{{ 9 | divided_by: 0.5 }} {{ 9 | modulo: 07 }}', '18 2'],
  ])('make no figure of a division by nothing: %s', (source, result) => {
    expect(render(source, 'none', { zero: 0 })).toBe(result);
  });

  it.each(['{{ 9 | divided_by: 0 }}', '{% assign a = 9 | modulo:-0.0 | abs %}', '{{ 9|divided_by: 0}}'])(
    'refuse %s',
    (source) => {
      expect(() => compileMergeTemplate(source, 'none')).toThrow(new MergeTemplateError('divided by 0'));
    },
  );

  it.each([
    ['{{ custom.size | default: "unknown" }} {% if custom.size %}yes{% endif %}', 'unknown '],
    ['{{ custom.tags.size }} {{ custom.plan.size }}', '2 3'],
  ])('shows as size what has one: %s', (source, result) => {
    expect(render(source)).toBe(result);
  });

  it('shows a size of its own', () => {
    expect(render('{{ custom.size }}{{ custom.size | append: "." }}', 'none', { size: 'L' })).toBe('LL.');
  });

  it('parts the words of a header that a line break parted', () => {
    expect(render('{{ custom.name }}|', 'header', { name: 'Ada\r\n\tLovelace' })).toBe('Ada Lovelace|');
  });

  it('never parses a value as template', () => {
    const attack = '{{ subscriber.email }}{% if true %}x{% endif %}';
    expect(render('{{ custom.x }}', 'none', { x: attack })).toBe(attack);
    expect(render('{% if true %}{{ custom.x }}{% endif %}', 'none', { x: attack })).toBe(attack);
  });

  it('reads own properties only', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      expect(render(`[{{ custom.${name} }}]`)).toBe('[]');
      expect(render(`{% if true %}[{{ custom.${name}.name }}]{% endif %}`)).toBe('[]');
    }
  });

  it.each([
    ['line one\nline two {{ subscriber.email', 2],
    ['{% if custom.vip %}\nx', 1],
    ['a\nb\n{% nosuchtag %}', 3],
    ['{{ | upcase }}', 1],
  ])('names the line of the fault in %j', (source, line) => {
    expect(() => compileMergeTemplate(source, 'html')).toThrow(expect.objectContaining({ line }));
  });

  it.each([
    '{% for i in (1..100000000) %}x{% endfor %}',
    '{% assign r = (1..1000) %}{% for a in r %}{% for b in r %}{% for c in r %}{% endfor %}{% endfor %}{% endfor %}',
    `{% assign s = "x" %}${'{% assign s = s | append: s %}'.repeat(40)}{{ s }}`,
    '{{ custom.plan | date: "%9999999999d" }}{{ "2020-01-01" | date: "%9999999999d" }}',
  ])('stops at its bounds: %s', (source) => {
    expect(() => render(source)).toThrow(MergeTemplateError);
  });

  it('refuses a template nested so deeply that parsing would not end', () => {
    const source = `${'{% if true %}'.repeat(20_000)}x${'{% endif %}'.repeat(20_000)}`;
    expect(() => compileMergeTemplate(source, 'none').render(VALUES)).toThrow(MergeTemplateError);
  });
});

describe('variables of a template', () => {
  it('are its dotted names, without its own loop variables and assigns', () => {
    const source =
      '{% assign a = custom.plan %}{% for t in custom.tags %}{{ t }}{{ a }}{{ forloop.index }}{% endfor %}{{ subscriber.email }}{% if links.view %}{% endif %}';
    expect([...compileMergeTemplate(source, 'html').variables].sort()).toEqual([
      'custom.plan',
      'custom.tags',
      'links.view',
      'subscriber.email',
    ]);
    expect(compileMergeTemplate('{{ topic.name }} {{ topic.name | upcase }}', 'html').variables).toEqual([
      'topic.name',
    ]);
  });

  it('are unknown where they ask for a member of a text', () => {
    const template = { variables: ['subscriber.first_name.formal', 'custom.plan.size', 'custom.tags.first'] };
    expect(unknownVariables(template, ['plan', 'tags'])).toEqual(['subscriber.first_name.formal']);
  });

  it('are unknown when no delivery has them', () => {
    const unknown = (source: string): string[] =>
      unknownVariables(compileMergeTemplate(source, 'html'), ['plan', 'tags']);
    expect(unknown('{{ custom.plan }}{{ custom.tags.size }}{{ custom.tags[0] }}{{ project.name }}')).toEqual(
      [],
    );
    expect(unknown('{{ custom.pln }}{{ subscriber.name }}{{ first_name }}{{ links }}')).toEqual([
      'custom.pln',
      'first_name',
      'links',
      'subscriber.name',
    ]);
    expect(unknown('{{ custom[subscriber.first_name] }}')).toEqual(['custom']);
    expect(unknown('{% for field in custom %}{{ field }}{% endfor %}')).toEqual(['custom']);
    expect(unknown('{% if user.vip %}x{% endif %}')).toEqual(['user.vip']);
  });
});

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
      external_id: optional,
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
    event: record({ ship: oneof(scalar, record({ city: scalar }), array(record({ city: text }))) }),
  });
  const name = constantFrom(
    'event.ship.city',
    'event.ship.city.length',
    'event.none.city',
    'custom.plan.length',
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
          const slots = compilePlainTemplate(source, escaping);
          expect(slots).not.toBeNull();
          expect(slots?.render(merge)).toBe(
            compileWithEngine(templatePieces(source), escaping).render(merge),
          );
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
