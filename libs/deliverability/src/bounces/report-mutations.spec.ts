import { describe, expect, it } from '@jest/globals';
import { newId } from '#kernel';
import { damaged, damagedReports } from '#testing/damaged-reports';
import * as fc from '#testing/properties';
import { readReport } from './report.js';
import { ReturnPaths } from './return-path.js';

/** How long that takes at most is measured by bench/reports.ts. */
const RUNS = fc.runs(2_000);

describe('damaged reports', () => {
  it('are read without an error', async () => {
    await fc.assert(
      fc.asyncProperty(damagedReports(), async (raw) => {
        expect(['bounce', 'complaint', 'nothing']).toContain((await readReport(raw)).kind);
      }),
      { numRuns: RUNS },
    );
  });

  it('are of no use without a return path of ours: no damaged one is', () => {
    const paths = new ReturnPaths('a secret of the tests, long enough for it');
    const address = paths.addressOf({ environmentId: 3, deliveryId: newId() }, 'bounces.example');
    const ours = paths.read(address);
    expect(ours).not.toBeNull();
    fc.assert(
      fc.property(damaged([Buffer.from(address)]), (raw) => {
        const mutated = raw.toString('latin1');
        // Only another host, or another case, leaves it what it was.
        const [local = '', ...hosts] = mutated.split('@');
        const isUnchanged =
          hosts.length === 1 && hosts[0] !== '' && local.toLowerCase() === address.split('@')[0];
        expect(paths.read(mutated)).toEqual(isUnchanged ? ours : null);
      }),
      { numRuns: RUNS },
    );
  });
});
