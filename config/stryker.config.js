import { SOURCES } from './mutated.js';

process.env['SUITE'] = 'mutation';

/** Changes the rules of five domains, one place at a time, and looks whether a test fails: docs/internals/testing.md. */
export default {
  mutate: SOURCES,
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: { configFile: 'config/jest.config.js' },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  // Endless loops are ended by counting their steps; a slow machine must not pass for one.
  timeoutMS: 120_000,
  disableTypeChecks: false,
  ignorePatterns: ['/.data', '/assets', '/bench', '/deploy', '/dist', '/docs', '/packages', '/reports'],
  reporters: ['clear-text', 'json', 'progress-append-only'],
  clearTextReporter: { allowColor: false, allowEmojis: false, reportTests: false },
  warnings: { slow: false },
  thresholds: { high: 95, low: 85, break: 85 },
};
