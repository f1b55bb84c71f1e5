import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { LargeText } from '#kernel';
import * as fc from '#testing/random/properties';
import { LargeTextFilter } from './large-texts.js';

const FILES = { member: 'content', at: /^files\[\d+\]\.content$/ };

/** The body as the parser gets it, in chunks of these sizes, and as it is with its large texts. */
async function read(json: string | Buffer, sizes: readonly number[] = [1 << 16], options = FILES) {
  const octets = Buffer.from(json as string);
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < octets.length; turn += 1) {
    const size = sizes[turn % sizes.length]!;
    chunks.push(octets.subarray(at, at + size));
    at += size;
  }
  const filter = new LargeTextFilter(options, 1 << 24);
  const passed = (await buffer(Readable.from(chunks).pipe(filter))).toString();
  return { passed, body: filter.restored(JSON.parse(passed)) };
}

const textIn = (body: unknown) => (body as { files: { content: LargeText }[] }).files[0]!.content;

describe('large texts of a body', () => {
  it('are taken out of it, and put back at their paths', async () => {
    const content = Buffer.alloc(300_000, 'x').toString('base64');
    const { passed, body } = await read(
      JSON.stringify({ files: [{ name: 'a', content }], content: 'short' }),
    );
    expect(passed.length).toBeLessThan(300);
    const text = textIn(body);
    expect(text).toBeInstanceOf(LargeText);
    expect([...text.chunks()].join('')).toBe(content);
    expect(body).toEqual({ files: [{ name: 'a', content: text }], content: 'short' });
  });

  it('leave any body as JSON says it, however it is cut', async () => {
    const key = fc.oneof(fc.constantFrom('content', 'a"content', 'files', '\\'), fc.string());
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      fc.constant('\\"\\/"content":"'),
    );
    const value = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.constant(null), tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 4 }),
      object: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    })).object;
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    const escaped = (json: string, isEscaped: boolean) =>
      isEscaped
        ? json.replaceAll(/[^\n -~]|\//g, (one) =>
            one === '/' ? '\\/' : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
          )
        : json;
    await fc.assert(
      fc.asyncProperty(value, sizes, fc.boolean(), fc.boolean(), async (given, cut, isEscaped, isSpaced) => {
        const wellFormed = JSON.parse(Buffer.from(JSON.stringify(given)).toString()) as unknown;
        const json = escaped(JSON.stringify(wellFormed, null, isSpaced ? 1 : 0), isEscaped);
        expect((await read(json, cut, { ...FILES, at: /^never$/ })).body).toEqual(JSON.parse(json));
      }),
    );
  });

  it('are the same to comparisons in each spelling, and other ones differ', async () => {
    const digestOf = async (content: string) =>
      JSON.stringify(textIn((await read(`{"files":[{"content":"${content}"}]}`, [3, 5])).body));
    const digest = await digestOf('ab/+==\\n');
    expect(await digestOf('\\u0061b\\/\\u002b\\u003D=\\u000a')).toBe(digest);
    expect(await digestOf('ab/+=\\n')).not.toBe(digest);
  });

  it.each(['{"files":[{"content":"abc', '{"files":[{"content":"a\\', '{"a":"b","content":'])(
    'are refused with a body that ends early: %j',
    async (json) => {
      await expect(read(json, [4])).rejects.toThrow(SyntaxError);
    },
  );

  it.each(['a\nb', 'a\\x', '\\u12', 'a\u0001'])('are not read where they are no JSON: %j', async (text) => {
    await expect(read(`{"content":"${text}"}`, [4])).rejects.toThrow(SyntaxError);
    const { body } = await read(`{"files":[{"content":"${text}"}]}`, [4]);
    expect([...textIn(body).chunks()].join('')).toContain('\0');
  });
});
