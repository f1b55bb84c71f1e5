import { describe, expect, it } from '@jest/globals';
import { refuseOldVersion } from './fit-database.js';

describe('The version of PostgreSQL', () => {
  it.each(['14.11 (Debian 14.11-1.pgdg120+2)', '9.6.24'])(
    'is too old as %s, and the variable is named',
    (version) => {
      expect(() => refuseOldVersion(version)).toThrow(
        `The PostgreSQL of DATABASE_URL is ${version}; Mailwright needs 15 or newer.`,
      );
    },
  );

  it.each(['15.0', '18.1 (Homebrew)', '19devel'])('is new enough as %s', (version) => {
    expect(() => refuseOldVersion(version)).not.toThrow();
  });
});
