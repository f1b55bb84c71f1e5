import { expect } from '@jest/globals';

/**
 * @nestjs/throttler is CommonJS and needs Nest, which is ESM: Jest can require that only once it is loaded. It costs 0.14 s, so
 * it is for those who load our guards.
 */
if (/\/(apps|test\/docs)\/|\/platform\/src\/http\//.test(expect.getState().testPath ?? '')) {
  await import('reflect-metadata');
  await import('@nestjs/common');
  await import('@nestjs/core');
}
