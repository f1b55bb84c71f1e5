import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { parseSpf } from './spf-check.js';
import { parseTagList } from './record-verdict.js';

const label = fc.stringMatching(/^[a-z0-9_]{1,20}$/);
const host = fc.array(label, { minLength: 2, maxLength: 5 }).map((labels) => labels.join('.'));
const qualifier = fc.constantFrom('+', '-', '~', '?');
const mechanism = fc.oneof(
  fc.record({ qualifier, name: fc.constantFrom('include', 'exists', 'a', 'mx', 'ptr'), host }),
  fc.record({ qualifier, name: fc.constantFrom('a', 'mx', 'ptr'), host: fc.constant(null) }),
);

describe('An SPF record', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.array(mechanism, { maxLength: 10 }), fc.option(host), (mechanisms, redirect) => {
        const terms = mechanisms.map(
          (each) => `${each.qualifier}${each.name}${each.host === null ? '' : `:${each.host}`}`,
        );
        const text = ['v=spf1', ...terms, ...(redirect === null ? [] : [`redirect=${redirect}`])].join(' ');
        expect(parseSpf(text)).toEqual({ record: { mechanisms, redirect } });
      }),
    );
  });

  it('may end its hosts with a dot', () => {
    expect(parseSpf('v=spf1 include:spf.example. mx:acme.example. redirect=other.example.')).toEqual({
      record: {
        mechanisms: [
          { qualifier: '+', name: 'include', host: 'spf.example' },
          { qualifier: '+', name: 'mx', host: 'acme.example' },
        ],
        redirect: 'other.example',
      },
    });
  });

  it('is read or refused, whatever it is', () => {
    const piece = fc.oneof(
      fc.constantFrom(' ', ':', '/', '=', 'include', 'a', 'ip4:', 'redirect=', '%{i}', '.', '1', 'ip6:::1'),
      fc.string({ unit: fc.codePoint }),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const parsed = parseSpf(`v=spf1 ${pieces.join('')}`);
        expect('fault' in parsed || Array.isArray(parsed.record.mechanisms)).toBe(true);
      }),
    );
  });
});

describe('A list of tags', () => {
  it('is read as it was written, with spaces or without', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,9}$/);
    const value = fc.stringMatching(/^[!-:<-~]{0,30}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(name, value), { selector: ([each]) => each, minLength: 1 }),
        (tags) => {
          const written = [
            tags.map(([each, text]) => `${each}=${text}`).join(';'),
            `${tags.map(([each, text]) => ` ${each} = ${text} `).join('; ')};`,
          ];
          for (const text of written) expect(parseTagList(text)).toEqual(new Map(tags));
        },
      ),
    );
  });

  it.each(['', 'v', 'v=1; v=2', '=1', 'v=1;; p=2', '1=v'])('is not %j', (text) => {
    expect(parseTagList(text)).toBeNull();
  });
});
