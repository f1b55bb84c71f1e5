import { describe, it } from '@jest/globals';
import { memoryMb } from '../../bench/support/process-usage.js';
import { eventually } from '#testing/time/eventually';
import { startSystem } from '#testing/programs/system';

/** Linux only: its kernel tells what is resident. */
const itOnLinux = process.platform === 'linux' ? it : it.skip;
/** Resident memory, the program of Node itself included. */
const AT_REST_MB = 150;

describe('how Node runs the programs', () => {
  itOnLinux('keeps an api and a worker at rest below 150 MB each', async () => {
    // As in production: code that was compiled before takes room.
    const system = await startSystem({ NODE_COMPILE_CACHE: '' });
    try {
      for (const { pid } of [system.api, system.worker]) {
        await eventually(`${pid} is at rest`, () => memoryMb(pid).now < AT_REST_MB);
      }
    } finally {
      await system.stop();
    }
  });
});
