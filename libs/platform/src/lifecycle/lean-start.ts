import { registerHooks } from 'node:module';

/**
 * Imported by an entry file, which then imports the program dynamically. When an ES module imports `node:http`, Node reads all of
 * its exports, and these three load its WebSocket client, which nobody here uses.
 */
const http = process.getBuiltinModule('node:http');
for (const name of ['WebSocket', 'CloseEvent', 'MessageEvent'])
  Object.defineProperty(http, name, { value: undefined });

/** zod loads its messages in 55 languages, of which the API speaks one: a megabyte. */
registerHooks({
  resolve: (specifier, context, next) =>
    next(
      /\/zod\/.+/.test(context.parentURL ?? '')
        ? specifier.replace(/locales\/index\.js$/, 'locales/en.js')
        : specifier,
      context,
    ),
});
