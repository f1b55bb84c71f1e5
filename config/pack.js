// Makes the npm package of this version in dist/package and packs it to dist/mailwright-<version>.tgz: npm run -s pack
// The packages that it needs are inside it (bundleDependencies), in the versions of package-lock.json and without what no program
// loads, so that each installation has what was tested. Those made for one kind of machine, which npm has to choose, are its only
// dependencies.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const TARGET = join('dist', 'package');
const PARTS =
  'assets dist/apps dist/libs dist/packages docs locales migrations packages/sdk/README.md .env.example CHANGELOG.md LICENSE README.md';
/** Not in the package: tests, and source maps, whose sources are not there. */
const OF_DEVELOPMENT = /\.(spec|fixture)\.js$|\.map$/;
/** Files of other packages that no program loads. `.ci/check-install` imports each package, and runs the main job. */
const NEVER_LOADED = [
  // Types, source maps, sources in TypeScript, and texts but licences.
  /\.map$|\.[cm]?tsx?$|\.(md|markdown|flow)$/,
  /node_modules\/(@[^/]+\/)?[^/]+\/(tests?|__tests__|benchmarks?|examples?|docs|\.github)$/,
  // Builds for browsers, old bundlers, and `require` where all of ours is imported.
  /rxjs\/dist\/(bundles|esm5?)$|pdfkit\/js\/pdfkit\.(browser|standalone)|stripe\/cjs$/,
  /es-toolkit\/(dist|compat)\/.*\.js$/,
  // Browsers of each country.
  /caniuse-lite\/data\/regions$/,
  // Fonts are read from `unicode.json` and the files of one axis, but for scripts that the base font has: see `pdf-fonts.ts`.
  /@fontsource-variable\/[^/]+\/(?!package\.json|unicode\.json|LICENSE|files)/,
  /@fontsource-variable\/.*\/files\/.*-((latin|greek|cyrillic)(-ext)?|vietnamese)-[a-z]+-normal\.woff2$/,
  /@fontsource-variable\/.*\/files\/.*(?<!-wght-normal)\.woff2$/,
];
const LICENCE = /^(licen[cs]e|copying|notice|copyright)/i;
/** Swagger's own pages, which nobody serves here, and a package that would report installations for them. */
const LEFT_OUT = ['swagger-ui-dist', '@scarf/scarf'];

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const nameOf = (path) => path.split('node_modules/').at(-1);
const needed = Object.entries(packages).filter(
  ([path, { dev, devOptional, link }]) =>
    path.includes('node_modules/') && !dev && !devOptional && !link && !LEFT_OUT.includes(nameOf(path)),
);
const ofMachines = needed.filter(([, { os, cpu }]) => os !== undefined || cpu !== undefined);
const bundled = needed.filter(([path, { os, cpu }]) => !os && !cpu && existsSync(path));
const missing = needed.filter(([path, { optional }]) => !optional && !existsSync(path)).map(([path]) => path);
if (missing.length > 0) throw new Error(`Run \`npm ci\` first: ${missing.join(', ')} is not installed.`);

rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET, { recursive: true });
for (const part of PARTS.split(' '))
  cpSync(part, join(TARGET, part), { recursive: true, filter: (file) => !OF_DEVELOPMENT.test(file) });
for (const [path] of bundled) bundle(path);
writeFileSync(join(TARGET, 'package.json'), JSON.stringify(manifest(), null, 2));
writeFileSync(join(TARGET, 'sbom.cdx.json'), execFileSync(process.execPath, ['config/sbom.js']));
// npm pack would do the same, and look at each package for half a minute.
const tarball = `mailwright-${manifest().version}.tgz`;
execFileSync('tar', ['-czf', join('dist', tarball), '-C', 'dist', basename(TARGET)]);

function bundle(path) {
  cpSync(path, join(TARGET, path), { recursive: true, filter: (file) => file === path || isLoaded(file) });
  const file = join(TARGET, path, 'package.json');
  const { scripts: _scripts, devDependencies: _development, ...own } = JSON.parse(readFileSync(file, 'utf8'));
  for (const name of LEFT_OUT) delete own.dependencies?.[name];
  writeFileSync(file, JSON.stringify(own));
}

function manifest() {
  const { dependencies, imports, ...own } = JSON.parse(readFileSync('package.json', 'utf8'));
  const { name, version, description, keywords, license, homepage, repository, type, bin, scarfSettings } =
    own;
  const published = Object.entries(imports).filter(([alias]) => !alias.startsWith('#testing'));
  return {
    name,
    version,
    description,
    keywords,
    license,
    homepage,
    repository,
    type,
    bin,
    imports: Object.fromEntries(published.map(([alias, { default: file }]) => [alias, file])),
    exports: { './package.json': './package.json' },
    engines: { node: '>=24' },
    dependencies,
    optionalDependencies: Object.fromEntries(
      ofMachines.map(([path, { version: one }]) => [nameOf(path), one]),
    ),
    bundleDependencies: Object.keys(dependencies),
    publishConfig: { access: 'public', provenance: true },
    scarfSettings,
  };
}

function isLoaded(file) {
  const name = basename(file);
  if (name === 'node_modules') return false;
  return LICENCE.test(name) || !NEVER_LOADED.some((unused) => unused.test(file));
}
