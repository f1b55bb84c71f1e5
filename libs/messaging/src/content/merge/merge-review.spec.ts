import { describe, expect, it } from '@jest/globals';
import { customKeysIn, eventPathsIn, reviewMergeTags } from './merge-review.js';

const inText = (...texts: readonly string[]) => customKeysIn({ texts, documents: [] });

describe('the custom fields that content names', () => {
  it.each([
    ['an output', 'Dear {{ custom.plan }} member', ['plan']],
    ['filters', '{{ custom.plan | default: "x" | upcase }}', ['plan']],
    ['no blanks', '{{custom.plan}}{{-custom.tier-}}', ['plan', 'tier']],
    ['a condition', '{% if custom.plan == "pro" and custom.age > 3 %}x{% endif %}', ['plan', 'age']],
    ['a condition that ends elsewhere', '{% unless custom.plan %}', ['plan']],
    ['a loop', '{% for tag in custom.tags %}{{ tag }}{% endfor %}', ['tags']],
    [
      'brackets',
      `{{ custom["plan"] }}{{ custom['tier'] }}{{ custom[ &quot;age&quot; ] }}`,
      ['plan', 'tier', 'age'],
    ],
    ['a path', '{{ custom.tags.size }}', ['tags']],
    ['a tag that is not closed', 'Dear {{ custom.plan', ['plan']],
    ['text that is no tag', 'See custom.plan and https://custom.shop.example', []],
    ['other values', '{{ subscriber.first_name }}{{ customer.plan }}', []],
  ])('are found in %s', (_what, text, keys) => {
    expect(inText(text)).toEqual(keys);
  });

  it('are found in every part, at any depth, also where JSON or a language hides them', () => {
    const texts = { subject: '{{ custom.a }}', others: [{ subject: '{{ custom.b }}' }, null, 7] };
    const blocks = [
      {
        type: 'columns',
        columns: [{ blocks: [{ type: 'button', label: 'x', url: 'https://x/{{ custom.c }}' }] }],
      },
    ];
    const escaped = String.raw`{"blocks":[{"type":"text","html":"{{ \u0063ustom.d }}"}]}`;
    expect(
      customKeysIn({ texts, documents: [JSON.stringify({ blocks }), escaped, 'no JSON: {{ custom.e }}'] }),
    ).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});

describe('the paths in an event that content names', () => {
  it('are found with the place of the text, once each', () => {
    const html =
      '{% for item in event.items %}{{ item.sku }}{% endfor %}{{ event.items.size }}{{ event . ship.city | default: "x" }}';
    expect(
      eventPathsIn({
        subject: 'Order {{ event.number }}, {{ event.number }}',
        contentJson: { blocks: [{ type: 'text', html }] },
        body: { text: 'event.price, {{ custom.event.a }} {{ event["b"] }} {{ revent.c }}' },
      }),
    ).toEqual([
      { at: 'subject', names: ['number'] },
      { at: 'contentJson.blocks[0].html', names: ['items'] },
      { at: 'contentJson.blocks[0].html', names: ['ship', 'city'] },
    ]);
  });

  it('are known in automations alone', () => {
    const source = '{{ event.total }}{% for item in event.items %}{{ item.sku }}{% endfor %}';
    expect(reviewMergeTags(source, { customKeys: [] })).toMatchObject({
      unknown: ['event.items', 'event.total'],
    });
    expect(reviewMergeTags(source, { customKeys: [], hasEvent: true })).toMatchObject({
      unknown: [],
      trialFault: null,
    });
  });
});
