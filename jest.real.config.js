import everyday from './jest.config.js';

/** The suites that need programs which nobody here wrote: docs/internals/testing.md. @type {import('jest').Config} */
export default {
  ...everyday,
  roots: ['<rootDir>/test/real'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};
