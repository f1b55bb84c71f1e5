/** The suites that `npm test` leaves to `npm run test:full`: docs/internals/testing.md. */
const LONG = process.env['FULL'] === undefined ? ['<rootDir>/test/long/'] : [];

/** @type {import('jest').Config} */
export default {
  rootDir: '.',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/real/', '<rootDir>/test/citus/', ...LONG],
  // Files of one process share what they load, which is half of what they cost; they have no globals of their own.
  runner: ['jest-light-runner', { runtime: 'child_process' }],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  testSequencer: '<rootDir>/test/support/dear-files-first.js',
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  setupFilesAfterEnv: ['<rootDir>/test/support/jest-each-test.js'],
  maxWorkers: 3,
};
