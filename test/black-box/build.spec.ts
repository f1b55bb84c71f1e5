import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';

describe('npm run build, beside a program that runs from dist/', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'mailwright-build-'));
    for (const file of ['build.js', '.swcrc', 'package.json'])
      cpSync(join(projectRoot(), file), join(directory, file));
    symlinkSync(join(projectRoot(), 'node_modules'), join(directory, 'node_modules'));
    for (const source of ['apps', 'libs', 'packages']) mkdirSync(join(directory, source));
    write('apps/one.ts', 'export const one: number = 1;');
    write('libs/two.ts', 'export const two: number = 2;');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  const write = (file: string, text: string) => writeFileSync(join(directory, file), text);
  const build = () => spawnSync(process.execPath, ['build.js'], { cwd: directory, encoding: 'utf8' }).status;
  const built = (file: string) => join(directory, 'dist', file);
  /** Another one when the file was written anew. */
  const identity = (file: string) => statSync(built(file), { bigint: true }).ino;

  it('leaves files alone that have not changed, and puts others in their places whole', () => {
    expect(build()).toBe(0);
    const before = { one: identity('apps/one.js'), two: identity('libs/two.js') };
    expect(build()).toBe(0);
    expect({ one: identity('apps/one.js'), two: identity('libs/two.js') }).toEqual(before);

    write('apps/one.ts', 'export const one: number = 11;');
    expect(build()).toBe(0);
    expect(readFileSync(built('apps/one.js'), 'utf8')).toContain('one = 11');
    expect(identity('libs/two.js')).toBe(before.two);
  });

  it('takes away what has no source any more', () => {
    build();
    rmSync(join(directory, 'libs/two.ts'));
    expect(build()).toBe(0);
    expect([existsSync(built('libs/two.js')), existsSync(built('libs/two.js.map'))]).toEqual([false, false]);
  });

  it('changes nothing when a source is broken, and says so', () => {
    build();
    write('apps/one.ts', 'export const one: = ;');
    expect(build()).not.toBe(0);
    expect(readFileSync(built('apps/one.js'), 'utf8')).toContain('one = 1');
    expect(build()).not.toBe(0);
  });
});
