import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#platform';
import { memoryMb } from '../../../bench/support/process-usage.js';
import { eventually } from '#testing/eventually';
import { startSystem } from '#testing/system';
import { programFlags, PROGRAM_VARIABLES } from './program-flags.js';

/** Where the kernel tells what is resident. */
const itOnLinux = process.platform === 'linux' ? it : it.skip;
/** Of resident memory, the program of Node itself included. */
const AT_REST_MB = 150;

describe('how Node runs the programs', () => {
  it('is the same in the image', () => {
    const image = readFileSync(join(projectRoot(), 'Dockerfile'), 'utf8');
    const [young, ...others] = programFlags('worker');
    expect(image).toContain(`NODE_OPTIONS="${[young, ...others].join(' ')}"`);
    const [youngOfApi, ...othersOfApi] = programFlags('api');
    expect(othersOfApi).toEqual(others);
    expect(image).toContain(`CMD ["node", "${youngOfApi}", "dist/apps/api/src/main.js"]`);
    for (const [name, value] of Object.entries(PROGRAM_VARIABLES))
      expect(image).toContain(`${name}=${value}`);
  });

  itOnLinux('keeps an api and a worker at rest below 150 MB each', async () => {
    const system = await startSystem();
    try {
      for (const { pid } of [system.api, system.worker]) {
        await eventually(`${pid} is at rest`, () => memoryMb(pid).now < AT_REST_MB);
      }
    } finally {
      await system.stop();
    }
  });
});
