// The order of the test files, for Jest. In a fresh clone, where it knows no durations, it takes the largest first, which says
// little of what they cost: one that takes a minute and begins last leaves the other core idle.
import TestSequencer from '@jest/test-sequencer';

/** Files that start programs of their own or run very many tests, the longest first. */
const DEAR = [
  'test/black-box/moved-clock',
  'test/docs/samples',
  'test/black-box/start',
  'libs/messaging/src/content/processes/content-processes',
  'test/black-box/log-lines',
  'apps/api/src/main',
  'apps/launcher/src/launcher',
  'libs/messaging/src/sending/engine/smtp-matrix',
];

export default class DearFilesFirst extends TestSequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    return sorted.sort((one, other) => placeOf(one) - placeOf(other));
  }
}

/** Behind the dear ones come all others, in the order that Jest gives them. */
function placeOf({ path }) {
  const place = DEAR.findIndex((file) => path.endsWith(`/${file}.spec.ts`));
  return place < 0 ? DEAR.length : place;
}
