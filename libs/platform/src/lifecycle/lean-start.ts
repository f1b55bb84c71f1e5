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

const TOOLKIT_IMPORT = /import \{([^}]*)\} from 'es-toolkit\/compat';/g;

/** @nestjs/swagger uses thirty functions of es-toolkit by its index, which loads all 428 modules: five megabytes. */
registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    if (loaded.format !== 'module' || !url.includes('/node_modules/@nestjs/swagger/')) return loaded;
    const source = Buffer.from(loaded.source as string | Uint8Array).toString();
    return { ...loaded, source: source.replaceAll(TOOLKIT_IMPORT, (_, names: string) => eachOf(names)) };
  },
});

function eachOf(names: string): string {
  const imports = names.split(',').map((name) => name.trim());
  return imports.map((name) => `import ${name} from 'es-toolkit/compat/${name}';`).join(' ');
}
