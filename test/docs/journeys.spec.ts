import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';

const MOST = 30;

const page = readFileSync(join(projectRoot(), 'docs/internals/journeys.md'), 'utf8');
/** By heading; `[sending](#sending)` stands for that section's files. */
const sections = new Map(
  page.split(/^## /m).map((section) => [section.split('\n', 1)[0] ?? '', section] as const),
);

function filesOf(heading: string): string[] {
  const items = [...(sections.get(heading) ?? '').matchAll(/^\d+\. (?:`(.+?)`|\[sending\])/gm)];
  return items.flatMap(([, file]) => (file === undefined ? filesOf('Sending') : [file]));
}

describe('the page of journeys', () => {
  const rows = [...page.matchAll(/^\| \[(.+?)\]\(.+?\) \|.*\| (\d+) \|$/gm)];

  it('counts five', () => expect(rows).toHaveLength(5));

  it.each(rows.map(([, heading = '', count]) => [heading, Number(count)] as const))(
    'tells how many files there are to read for %s, at most thirty',
    (heading, count) => {
      const files = filesOf(heading);
      expect(new Set(files).size).toBe(count);
      expect(files).toHaveLength(count);
      expect(count).toBeLessThanOrEqual(MOST);
    },
  );
});
