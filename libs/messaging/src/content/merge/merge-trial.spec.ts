import { describe, expect, it } from '@jest/globals';
import { compileWithEngine } from './merge-engine.js';
import { templatePieces } from './merge-tags.js';
import { addressAlone, SAMPLE_VALUES } from './merge-values.js';

const trialOf = (source: string, data: object) =>
  compileWithEngine(templatePieces(source), 'none').tryOut({
    ...SAMPLE_VALUES,
    subscriber: addressAlone('ada@example.com'),
    data,
  });

describe('a trial', () => {
  it.each([
    [
      'a loop',
      '{% for i in data.items %}{{ i.n }}{% endfor %}',
      { items: [{ n: 1 }, {}] },
      'data.items[1].n',
    ],
    [
      'a loop in a loop',
      '{% for i in data.a %}{% for j in i.b %}{{ j.c }}{% endfor %}{% endfor %}',
      { a: [{ b: [{}] }] },
      'data.a[0].b[0].c',
    ],
    [
      'a loop over a part of a list',
      '{% for i in data.a offset: 1 reversed %}{{ i.n }}{% endfor %}',
      { a: [{}, {}, { n: 1 }] },
      'data.a[1].n',
    ],
    [
      'a loop over what was sorted',
      '{% assign s = data.a | sort: "n" %}{% for i in s %}{{ i.m }}{% endfor %}',
      { a: [{ n: 2, m: 1 }, { n: 1 }] },
      'data.a[1].m',
    ],
    [
      'a loop over an object',
      '{% for pair in data.o %}{{ pair[1].n }}{% endfor %}',
      { o: { a: {} } },
      'data.o.a.n',
    ],
    [
      'an item that is null',
      '{% for i in data.items %}{{ i }}{% endfor %}',
      { items: ['a', null] },
      'data.items[1]',
    ],
    [
      'an item that is a text',
      '{% for i in data.items %}{{ i.n }}{% endfor %}',
      { items: [{ n: 1 }, 'a'] },
      'data.items[1].n',
    ],
    ['brackets', '{{ data["code"] }}', {}, 'data.code'],
    ['a name with a blank', '{{ data["the code"] }}', {}, 'data["the code"]'],
    [
      'a name that data has',
      '{{ data.names[data.language] }}',
      { names: {}, language: 'de' },
      'data.names.de',
    ],
    ['an index', '{{ data.items[3].sku }}', { items: [] }, 'data.items[3].sku'],
    ['first as a name', '{{ data.name.first }}', { name: {} }, 'data.name.first'],
    ['last as a name', '{{ data.name.last.x }}', { name: 'Ada' }, 'data.name.last.x'],
    ['size as a name', '{{ data.shoe.size }}', { shoe: {} }, 'data.shoe.size'],
    ['size of a number', '{{ data.shoe.size }}', { shoe: 5 }, 'data.shoe.size'],
    ['the first of a list', '{{ data.items.first.name }}', { items: [{}] }, 'data.items[0].name'],
    ['the first of no list', '{{ data.items.first }}', { items: [] }, 'data.items.first'],
    ['assign', '{% assign y = data.x %}{{ y }}', {}, 'data.x'],
    ['assign of an object', '{% assign y = data.x %}{{ y.z }}', { x: {} }, 'data.x.z'],
    ['assign with a filter', '{% assign y = data.x | upcase %}{{ y }}', {}, 'data.x'],
    ['two assigns', '{% assign y = data.x %}{% assign z = y | append: "!" %}{{ z }}', {}, 'data.x'],
    ['filters', '{{ data.x | append: "!" }}', {}, 'data.x'],
    ['an argument', '{{ "Dear " | append: data.x }}', {}, 'data.x'],
    ['null', '{{ data.x }}', { x: null }, 'data.x'],
    ['a part that is shown', '{% if data.a %}{{ data.b }}{% else %}{{ data.c }}{% endif %}', {}, 'data.c'],
    ['a fault', '{{ 5 | money: data.currency }}', {}, 'data.currency'],
  ])('names what is missing in %s', (_what, source, data, path) => {
    expect(trialOf(source, data)).toMatchObject({ missing: [path], objects: [] });
  });

  it.each([
    ['has a default', '{{ data.x | default: "-" }}{{ data.y | append: "!" | default: data.z }}', {}],
    ['has a default in an assign', '{% assign y = data.x | default: "-" %}{{ y }}', {}],
    ['is not shown', '{% if data.x %}{{ data.x }}{% endif %}{% unless data.y.z %}-{% endunless %}', {}],
    [
      'is compared',
      '{% if data.x == "a" %}{{ data.y }}{% elsif data["z"] contains "b" %}{{ data.y }}{% endif %}',
      {},
    ],
    ['decides a case', '{% case data.x %}{% when "a" %}{{ data.y }}{% endcase %}', {}],
    [
      'is gone through',
      '{% for i in data.items %}{% for j in i.parts %}{{ j }}{% endfor %}{% endfor %}',
      { items: [{}] },
    ],
    ['is counted', '{% assign n = data.items | size %}{% if n > 0 %}{{ n }}{% endif %}', {}],
    ['was replaced', '{% assign y = data.x %}{% capture y %}-{% endcapture %}{{ y }}', {}],
    [
      'is empty',
      '{{ data.x }}{{ data.y }}{{ data.z }}{{ data.n }}{{ data.items.size }}',
      { x: '', y: [], z: false, n: 0, items: [] },
    ],
    ['is of the reader', '{{ subscriber.first_name }}{{ custom["plan"] }}', {}],
    [
      'is of the loop',
      '{% for i in data.items %}{{ forloop.index }}{{ forloop.nothing }}{% endfor %}',
      { items: [1] },
    ],
  ])('asks for nothing that %s', (_what, source, data) => {
    expect(trialOf(source, data)).toMatchObject({ fault: null, missing: [], objects: [] });
  });

  it.each([
    ['as they are', '{{ data.x }}', { x: {} }, 'data.x'],
    ['behind filters', '{{ data.x | append: "!" }}', { x: { a: 1 } }, 'data.x'],
    ['behind a default', '{{ data.x | default: "-" }}', { x: {} }, 'data.x'],
    ['in a loop', '{% for i in data.items %}{{ i }}{% endfor %}', { items: ['a', {}] }, 'data.items[1]'],
    ['in lists', '{{ data.items | join: ", " }}', { items: [['a'], [['b', {}]]] }, 'data.items'],
    ['through assign', '{% assign y = data.x | append: "!" %}{{ y }}', { x: {} }, 'data.x'],
    ['as all of data', '{{ data }}', {}, 'data'],
  ])('names objects that are shown %s', (_what, source, data, path) => {
    expect(trialOf(source, data)).toMatchObject({ missing: [], objects: [path] });
  });

  it.each([
    ['are counted', '{{ data.items | size }}{{ data.items.size }}', { items: [{}] }],
    ['are sorted', '{% assign s = data.items | sort: "n" %}{{ s[0].n }}', { items: [{ n: 1 }] }],
    ['have their fields shown', '{{ data.a.b }}{{ data.items.first.n }}', { a: { b: 1 }, items: [{ n: 1 }] }],
  ])('leaves objects alone that %s', (_what, source, data) => {
    expect(trialOf(source, data)).toMatchObject({ fault: null, missing: [], objects: [] });
  });

  it.each([
    ['a bad currency', '{{ data.x | money: data.c }}', /money/],
    ['a bad currency beside its name', '{{ subscriber.first_name }}{{ data.x | money: data.c }}', /money/],
    [
      'a bad currency that a field may choose',
      '{% if custom.a %}-{% endif %}{{ data.x | money: data.c }}',
      null,
    ],
    ['a currency of its own', '{{ data.x | money: custom.currency }}', null],
    ['a currency of its own, in a variable', '{% assign c = custom.currency %}{{ data.x | money: c }}', null],
    ['a currency in its address', '{{ data.x | money: subscriber.email }}', /money/],
  ])('tells a fault where its reader has no part in it: %s', (_what, source, fault) => {
    const trial = trialOf(source, { x: 5, c: 'ZZZZ' });
    expect(trial).toMatchObject({ text: null, fault: fault && expect.stringMatching(fault) });
  });
});
