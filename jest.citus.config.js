import everyday from './jest.config.js';

/** The black-box suite, what changes partitions, and what belongs to both, on a coordinator and two workers: docs/internals/testing.md. @type {import('jest').Config} */
export default {
  ...everyday,
  roots: ['<rootDir>/test/black-box', '<rootDir>/test/citus', '<rootDir>/libs/messaging/src/retention'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 2,
};
