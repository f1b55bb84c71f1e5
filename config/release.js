// Makes a release: npm run release -- 0.3.0
// Version of package, SDK, chart and the pages that name it, section of the changelog, the API's document to compare later ones with
// (unless it is 0.3.0-rc.1), both tarballs with the bill of materials in dist/release, each checked by installing it, then one commit and
// its tag. Nothing stays of a release that fails. Pushing and publishing are left to you.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const RELEASE = join('dist', 'release');
const CHART = 'deploy/helm/mailwright/Chart.yaml';
/** They name the tarball or the image with its version. */
const PAGES = ['Dockerfile', 'docs/install-npm.md', 'docs/install-docker.md'];
const COMPATIBILITY = 'test/compatibility';
const [version = ''] = process.argv.slice(2);
const tag = `v${version}`;
const released = join(COMPATIBILITY, `openapi-${version}.json`);
const run = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
const said = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' }).trim();

if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) refuse('Name the version: npm run release -- 0.3.0');
if (said('git', 'status', '--porcelain') !== '') refuse('There are changes that are not committed.');
if (said('git', 'tag', '--list', tag) !== '') refuse(`There is a tag ${tag} already.`);
const changelog = readFileSync('CHANGELOG.md', 'utf8').replace('## Unreleased\n', `## ${version}\n`);
const section = changelog.split(/^## /m).find((text) => text.startsWith(`${version}\n`));
if (section === undefined) refuse(`CHANGELOG.md has neither "## Unreleased" nor "## ${version}".`);

try {
  writeFileSync('CHANGELOG.md', changelog);
  for (const page of PAGES)
    writeFileSync(
      page,
      readFileSync(page, 'utf8').replaceAll(/(mailwright[-:])\d+\.\d+\.\d+(-\w[\w.]*\w)?/g, `$1${version}`),
    );
  for (const directory of ['.', 'packages/sdk'])
    run(
      'npm',
      'version',
      version,
      '--prefix',
      directory,
      '--no-git-tag-version',
      '--allow-same-version',
      '--silent',
    );
  const chart = readFileSync(CHART, 'utf8').replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`);
  writeFileSync(CHART, chart);
  if (!version.includes('-')) {
    cpSync('docs/openapi.json', released);
    writeFileSync(join(COMPATIBILITY, 'intended-breaks.json'), '[]\n');
    run('git', 'add', released);
  }
  rmSync(RELEASE, { recursive: true, force: true });
  mkdirSync(RELEASE, { recursive: true });
  run('.ci/check-install');
  cpSync(`dist/mailwright-${version}.tgz`, join(RELEASE, `mailwright-${version}.tgz`));
  cpSync('dist/package/sbom.cdx.json', join(RELEASE, `mailwright-${version}.cdx.json`));
  rmSync('packages/sdk/dist', { recursive: true, force: true });
  run('npm', 'run', '-s', 'build:sdk');
  // npm packs no license from outside of a package's directory.
  cpSync('LICENSE', 'packages/sdk/LICENSE');
  run('npm', 'pack', './packages/sdk', '--pack-destination', RELEASE, '--silent');
  checkSdk();
  run('git', 'commit', '--quiet', '--all', '--message', `release: ${version}`);
  run('git', 'tag', '--annotate', tag, '--message', `Mailwright ${section}`, '--cleanup', 'verbatim');
} catch (error) {
  run('git', 'reset', '--quiet', '--hard');
  rmSync(RELEASE, { recursive: true, force: true });
  throw error;
}
const files = readdirSync(RELEASE).map((name) => join(RELEASE, name));
console.log(`Made ${files.join(', ')}, and the tag ${tag}. What is left:
  git push --follow-tags
  npm publish ${files.filter((name) => name.endsWith('.tgz')).join(' && npm publish ')}`);

/** Installs the SDK's tarball into an empty folder and loads it there. */
function checkSdk() {
  const directory = mkdtempSync(join(tmpdir(), 'mailwright-sdk-'));
  try {
    const tarball = resolve(RELEASE, `mailwright-sdk-${version}.tgz`);
    run('npm', 'install', '--prefix', directory, '--no-audit', '--no-fund', '--silent', tarball);
    const program = `import { Mailwright } from '@mailwright/sdk'; new Mailwright({ apiKey: 'mw_test_1', baseUrl: 'https://example.com' });`;
    writeFileSync(join(directory, 'program.mjs'), program);
    run(process.execPath, join(directory, 'program.mjs'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function refuse(message) {
  console.error(message);
  process.exit(2);
}
