import type { Database } from '#platform';

/** Channel on which programs hear that content is at hand which is probably compiled soon. */
export const CONTENT_CHANNEL = 'mailwright_content';

/** Has all programs start what compiles, when the open transaction commits. */
export function expectContent(database: Database): void {
  database.notify(CONTENT_CHANNEL);
}
