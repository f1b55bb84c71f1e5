import { describe, expect, it } from '@jest/globals';
import { joinOctets, sizeOf } from '#kernel';
import * as fc from '#testing/random/properties';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { SAMPLE_VALUES } from '../merge/merge-values.js';
import { compileBody } from './body-encoding.js';

/** A body of one slot, as it goes over the wire. */
function wireOf(value: string): string {
  const template = compileMergeTemplate('{{ custom.a }}', 'none');
  const { content } = compileBody(template).build({ ...SAMPLE_VALUES, custom: { a: value } });
  return joinOctets(content, Buffer.alloc(sizeOf(content))).toString('latin1');
}

describe('what is filled into a body', () => {
  it('is folded, and comes out as it went in', () => {
    const text = fc.stringMatching(/^[!-~ ]{0,400}$/);
    fc.assert(
      fc.property(text, fc.nat(160), (value, dotAt) => {
        const dotted = `${value.slice(0, dotAt)}.${value.slice(dotAt)}x`;
        const wire = wireOf(dotted);
        for (const line of wire.split('\r\n')) expect(line).toMatch(/^(?!\.).{0,76}$/);
        const decoded = wire
          .replaceAll('=\r\n', '')
          .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
        expect(decoded).toBe(dotted);
      }),
    );
  });
});
