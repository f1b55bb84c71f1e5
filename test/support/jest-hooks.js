// Plain JavaScript, loaded by `node --import` before Jest and in each of its processes. Test files run as Node runs the programs,
// from the build in dist/: Jest finds them by their sources.
import { registerHooks } from 'node:module';

const ROOT = new URL('../../', import.meta.url).href;
const SPEC = /\.spec\.ts(?=\?|$)/;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return next(`${ROOT}test/support/jest-globals.js`, context);
    if (specifier.startsWith(ROOT) && SPEC.test(specifier))
      return next(specifier.replace(ROOT, `${ROOT}dist/`).replace(SPEC, '.spec.js'), context);
    return next(specifier, context);
  },
});
