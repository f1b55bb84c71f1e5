import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const BUILT = resolve('dist/libs/platform/src/lifecycle/supervisor.js');

function program(stdio: StdioOptions, lifetimeMs: number) {
  const code = `
    const { watchParent } = await import(${JSON.stringify(BUILT)});
    watchParent(() => process.exit(42));
    process.send?.('watching', () => undefined);
    setTimeout(() => process.exit(0), ${lifetimeMs});
  `;
  return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio });
}

describe('watching the parent', () => {
  it('notices when the parent is gone', async () => {
    const child = program(['ignore', 'inherit', 'inherit', 'ipc'], 600_000);
    await once(child, 'message');
    child.disconnect();
    expect(await once(child, 'exit')).toEqual([42, null]);
  });

  it('notices a parent that was gone before it looked', async () => {
    const child = program(['ignore', 'inherit', 'inherit', 'ipc'], 600_000);
    child.disconnect();
    expect(await once(child, 'exit')).toEqual([42, null]);
  });

  it('does nothing in a program that was started by hand', async () => {
    const child = program(['ignore', 'inherit', 'inherit'], 50);
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
