import everyday from './jest.config.js';

/** The black-box suite and what belongs to it, on a coordinator and two workers: docs/internals/testing.md. @type {import('jest').Config} */
export default {
  ...everyday,
  roots: ['<rootDir>/test/black-box', '<rootDir>/test/citus'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 2,
};
