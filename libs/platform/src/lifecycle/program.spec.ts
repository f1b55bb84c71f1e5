import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';

const BUILT = resolve('dist/libs/platform/src/lifecycle/program.js');

it('ends a process with its exit code, after a collection', () => {
  const code = `
    const { endProcess } = await import(${JSON.stringify(BUILT)});
    console.log('ends');
    endProcess(3);
  `;
  const { status, stdout } = spawnSync(process.execPath, ['--trace-gc', '--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  expect(status).toBe(3);
  expect(stdout.slice(stdout.indexOf('ends\n'))).toContain('Mark-Compact');
});
