import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#platform';
import { programFlags, PROGRAM_VARIABLES } from './program-flags.js';

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
});
