import { SPECS } from './mutated.js';

/** The suites that `npm test` leaves to `npm run test:full`: docs/internals/testing.md. */
const LONG = process.env['FULL'] === undefined ? ['<rootDir>/test/long/'] : [];

/** @type {import('jest').Config} */
const everyday = {
  rootDir: '..',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/real/', '<rootDir>/test/citus/', ...LONG],
  // Files of one process share what they load, which is half of what they cost; they have no globals of their own.
  runner: ['jest-light-runner', { runtime: 'child_process' }],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  testSequencer: '<rootDir>/test/support/runner/dear-files-first.js',
  globalSetup: '<rootDir>/test/support/runner/global-setup.js',
  globalTeardown: '<rootDir>/test/support/runner/global-teardown.js',
  reporters: ['default', '<rootDir>/dist/test/support/row-types/reporter.js'],
  setupFilesAfterEnv: ['<rootDir>/test/support/runner/jest-each-test.js'],
  maxWorkers: 3,
};

const IGNORED = ['/node_modules/'];

/** Configurations by name: `SUITE=real jest`; docs/internals/testing.md. @type {Record<string, import('jest').Config>} */
const suites = {
  everyday,
  /** Against programs that nobody here wrote. */
  real: {
    ...everyday,
    reporters: ['default'],
    roots: ['<rootDir>/test/real'],
    testPathIgnorePatterns: IGNORED,
    maxWorkers: 1,
  },
  /** The black-box suite, the chain of the audit log, what changes partitions or takes clicks back, waits, and what has both, on a coordinator and two workers. */
  citus: {
    ...everyday,
    testMatch: [
      '<rootDir>/test/{black-box,citus}/**/*.spec.ts',
      '<rootDir>/libs/messaging/src/*retention*.spec.ts',
      '<rootDir>/libs/platform/src/audit/audit-log.spec.ts',
      '<rootDir>/libs/messaging/src/automations/runs/wait-for.spec.ts',
      '<rootDir>/libs/messaging/src/engagement/tracked-events.spec.ts',
      '<rootDir>/libs/messaging/src/reports/statistics/automation-report.spec.ts',
    ],
    testPathIgnorePatterns: IGNORED,
    reporters: ['default'],
    maxWorkers: 2,
  },
  /** Stryker changes the sources and counts who runs them, which takes Jest's own runner. */
  mutation: {
    rootDir: '..',
    extensionsToTreatAsEsm: ['.ts'],
    transform: { '^.+\\.ts$': '@swc/jest' },
    testEnvironment: 'node',
    testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
    moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
    roots: ['<rootDir>/libs'],
    testMatch: SPECS.map((spec) => `<rootDir>/${spec}`),
  },
};

export default suites[process.env['SUITE'] ?? 'everyday'];
