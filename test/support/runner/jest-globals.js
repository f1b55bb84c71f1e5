// Exports that test files import as '@jest/globals': test/support/runner/jest-hooks.js.
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = globalThis;
