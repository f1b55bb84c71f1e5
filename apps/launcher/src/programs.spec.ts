import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runNodeProgram } from './programs.js';

const LISTENING = `process.send({ type: 'listening', port: 1 });`;
const STAY = `setInterval(() => undefined, 60_000);`;

let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'mailwright-programs-'));
});

afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

async function run(name: string, code: string) {
  const file = join(home, `${name}.mjs`);
  await writeFile(file, code);
  return runNodeProgram(name, file, { env: process.env });
}

describe('a program', () => {
  it('ends when it is asked to', async () => {
    const program = await run('polite', `process.on('SIGTERM', () => process.exit(0)); ${LISTENING}${STAY}`);
    await program.ready;
    await program.stop(10_000);
    expect(await program.ended).toBe('exit code 0');
  });

  it('is killed when it does not heed', async () => {
    const program = await run('stubborn', `process.on('SIGTERM', () => undefined); ${LISTENING}${STAY}`);
    await program.ready;
    await program.stop(100);
    expect(await program.ended).toBe('signal SIGKILL');
  });

  it('is not ready when it ends before it listens', async () => {
    const program = await run('broken', `process.exit(7);`);
    await expect(program.ready).rejects.toThrow('broken ended before it was ready (exit code 7)');
  });
});
