/** The suites that `npm test` leaves to `npm run test:full`: docs/internals/testing.md. */
const LONG = process.env['FULL'] === undefined ? ['<rootDir>/test/long/'] : [];

/** @type {import('jest').Config} */
export default {
  rootDir: '.',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/real/', ...LONG],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  setupFilesAfterEnv: ['<rootDir>/test/support/jest.nest.ts', '<rootDir>/test/support/jest.ending.ts'],
  testTimeout: 300_000,
  maxWorkers: 3,
  // A worker that has run a hundred files takes its time to give a gigabyte back, with nothing left open.
  workerGracefulExitTimeout: 5_000,
};
