import everyday from './jest.config.js';

/** All of `npm test`, the long suites and fresh seeds: docs/testing.md. @type {import('jest').Config} */
export default { ...everyday, testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/real/'] };
