import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { programInside } from './program-file.js';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A zip archive of stored files with these names. */
function zipOf(names: readonly string[], content = bytes('hello')): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const name of names) {
    const path = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(path.length, 22);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE(at, 10);
    directory.push(bytes('PK\x01\x02\x14\x00'), common, entry, path);
    const local = Buffer.concat([bytes('PK\x03\x04'), common, path, content]);
    parts.push(local);
    at += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(names.length % 65_536, 4);
  end.writeUInt16LE(names.length % 65_536, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...parts, listed, bytes('PK\x05\x06'), end]);
}

describe('a program', () => {
  it.each([
    ['Windows', 'MZ\x90\x00\x03'],
    ['Linux', '\x7fELF\x02'],
    ['macOS', '\xcf\xfa\xed\xfe'],
    ['Java', '\xca\xfe\xba\xbe'],
    ['Android', 'dex\n035'],
    ['cabinet', 'MSCF\x00'],
    ['script', '#!/bin/sh\n'],
    ['script', '\xef\xbb\xbf#!/bin/sh\n'],
  ])('for %s is known by its bytes', (name, content) => {
    expect(programInside(bytes(content))).toContain(name);
  });

  it.each(['', 'M', '%PDF-1.7', '\x89PNG', 'GIF89a', 'PK', '# a heading', 'plain text'])(
    'is not %j',
    (content) => {
      expect(programInside(bytes(content))).toBeNull();
    },
  );
});

describe('a zip archive', () => {
  it.each([['setup.exe'], ['a.txt', 'deep/er/Setup.EXE'], ['win\\path\\run.bat'], ['setup.exe.gz']])(
    'with %j holds a program',
    (...names) => {
      expect(programInside(zipOf(names))).toMatch(/^holds a program/);
    },
  );

  it('of harmless files holds none, and neither does one that is cut', () => {
    const zip = zipOf(['a.txt', 'exe/', 'word/document.xml', 'über.pdf']);
    expect(programInside(zip)).toBeNull();
    expect(programInside(zipOf(['setup.exe']).subarray(0, -30))).toBeNull();
    expect(programInside(zipOf([]))).toBeNull();
  });

  it('is looked into behind other bytes, and before a comment', () => {
    const zip = zipOf(['setup.exe']);
    expect(programInside(Buffer.concat([bytes('GIF89a'), zip]))).toMatch(/^holds a program/);
    const commented = Buffer.concat([zip, bytes('PK\x05\x06 no end')]);
    commented.writeUInt16LE(11, zip.length - 2);
    expect(programInside(commented)).toMatch(/^holds a program/);
  });

  it('with too many names to look through is refused', () => {
    expect(programInside(zipOf(Array.from({ length: 20_001 }, (_, at) => `${at}.txt`)))).toContain('20000');
  });
});
